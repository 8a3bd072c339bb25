#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(a: &Tensor<f16, { [16, 16] }>, b: &Tensor<i8, { [16, 16] }>, y: &mut Tensor<f64, { [16, 16] }>) {
        let first = mma(a.load(), a.load(), y.load());
        let second = mma(b.load(), b.load(), first);
        y.store(second);
    }
}

fn main() {}

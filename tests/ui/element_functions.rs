#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(u: &Tensor<u32, { [4] }>, y: &mut Tensor<f32, { [4] }>) {
        let e = exp(u.load());
        let f = fma(u.load(), u.load(), u.load());
        let d = div_floor(y.load(), 2.0);
        let a = reduce_any(y.load(), 0);
        let i: Tile<f32, { [4] }> = iota(const_shape![4]);
    }
}

fn main() {}

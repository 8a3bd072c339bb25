#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(y: &mut Tensor<f32, { [4] }>) {
        other(y);
        let n = sums(y);
        y.store(y.load() + down(3) as f32);
    }

    #[cutile::entry()]
    fn other(y: &mut Tensor<f32, { [4] }>) {
        y.store(y.load());
    }

    fn sums(x: &Tensor<f32, { [4] }>) -> f32 {
        reduce_sum(x.load(), 0).to_scalar()
    }

    fn down(n: i32) -> i32 {
        if n == 0 { 0 } else { up(n - 1) }
    }

    fn up(n: i32) -> i32 {
        down(n)
    }
}

fn main() {}

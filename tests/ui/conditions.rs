#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cfg(any())]
    const SCALE: f32 = 2.0;

    #[cfg(any())]
    fn twice(n: i32) -> i32 {
        n + n
    }

    #[cfg(not(any()))]
    fn twice(n: i32) -> i32 {
        n * 2
    }

    #[cutile::entry()]
    fn k(y: &mut Tensor<i32, { [4] }>) {
        let n = 1;
        #[cfg(any())]
        let n = twice(2);
        y.store(full(n, y.shape()));
    }
}

fn main() {}

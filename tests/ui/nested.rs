#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: i32, y: &mut Tensor<f32, { [4] }>) {
        struct Local;
        if n > 0 {
            fn inner() {}
        }
        let f = (1, 2);
        f.0(n);
        helper(n) = 3;
        n + 1 = 2;
    }

    fn helper(n: i32) -> i32 {
        n
    }
}

fn main() {}

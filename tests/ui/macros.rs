#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: i32, y: &mut Tensor<f32, { [4] }>) {
        assert!(n > 0, "n is {}", n);
        assert!(n > 0, n);
        assert!();
        assert_eq!(n, 1);
        let s = const_shape![1; 2];
        let v = vec![1, 2];
    }
}

fn main() {}

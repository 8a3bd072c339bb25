#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(a: f32, y: &mut Tensor<f32, { [4] }>) {
        let b = a.hypot(2.0);
        let c = f32::from_bits(3);
        let d = a.clamp(0.0, 1.0);
        let e: i32 = std::cmp::min(1, 2);
        y.store(full(a.sqrt(), y.shape()));
    }
}

fn main() {}

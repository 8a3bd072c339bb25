#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(y: &mut Tensor<f32, { [4] }>) {
        let half: f32 = super::half(3.0f32);
        y.store(y.load() * half);
    }
}

fn half(x: f32) -> f32 {
    x / 2.0
}

fn main() {}

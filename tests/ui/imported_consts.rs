const SCALE: f32 = 2.5;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    const COUNT: u64 = super::count();

    #[cutile::entry()]
    fn k(y: &mut Tensor<f32, { [4] }>) {
        let scale = super::SCALE;
        y.store(y.load() * scale as f32 + COUNT as f32);
    }
}

const fn count() -> u64 {
    7
}

fn main() {}

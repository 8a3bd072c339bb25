#[cutile::module(krate = cutile)]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn scale(y: &mut Tensor<f32, { [4] }>) {
        y.store(y.load() * 2.0);
    }
}

fn main() {}

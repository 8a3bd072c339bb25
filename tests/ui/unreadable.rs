use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn unreadable(y: &mut Tensor<f32, [4]>) {
        y.store(y.load());
    }

    #[cutile::entry()]
    fn right(y: &mut Tensor<f32, { [4] }>) {
        y.store(y.load());
    }

    #[cutile::entry()]
    fn wrong(y: &mut Tensor<f32, { [4] }>) {
        match 1 { _ => y.store(y.load()) }
    }
}

fn main() {
    let _ = kernels::right(cutile::api::zeros::<f32>([4]).partition([4]));
}

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(n: &i32, x: Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [8] }>) {
        let t = y.load();
        y.store(twice(&t));
    }

    fn twice(t: &Tile<f32, { [8] }>) -> Tile<f32, { [8] }> {
        t + t
    }

    fn boxed(t: Box<f32>, f: fn(f32) -> f32, s: &[f32]) {}
}

fn main() {}

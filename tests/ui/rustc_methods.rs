#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
        let t = y.load();
        y.store(t, t);
        y.load_padded([0], 1.0);
        let u = t.sqrt();
    }
}

fn main() {}

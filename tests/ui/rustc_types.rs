#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k<const S: [i32; 1]>(a: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, S>) {
        let t: Tile<f32, S> = broadcast_scalar(a, y.shape());
        y.store(y.load() * a);
        if y.load() > 0.0 {
            y.store(t);
        }
        let both = t > 0.0 && t < 1.0;
        let mixed = t > a;
        let missing = undefined + helper(t);
        let wide: Tile<f16, S> = t;
    }
}

fn main() {}

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn gives(y: &mut Tensor<f32, { [4] }>) -> f32 {
        1.0
    }

    #[cutile::entry()]
    fn nothing() {}

    #[cutile::entry()]
    fn tuple(p: (i32, i32), t: Tile<f32, { [4] }>, y: &mut Tensor<f32, { [4] }>) {}

    #[cutile::entry()]
    fn many(
        a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32, i: i32, j: i32, k: i32, l: i32,
        y: &mut Tensor<f32, { [4] }>,
    ) {
    }

    #[cutile::entry()]
    fn outer(y: &mut Tensor<f32, { [4] }>) {
        #[cutile::entry()]
        fn inner(y: &mut Tensor<f32, { [4] }>) {}
        tuple2(y);
        gives(y);
    }

    fn tuple2((a, b): (i32, i32)) {}
}

fn main() {}

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k<const B: bool>(x: &Tensor<f32, { [0, -1] }>, y: &mut Tensor<f32, { [-1, 8] }>) {}

    #[cutile::entry()]
    fn ranks(x: &Tensor<f32, { [1, 1, 1, 1, 1, 1, 1] }>, y: &mut Tensor<f32, { [4] }>) {
        let a: Tile<f32, { [-1] }> = y.load();
        let n = program_id(0);
        let b = zeros(const_shape![n, 4]);
        let c = zeros(const_shape![-2]);
        let d: Tile<f32, 64> = y.load();
        let e: Tile<f32, { Q }> = y.load();
    }
}

fn main() {}

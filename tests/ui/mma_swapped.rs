#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn gemm<const BM: i32, const BN: i32, const BK: i32>(
        z: &mut Tensor<f32, { [BM, BN] }>,
        x: &Tensor<f32, { [-1, -1] }>,
        y: &Tensor<f32, { [-1, -1] }>,
    ) {
        let px = x.partition(const_shape![BM, BK]);
        let py = y.partition(const_shape![BN, BK]);
        z.store(mma(px.load([0, 0]), py.load([0, 0]), z.load()));
    }
}

fn main() {}

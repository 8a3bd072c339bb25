#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k<const S: [i32; 2], const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, S>,
        z: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let t: Tile<f32, { [64, 64] }> = zeros(const_shape![64, 64]);
        store_tile(t, y);
        let rows = reduce_max(z.load(), 1);
        z.store(z.load() - rows);
        let third = reduce_sum(z.load(), 2);
        let tile = x.partition(const_shape![BM, BN]).load([0]);
        let half: Tile<f32, { [BM / 2, BN] }> = z.load();
        let wide = rows.broadcast(const_shape![BM, BN]);
    }
}

fn main() {}

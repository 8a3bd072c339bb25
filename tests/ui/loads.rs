#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, { [4, 4] }>) {
        let whole = x.load();
        let like = load_tile_like(x, x);
        let tiles = y.partition(const_shape![2, 2]);
        let parts = y.partition_mut(const_shape![3, 2]);
        let own = load_tile_like_2d(y, y);
    }
}

fn main() {}

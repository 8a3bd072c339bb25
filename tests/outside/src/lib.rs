//! A kernel module in a crate of its own, with a helper in another module.

/// Helper functions that kernels of any module may call.
#[cutile::module]
pub mod helpers {
    use cutile::core::*;

    /// x * x + c, elementwise.
    pub fn square_plus<const S: [i32; 2]>(x: Tile<f32, S>, c: f32) -> Tile<f32, S> {
        x * x + c
    }
}

/// The kernels.
#[cutile::module]
pub mod kernels {
    use super::helpers::square_plus;
    use cutile::core::*;

    /// y = x² + c, tile by tile.
    #[cutile::entry(specialize(S = [64, 64]))]
    fn shifted_square<const S: [i32; 2]>(
        c: f32,
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, S>,
    ) {
        let tile: Tile<f32, S> = load_tile_like_2d(x, y);
        let squared: Tile<f32, S> = square_plus(tile, c);
        store_tile(squared, y);
    }
}

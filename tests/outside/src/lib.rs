//! A kernel module in a crate of its own, with a helper in another module, and the program that runs it.

use cutile::prelude::*;

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

/// Kernels that no program of this package launches.
#[cutile::module]
pub mod spare {
    use cutile::core::*;

    /// y = x / 2, tile by tile.
    #[cutile::entry(specialize(N = 32))]
    fn halved<const N: i32>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
        y.store(load_tile_like_1d(x, y) * 0.5);
    }
}

/// Runs the kernel and prints what came out.
///
/// # Errors
///
/// The launch fails: no kernel, no device.
pub fn run() -> Result<(), DeviceError> {
    let x = api::ones::<f32>([100, 70]).arc();
    let y = api::zeros::<f32>([100, 70]).partition([64, 64]);
    let (_, _, y) = kernels::shifted_square(0.5, x, y).sync()?;
    let host = y.unpartition().to_host_vec().sync()?;
    println!("device {}: {} values, all {}", Device::default(), host.len(), host[0]);
    assert!(host.iter().all(|v| *v == 1.5), "every value is 1 * 1 + 0.5");
    Ok(())
}

//! A kernel with an index out of range, and what is told of it: a bug found with one environment variable.
//!
//!     cargo run -p cutile-examples --example out_of_range
//!     CUTILE_DEVICE=emulator cargo run -p cutile-examples --example out_of_range
//!
//! On the CPU: which check failed, where, with which numbers, and the program. In the emulator also
//! the thread and the instruction of the GPU code. On a GPU the same check ends the process's use of
//! the device, so the launch is the last thing that this program does.

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// y = x + the tile to the right of it. Wrong wherever `x` has no tile more than `y`.
    #[cutile::entry(specialize(N = 4))]
    fn with_next<const N: i32>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
        let tiles = x.partition(const_shape![N]);
        let here = get_tile_block_id().0;
        y.store(tiles.load([here]) + tiles.load([here + 1]));
    }
}

fn main() -> Result<(), DeviceError> {
    let sums = |tiles: usize| {
        let x = api::arange::<f32>(16);
        kernels::with_next(x.arc(), api::zeros::<f32>([4 * tiles]).partition([4]))
    };
    // Three programs look at four tiles: all is well.
    let (_, y) = sums(3).sync()?;
    println!("{:?}", y.unpartition().to_host_vec().sync()?);

    // The fourth program looks for a fifth tile.
    let error = sums(4).sync().map(|_| ()).expect_err("there is no fifth tile");
    println!("{error}");
    Ok(())
}

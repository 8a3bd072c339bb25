//! The smallest kernel: every tile program writes its own number into its tile.
//!
//!     cargo run -p cutile-examples --example hello_world

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// Fills each sub-tensor of `y` with the position of the program that owns it.
    #[cutile::entry(specialize(S = [4]))]
    fn hello<const S: [i32; 1]>(y: &mut Tensor<i32, S>) {
        let position = get_tile_block_id();
        let tile: Tile<i32, S> = broadcast_scalar(position.0, y.shape());
        store_tile(tile, y);
    }
}

fn main() -> Result<(), DeviceError> {
    // 10 elements in sub-tensors of 4: three programs, the last one with 2 elements.
    let y = api::zeros::<i32>([10]).partition([4]);
    let (y,) = kernels::hello(y).sync()?;
    let y = y.unpartition().to_host_vec().sync()?;
    println!("hello from {}: {y:?}", Device::default());
    assert_eq!(y, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
    Ok(())
}

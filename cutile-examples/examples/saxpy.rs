//! a * x + y on 4x4 sub-matrices of 16x16 matrices, blocking: no async runtime anywhere.
//!
//!     cargo run -p cutile-examples --example saxpy

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// y = a * x + y. `x` is shared; each program owns one sub-matrix of `y`.
    #[cutile::entry(specialize(S = [4, 4]))]
    fn saxpy<const S: [i32; 2]>(a: f32, x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, S>) {
        let tile_a: Tile<f32, S> = broadcast_scalar(a, y.shape());
        let tile_x: Tile<f32, S> = load_tile_like_2d(x, y);
        let tile_y: Tile<f32, S> = load_tile_mut(y);
        store_tile(tile_a * tile_x + tile_y, y);
    }
}

fn main() -> Result<(), DeviceError> {
    let x = api::arange::<f32>(256).sync()?.reshape([16, 16]).arc();
    let y = api::ones::<f32>([16, 16]).partition([4, 4]);

    // An operation is a value: nothing has run yet.
    let operation = kernels::saxpy(2.0, x, y);

    // `sync` runs it and blocks. What went in comes out: the scalar, the Arc, the partition.
    let (_a, x, y) = operation.sync()?;

    let (x, y) = zip!(x.to_host_vec(), y.unpartition().arc().to_host_vec()).sync()?;
    assert!(x.iter().zip(&y).all(|(x, y)| *y == 2.0 * x + 1.0));
    println!("2 * {} + 1 = {} and 255 more, on {}", x[255], y[255], Device::default());
    Ok(())
}

//! Row softmax in one kernel: a whole row stays on chip between the reductions.
//!
//!     cargo run --release -p cutile-examples --example softmax

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// y = exp(x - max) / sum, along each row. No mask for ragged rows: lanes outside take no part.
    #[cutile::entry(specialize(BM = 4, BN = 128))]
    fn softmax<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let tile: Tile<f32, { [BM, BN] }> = load_tile_like_2d(x, y);
        let largest = reduce_max(tile, 1).reshape(const_shape![BM, 1]);
        let powers = exp(tile - largest.broadcast(const_shape![BM, BN]));
        let sum = reduce_sum(powers, 1).reshape(const_shape![BM, 1]);
        y.store(powers / sum.broadcast(const_shape![BM, BN]));
    }
}

fn main() -> Result<(), DeviceError> {
    let (rows, columns) = (10, 100);
    let x = std::sync::Arc::new(api::randn::<f32>([rows, columns], 3).sync()?);
    // One program takes 4 rows; 128 covers the row's 100 columns.
    let y = api::zeros::<f32>([rows, columns]).partition([4, 128]);
    let (x, y) = kernels::softmax(x, y).sync()?;

    let (x, y) = zip!(x.to_host_vec(), y.unpartition().arc().to_host_vec()).sync()?;
    for (x, y) in x.chunks(columns).zip(y.chunks(columns)) {
        let sum: f64 = x.iter().map(|v| (*v as f64).exp()).sum();
        for (x, y) in x.iter().zip(y) {
            let exact = (*x as f64).exp() / sum;
            assert!((*y as f64 - exact).abs() <= 1e-6, "{y} instead of {exact}");
        }
    }
    println!("{rows} rows of {columns} on {}: first value {:.6}", Device::default(), y[0]);
    Ok(())
}

//! Matrix multiplication by tiles: z += x * y, any M, N and K, ragged edges included.
//!
//!     cargo run --release -p cutile-examples --example gemm

use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// z += x * y. Each program owns a BM x BN block of `z` and walks along K in steps of BK.
    #[cutile::entry(specialize(BM = 64, BN = 64, BK = 32, K = 200))]
    fn gemm<const BM: i32, const BN: i32, const BK: i32, const K: i32>(
        z: &mut Tensor<f32, { [BM, BN] }>,
        x: &Tensor<f32, { [-1, K] }>,
        y: &Tensor<f32, { [K, -1] }>,
    ) {
        let px = x.partition(const_shape![BM, BK]);
        let py = y.partition(const_shape![BK, BN]);
        let pid = get_tile_block_id();
        let mut acc = z.load();
        // The last tile along K may be ragged: its missing lanes count as zero.
        for i in 0..((K + BK - 1) / BK) {
            acc = mma(px.load([pid.0, i]), py.load([i, pid.1]), acc);
        }
        z.store(acc);
    }
}

fn main() -> Result<(), DeviceError> {
    let (m, n, k) = (150, 170, 200);
    let x = std::sync::Arc::new(api::rand::<f32>([m, k], 1).sync()?);
    let y = std::sync::Arc::new(api::rand::<f32>([k, n], 2).sync()?);
    let z = api::zeros::<f32>([m, n]).partition([64, 64]);

    // BM, BN and K are bound from the partition and the tensors; BK is free, so it is given here.
    let (z, x, y) = kernels::gemm::<32>(z, x, y).sync()?;

    let (x, y, z) =
        zip!(x.to_host_vec(), y.to_host_vec(), z.unpartition().arc().to_host_vec()).sync()?;
    let mut worst = 0.0f64;
    for i in 0..m {
        for j in 0..n {
            let exact: f64 = (0..k).map(|p| x[i * k + p] as f64 * y[p * n + j] as f64).sum();
            worst = worst.max((z[i * n + j] as f64 - exact).abs());
        }
    }
    println!("{m} x {k} times {k} x {n} on {}: largest error {worst:.1e}", Device::default());
    // Products are in [0, 1): K roundings of a sum below K, each at most K * 2^-24.
    assert!(worst <= (k * k) as f64 * 2f64.powi(-24));
    Ok(())
}

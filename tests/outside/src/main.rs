//! Runs the crate's own kernel and prints what came out.

use cutile::prelude::*;
use outside::kernels;

fn main() -> Result<(), DeviceError> {
    let x = api::ones::<f32>([100, 70]).arc();
    let y = api::zeros::<f32>([100, 70]).partition([64, 64]);
    let (_, _, y) = kernels::shifted_square(0.5, x, y).sync()?;
    let host = y.unpartition().to_host_vec().sync()?;
    println!("device {}: {} values, all {}", Device::default(), host.len(), host[0]);
    assert!(host.iter().all(|v| *v == 1.5), "every value is 1 * 1 + 0.5");
    Ok(())
}

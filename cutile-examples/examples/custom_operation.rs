//! A custom operation: the door for code of one's own, such as cuFFT, cuBLAS or any FFI.
//!
//!     cargo run -p cutile-examples --example custom_operation
//!
//! The closure declares what it reads and writes; the runtime orders it against everything else,
//! keeps the memory alive while it is in use, and gives the addresses. There are two doors:
//!
//! - `ctx.run_on_host`, on the host device: a Rust closure that runs in stream order;
//! - `ctx.raw_stream`, on a GPU: the `CUstream` for calls of other libraries. Here that is the
//!   driver's own asynchronous copy.
//!
//! Either way the result is an operation as any other.

use cutile::cuda_async::driver::Driver;
use cutile::cuda_async::driver::sys::{CUDA_SUCCESS, CUstream};
use cutile::cuda_async::{DeviceKind, ExecutionContext};
use cutile::prelude::*;

/// A second tensor with the elements of `x`, copied by code that is not ours.
fn duplicate(
    x: Arc<Tensor<f32>>,
    mut y: Tensor<f32>,
) -> impl DeviceOperation<Output = Tensor<f32>> {
    // Checked here, for everything below relies on it.
    assert!(x.len() == y.len() && x.is_contiguous() && y.is_contiguous());
    with_context(move |ctx| {
        match ctx.device().kind() {
            DeviceKind::Cuda => copy_by_driver(ctx, &x, &mut y)?,
            _ => copy_by_closure(ctx, &x, &mut y)?,
        }
        Ok(y)
    })
}

/// The host device's door. The addresses may be dereferenced inside the closure, and nowhere else.
fn copy_by_closure(
    ctx: &mut ExecutionContext<'_>,
    x: &Arc<Tensor<f32>>,
    y: &mut Tensor<f32>,
) -> Result<(), DeviceError> {
    let (from, to, len) = (ctx.read(x)?, ctx.write(&mut *y)?, x.len());
    ctx.run_on_host("copy", move || {
        // SAFETY: both tensors have `len` f32 without gaps, are declared, and are two buffers.
        unsafe { to.as_mut_ptr::<f32>().copy_from_nonoverlapping(from.as_mut_ptr(), len) };
        Ok(())
    })
}

/// The GPU's door: a foreign call that enqueues on the operation's own stream and returns.
fn copy_by_driver(
    ctx: &mut ExecutionContext<'_>,
    x: &Arc<Tensor<f32>>,
    y: &mut Tensor<f32>,
) -> Result<(), DeviceError> {
    let driver = Driver::get().map_err(DeviceError::new)?;
    let (from, to) = (ctx.read(x)?, ctx.write(&mut *y)?);
    let stream = CUstream(ctx.raw_stream()?.as_ptr());
    let bytes = x.len() * size_of::<f32>();
    // SAFETY: both tensors have `bytes` bytes without gaps and are declared; the stream is alive,
    // and the runtime has made its context current.
    let code = unsafe { (driver.table().cuMemcpyDtoDAsync)(to.0, from.0, bytes, stream) };
    match code {
        CUDA_SUCCESS => Ok(()),
        failure => Err(DeviceError::new(driver.explain("cuMemcpyDtoDAsync", failure))),
    }
}

fn main() -> Result<(), DeviceError> {
    let x = api::arange::<f32>(1000).arc().sync()?;

    // Composed as any operation: zeros before, an addition of ours after.
    let copy = zip!(x.clone(), api::zeros::<f32>([1000])).apply(duplicate);
    let twice = copy.then(move |y| api::add(y, x)).to_host_vec().sync()?;

    println!("2 * 999 = {}, on {}", twice[999], Device::default());
    assert!(twice.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32));
    Ok(())
}

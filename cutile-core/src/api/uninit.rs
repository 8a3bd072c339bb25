//! Memory for results: tensors whose elements are written by the next launch.

use cuda_async::{DeviceError, ExecutionContext};

use crate::host::{HostElement, IntoShape, Layout, RawTensor, Tensor};

/// A tensor whose elements are whatever the memory held.
///
/// # Errors
/// A shape that no tensor can have; out of memory.
///
/// # Safety
/// Every element is written, by work that the caller enqueues next, before any is read.
pub unsafe fn uninit<T: HostElement>(
    ctx: &mut ExecutionContext<'_>,
    shape: impl IntoShape,
) -> Result<Tensor<T>, DeviceError> {
    let layout = Layout::contiguous(shape.into_shape(), T::DTYPE.bytes())?;
    let buffer = ctx.alloc(layout.len() * T::DTYPE.bytes())?;
    Ok(Tensor::from_raw(RawTensor::new(buffer, T::DTYPE, layout)))
}

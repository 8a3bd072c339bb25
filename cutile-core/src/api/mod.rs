//! Functions that make and move tensors without a kernel. `cutile::api` has these and those that compute.

mod create;
mod uninit;

/// The same as the prelude's `zip`.
pub use cuda_async::zip;

pub use create::{
    Filled, FromVec, Random, arange, eye, from_slice, from_vec, full, linspace, ones, rand, randn,
    zeros,
};

pub use uninit::uninit;

use cuda_async::{Device, DeviceOperation, IntoDeviceOperation};

use crate::host::{ReadTensor, Tensor, TensorOperation};

/// A tensor with the elements of `x` on `device`; see [`Tensor::copy_to`].
///
/// ```
/// use cutile_core::{api, prelude::*};
/// # fn main() -> Result<(), DeviceError> {
/// let x = api::copy_to(api::ones::<f32>([2]), &Device::default()).sync()?;
/// assert_eq!(x.to_host_vec().sync()?, [1.0, 1.0]);
/// # Ok(())
/// # }
/// ```
pub fn copy_to<X, I>(
    x: I,
    device: &Device,
) -> impl DeviceOperation<Output = Tensor<X::Element>> + use<X, I>
where
    X: ReadTensor,
    I: IntoDeviceOperation<X>,
{
    x.into_operation().copy_to(device)
}

//! [`SharedTensor`]: what an `Arc<Tensor<T>>` can do beside what the tensor itself can.

use std::sync::Arc;

use cuda_async::{Device, DeviceError, ErrorKind, IntoDeviceOperation, Op, Value};

use super::element::HostElement;
use super::partition::Partition;
use super::read::{ToHostVec, read};
use super::shape::IntoShape;
use super::tensor::Tensor;
use super::transfer::CopyTo;

/// The operation that yields an `Arc` of a tensor at hand.
type Held<T> = Op<Value<Arc<Tensor<T>>>>;

/// Methods of `Arc<Tensor<T>>`. Its operations hold the `Arc`, so they are `'static` and can be spawned; and while nobody
/// else holds it, it can be made a tensor again.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// # fn main() -> Result<(), DeviceError> {
/// let x = api::ones::<f32>([4]).arc().sync()?;
/// let other = x.clone();
/// let x = x.try_unwrap().unwrap_err();
/// drop(other);
/// assert!(x.partition([2]).is_ok());
/// # Ok(())
/// # }
/// ```
pub trait SharedTensor<T: HostElement>: Sized {
    /// The tensor itself.
    ///
    /// # Errors
    /// The `Arc` is given back if others hold it.
    fn try_unwrap(self) -> Result<Tensor<T>, Self>;

    /// [`Tensor::partition`] of the tensor itself.
    ///
    /// # Errors
    /// [`ErrorKind::Shared`] if others hold the `Arc`.
    fn partition(self, tile: impl IntoShape) -> Result<Partition<Tensor<T>>, DeviceError>;

    /// [`Tensor::partition_mut`] of the tensor itself.
    ///
    /// # Errors
    /// [`ErrorKind::Shared`] if others hold the `Arc`.
    fn partition_mut(
        &mut self,
        tile: impl IntoShape,
    ) -> Result<Partition<&mut Tensor<T>>, DeviceError>;

    /// The elements in row-major order, see [`Tensor::to_host_vec`].
    fn to_host_vec(&self) -> Op<ToHostVec<Held<T>>>;

    /// A tensor with the same elements on `device`, see [`Tensor::copy_to`].
    fn copy_to(&self, device: &Device) -> Op<CopyTo<Held<T>>>;
}

impl<T: HostElement> SharedTensor<T> for Arc<Tensor<T>> {
    fn try_unwrap(self) -> Result<Tensor<T>, Self> {
        Arc::try_unwrap(self)
    }

    fn partition(self, tile: impl IntoShape) -> Result<Partition<Tensor<T>>, DeviceError> {
        let tensor = Arc::try_unwrap(self).map_err(|arc| shared(&arc))?;
        Ok(tensor.partition(tile))
    }

    fn partition_mut(
        &mut self,
        tile: impl IntoShape,
    ) -> Result<Partition<&mut Tensor<T>>, DeviceError> {
        let holders = Arc::strong_count(self);
        let tensor = Arc::get_mut(self).ok_or(ErrorKind::Shared { holders })?;
        Ok(tensor.partition_mut(tile))
    }

    fn to_host_vec(&self) -> Op<ToHostVec<Held<T>>> {
        read(Arc::clone(self))
    }

    fn copy_to(&self, device: &Device) -> Op<CopyTo<Held<T>>> {
        Op::new(CopyTo::new(Arc::clone(self).into_operation(), *device))
    }
}

fn shared<T>(arc: &Arc<T>) -> DeviceError {
    ErrorKind::Shared { holders: Arc::strong_count(arc) }.into()
}

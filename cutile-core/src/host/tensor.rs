//! [`Tensor`]: typed device memory with a shape. What runs on a device (creation, copies, launches) is in other files; here
//! is what a tensor is and what can be said about it without asking the device.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cuda_async::{Buffer, Device, DeviceError, DeviceValue, IntoArc};

use super::element::{DType, HostElement};
use super::partition::Partition;
use super::shape::{IntoShape, Layout};
use crate::error::TensorError;

/// A tensor on a device: memory that it owns alone, a shape, and strides.
///
/// A `Tensor` is not `Clone`; share it as `Arc<Tensor<T>>` ([`arc`](Tensor::arc)). It can be dropped at any moment: its
/// memory is given back once all work that uses it is done.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// # fn main() -> Result<(), DeviceError> {
/// let x = api::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]).sync()?;
/// assert_eq!(x.shape(), [2, 3]);
/// assert_eq!(x.strides(), [3, 1]);
/// assert_eq!(x.to_host_vec().sync()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(x.transpose().to_host_vec().sync()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok(())
/// # }
/// ```
pub struct Tensor<T> {
    raw: RawTensor,
    element: PhantomData<T>,
}

/// A tensor without its element type at compile time: what launches and copies work on.
pub struct RawTensor {
    pub(crate) buffer: Buffer,
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
    /// A shape that could not be had; every use reports it.
    invalid: Option<Box<TensorError>>,
}

impl RawTensor {
    pub(crate) fn new(buffer: Buffer, dtype: DType, layout: Layout) -> RawTensor {
        RawTensor { buffer, dtype, layout, invalid: None }
    }

    /// Fails if a reshape before this failed.
    pub(crate) fn check(&self) -> Result<&RawTensor, TensorError> {
        match &self.invalid {
            None => Ok(self),
            Some(error) => Err(TensorError::clone(error)),
        }
    }

    /// Position of element 0 in the buffer, in bytes.
    pub(crate) fn byte_offset(&self) -> usize {
        self.layout.offset * self.dtype.bytes()
    }

    /// Bytes from the first element to the end of the last.
    pub(crate) fn byte_span(&self) -> usize {
        self.layout.span() * self.dtype.bytes()
    }
}

impl<T: HostElement> Tensor<T> {
    pub(crate) fn from_raw(raw: RawTensor) -> Tensor<T> {
        debug_assert_eq!(raw.dtype, T::DTYPE);
        Tensor { raw, element: PhantomData }
    }

    /// The element type as a value.
    pub fn dtype(&self) -> DType {
        T::DTYPE
    }
}

impl<T> Tensor<T> {
    pub(crate) fn raw(&self) -> &RawTensor {
        &self.raw
    }

    /// The extents, outermost axis first.
    pub fn shape(&self) -> &[usize] {
        &self.raw.layout.shape
    }

    /// The distance between neighbours along each axis, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.raw.layout.strides
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.raw.layout.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements stand in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.raw.layout.is_contiguous()
    }

    /// The device that the tensor is on.
    pub fn device(&self) -> Device {
        self.raw.buffer.device()
    }

    /// Fails if a [`reshape`](Tensor::reshape) that led here was not possible.
    ///
    /// # Errors
    /// [`TensorError`], naming both shapes.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.raw.check()?;
        Ok(())
    }

    /// The tensor to be shared: what a kernel's `&Tensor` parameters and several operations at once can read.
    pub fn arc(self) -> Arc<Tensor<T>> {
        Arc::new(self)
    }

    /// The tensor cut into sub-tensors of this shape, the last ones smaller where it does not divide: what a kernel's
    /// `&mut Tensor` parameter takes.
    ///
    /// A shape of another rank, or with a zero in it, is reported by the launch, and by [`Partition::check`] before.
    pub fn partition(self, tile: impl IntoShape) -> Partition<Tensor<T>> {
        Partition::new(self, tile.into_shape())
    }

    /// [`partition`](Tensor::partition) of a borrowed tensor, for as long as the partition lives.
    pub fn partition_mut(&mut self, tile: impl IntoShape) -> Partition<&mut Tensor<T>> {
        Partition::new(self, tile.into_shape())
    }

    /// The same elements in another shape. Nothing is copied.
    ///
    /// A shape with another number of elements, or one of a tensor whose elements are not in row-major order, is kept in the
    /// result: its first use reports it, and [`check`](Tensor::check) does.
    pub fn reshape(mut self, shape: impl IntoShape) -> Tensor<T> {
        if self.raw.invalid.is_none() {
            match self.raw.layout.reshape(shape.into_shape()) {
                Ok(layout) => self.raw.layout = layout,
                Err(error) => self.raw.invalid = Some(Box::new(error)),
            }
        }
        self
    }

    /// The last two axes exchanged; nothing is copied, and below rank 2 nothing changes.
    pub fn transpose(mut self) -> Tensor<T> {
        self.raw.layout = self.raw.layout.transpose();
        self
    }
}

impl<T> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RawTensor { dtype, layout, .. } = &self.raw;
        write!(f, "Tensor<{dtype}>({:?} on {})", layout.shape, self.device())
    }
}

impl<T: HostElement> DeviceValue for Tensor<T> {
    fn device(&self) -> Option<Device> {
        Some(Tensor::device(self))
    }
}

impl<T: HostElement> IntoArc for Tensor<T> {
    type Target = Tensor<T>;

    fn into_arc(self) -> Arc<Tensor<T>> {
        self.arc()
    }
}

//! What operations that yield tensors and partitions can do, beside what every operation can: one extension trait.

use std::sync::Arc;
use std::task::{Poll, ready};

use cuda_async::{Device, DeviceError, DeviceOperation, Execute, ExecutionContext, Hints, Op};

use super::element::HostElement;
use super::partition::{Partition, PartitionTarget};
use super::read::{ReadTensor, ToHostVec};
use super::shape::{IntoShape, Shape};
use super::shared::SharedTensor;
use super::tensor::Tensor;
use super::transfer::CopyTo;

/// Methods of operations that yield tensors (`Tensor`, `Arc<Tensor>`, references) and partitions.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// # fn main() -> Result<(), DeviceError> {
/// let y = api::ones::<f32>([4, 4]).partition([2, 2]);
/// let y = y.unpartition().arc().sync()?;
/// assert_eq!(y.to_host_vec().sync()?, [1.0; 16]);
/// assert_eq!(api::eye::<i32>(2).to_host_vec().sync()?, [1, 0, 0, 1]);
/// # Ok(())
/// # }
/// ```
pub trait TensorOperation: DeviceOperation {
    /// Cuts the tensor that this yields into sub-tensors, see [`Tensor::partition`]. An `Arc` that others hold is an error
    /// of the operation.
    fn partition(self, tile: impl IntoShape) -> Op<Partitioned<Self>>
    where
        Self::Output: IntoPartition,
    {
        Op::new(Partitioned { upstream: self, tile: tile.into_shape() })
    }

    /// The tensor as a whole again, of the partition that this yields.
    fn unpartition<V>(self) -> Op<Unpartitioned<Self>>
    where
        Self: DeviceOperation<Output = Partition<V>>,
        V: PartitionTarget,
    {
        Op::new(Unpartitioned { upstream: self })
    }

    /// The elements of the tensor that this yields, in row-major order.
    fn to_host_vec(self) -> Op<ToHostVec<Self>>
    where
        Self::Output: ReadTensor,
    {
        Op::new(ToHostVec::new(self))
    }

    /// A tensor with the same elements on `device`, see [`Tensor::copy_to`].
    fn copy_to(self, device: &Device) -> Op<CopyTo<Self>>
    where
        Self::Output: ReadTensor,
    {
        Op::new(CopyTo::new(self, *device))
    }

    /// The tensor that this yields in another shape, see [`Tensor::reshape`]; what is not possible is an error of the
    /// operation.
    fn reshape<T: HostElement>(self, shape: impl IntoShape) -> Op<Reshaped<Self>>
    where
        Self: DeviceOperation<Output = Tensor<T>>,
    {
        Op::new(Reshaped { upstream: self, change: Change::Reshape(shape.into_shape()) })
    }

    /// The tensor that this yields with its last two axes exchanged, see [`Tensor::transpose`].
    fn transpose<T: HostElement>(self) -> Op<Reshaped<Self>>
    where
        Self: DeviceOperation<Output = Tensor<T>>,
    {
        Op::new(Reshaped { upstream: self, change: Change::Transpose })
    }
}

impl<O: DeviceOperation> TensorOperation for O {}

/// What can be partitioned.
pub trait IntoPartition: Send {
    /// The partition.
    type Partition: Send;

    /// Partitions it.
    ///
    /// # Errors
    /// If it is an `Arc` that others hold.
    fn into_partition(self, tile: Shape) -> Result<Self::Partition, DeviceError>;
}

impl<T: HostElement> IntoPartition for Tensor<T> {
    type Partition = Partition<Tensor<T>>;

    fn into_partition(self, tile: Shape) -> Result<Self::Partition, DeviceError> {
        Ok(self.partition(tile))
    }
}

impl<'a, T: HostElement> IntoPartition for &'a mut Tensor<T> {
    type Partition = Partition<&'a mut Tensor<T>>;

    fn into_partition(self, tile: Shape) -> Result<Self::Partition, DeviceError> {
        Ok(self.partition_mut(tile))
    }
}

impl<T: HostElement> IntoPartition for Arc<Tensor<T>> {
    type Partition = Partition<Tensor<T>>;

    fn into_partition(self, tile: Shape) -> Result<Self::Partition, DeviceError> {
        SharedTensor::partition(self, tile)
    }
}

/// See [`TensorOperation::partition`].
pub struct Partitioned<O> {
    upstream: O,
    tile: Shape,
}

impl<O: DeviceOperation<Output: IntoPartition>> Execute for Partitioned<O> {
    type Out = <O::Output as IntoPartition>::Partition;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out, DeviceError>> {
        let tensor = ready!(self.upstream.advance(ctx))?;
        Poll::Ready(tensor.into_partition(self.tile.clone()))
    }

    fn hints(&self) -> Hints {
        self.upstream.hints()
    }
}

/// See [`TensorOperation::unpartition`].
pub struct Unpartitioned<O> {
    upstream: O,
}

impl<O, V> Execute for Unpartitioned<O>
where
    O: DeviceOperation<Output = Partition<V>>,
    V: PartitionTarget,
{
    type Out = V;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<V, DeviceError>> {
        Poll::Ready(Ok(ready!(self.upstream.advance(ctx))?.unpartition()))
    }

    fn hints(&self) -> Hints {
        self.upstream.hints()
    }
}

/// See [`TensorOperation::reshape`].
pub struct Reshaped<O> {
    upstream: O,
    change: Change,
}

enum Change {
    Reshape(Shape),
    Transpose,
}

impl<O, T> Execute for Reshaped<O>
where
    O: DeviceOperation<Output = Tensor<T>>,
    T: HostElement,
{
    type Out = Tensor<T>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Tensor<T>, DeviceError>> {
        let tensor = ready!(self.upstream.advance(ctx))?;
        let tensor = match &self.change {
            Change::Reshape(shape) => tensor.reshape(shape),
            Change::Transpose => tensor.transpose(),
        };
        tensor.check()?;
        Poll::Ready(Ok(tensor))
    }

    fn hints(&self) -> Hints {
        self.upstream.hints()
    }
}

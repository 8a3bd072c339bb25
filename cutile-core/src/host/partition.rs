//! [`Partition`]: a tensor cut into sub-tensors, the form in which kernels may write it. Grids are computed here; that the
//! grids of one launch agree is checked in `launch/`.

use std::fmt;
use std::sync::Arc;

use cuda_async::{Device, DeviceError, DeviceValue, IntoArc};

use super::element::HostElement;
use super::shape::Shape;
use super::tensor::{RawTensor, Tensor};
use crate::error::TensorError;

/// A tensor (`Tensor<T>` or `&mut Tensor<T>`) cut into sub-tensors of one shape.
///
/// A kernel runs one tile program for each sub-tensor, and a program writes its own sub-tensor alone: so writes are disjoint
/// by construction. A sub-tensor's shape need not divide the tensor's; the last ones are then smaller.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// # fn main() -> Result<(), DeviceError> {
/// let y = api::zeros::<f32>([16, 10]).sync()?.partition([4, 4]);
/// assert_eq!(y.grid()?, [4, 3]);
/// let y: Tensor<f32> = y.unpartition();
/// assert!(y.partition([4]).check().is_err());
/// # Ok(())
/// # }
/// ```
pub struct Partition<V> {
    value: V,
    tile: Shape,
}

impl<V> Partition<V> {
    pub(crate) fn new(value: V, tile: Shape) -> Partition<V> {
        Partition { value, tile }
    }

    /// The tensor as a whole again.
    pub fn unpartition(self) -> V {
        self.value
    }

    /// The tensor as a whole again: another name of [`unpartition`](Partition::unpartition).
    pub fn unwrap(self) -> V {
        self.value
    }

    /// The shape of a sub-tensor, as it was given.
    pub fn tile_shape(&self) -> &[usize] {
        &self.tile
    }
}

impl<T> Partition<Tensor<T>> {
    /// The tensor as a whole again, to be shared.
    pub fn arc(self) -> Arc<Tensor<T>> {
        self.value.arc()
    }
}

impl<V: PartitionTarget> Partition<V> {
    /// The number of sub-tensors along each axis.
    ///
    /// # Errors
    /// [`TensorError`] if the sub-tensor shape does not go with the tensor's.
    pub fn grid(&self) -> Result<Vec<usize>, DeviceError> {
        Ok(self.raw_grid()?.to_vec())
    }

    /// Fails if the sub-tensor shape does not go with the tensor's.
    ///
    /// # Errors
    /// [`TensorError`], naming both shapes.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.raw_grid()?;
        Ok(())
    }

    /// The shape of the tensor as a whole.
    pub fn shape(&self) -> &[usize] {
        &self.raw().layout.shape
    }

    pub(crate) fn raw(&self) -> &RawTensor {
        sealed::Target::raw(&self.value)
    }

    fn raw_grid(&self) -> Result<Shape, TensorError> {
        grid(&self.raw().check()?.layout.shape, &self.tile)
    }
}

/// The number of tiles along each axis of a tensor.
pub(crate) fn grid(tensor: &[usize], tile: &[usize]) -> Result<Shape, TensorError> {
    if tensor.len() != tile.len() {
        return Err(TensorError::PartitionRank { tensor: tensor.to_vec(), tile: tile.to_vec() });
    }
    if let Some(axis) = tile.iter().position(|extent| *extent == 0) {
        return Err(TensorError::PartitionZero { tile: tile.to_vec(), axis });
    }
    Ok(tensor.iter().zip(tile).map(|(extent, tile)| extent.div_ceil(*tile)).collect())
}

mod sealed {
    use super::RawTensor;

    pub trait Target {
        fn raw(&self) -> &RawTensor;
    }
}

/// What can stand in a [`Partition`]: `Tensor<T>` and `&mut Tensor<T>`.
pub trait PartitionTarget: sealed::Target + Send {}

impl<T> sealed::Target for Tensor<T> {
    fn raw(&self) -> &RawTensor {
        Tensor::raw(self)
    }
}

impl<T> sealed::Target for &mut Tensor<T> {
    fn raw(&self) -> &RawTensor {
        Tensor::raw(self)
    }
}

impl<T: Send> PartitionTarget for Tensor<T> {}
impl<T: Send> PartitionTarget for &mut Tensor<T> {}

impl<V: PartitionTarget> DeviceValue for Partition<V> {
    fn device(&self) -> Option<Device> {
        Some(self.raw().buffer.device())
    }
}

impl<T: HostElement> IntoArc for Partition<Tensor<T>> {
    type Target = Tensor<T>;

    fn into_arc(self) -> Arc<Tensor<T>> {
        self.arc()
    }
}

impl<V: fmt::Debug> fmt::Debug for Partition<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partition({:?} by {:?})", self.value, self.tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ragged_ends_count() {
        assert_eq!(grid(&[16, 10], &[4, 4]).unwrap()[..], [4, 3]);
        assert_eq!(grid(&[0, 10], &[4, 4]).unwrap()[..], [0, 3]);
        assert_eq!(grid(&[], &[]).unwrap().len(), 0);
        assert_eq!(grid(&[usize::MAX], &[2]).unwrap()[..], [usize::MAX / 2 + 1]);
    }

    #[test]
    fn bad_tiles_are_named() {
        assert!(matches!(grid(&[4], &[4, 4]), Err(TensorError::PartitionRank { .. })));
        assert!(matches!(grid(&[4, 4], &[4, 0]), Err(TensorError::PartitionZero { axis: 1, .. })));
    }
}

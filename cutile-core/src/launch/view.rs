//! [`Viewed`]: a tensor argument in another shape than its owner's, without moving an element. For functions that launch one
//! kernel on tensors of any shape; users reshape their tensors themselves.

use std::marker::PhantomData;

use cuda_async::{Device, DeviceValue};

use super::args::{Arg, AsTensor, SealedArg};
use crate::error::TensorError;
use crate::host::{HostElement, Layout, RawTensor, Read, ReadTensor, Shape, Tensor};

/// A tensor argument seen in another shape. It holds what was given, so that nobody writes the tensor meanwhile.
pub struct Viewed<X, T> {
    given: X,
    raw: RawTensor,
    element: PhantomData<T>,
}

impl<X: AsTensor<T>, T: HostElement> Viewed<X, T> {
    /// `given` seen in the layout that `layout` makes of its own, if it makes one.
    fn new(given: X, layout: impl FnOnce(&Layout) -> Option<Layout>) -> Result<Self, X> {
        let tensor = given.raw_tensor().check().ok();
        let raw = tensor.and_then(|tensor| {
            Some(RawTensor::new(tensor.buffer.clone(), T::DTYPE, layout(&tensor.layout)?))
        });
        match raw {
            Some(raw) => Ok(Viewed { given, raw, element: PhantomData }),
            None => Err(given),
        }
    }

    /// The elements in row-major order as one axis.
    ///
    /// # Errors
    /// What was given, if its elements are not in row-major order.
    pub fn flat(given: X) -> Result<Self, X> {
        Viewed::new(given, |layout| layout.reshape(Shape::from_slice(&[layout.len()])).ok())
    }

    /// A copy of the given tensor as one axis, for a tensor whose elements are not in row-major order.
    pub fn flat_copy(given: X, copy: &Tensor<T>) -> Self {
        let raw = copy.raw();
        let (offset, len) = (raw.layout.offset, raw.layout.len());
        let layout =
            Layout { offset, shape: Shape::from_slice(&[len]), strides: Shape::from_slice(&[1]) };
        Viewed {
            given,
            raw: RawTensor::new(raw.buffer.clone(), T::DTYPE, layout),
            element: PhantomData,
        }
    }

    /// The axes before the last two as one: rank 3, whatever the tensor's rank is.
    ///
    /// # Errors
    /// A tensor that a reshape left without a shape, or whose outer axes are not in row-major order among themselves.
    pub fn matrices(given: X) -> Result<Self, TensorError> {
        Viewed::new(given, matrices).map_err(|given| {
            let tensor = given.raw_tensor();
            tensor.check().err().unwrap_or_else(|| TensorError::ReshapeStrided {
                from: tensor.layout.shape.to_vec(),
                strides: tensor.layout.strides.to_vec(),
                to: vec![tensor.layout.len()],
            })
        })
    }

    /// The shape of what was given.
    pub fn given_shape(&self) -> &[usize] {
        self.given.shape_of()
    }

    /// What was given.
    pub fn into_given(self) -> X {
        self.given
    }
}

fn matrices(layout: &Layout) -> Option<Layout> {
    let outer = layout.shape.len().saturating_sub(2);
    let (shape, strides) = (&layout.shape[..outer], &layout.strides[..outer]);
    let consistent = (1..outer).all(|axis| strides[axis - 1] == strides[axis] * shape[axis]);
    let mut merged = Layout {
        offset: layout.offset,
        shape: Shape::from_slice(&[shape.iter().product()]),
        strides: Shape::from_slice(&[strides.last().copied().unwrap_or(0)]),
    };
    for _ in layout.shape.len()..2 {
        merged.shape.push(1);
        merged.strides.push(1);
    }
    merged.shape.extend_from_slice(&layout.shape[outer..]);
    merged.strides.extend_from_slice(&layout.strides[outer..]);
    consistent.then_some(merged)
}

impl<X: AsTensor<T>, T: HostElement> SealedArg for Viewed<X, T> {
    fn arg(&self) -> Arg<'_> {
        Arg::Tensor(&self.raw)
    }
}

impl<X: AsTensor<T>, T: HostElement> Read for Viewed<X, T> {
    fn raw_tensor(&self) -> &RawTensor {
        &self.raw
    }
}

impl<X: AsTensor<T>, T: HostElement> ReadTensor for Viewed<X, T> {
    type Element = T;
}

impl<X: AsTensor<T>, T: HostElement> AsTensor<T> for Viewed<X, T> {}

impl<X: AsTensor<T>, T: HostElement> DeviceValue for Viewed<X, T> {
    fn device(&self) -> Option<Device> {
        Some(self.raw.buffer.device())
    }
}

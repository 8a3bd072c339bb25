//! Tensors from nothing or from host data. Constants are fills on the device; everything else is computed on the host, by
//! position, and copied: the same bits on every device.
//!
//! Operations that are given a shape or data have types with names: opaque ones would borrow the slices that they were given.

use std::task::Poll;

use cuda_async::{DeviceError, DeviceOperation, Execute, ExecutionContext, Op, with_context};

use super::uninit::uninit;
use crate::error::TensorError;
use crate::host::{HostElement, HostFloat, HostNumber, IntoShape, Layout, Shape, Tensor, random};

/// A tensor of zeros (`false` for `bool`).
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert_eq!(api::zeros::<i32>([2, 2]).to_host_vec().sync()?, [0; 4]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn zeros<T: HostElement>(shape: impl IntoShape) -> Op<Filled<T>> {
    full(T::ZERO, shape)
}

/// A tensor of ones (`true` for `bool`).
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert_eq!(api::ones::<f32>([3]).to_host_vec().sync()?, [1.0; 3]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn ones<T: HostElement>(shape: impl IntoShape) -> Op<Filled<T>> {
    full(T::ONE, shape)
}

/// A tensor whose elements are all `value`.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert_eq!(api::full(2.5f64, [2]).to_host_vec().sync()?, [2.5, 2.5]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn full<T: HostElement>(value: T, shape: impl IntoShape) -> Op<Filled<T>> {
    Op::new(Filled { value, shape: shape.into_shape() })
}

/// See [`full`].
#[derive(Debug, Clone)]
pub struct Filled<T> {
    value: T,
    shape: Shape,
}

impl<T: HostElement> Execute for Filled<T> {
    type Out = Tensor<T>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Tensor<T>, DeviceError>> {
        let (value, shape) = (self.value, std::mem::take(&mut self.shape));
        Poll::Ready(match pattern(value) {
            Some((pattern, width)) => filled(ctx, shape, pattern, width),
            None => computed(ctx, shape, |elements, count| {
                elements.resize(count, value);
                Ok(())
            }),
        })
    }
}

fn filled<T: HostElement>(
    ctx: &mut ExecutionContext<'_>,
    shape: Shape,
    pattern: u32,
    width: usize,
) -> Result<Tensor<T>, DeviceError> {
    // SAFETY: filled as a whole by the next lines.
    let tensor: Tensor<T> = unsafe { uninit(ctx, shape) }?;
    let patterns = tensor.len() * T::DTYPE.bytes() / width;
    ctx.fill(&tensor.raw().buffer, 0, pattern, width, patterns)?;
    Ok(tensor)
}

/// The numbers 0, 1, ... `n - 1`. For integer types `n - 1` must fit; floats round.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert_eq!(api::arange::<u8>(3).to_host_vec().sync()?, [0, 1, 2]);
/// assert!(api::arange::<u8>(257).sync().is_err());
/// # Ok::<(), DeviceError>(())
/// ```
pub fn arange<T: HostNumber>(n: usize) -> impl DeviceOperation<Output = Tensor<T>> {
    with_context(move |ctx| {
        computed(ctx, [n].into_shape(), |elements, n| {
            (0..n).try_for_each(|i| {
                elements.push(T::from_index(i).ok_or(TensorError::Range { n, dtype: T::DTYPE })?);
                Ok(())
            })
        })
    })
}

/// `n` numbers at equal distances from `start` to `stop`, both included; for `n = 1`, `start`.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert_eq!(api::linspace(0.0f32, 1.0, 5).to_host_vec().sync()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn linspace<T: HostFloat>(
    start: T,
    stop: T,
    n: usize,
) -> impl DeviceOperation<Output = Tensor<T>> {
    with_context(move |ctx| {
        computed(ctx, [n].into_shape(), |elements, n| {
            let (a, b) = (start.to_f64(), stop.to_f64());
            let last = n.saturating_sub(1);
            elements.extend((0..n).map(|i| match i {
                0 => start,
                i if i == last => stop,
                i => T::from_f64(a + (b - a) * (i as f64 / last as f64)),
            }));
            Ok(())
        })
    })
}

/// The `n` by `n` identity matrix.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert_eq!(api::eye::<f32>(2).to_host_vec().sync()?, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn eye<T: HostElement>(n: usize) -> impl DeviceOperation<Output = Tensor<T>> {
    with_context(move |ctx| {
        computed(ctx, [n, n].into_shape(), |elements, count| {
            elements.resize(count, T::ZERO);
            elements.iter_mut().step_by(n + 1).for_each(|element| *element = T::ONE);
            Ok(())
        })
    })
}

/// Uniform random numbers in [0, 1): Philox-4x32-10 keyed by `seed` and the element's position, so the same everywhere.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// let x = api::rand::<f32>([100], 7).to_host_vec().sync()?;
/// assert!(x.iter().all(|v| (0.0..1.0).contains(v)));
/// assert_eq!(x, api::rand::<f32>([10, 10], 7).to_host_vec().sync()?);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn rand<T: HostFloat>(shape: impl IntoShape, seed: u64) -> Op<Random<T>> {
    Op::new(Random { shape: shape.into_shape(), seed, numbers: random::uniforms })
}

/// Normal random numbers with mean 0 and standard deviation 1, from the same generator as [`rand`].
///
/// ```
/// use cutile_core::{api, prelude::*};
/// let x = api::randn::<f64>([1000], 7).to_host_vec().sync()?;
/// assert!((x.iter().sum::<f64>() / 1000.0).abs() < 0.2);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn randn<T: HostFloat>(shape: impl IntoShape, seed: u64) -> Op<Random<T>> {
    Op::new(Random { shape: shape.into_shape(), seed, numbers: random::normals })
}

/// See [`rand`] and [`randn`].
#[derive(Debug, Clone)]
pub struct Random<T> {
    shape: Shape,
    seed: u64,
    /// Appends so many numbers for a seed.
    numbers: fn(&mut Vec<T>, usize, u64),
}

impl<T: HostFloat> Execute for Random<T> {
    type Out = Tensor<T>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Tensor<T>, DeviceError>> {
        let Random { seed, numbers, .. } = *self;
        Poll::Ready(computed(ctx, std::mem::take(&mut self.shape), |elements, count| {
            numbers(elements, count, seed);
            Ok(())
        }))
    }
}

/// A tensor with these elements, in row-major order. The slice is copied by this call.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// let x = api::from_slice(&[1, 2, 3, 4], [2, 2]).sync()?;
/// assert_eq!((x.shape(), x.dtype()), (&[2, 2][..], DType::I32));
/// # Ok::<(), DeviceError>(())
/// ```
pub fn from_slice<T: HostElement>(data: &[T], shape: impl IntoShape) -> Op<FromVec<T>> {
    from_vec(data.to_vec(), shape)
}

/// A tensor with these elements, in row-major order.
///
/// ```
/// use cutile_core::{api, prelude::*};
/// assert!(api::from_vec(vec![1.0f32; 3], [2, 2]).sync().unwrap_err().to_string().contains("3 elements"));
/// ```
pub fn from_vec<T: HostElement>(data: Vec<T>, shape: impl IntoShape) -> Op<FromVec<T>> {
    Op::new(FromVec { data, shape: shape.into_shape() })
}

/// See [`from_vec`].
#[derive(Debug, Clone)]
pub struct FromVec<T> {
    data: Vec<T>,
    shape: Shape,
}

impl<T: HostElement> Execute for FromVec<T> {
    type Out = Tensor<T>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Tensor<T>, DeviceError>> {
        let (data, shape) = (std::mem::take(&mut self.data), std::mem::take(&mut self.shape));
        Poll::Ready(uploaded(ctx, shape, data))
    }
}

fn uploaded<T: HostElement>(
    ctx: &mut ExecutionContext<'_>,
    shape: Shape,
    data: Vec<T>,
) -> Result<Tensor<T>, DeviceError> {
    // Before anything is allocated: the shape may be impossible.
    let layout = Layout::contiguous(shape.clone(), T::DTYPE.bytes())?;
    if data.len() != layout.len() {
        return Err(TensorError::DataLength { given: data.len(), shape: shape.to_vec() }.into());
    }
    // SAFETY: uploaded as a whole by the next line.
    let tensor: Tensor<T> = unsafe { uninit(ctx, shape) }?;
    ctx.upload_vec(&tensor.raw().buffer, 0, data)?;
    Ok(tensor)
}

/// A tensor of elements that the host computes: `elements` appends as many as it is told to an empty vector.
fn computed<T: HostElement>(
    ctx: &mut ExecutionContext<'_>,
    shape: Shape,
    elements: impl FnOnce(&mut Vec<T>, usize) -> Result<(), TensorError>,
) -> Result<Tensor<T>, DeviceError> {
    // SAFETY: uploaded as a whole below.
    let tensor: Tensor<T> = unsafe { uninit(ctx, shape) }?;
    let count = tensor.len();
    let mut data = Vec::new();
    data.try_reserve_exact(count).map_err(|_| TensorError::HostMemory {
        shape: tensor.shape().to_vec(),
        bytes: count * T::DTYPE.bytes(),
    })?;
    elements(&mut data, count)?;
    debug_assert_eq!(data.len(), count);
    ctx.upload_vec(&tensor.raw().buffer, 0, data)?;
    Ok(tensor)
}

/// The value as a pattern that a device can repeat, 1, 2 or 4 bytes wide, if it is one.
fn pattern<T: HostElement>(value: T) -> Option<(u32, usize)> {
    let bits = value.bits();
    match T::DTYPE.bytes() {
        8 if bits >> 32 == bits & 0xffff_ffff => Some((bits as u32, 4)),
        8 => None,
        width => Some((bits as u32, width)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_values_are_patterns_only_where_their_halves_agree() {
        assert_eq!(pattern(0.0f64), Some((0, 4)));
        assert_eq!(pattern(-1i64), Some((u32::MAX, 4)));
        assert_eq!(pattern(1i64), None);
        assert_eq!(pattern(1.0f32), Some((0x3f80_0000, 4)));
        assert_eq!(pattern(true), Some((1, 1)));
    }
}

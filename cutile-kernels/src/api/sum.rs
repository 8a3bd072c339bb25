//! The sum of all elements.

use cutile_core::cuda_async::{DeviceOperation, IntoDeviceOperation, with_context};
use cutile_core::launch::{AsTensor, Viewed};
use cutile_core::{HostNumber, ReadTensor, Tensor, api};
use half::{bf16, f16};

use super::flat::flat;
use crate::kernels::reduce;

/// Elements that a program of the first stage adds at once; as in the kernel.
const TILE: usize = 1024;
/// Programs of the first stage at most.
const PROGRAMS: usize = 1024;

/// Numbers that can be summed, and in which precision.
pub trait Sum: HostNumber {
    /// The type of partial sums: `f32` for the 16-bit floats, otherwise the type itself.
    type Accumulator: HostNumber;
}

macro_rules! sums {
    ($($t:ty => $accumulator:ty),*) => { $(impl Sum for $t { type Accumulator = $accumulator; })* };
}
sums!(f64 => f64, f32 => f32, f16 => f32, bf16 => f32);
sums!(i8 => i8, i16 => i16, i32 => i32, i64 => i64, u8 => u8, u16 => u16, u32 => u32, u64 => u64);

/// The sum of all elements, as a tensor of rank 0. Integers wrap; 16-bit floats are summed in f32; the order is fixed. The
/// sum of nothing is 0.
///
/// ```
/// use cutile_core::cuda_async::DeviceOperation;
/// use cutile_core::TensorOperation;
/// use cutile_kernels::api;
/// let total = api::sum(api::arange::<i32>(101)).sync()?;
/// assert!(total.shape().is_empty());
/// assert_eq!(total.to_host_vec().sync()?, [5050]);
/// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
/// ```
pub fn sum<T, X>(x: impl IntoDeviceOperation<X>) -> impl DeviceOperation<Output = Tensor<T>>
where
    T: Sum,
    X: AsTensor<T>,
{
    flat(x)
        .then(|x: Viewed<X, T>| {
            with_context(move |ctx| {
                let programs = x.shape_of()[0].div_ceil(TILE).clamp(1, PROGRAMS);
                // SAFETY: each program of the launch writes its element.
                let partial: Tensor<T::Accumulator> = unsafe { api::uninit(ctx, [programs]) }?;
                Ok((x, partial.partition([1])))
            })
        })
        .apply(|x, partial| reduce::partial_sums(x, partial))
        .then(|(_, partial)| {
            with_context(move |ctx| {
                // SAFETY: the launch writes the one element.
                let total: Tensor<T> = unsafe { api::uninit(ctx, [1]) }?;
                Ok((partial.unpartition(), total.partition([1])))
            })
        })
        .apply(|partial, total| reduce::total(partial, total))
        .map(|(_, total)| total.unpartition().reshape([]))
}

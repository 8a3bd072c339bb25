//! The product of two matrices.

use cutile_core::cuda_async::{DeviceOperation, IntoDeviceOperation, with_context, zip};
use cutile_core::launch::AsTensor;
use cutile_core::{HostNumber, Partition, Tensor, TensorError, api};
use half::{bf16, f16};

use crate::kernels::matmul as kernels;

/// Numbers whose matrices can be multiplied.
pub trait MatMul: HostNumber {
    /// Sub-tensors of the product: what one program's registers hold.
    const TILE: [usize; 2];

    /// Launches the kernel for this type: `c = a * b`.
    fn launch<A: AsTensor<Self>, B: AsTensor<Self>>(
        a: A,
        b: B,
        c: Partition<Tensor<Self>>,
    ) -> impl DeviceOperation<Output = (A, B, Partition<Tensor<Self>>)>;
}

macro_rules! products {
    ($($kernel:ident, $tile:literal: $($t:ty),*;)*) => {$($(
        impl MatMul for $t {
            const TILE: [usize; 2] = [$tile, $tile];

            fn launch<A: AsTensor<Self>, B: AsTensor<Self>>(
                a: A,
                b: B,
                c: Partition<Tensor<Self>>,
            ) -> impl DeviceOperation<Output = (A, B, Partition<Tensor<Self>>)> {
                kernels::$kernel(a, b, c)
            }
        }
    )*)*};
}
products! {
    double_precision, 32: f64;
    summed_in_f32, 32: f32, f16, bf16;
    integer, 32: i8, i16, i32, i64, u8, u16, u32, u64;
}

/// The product of an `[m, k]` and a `[k, n]` tensor, of any strides. f32 is multiplied as f32; 16-bit floats are summed in
/// f32; integers wrap.
///
/// ```
/// use cutile_core::cuda_async::DeviceOperation;
/// use cutile_core::TensorOperation;
/// use cutile_kernels::api;
/// let a = api::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [2, 2]);
/// let b = api::from_slice(&[1.0f32, 0.0, 1.0, 1.0], [2, 2]);
/// assert_eq!(api::matmul(a, b).to_host_vec().sync()?, [3.0, 2.0, 7.0, 4.0]);
/// assert!(api::matmul(api::ones::<f32>([2, 3]), api::ones::<f32>([2, 3])).sync().is_err());
/// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
/// ```
pub fn matmul<T, A, B>(
    a: impl IntoDeviceOperation<A>,
    b: impl IntoDeviceOperation<B>,
) -> impl DeviceOperation<Output = Tensor<T>>
where
    T: MatMul,
    A: AsTensor<T>,
    B: AsTensor<T>,
{
    zip((a, b))
        .apply(|a: A, b: B| {
            with_context(move |ctx| {
                let (left, right) = (a.shape_of(), b.shape_of());
                let shape = match (left, right) {
                    ([m, k], [other, n]) if k == other => [*m, *n],
                    _ => {
                        let (left, right) = (left.to_vec(), right.to_vec());
                        return Err(TensorError::Matmul { left, right }.into());
                    }
                };
                // SAFETY: the launch writes every element.
                let c: Tensor<T> = unsafe { api::uninit(ctx, shape) }?;
                Ok((a, b, c.partition(T::TILE)))
            })
        })
        .apply(|a, b, c| T::launch(a, b, c))
        .map(|(_, _, c)| c.unpartition())
}

//! The product of two matrices.

use cutile_core::cuda_async::{DeviceOperation, IntoDeviceOperation, with_context, zip};
use cutile_core::launch::AsTensor;
use cutile_core::{HostNumber, Partition, Tensor, TensorError, api};
use half::{bf16, f16};

use crate::kernels::matmul as kernels;

/// Numbers whose matrices can be multiplied.
pub trait MatMul: HostNumber {
    /// Extents of the square tiles of the product that a program may compute, largest first.
    const TILES: &'static [usize];

    /// Launches the kernel for this type: `c = a * b`.
    fn launch<A: AsTensor<Self>, B: AsTensor<Self>>(
        a: A,
        b: B,
        c: Partition<Tensor<Self>>,
    ) -> impl DeviceOperation<Output = (A, B, Partition<Tensor<Self>>)>;
}

macro_rules! products {
    ($($kernel:ident, $tiles:expr, $($t:ty),*;)*) => {$($(
        impl MatMul for $t {
            const TILES: &'static [usize] = &$tiles;

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
    double_precision, [32], f64;
    summed_in_f32, [128, 64, 32], f32, f16, bf16;
    integer, [32], i8, i16, i32, i64, u8, u16, u32, u64;
}

/// Programs that keep a GPU busy: about as many as it has multiprocessors.
const BUSY: usize = 128;

/// The largest tile with which there are enough programs, else the smallest: larger ones read their operands less often.
fn tile<T: MatMul>([m, n]: [usize; 2]) -> [usize; 2] {
    let programs = |tile: usize| m.div_ceil(tile).saturating_mul(n.div_ceil(tile));
    let enough = T::TILES.iter().copied().find(|tile| programs(*tile) >= BUSY);
    [enough.or(T::TILES.last().copied()).unwrap_or(1); 2]
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
                Ok((a, b, c.partition(tile::<T>(shape))))
            })
        })
        .apply(|a, b, c| T::launch(a, b, c))
        .map(|(_, _, c)| c.unpartition())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;
    use cutile_core::TensorOperation;

    #[test]
    fn tiles_grow_with_the_product() {
        for (shape, expected) in [
            ([0, 5], 32),
            ([512, 512], 32),
            ([1024, 1024], 64),
            ([65, 64 * 64], 64),
            ([2048, 2048], 128),
            ([100, usize::MAX], 128),
        ] {
            assert_eq!(tile::<f32>(shape), [expected; 2], "{shape:?}");
            assert_eq!(tile::<i32>(shape), [32; 2], "{shape:?}");
        }
    }

    #[test]
    fn products_are_right_with_every_tile() {
        for n in [100usize, 800, 1500] {
            // Small integers: sums are exact.
            let x: Vec<f32> = (0..n * 3).map(|i| (i % 7) as f32 - 3.0).collect();
            let y: Vec<f32> = (0..3 * n).map(|i| (i % 5) as f32 - 2.0).collect();
            let product = api::matmul(api::from_slice(&x, [n, 3]), api::from_slice(&y, [3, n]));
            let found = product.to_host_vec().sync().unwrap();
            let exact =
                |i: usize, j: usize| (0..3).map(|k| x[i * 3 + k] * y[k * n + j]).sum::<f32>();
            let wrong = (0..n * n).find(|at| found[*at] != exact(at / n, at % n));
            assert_eq!((found.len(), wrong), (n * n, None), "{n}: place of a wrong element");
        }
    }
}

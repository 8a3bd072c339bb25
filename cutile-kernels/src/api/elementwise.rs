//! Functions that work element by element, on tensors of equal shape.

use cutile_core::cuda_async::{DeviceOperation, IntoDeviceOperation, with_context, zip};
use cutile_core::launch::{AsTensor, Viewed};
use cutile_core::{HostNumber, Partition, ReadTensor, Tensor, TensorError, api};

use super::flat::flat;
use crate::kernels::elementwise;

/// Elements of a sub-tensor: what one tile program computes.
const TILE: [usize; 1] = [1024];

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        pub fn $name<T, X, Y>(
            x: impl IntoDeviceOperation<X>,
            y: impl IntoDeviceOperation<Y>,
        ) -> impl DeviceOperation<Output = Tensor<T>>
        where
            T: HostNumber,
            X: AsTensor<T>,
            Y: AsTensor<T>,
        {
            pair(stringify!($name), x, y)
                .apply(|x, y, z| elementwise::$name(x, y, z))
                .map(|(x, _, z)| shaped_like(&x, z))
        }
    )*};
}

binary! {
    /// x + y.
    ///
    /// ```
    /// use cutile_core::cuda_async::DeviceOperation;
    /// use cutile_core::TensorOperation;
    /// use cutile_kernels::api;
    /// let z = api::add(api::ones::<f32>([2, 2]), api::full(2.0, [2, 2]));
    /// assert_eq!(z.to_host_vec().sync()?, [3.0; 4]);
    /// assert!(api::add(api::ones::<f32>([2]), api::ones::<f32>([3])).sync().is_err());
    /// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
    /// ```
    add
    /// x - y.
    ///
    /// ```
    /// use cutile_core::cuda_async::DeviceOperation;
    /// use cutile_core::TensorOperation;
    /// use cutile_kernels::api;
    /// assert_eq!(api::sub(api::arange::<i32>(3), api::ones::<i32>([3])).to_host_vec().sync()?, [-1, 0, 1]);
    /// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
    /// ```
    sub
    /// x * y.
    ///
    /// ```
    /// use cutile_core::cuda_async::DeviceOperation;
    /// use cutile_core::TensorOperation;
    /// use cutile_kernels::api;
    /// let x = api::arange::<f64>(3).sync()?;
    /// assert_eq!(api::mul(&x, &x).to_host_vec().sync()?, [0.0, 1.0, 4.0]);
    /// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
    /// ```
    mul
    /// x / y. Integers truncate, and division by zero is a fault.
    ///
    /// ```
    /// use cutile_core::cuda_async::DeviceOperation;
    /// use cutile_core::TensorOperation;
    /// use cutile_kernels::api;
    /// let quotients = api::div(api::full(-7, [2]), api::from_slice(&[2, -2], [2]));
    /// assert_eq!(quotients.to_host_vec().sync()?, [-3, 3]);
    /// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
    /// ```
    div
    /// The larger of x and y; NaN where either is.
    ///
    /// ```
    /// use cutile_core::cuda_async::DeviceOperation;
    /// use cutile_core::TensorOperation;
    /// use cutile_kernels::api;
    /// let x = api::from_slice(&[1.0, -2.0, f32::NAN], [3]);
    /// let larger = api::maximum(x, api::zeros::<f32>([3])).to_host_vec().sync()?;
    /// assert!(larger[..2] == [1.0, 0.0] && larger[2].is_nan());
    /// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
    /// ```
    maximum
}

/// x where it is not below 0, else 0; NaN stays.
///
/// ```
/// use cutile_core::cuda_async::DeviceOperation;
/// use cutile_core::TensorOperation;
/// use cutile_kernels::api;
/// assert_eq!(api::relu(api::from_slice(&[1.5f32, -2.0], [2])).to_host_vec().sync()?, [1.5, 0.0]);
/// # Ok::<(), cutile_core::cuda_async::DeviceError>(())
/// ```
pub fn relu<T, X>(x: impl IntoDeviceOperation<X>) -> impl DeviceOperation<Output = Tensor<T>>
where
    T: HostNumber,
    X: AsTensor<T>,
{
    let arguments = flat(x).then(|x: Viewed<X, T>| {
        with_context(move |ctx| {
            // SAFETY: the launch writes every element.
            let z: Tensor<T> = unsafe { api::uninit(ctx, x.shape_of()) }?;
            Ok((x, z.partition(TILE)))
        })
    });
    arguments.apply(|x, z| elementwise::relu(x, z)).map(|(x, z)| shaped_like(&x, z))
}

/// Yields two tensors of equal shape, flat, and memory for a result.
#[allow(clippy::type_complexity, reason = "the arguments of a launch, one by one")]
fn pair<T, X, Y>(
    function: &'static str,
    x: impl IntoDeviceOperation<X>,
    y: impl IntoDeviceOperation<Y>,
) -> impl DeviceOperation<Output = (Viewed<X, T>, Viewed<Y, T>, Partition<Tensor<T>>)>
where
    T: HostNumber,
    X: AsTensor<T>,
    Y: AsTensor<T>,
{
    zip((flat(x), flat(y))).apply(move |x: Viewed<X, T>, y: Viewed<Y, T>| {
        with_context(move |ctx| {
            let (left, right) = (x.given_shape(), y.given_shape());
            if left != right {
                let (left, right) = (left.to_vec(), right.to_vec());
                return Err(TensorError::ShapesDiffer { function, left, right }.into());
            }
            // SAFETY: the launch writes every element.
            let z: Tensor<T> = unsafe { api::uninit(ctx, x.shape_of()) }?;
            Ok((x, y, z.partition(TILE)))
        })
    })
}

/// The result of a flat launch, in the shape of the argument.
fn shaped_like<T, X>(x: &Viewed<X, T>, z: Partition<Tensor<T>>) -> Tensor<T>
where
    T: HostNumber,
    X: AsTensor<T>,
{
    z.unpartition().reshape(x.given_shape())
}

//! Plain values as operations, and what may stand where an operation is wanted.

use std::sync::Arc;
use std::task::Poll;

use crate::context::ExecutionContext;
use crate::device::Device;
use crate::error::Result;
use crate::operation::{DeviceOperation, Execute, Op, advanced_after_ready};
use crate::schedule::Hints;

/// A plain value that may enter an operation: scalars, references, `Arc`s, vectors, tuples; other
/// crates add their own (tensors).
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't enter an operation as a plain value",
    label = "neither an operation nor a `DeviceValue`",
    note = "operations take scalars, `Arc`s, references, vectors and tuples of these, tensors, and \
            other operations"
)]
pub trait DeviceValue: Send {
    /// The device that the value lives on, if it lives on one; the default scheduling follows it.
    fn device(&self) -> Option<Device> {
        None
    }
}

macro_rules! plain {
    ($($t:ty),*) => { $(impl DeviceValue for $t {})* };
}
plain!(f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool, char);
plain!((), String, &'static str);

#[cfg(feature = "half")]
plain!(half::f16, half::bf16);

impl DeviceValue for crate::Buffer {
    fn device(&self) -> Option<Device> {
        Some(crate::Buffer::device(self))
    }
}

impl<T: DeviceValue + Sync> DeviceValue for Arc<T> {
    fn device(&self) -> Option<Device> {
        T::device(self)
    }
}

impl<T: DeviceValue + Sync> DeviceValue for &T {
    fn device(&self) -> Option<Device> {
        T::device(self)
    }
}

impl<T: DeviceValue> DeviceValue for &mut T {
    fn device(&self) -> Option<Device> {
        T::device(self)
    }
}

impl<T: DeviceValue> DeviceValue for Option<T> {
    fn device(&self) -> Option<Device> {
        self.as_ref().and_then(T::device)
    }
}

impl<T: DeviceValue> DeviceValue for Vec<T> {
    fn device(&self) -> Option<Device> {
        self.iter().find_map(T::device)
    }
}

impl<T: DeviceValue, const N: usize> DeviceValue for [T; N] {
    fn device(&self) -> Option<Device> {
        self.iter().find_map(T::device)
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),+))*) => { $(
        impl<$($t: DeviceValue),+> DeviceValue for ($($t,)+) {
            fn device(&self) -> Option<Device> {
                None$(.or_else(|| self.$i.device()))+
            }
        }
    )* };
}
tuples! {
    (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5) (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

/// What may stand where an operation that yields `T` is wanted: such an operation, or a plain `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `{T}` nor an operation that yields one",
    label = "expected `{T}` or an operation with `Output = {T}`"
)]
pub trait IntoDeviceOperation<T: Send>: Send {
    /// The operation.
    type Operation: DeviceOperation<Output = T>;

    /// Makes the operation.
    fn into_operation(self) -> Self::Operation;
}

impl<T: DeviceValue> IntoDeviceOperation<T> for T {
    type Operation = Op<Value<T>>;

    fn into_operation(self) -> Self::Operation {
        Op::new(Value { device: self.device(), value: Some(self) })
    }
}

impl<K: Execute> IntoDeviceOperation<K::Out> for Op<K> {
    type Operation = Op<K>;

    fn into_operation(self) -> Op<K> {
        self
    }
}

/// Yields a given value.
#[derive(Debug, Clone)]
pub struct Value<T> {
    device: Option<Device>,
    value: Option<T>,
}

/// An operation that yields `value` and does nothing.
///
/// ```
/// # use cuda_async::prelude::*;
/// assert_eq!(value(5).sync()?, 5);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn value<T: Send>(value: T) -> Op<Value<T>> {
    Op::new(Value { device: None, value: Some(value) })
}

impl<T: Send> Execute for Value<T> {
    type Out = T;

    fn advance(&mut self, _: &mut ExecutionContext<'_>) -> Poll<Result<T>> {
        match self.value.take() {
            Some(value) => Poll::Ready(Ok(value)),
            None => advanced_after_ready(),
        }
    }

    fn hints(&self) -> Hints {
        Hints { device: self.device, ..Hints::default() }
    }
}

//! `boxed`: an operation without its type.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::{DeviceError, Result};
use crate::operation::{DeviceOperation, Execute, Op, Output};
use crate::schedule::Hints;

/// An operation that yields `T`, its type hidden in a box.
///
/// ```
/// use cuda_async::prelude::*;
///
/// let ops: Vec<BoxedOperation<'static, i32>> = vec![value(1).boxed(), value(2).map(|n| n * 10).boxed()];
/// assert_eq!(join(ops).sync()?, [1, 20]);
/// # Ok::<(), DeviceError>(())
/// ```
pub type BoxedOperation<'a, T> = Op<Boxed<'a, T>>;

/// See [`DeviceOperation::boxed`].
pub struct Boxed<'a, T>(Box<dyn Execute<Out = T> + 'a>);

impl<'a, T: Send> Boxed<'a, T> {
    pub(super) fn new<O: DeviceOperation<Output = T> + 'a>(operation: O) -> Self {
        Boxed(Box::new(Plain(operation)))
    }
}

impl<T: Send> Execute for Boxed<'_, T> {
    type Out = T;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<T>> {
        self.0.advance(ctx)
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn reclaim(&mut self) -> Option<T> {
        self.0.reclaim()
    }

    fn fail(&mut self, error: DeviceError) -> Result<T> {
        self.0.fail(error)
    }
}

/// An operation as a state machine again.
struct Plain<O>(O);

impl<O: DeviceOperation> Execute for Plain<O> {
    type Out = Output<O>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        self.0.advance(ctx)
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn reclaim(&mut self) -> Option<Self::Out> {
        self.0.reclaim()
    }

    fn fail(&mut self, error: DeviceError) -> Result<Self::Out> {
        self.0.fail(error)
    }
}

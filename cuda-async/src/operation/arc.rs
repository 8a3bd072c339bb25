//! `arc` and `try_unwrap`: shared ownership of an output.

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::{ErrorKind, Result};
use crate::operation::{DeviceOperation, Execute, Output, ready};
use crate::schedule::Hints;

/// A value that operations can share behind an `Arc`. Some unwrap themselves first: a partition
/// becomes an `Arc` of its tensor.
pub trait IntoArc: Send {
    /// What the `Arc` holds.
    type Target: Send + Sync;

    /// Wraps it.
    fn into_arc(self) -> Arc<Self::Target>;
}

impl IntoArc for crate::Buffer {
    type Target = crate::Buffer;

    fn into_arc(self) -> Arc<Self> {
        Arc::new(self)
    }
}

impl<T: Send + Sync> IntoArc for Vec<T> {
    type Target = Vec<T>;

    fn into_arc(self) -> Arc<Self> {
        Arc::new(self)
    }
}

/// See [`DeviceOperation::arc`].
pub struct ArcOp<U>(U);

impl<U> ArcOp<U> {
    pub(super) fn new(upstream: U) -> Self {
        ArcOp(upstream)
    }
}

impl<U> Execute for ArcOp<U>
where
    U: DeviceOperation,
    Output<U>: IntoArc,
{
    type Out = Arc<<Output<U> as IntoArc>::Target>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        let output = ready!(self.0.advance(ctx));
        Poll::Ready(Ok(output.into_arc()))
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }
}

/// See [`DeviceOperation::try_unwrap`].
pub struct TryUnwrap<U, T> {
    upstream: U,
    yields: PhantomData<fn() -> T>,
}

impl<U, T> TryUnwrap<U, T> {
    pub(super) fn new(upstream: U) -> Self {
        TryUnwrap { upstream, yields: PhantomData }
    }
}

impl<U, T> Execute for TryUnwrap<U, T>
where
    U: DeviceOperation<Output = Arc<T>>,
    T: Send + Sync,
{
    type Out = T;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<T>> {
        let shared = ready!(self.upstream.advance(ctx));
        Poll::Ready(
            Arc::try_unwrap(shared)
                .map_err(|shared| ErrorKind::Shared { holders: Arc::strong_count(&shared) }.into()),
        )
    }

    fn hints(&self) -> Hints {
        self.upstream.hints()
    }
}

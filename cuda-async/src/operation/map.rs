//! `map` and `inspect`: host functions on an output.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::{DeviceError, Result};
use crate::operation::{DeviceOperation, Execute, Output, advanced_after_ready, ready};
use crate::schedule::Hints;

/// See [`DeviceOperation::map`].
pub struct Map<U, F> {
    upstream: U,
    f: Option<F>,
}

impl<U, F> Map<U, F> {
    pub(super) fn new(upstream: U, f: F) -> Self {
        Map { upstream, f: Some(f) }
    }
}

impl<U, F, T> Execute for Map<U, F>
where
    U: DeviceOperation,
    F: FnOnce(Output<U>) -> T + Send,
    T: Send,
{
    type Out = T;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<T>> {
        let input = ready!(self.upstream.advance(ctx));
        let Some(f) = self.f.take() else { advanced_after_ready() };
        Poll::Ready(Ok(f(input)))
    }

    fn hints(&self) -> Hints {
        self.upstream.hints()
    }

    fn fail(&mut self, error: DeviceError) -> Result<T> {
        let input = self.upstream.fail(error)?;
        let Some(f) = self.f.take() else { advanced_after_ready() };
        Ok(f(input))
    }
}

/// See [`DeviceOperation::inspect`].
pub struct Inspect<U, F> {
    upstream: U,
    f: Option<F>,
}

impl<U, F> Inspect<U, F> {
    pub(super) fn new(upstream: U, f: F) -> Self {
        Inspect { upstream, f: Some(f) }
    }
}

impl<U, F> Execute for Inspect<U, F>
where
    U: DeviceOperation,
    F: FnOnce(&Output<U>) + Send,
{
    type Out = Output<U>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        let output = ready!(self.upstream.advance(ctx));
        let Some(f) = self.f.take() else { advanced_after_ready() };
        f(&output);
        Poll::Ready(Ok(output))
    }

    fn hints(&self) -> Hints {
        self.upstream.hints()
    }

    fn reclaim(&mut self) -> Option<Self::Out> {
        self.upstream.reclaim()
    }
}

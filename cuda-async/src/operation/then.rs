//! `then`: the output decides the next operation.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::{DeviceOperation, Execute, Output, advanced_after_ready, ready};
use crate::schedule::Hints;

/// See [`DeviceOperation::then`].
pub enum Then<U, F, O> {
    /// The upstream runs.
    Upstream(U, Option<F>),
    /// The operation that the function gave runs.
    Downstream(O),
}

impl<U, F, O> Then<U, F, O> {
    pub(super) fn new(upstream: U, f: F) -> Self {
        Then::Upstream(upstream, Some(f))
    }
}

impl<U, F, O> Execute for Then<U, F, O>
where
    U: DeviceOperation,
    F: FnOnce(Output<U>) -> O + Send,
    O: DeviceOperation,
{
    type Out = Output<O>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        if let Then::Upstream(upstream, f) = self {
            let input = ready!(upstream.advance(ctx));
            let Some(f) = f.take() else { advanced_after_ready() };
            *self = Then::Downstream(f(input));
        }
        match self {
            Then::Downstream(operation) => operation.advance(ctx),
            Then::Upstream(..) => advanced_after_ready(),
        }
    }

    fn hints(&self) -> Hints {
        match self {
            Then::Upstream(upstream, _) => upstream.hints(),
            Then::Downstream(operation) => operation.hints(),
        }
    }

    fn reclaim(&mut self) -> Option<Self::Out> {
        match self {
            Then::Upstream(..) => None,
            Then::Downstream(operation) => operation.reclaim(),
        }
    }
}

//! `with_hints`: facts for scheduling policies.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::{DeviceError, Result};
use crate::operation::{DeviceOperation, Execute, Output};
use crate::schedule::Hints;

/// See [`DeviceOperation::with_hints`].
pub struct Hinted<U> {
    upstream: U,
    hints: Hints,
}

impl<U> Hinted<U> {
    pub(super) fn new(upstream: U, hints: Hints) -> Self {
        Hinted { upstream, hints }
    }
}

impl<U: DeviceOperation> Execute for Hinted<U> {
    type Out = Output<U>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        self.upstream.advance(ctx)
    }

    fn hints(&self) -> Hints {
        self.hints.clone().and(self.upstream.hints())
    }

    fn reclaim(&mut self) -> Option<Self::Out> {
        self.upstream.reclaim()
    }

    fn fail(&mut self, error: DeviceError) -> Result<Self::Out> {
        self.upstream.fail(error)
    }
}

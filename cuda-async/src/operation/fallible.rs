//! `fallible`: failure as an output.

use std::task::Poll;

use crate::context::{ExecutionContext, Record};
use crate::error::{DeviceError, Result};
use crate::operation::{DeviceOperation, Execute, Output, advanced_after_ready};
use crate::schedule::Hints;

/// An operation run to its very end, apart from what surrounds it: it has failed or it is complete.
pub(super) struct Settled<U: DeviceOperation> {
    upstream: U,
    output: Option<Output<U>>,
    record: Record,
    done: bool,
}

impl<U: DeviceOperation> Settled<U> {
    pub(super) fn new(upstream: U) -> Self {
        Settled { upstream, output: None, record: Record::default(), done: false }
    }

    /// Goes on; the result once it can't change any more.
    pub(super) fn settle(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Output<U>>> {
        if self.done {
            advanced_after_ready();
        }
        let Settled { upstream, output, record, .. } = self;
        let result = ctx.with_record(ctx.core(), record, |ctx| {
            if output.is_none() {
                match upstream.advance(ctx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(result) => *output = Some(result?),
                }
            }
            ctx.wait_submitted()
        });
        match result {
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                self.done = true;
                let output = self.output.take();
                Poll::Ready(result.map(|()| output.unwrap_or_else(|| advanced_after_ready())))
            }
        }
    }

    pub(super) fn reclaim(&mut self) -> Option<Output<U>> {
        self.upstream.reclaim()
    }

    pub(super) fn hints(&self) -> Hints {
        self.upstream.hints()
    }
}

/// See [`DeviceOperation::fallible`].
pub struct Fallible<U: DeviceOperation>(Settled<U>);

impl<U: DeviceOperation> Fallible<U> {
    pub(super) fn new(upstream: U) -> Self {
        Fallible(Settled::new(upstream))
    }
}

impl<U: DeviceOperation> Execute for Fallible<U> {
    type Out = Result<Output<U>, DeviceError>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        self.0.settle(ctx).map(Ok)
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn fail(&mut self, error: DeviceError) -> Result<Self::Out> {
        Ok(Err(error))
    }
}

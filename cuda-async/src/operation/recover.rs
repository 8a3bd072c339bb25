//! `recover`: a failed launch gives back what was moved into it.

use std::fmt;
use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::{DeviceError, Result};
use crate::operation::fallible::Settled;
use crate::operation::{DeviceOperation, Execute, Output};
use crate::schedule::Hints;

/// A failed operation: why, and its inputs if nothing was submitted.
#[derive(Clone)]
pub struct Failed<Inputs> {
    /// Why it failed.
    pub error: DeviceError,
    /// What was moved in, in the form of the output (a launch yields the tuple of its arguments).
    /// `None` if the failure came after submission, or the operation keeps nothing.
    pub inputs: Option<Inputs>,
}

impl<Inputs> fmt::Display for Failed<Inputs> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<Inputs> fmt::Debug for Failed<Inputs> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = if self.inputs.is_some() { "kept" } else { "gone" };
        f.debug_struct("Failed").field("error", &self.error).field("inputs", &inputs).finish()
    }
}

impl<Inputs> std::error::Error for Failed<Inputs> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// See [`DeviceOperation::recover`].
pub struct Recover<U: DeviceOperation>(Settled<U>);

impl<U: DeviceOperation> Recover<U> {
    pub(super) fn new(upstream: U) -> Self {
        Recover(Settled::new(upstream))
    }
}

impl<U: DeviceOperation> Execute for Recover<U> {
    type Out = Result<Output<U>, Failed<Output<U>>>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        self.0
            .settle(ctx)
            .map(|result| Ok(result.map_err(|error| Failed { error, inputs: self.0.reclaim() })))
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn fail(&mut self, error: DeviceError) -> Result<Self::Out> {
        Ok(Err(Failed { error, inputs: self.0.reclaim() }))
    }
}

//! Operations: lazy, typed descriptions of device work, composed like values.
//!
//! An operation's own file implements [`Execute`], a small state machine, and nothing else: it does
//! not know how it is run. [`Op`] turns it into a [`DeviceOperation`], which has the combinators.
//! Scheduling, polling and blocking are in `schedule/`, `future.rs` and `block.rs`.
//!
//! Not here yet, and where they will be: graphs as another operation (a captured sub-operation) and
//! another kind of `ExecutionContext`; `race`, `timeout` and `retry` as one file each beside
//! `fallible`; cancellation between stages and scopes as a token in the context.

use std::future::IntoFuture;
use std::sync::Arc;
use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::{DeviceError, Result};
use crate::future::DeviceFuture;
use crate::schedule::{Hints, SchedulingPolicy};
use crate::stream::Stream;

mod apply;
mod arc;
mod boxed;
mod context_fn;
mod copy;
mod fallible;
mod hinted;
mod join;
mod map;
mod recover;
mod select;
mod shared;
mod then;
mod unzip;
mod value;
mod zip;

pub use apply::{Applicable, Apply};
pub use arc::{ArcOp, IntoArc, TryUnwrap};
pub use boxed::{Boxed, BoxedOperation};
pub use context_fn::{ContextFn, with_context};
pub use copy::{Download, Upload, Zeroed, download, upload, zeroed};
pub use fallible::Fallible;
pub use hinted::Hinted;
pub use join::{Join, JoinAll, join};
pub use map::{Inspect, Map};
pub use recover::{Failed, Recover};
pub use select::{First, Last, Tuple};
pub use shared::Shared;
pub use then::Then;
pub use unzip::{Branch, Unzip};
pub use value::{DeviceValue, IntoDeviceOperation, Value, value};
pub use zip::{Zip, Zippable, zip};

/// A small state machine that enqueues work on a stream: what an operation is made of.
///
/// - A *device output* (a tensor, an `Arc`, a given scalar) is `Ready` when its work has been
///   submitted. Later work may use it on any stream.
/// - A *host output* (data read back) is `Ready` when it is complete; until then `advance` answers
///   `Pending`, after waiting for something through the context
///   ([`ReadBack::poll`](crate::ReadBack::poll), [`waker`](ExecutionContext::waker)).
///
/// `advance` is called until it is `Ready`, not after that. It must not block.
pub trait Execute: Send {
    /// What the operation yields.
    type Out: Send;

    /// Goes on as far as possible.
    ///
    /// # Errors
    /// Whatever makes the operation fail; it is not advanced again.
    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>>;

    /// What a policy may know about the operation; combinators pass on what they are made of.
    fn hints(&self) -> Hints {
        Hints::default()
    }

    /// After a failure before anything was submitted: the inputs, in the form of the output
    /// (launches yield the tuple of their arguments). For [`recover`](DeviceOperation::recover).
    fn reclaim(&mut self) -> Option<Self::Out> {
        None
    }

    /// What the operation yields if it can't be run at all: there is no such device, or it is lost.
    /// An operation whose output is a `Result` says so there.
    ///
    /// # Errors
    /// `error`, for all others.
    fn fail(&mut self, error: DeviceError) -> Result<Self::Out> {
        Err(error)
    }
}

/// The operation made of a state machine `K`.
#[derive(Debug, Clone)]
#[must_use = "an operation does nothing until it is awaited, scheduled or run with `sync`"]
pub struct Op<K>(K);

impl<K: Execute> Op<K> {
    /// Makes an operation.
    pub fn new(machine: K) -> Self {
        Op(machine)
    }

    /// The state machine, to set it up further before it runs.
    pub fn machine_mut(&mut self) -> &mut K {
        &mut self.0
    }
}

/// A lazy description of device work that yields `Output`.
///
/// Implemented by [`Op`] alone; functions take and give `impl DeviceOperation<Output = T>`.
/// Awaiting one (`op.await`) schedules it on the default policy of its device and yields `Output`; if
/// the device fails, that panics with the error's text. [`fallible`](Self::fallible) and
/// [`sync`](Self::sync) give a `Result` instead.
///
/// ```
/// use cuda_async::prelude::*;
///
/// # fn main() -> Result<(), DeviceError> {
/// let sum = zip!(2, 3).apply(|a: i32, b: i32| value(a + b)).map(|n| n * 10);
/// assert_eq!(sum.sync()?, 50);
/// # Ok(())
/// # }
/// ```
pub trait DeviceOperation:
    Sized
    + Send
    + IntoFuture<Output: Send, IntoFuture = DeviceFuture<Self>>
    + IntoDeviceOperation<<Self as IntoFuture>::Output>
{
    /// Goes on as far as possible, as [`Execute::advance`].
    ///
    /// # Errors
    /// As [`Execute::advance`].
    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Output>>;

    /// What a policy may know about the operation.
    fn hints(&self) -> Hints;

    /// As [`Execute::reclaim`].
    fn reclaim(&mut self) -> Option<Self::Output>;

    /// As [`Execute::fail`].
    ///
    /// # Errors
    /// As [`Execute::fail`].
    fn fail(&mut self, error: DeviceError) -> Result<Self::Output>;

    // ---- composing

    /// Spreads the tuple that this yields over `f`, which gives the next operation.
    ///
    /// ```
    /// # use cuda_async::prelude::*;
    /// let op = zip((1, 2.5)).apply(|n: i32, x: f64| value(f64::from(n) * x));
    /// assert_eq!(op.sync()?, 2.5);
    /// # Ok::<(), DeviceError>(())
    /// ```
    fn apply<F>(self, f: F) -> Op<Apply<Self, F, F::Operation>>
    where
        F: Applicable<Self::Output>,
    {
        Op(Apply::new(self, f))
    }

    /// Gives what this yields to `f`, which gives the next operation.
    fn then<F, O>(self, f: F) -> Op<Then<Self, F, O>>
    where
        F: FnOnce(Self::Output) -> O + Send,
        O: DeviceOperation,
    {
        Op(Then::new(self, f))
    }

    /// Applies a host function to what this yields. Host data is complete when `f` sees it.
    fn map<F, T>(self, f: F) -> Op<Map<Self, F>>
    where
        F: FnOnce(Self::Output) -> T + Send,
        T: Send,
    {
        Op(Map::new(self, f))
    }

    /// Shows what this yields to `f`.
    fn inspect<F>(self, f: F) -> Op<Inspect<Self, F>>
    where
        F: FnOnce(&Self::Output) + Send,
    {
        Op(Inspect::new(self, f))
    }

    /// Wraps what this yields in an `Arc`, so that several operations can use it.
    fn arc(self) -> Op<ArcOp<Self>>
    where
        Self::Output: IntoArc,
    {
        Op(ArcOp::new(self))
    }

    /// Unwraps the `Arc` that this yields.
    ///
    /// Fails with [`ErrorKind::Shared`](crate::ErrorKind::Shared) if others hold it.
    fn try_unwrap<T>(self) -> Op<TryUnwrap<Self, T>>
    where
        Self: DeviceOperation<Output = Arc<T>>,
        T: Send + Sync,
    {
        Op(TryUnwrap::new(self))
    }

    /// Splits an operation that yields a tuple into a tuple of operations.
    ///
    /// This operation runs at most once, on the stream of the branch that is polled first. A branch
    /// that is dropped costs nothing.
    ///
    /// ```
    /// # use cuda_async::prelude::*;
    /// let (a, b) = zip((1, "two")).unzip();
    /// drop(a);
    /// assert_eq!(b.sync()?, "two");
    /// # Ok::<(), DeviceError>(())
    /// ```
    fn unzip(self) -> <Self::Output as Unzip>::Branches<Self>
    where
        Self::Output: Unzip,
    {
        <Self::Output as Unzip>::unzip(self)
    }

    /// Makes an operation that can be cloned; all clones yield the same, and it runs once.
    fn shared(self) -> Op<Shared<Self>>
    where
        Self::Output: Clone,
    {
        Op(Shared::new(self))
    }

    /// Hides the operation's type, for recursion and collections.
    fn boxed<'a>(self) -> BoxedOperation<'a, Self::Output>
    where
        Self: 'a,
    {
        Op(Boxed::new(self))
    }

    /// The first part of the tuple that this yields.
    fn first(self) -> Op<First<Self>>
    where
        Self::Output: Tuple,
    {
        Op(First::new(self))
    }

    /// The last part of the tuple that this yields.
    fn last(self) -> Op<Last<Self>>
    where
        Self::Output: Tuple,
    {
        Op(Last::new(self))
    }

    /// An operation that yields the `Result` of this one: a failure of anything upstream is its
    /// output, not its failure. It waits until the work is complete, to know.
    fn fallible(self) -> Op<Fallible<Self>> {
        Op(Fallible::new(self))
    }

    /// Like [`fallible`](Self::fallible); a launch that fails before it is submitted gives back the
    /// inputs that were moved into it.
    fn recover(self) -> Op<Recover<Self>> {
        Op(Recover::new(self))
    }

    /// Attaches facts for scheduling policies.
    fn with_hints(self, hints: Hints) -> Op<Hinted<Self>> {
        Op(Hinted::new(self, hints))
    }

    // ---- running

    /// Asks `policy` once for a stream and reserves it. The future is inert until it is polled. If
    /// the policy fails, the future does.
    fn schedule(self, policy: impl SchedulingPolicy) -> DeviceFuture<Self> {
        DeviceFuture::scheduled(self, &policy)
    }

    /// Schedules on the default policy and submits at once as much as can be submitted, without
    /// waiting. The future yields the output.
    fn submit(self) -> DeviceFuture<Self> {
        self.into_future().started()
    }

    /// Runs the operation on the default policy and blocks until it is complete. No async runtime is
    /// needed.
    ///
    /// # Errors
    /// The failure of anything in the operation.
    fn sync(self) -> Result<Self::Output> {
        self.into_future().sync()
    }

    /// Runs the operation on `stream` and blocks until it is complete.
    ///
    /// # Errors
    /// The failure of anything in the operation.
    fn sync_on(self, stream: &Stream) -> Result<Self::Output> {
        self.schedule(stream.clone()).sync()
    }
}

impl<K: Execute> IntoFuture for Op<K> {
    type Output = K::Out;
    type IntoFuture = DeviceFuture<Self>;

    fn into_future(self) -> DeviceFuture<Self> {
        DeviceFuture::scheduled(self, &crate::schedule::default_policy())
    }
}

impl<K: Execute> DeviceOperation for Op<K> {
    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<K::Out>> {
        self.0.advance(ctx)
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn reclaim(&mut self) -> Option<K::Out> {
        self.0.reclaim()
    }

    fn fail(&mut self, error: DeviceError) -> Result<K::Out> {
        self.0.fail(error)
    }
}

/// An operation somewhere inside another: running, or done with its output kept for the moment when
/// its siblings are done too.
pub enum Part<O: DeviceOperation> {
    /// Not done yet.
    Running(O),
    /// Done; the output until it is taken.
    Done(Option<O::Output>),
}

impl<O: DeviceOperation> Part<O> {
    /// Goes on; whether the output is there.
    pub(crate) fn step(&mut self, ctx: &mut ExecutionContext<'_>) -> Result<bool> {
        if let Part::Running(operation) = self {
            match operation.advance(ctx) {
                Poll::Pending => return Ok(false),
                Poll::Ready(output) => *self = Part::Done(Some(output?)),
            }
        }
        Ok(true)
    }

    /// The output, once `step` has said that it is there; `None` before that and a second time.
    pub(crate) fn take(&mut self) -> Option<O::Output> {
        match self {
            Part::Done(output) => output.take(),
            Part::Running(_) => None,
        }
    }

    pub(crate) fn hints(&self) -> Hints {
        match self {
            Part::Running(operation) => operation.hints(),
            Part::Done(_) => Hints::default(),
        }
    }
}

/// `advance` was called again after it was `Ready`: a bug in an `Execute` implementation.
#[cold]
#[track_caller]
pub(crate) fn advanced_after_ready() -> ! {
    panic!("an operation was advanced after it was ready")
}

/// Turns `Poll<Result<T>>` into `T`, or returns.
macro_rules! ready {
    ($poll:expr) => {
        match $poll {
            std::task::Poll::Pending => return std::task::Poll::Pending,
            std::task::Poll::Ready(Err(error)) => return std::task::Poll::Ready(Err(error)),
            std::task::Poll::Ready(Ok(value)) => value,
        }
    };
}
pub(crate) use ready;

/// The output of an operation, for where clauses.
pub(crate) type Output<O> = <O as IntoFuture>::Output;

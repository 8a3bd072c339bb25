//! `shared`: an operation that runs once for all its clones. Also the machine behind `unzip`.
//!
//! Any holder that is polled drives the upstream, one at a time; whoever comes while another thread
//! is at it is woken when that one lets go. No lock is held while the upstream or a user's `Clone`
//! runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use smallvec::SmallVec;

use crate::context::{ExecutionContext, Record};
use crate::error::{DeviceError, ErrorKind, Result};
use crate::operation::{DeviceOperation, Execute, Output};
use crate::schedule::Hints;
use crate::stream::StreamCore;

/// An upstream that runs once; its output, as `S`, stays for those who take from it.
pub(super) struct Once<O, S> {
    state: Mutex<State<O, S>>,
}

struct State<O, S> {
    stage: Stage<O, S>,
    /// Where the upstream runs: the stream of the holder that was polled first.
    stream: Option<&'static StreamCore>,
    record: Record,
    waiting: SmallVec<[Waker; 2]>,
}

enum Stage<O, S> {
    /// Not done, nobody at it.
    Idle(O),
    /// Somebody is at it, or at the output.
    Busy,
    /// The output is here.
    Done(S),
    /// It failed, for everybody.
    Failed(DeviceError),
}

impl<O: DeviceOperation, S> Once<O, S> {
    pub(super) fn new(operation: O) -> Self {
        let (stage, record) = (Stage::Idle(operation), Record::default());
        Once { state: Mutex::new(State { stage, stream: None, record, waiting: SmallVec::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State<O, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drives the upstream as far as possible; once it is done, takes from its output.
    pub(super) fn advance<R>(
        &self,
        ctx: &mut ExecutionContext<'_>,
        store: impl FnOnce(Output<O>) -> S,
        take: impl FnOnce(&mut S) -> R,
    ) -> Poll<Result<R>> {
        let (stage, stream, mut record) = {
            let mut state = self.lock();
            match &state.stage {
                Stage::Failed(error) => return Poll::Ready(Err(error.clone())),
                Stage::Busy => {
                    if !state.waiting.iter().any(|waker| waker.will_wake(ctx.waker())) {
                        state.waiting.push(ctx.waker().clone());
                    }
                    return Poll::Pending;
                }
                Stage::Idle(_) | Stage::Done(_) => {}
            }
            let stream = *state.stream.get_or_insert(ctx.core());
            if stream.device != ctx.device() {
                let (expected, found) = (ctx.device().id(), stream.device.id());
                return Poll::Ready(Err(ErrorKind::WrongDevice { expected, found }.into()));
            }
            let stage = std::mem::replace(&mut state.stage, Stage::Busy);
            (stage, stream, std::mem::take(&mut state.record))
        };
        let turn = Turn { once: self };
        let (stage, result) = match stage {
            Stage::Idle(mut operation) => {
                match ctx.with_record(stream, &mut record, |ctx| operation.advance(ctx)) {
                    Poll::Pending => (Stage::Idle(operation), Poll::Pending),
                    Poll::Ready(Err(error)) => {
                        (Stage::Failed(error.clone()), Poll::Ready(Err(error)))
                    }
                    Poll::Ready(Ok(output)) => {
                        let mut stored = store(output);
                        let taken = take(&mut stored);
                        (Stage::Done(stored), Poll::Ready(Ok(taken)))
                    }
                }
            }
            Stage::Done(mut stored) => {
                let taken = take(&mut stored);
                (Stage::Done(stored), Poll::Ready(Ok(taken)))
            }
            Stage::Busy | Stage::Failed(_) => unreachable!("these have returned above"),
        };
        // This holder is complete only when what the upstream has submitted is.
        ctx.absorb(&record);
        turn.end(stage, record);
        result
    }

    pub(super) fn hints(&self) -> Hints {
        let state = self.lock();
        let device = state.stream.map(|stream| stream.device);
        match &state.stage {
            Stage::Idle(operation) => Hints { device, ..Hints::default() }.and(operation.hints()),
            _ => Hints { device, ..Hints::default() },
        }
    }
}

/// The right to drive, until `end`. If the upstream panics, everybody learns of it.
struct Turn<'a, O: DeviceOperation, S> {
    once: &'a Once<O, S>,
}

impl<O: DeviceOperation, S> Turn<'_, O, S> {
    fn end(self, stage: Stage<O, S>, record: Record) {
        self.release(stage, record);
        std::mem::forget(self);
    }

    fn release(&self, stage: Stage<O, S>, record: Record) {
        let waiting = {
            let mut state = self.once.lock();
            state.stage = stage;
            state.record = record;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl<O: DeviceOperation, S> Drop for Turn<'_, O, S> {
    fn drop(&mut self) {
        let site = "an operation shared by several";
        let message = "its panic went to the one that ran it".to_string();
        let error = ErrorKind::Panicked { site, message }.into();
        self.release(Stage::Failed(error), Record::default());
    }
}

/// See [`DeviceOperation::shared`].
///
/// ```
/// use cuda_async::prelude::*;
///
/// let once = with_context(|_| Ok(std::time::Instant::now())).shared();
/// let (a, b) = zip((once.clone(), once)).sync()?;
/// assert_eq!(a, b);
/// # Ok::<(), DeviceError>(())
/// ```
pub struct Shared<O: DeviceOperation>(Arc<Once<O, Output<O>>>);

impl<O: DeviceOperation> Shared<O> {
    pub(super) fn new(operation: O) -> Self {
        Shared(Arc::new(Once::new(operation)))
    }
}

impl<O: DeviceOperation> Clone for Shared<O> {
    fn clone(&self) -> Self {
        Shared(Arc::clone(&self.0))
    }
}

impl<O> Execute for Shared<O>
where
    O: DeviceOperation,
    Output<O>: Clone,
{
    type Out = Output<O>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        self.0.advance(ctx, |output| output, |output| output.clone())
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }
}

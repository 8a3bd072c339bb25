//! [`DeviceFuture`]: a scheduled operation, run by whoever polls it.
//!
//! ```text
//!   schedule          first poll              advance: Ready        timeline passed
//! ----------> Placed ------------> Running ----------------> Draining ------------> Done
//!               |                   |  ^ advance: Pending        |                    ^
//!               |                   |  +-------------------------+--- wake-up         |
//!               +-- policy failed --+---- operation failed ------+-- device failed ---+
//! ```
//!
//! A poll enqueues what can be enqueued, or looks for completion and spins for it for 2 us at most;
//! while the last submission is younger than 50 us the task wakes itself (others get their turn, an
//! idle executor comes straight back); after that it registers with the reactor. No poll blocks.
//!
//! Dropping a future, at any moment, waits for nothing: what is in flight belongs to its stream.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::context::{ExecutionContext, Record, Waits};
use crate::error::{DeviceError, Result};
use crate::operation::{DeviceOperation, Output};
use crate::schedule::{Placement, SchedulingPolicy};
use crate::stream::{Mark, Reservation};

/// How long a poll may spin.
const SPIN: Duration = Duration::from_micros(2);
/// How long after a submission a task wakes itself instead of sleeping.
const YOUNG: Duration = Duration::from_micros(50);

/// An operation with a place on a stream.
///
/// Awaiting it submits the operation and yields its output; if the device fails, that panics with the
/// error's text, the one documented panic of this crate. [`sync`](DeviceFuture::sync) gives a
/// `Result`; so does an operation made with [`fallible`](DeviceOperation::fallible).
///
/// It is inert until it is polled. It needs no particular executor and no thread of its own.
#[must_use = "a future does nothing until it is polled; dropped before, it submits nothing"]
pub struct DeviceFuture<O: DeviceOperation> {
    stage: Stage<O>,
    placement: Result<Placement>,
    reservation: Option<Reservation>,
    record: Record,
    submitted: Option<Instant>,
    /// Set while the operation is advanced; still set after it panicked.
    entered: bool,
}

enum Stage<O: DeviceOperation> {
    Running(O),
    /// Submitted as a whole, with its output.
    Draining(Output<O>),
    Done,
}

// Nothing in here is pinned.
impl<O: DeviceOperation> Unpin for DeviceFuture<O> {}

impl<O: DeviceOperation> DeviceFuture<O> {
    pub(crate) fn scheduled(operation: O, policy: &impl SchedulingPolicy) -> Self {
        let placement = policy.place(&operation.hints());
        let reservation =
            placement.as_ref().ok().map(|placement| Reservation::new(placement.stream.core));
        DeviceFuture {
            stage: Stage::Running(operation),
            placement,
            reservation,
            record: Record::default(),
            submitted: None,
            entered: false,
        }
    }

    /// Submits at once what can be submitted, without waiting.
    pub(crate) fn started(mut self) -> Self {
        let mut waits = Waits::new();
        match self.run(Waker::noop(), &mut waits) {
            // The failure is kept for whoever polls.
            Poll::Ready(Err(error)) => self.placement = Err(error),
            Poll::Ready(Ok(())) => {
                // Failing to announce completion is for the poll to find and report.
                let _ = self.record.pending().try_for_each(announce);
            }
            Poll::Pending => {}
        }
        self
    }

    /// Runs the operation, blocking this thread until it is complete.
    ///
    /// # Errors
    /// The failure of anything in the operation.
    ///
    /// # Panics
    /// If the future has completed before.
    pub fn sync(mut self) -> Result<Output<O>> {
        crate::block::block_on(|waker| self.poll_result(waker))
    }

    /// Polls for the `Result` that `.await` turns into an output or a panic.
    ///
    /// # Errors
    /// The failure of anything in the operation.
    ///
    /// # Panics
    /// If the future has completed before.
    pub fn poll_result(&mut self, waker: &Waker) -> Poll<Result<Output<O>>> {
        loop {
            let mut waits = Waits::new();
            let before = self.record.submissions();
            match self.run(waker, &mut waits) {
                Poll::Pending => {}
                Poll::Ready(Err(error)) => return Poll::Ready(self.finish(Err(error))),
                Poll::Ready(Ok(())) => {
                    if let Poll::Ready(result) = self.record.poll(&mut waits) {
                        return Poll::Ready(self.finish(result));
                    }
                }
            }
            let submitted = self.record.submissions() != before;
            match self.wait(&waits, submitted, waker) {
                Ok(true) => {}
                Ok(false) => return Poll::Pending,
                Err(error) => return Poll::Ready(self.give_up(error)),
            }
        }
    }

    /// Ends a future whose stream can't be waited for.
    fn give_up(&mut self, error: DeviceError) -> Result<Output<O>> {
        let result = match &mut self.stage {
            Stage::Running(operation) => operation.fail(error),
            Stage::Draining(_) | Stage::Done => Err(error),
        };
        let result = result.map(|output| self.stage = Stage::Draining(output));
        self.finish(result)
    }

    /// Advances the operation unless it is submitted as a whole.
    fn run(&mut self, waker: &Waker, waits: &mut Waits) -> Poll<Result<()>> {
        let operation = match &mut self.stage {
            Stage::Running(operation) if !self.entered => operation,
            Stage::Draining(_) => return Poll::Ready(Ok(())),
            Stage::Running(_) => panic!("a device future was polled after its operation panicked"),
            Stage::Done => panic!("a device future was polled after it had completed"),
        };
        let placement = match &self.placement {
            Ok(placement) => placement,
            Err(error) => {
                let output = operation.fail(error.clone())?;
                self.stage = Stage::Draining(output);
                return Poll::Ready(Ok(()));
            }
        };
        let before = self.record.submissions();
        self.entered = true;
        let mut ctx = ExecutionContext::new(
            placement.stream.core,
            &placement.lanes,
            &mut self.record,
            waits,
            waker,
        );
        let result = operation.advance(&mut ctx);
        drop(ctx);
        self.entered = false;
        if self.record.submissions() != before {
            self.submitted = Some(Instant::now());
        }
        result.map_ok(|output| self.stage = Stage::Draining(output))
    }

    /// Spins a little for any of `waits`, else arranges for a wake-up; whether to go on at once.
    ///
    /// What this very poll has `submitted` takes longer than any spin: others may submit theirs first.
    fn wait(&self, waits: &[Mark], submitted: bool, waker: &Waker) -> Result<bool> {
        if waits.is_empty() {
            // Somebody outside any stream has the waker.
            return Ok(false);
        }
        waits.iter().copied().try_for_each(announce)?;
        let begin = Instant::now();
        while !submitted && begin.elapsed() < SPIN {
            if waits.iter().any(|mark| mark.passed()) {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
        if self.submitted.is_some_and(|at| begin - at < YOUNG) {
            waker.wake_by_ref();
        } else {
            waits.iter().for_each(|mark| mark.stream.wake_at(mark.number, waker));
        }
        Ok(false)
    }

    /// Gives up the place, whatever the outcome.
    fn finish(&mut self, result: Result<()>) -> Result<Output<O>> {
        self.reservation = None;
        if let Ok(placement) = &self.placement {
            placement.stream.core.release_owners();
        }
        match (result, std::mem::replace(&mut self.stage, Stage::Done)) {
            (Ok(()), Stage::Draining(output)) => Ok(output),
            (Err(error), _) => Err(error),
            (Ok(()), _) => unreachable!("only what is submitted as a whole completes"),
        }
    }
}

/// Sees to it that the timeline will show that `mark` is passed.
fn announce(mark: Mark) -> Result<()> {
    mark.stream.ensure_written(mark.number)
}

impl<O: DeviceOperation> Future for DeviceFuture<O> {
    type Output = Output<O>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output<O>> {
        self.poll_result(cx.waker()).map(|result| match result {
            Ok(output) => output,
            Err(error) => fail(&error),
        })
    }
}

/// `.await` has no other way to say that the device failed.
#[cold]
fn fail(error: &DeviceError) -> ! {
    panic!("a device operation failed (`.fallible()` or `.sync()` give a `Result`): {error}")
}

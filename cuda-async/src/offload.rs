//! Slow host work (compiling, loading a module) on a thread of its own, awaited without blocking.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use crate::context::ExecutionContext;
use crate::error::{DeviceError, ErrorKind, Result, panic_message};
use crate::operation::Execute;

/// Work on a helper thread; see [`offload`].
pub struct Offload<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    result: Option<Result<T>>,
    waker: Option<Waker>,
}

/// Runs `work` on a helper thread. Inside an operation, the answer is `Pending` until it is done; no
/// poll blocks meanwhile.
///
/// ```
/// use cuda_async::prelude::*;
/// use cuda_async::offload;
///
/// assert_eq!(Op::new(offload("adding", || Ok(2 + 2))).sync()?, 4);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn offload<T: Send + 'static>(
    site: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Offload<T> {
    let slot = Arc::new(Mutex::new(Slot { result: None, waker: None }));
    let theirs = Arc::clone(&slot);
    let started = std::thread::Builder::new().name(site.to_string()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            Err(ErrorKind::Panicked { site, message: panic_message(payload) }.into())
        });
        let waker = {
            let mut slot = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            slot.result = Some(result);
            slot.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    });
    if let Err(error) = started {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.result = Some(Err(DeviceError::new(error)));
    }
    Offload(slot)
}

impl<T: Send> Execute for Offload<T> {
    type Out = T;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                slot.waker = Some(ctx.waker().clone());
                Poll::Pending
            }
        }
    }
}

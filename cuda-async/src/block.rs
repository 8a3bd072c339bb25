//! Blocking: the same poll loop on the calling thread, with no executor.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;

use crate::error::{ErrorKind, Result};
use crate::host::current_worker;
use crate::stream::{Mark, StreamCore, alive};

/// Wakes one blocked thread.
struct Parker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

thread_local! {
    /// The thread's parker, while nobody on this thread blocks: a blocking call inside another's
    /// closure gets one of its own, so that neither takes the other's wake-ups.
    static SPARE: Cell<Option<(Arc<Parker>, Waker)>> = const { Cell::new(None) };
}

/// Polls until ready, sleeping in between.
pub(crate) fn block_on<T>(mut poll: impl FnMut(&Waker) -> Poll<Result<T>>) -> Result<T> {
    if let Some(device) = current_worker() {
        return Err(ErrorKind::WaitInsideWork { device }.into());
    }
    let (parker, waker) = SPARE.take().unwrap_or_else(|| {
        let woken = AtomicBool::new(false);
        let parker = Arc::new(Parker { thread: std::thread::current(), woken });
        (Arc::clone(&parker), Waker::from(parker))
    });
    let result = loop {
        parker.woken.store(false, Ordering::SeqCst);
        if let Poll::Ready(result) = poll(&waker) {
            break result;
        }
        while !parker.woken.load(Ordering::SeqCst) {
            std::thread::park();
        }
    };
    SPARE.set(Some((parker, waker)));
    result
}

/// Blocks until `stream` has passed everything enqueued on it now.
pub(crate) fn wait_for_stream(stream: &'static StreamCore) -> Result<()> {
    let mark = Mark { stream, number: stream.issued() };
    stream.ensure_written(mark.number)?;
    block_on(|waker| {
        let passed = mark.passed();
        // Asked after: the timeline of a lost device says that all is passed.
        if let Err(error) = alive(mark) {
            return Poll::Ready(Err(error));
        }
        if passed {
            return Poll::Ready(Ok(()));
        }
        stream.wake_at(mark.number, waker);
        Poll::Pending
    })
}

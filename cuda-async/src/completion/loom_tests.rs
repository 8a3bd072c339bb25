//! The completion core under loom: every interleaving of a waiter, a device and the reactor.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p cuda-async --lib --release loom` and a target
//! folder of its own.

use std::sync::Arc;
use std::task::{Wake, Waker};

use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;

use crate::completion::WaitList;
use crate::completion::signal::Signal;

/// Counts wake-ups.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counter() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    (Arc::clone(&count), Waker::from(count))
}

/// One stream's part of the runtime: a timeline, its waiters, the reactor's signal.
struct Stream {
    timeline: AtomicU64,
    waiters: WaitList,
    signal: Signal,
}

impl Stream {
    fn new() -> loom::sync::Arc<Stream> {
        loom::sync::Arc::new(Stream {
            timeline: AtomicU64::new(0),
            waiters: WaitList::new(),
            signal: Signal::new(),
        })
    }

    fn completed(&self) -> u64 {
        self.timeline.load(Ordering::SeqCst)
    }

    /// What a device does: the timeline first, then a look for waiters.
    fn advance(&self, number: u64) {
        self.timeline.store(number, Ordering::SeqCst);
        if !self.waiters.is_empty() {
            self.signal.notify();
        }
    }
}

#[test]
fn a_waiter_that_comes_while_the_device_advances_is_woken() {
    loom::model(|| {
        let stream = Stream::new();
        let device = {
            let stream = stream.clone();
            thread::spawn(move || stream.advance(1))
        };
        let (count, waker) = counter();
        stream.waiters.register(1, &waker, || stream.completed());
        device.join().unwrap();
        // The reactor looks once if it was told; whoever registered too late looked for itself.
        if !stream.waiters.is_empty() {
            stream.signal.wait();
            stream.waiters.wake_through(stream.completed());
        }
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_sleeping_reactor_is_told_of_an_advance_that_somebody_waits_for() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let stream = Stream::new();
        let reactor = {
            let stream = stream.clone();
            thread::spawn(move || {
                // The waiter tells it to look; then it sleeps until the device tells it.
                loop {
                    stream.signal.wait();
                    if stream.waiters.wake_through(stream.completed()) > 0 {
                        return;
                    }
                }
            })
        };
        let device = {
            let stream = stream.clone();
            thread::spawn(move || stream.advance(1))
        };
        let (count, waker) = counter();
        let number = 1;
        // No look of the waiter's own here: only the reactor can wake it.
        stream.waiters.register(number, &waker, || 0);
        stream.signal.notify();
        device.join().unwrap();
        reactor.join().unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn waiters_for_different_numbers_are_woken_at_theirs() {
    loom::model(|| {
        let stream = Stream::new();
        let (early, early_waker) = counter();
        let (late, late_waker) = counter();
        stream.waiters.register(1, &early_waker, || stream.completed());
        let device = {
            let stream = stream.clone();
            thread::spawn(move || {
                stream.advance(1);
                stream.waiters.wake_through(stream.completed());
            })
        };
        stream.waiters.register(2, &late_waker, || stream.completed());
        device.join().unwrap();
        assert_eq!(early.0.load(Ordering::SeqCst), 1);
        assert_eq!(late.0.load(Ordering::SeqCst), 0);
        assert!(!stream.waiters.is_empty());
    });
}

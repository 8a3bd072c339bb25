//! Who waits for which number of one stream's timeline.
//!
//! The protocol that loses no wake-up: a waiter first stands in the list (`count` is stored), then
//! looks at the timeline once more; whoever advances the timeline first stores it, then looks at
//! `count`. A fence between the two steps on each side: at least one of the two sees the other.

use std::task::Waker;

use smallvec::SmallVec;

use crate::sync::{AtomicUsize, Mutex, Ordering, fence, lock};

struct Waiter {
    number: u64,
    waker: Waker,
}

/// The waiters of one stream.
pub(crate) struct WaitList {
    waiters: Mutex<Vec<Waiter>>,
    count: AtomicUsize,
}

impl WaitList {
    pub(crate) fn new() -> Self {
        WaitList { waiters: Mutex::new(Vec::with_capacity(16)), count: AtomicUsize::new(0) }
    }

    /// Whether anybody waits; to be asked after the timeline has been stored.
    pub(crate) fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        self.count.load(Ordering::Acquire) == 0
    }

    /// Wakes `waker` once the timeline has reached `number`; at once, if it has.
    ///
    /// A task that stands in the list already keeps one entry, with the smaller number: a wake-up too
    /// many is harmless, one too few is not.
    pub(crate) fn register(&self, number: u64, waker: &Waker, completed: impl Fn() -> u64) {
        {
            let mut waiters = lock(&self.waiters);
            match waiters.iter_mut().find(|waiter| waiter.waker.will_wake(waker)) {
                Some(waiter) => waiter.number = waiter.number.min(number),
                None => waiters.push(Waiter { number, waker: waker.clone() }),
            }
            self.count.store(waiters.len(), Ordering::Release);
        }
        fence(Ordering::SeqCst);
        let completed = completed();
        if completed >= number {
            self.wake_through(completed);
        }
    }

    /// Wakes all who wait for `completed` or less; how many that were.
    pub(crate) fn wake_through(&self, completed: u64) -> usize {
        let mut woken = 0;
        // Some at a time, so that no waker runs under the lock and nothing is allocated.
        let mut some: SmallVec<[Waker; 16]> = SmallVec::new();
        loop {
            {
                let mut waiters = lock(&self.waiters);
                let mut index = 0;
                while index < waiters.len() && some.len() < some.inline_size() {
                    if waiters[index].number <= completed {
                        some.push(waiters.swap_remove(index).waker);
                    } else {
                        index += 1;
                    }
                }
                self.count.store(waiters.len(), Ordering::Release);
            }
            if some.is_empty() {
                return woken;
            }
            woken += some.len();
            some.drain(..).for_each(Waker::wake);
        }
    }

    /// Wakes everybody: the device is lost.
    pub(crate) fn wake_all(&self) {
        self.wake_through(u64::MAX);
    }
}

//! What is built once and looked up at every launch: an append-only list that readers walk without a lock, and a cell that
//! is filled once while others wait for it. Nothing here knows what is built.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};

use cuda_async::DeviceError;

/// An append-only list. Entries never move and are never removed, so that a `&'static Table` gives `&'static` entries; a
/// look-up follows pointers and compares, and neither locks nor writes.
pub(crate) struct Table<E> {
    first: OnceLock<Box<Node<E>>>,
}

struct Node<E> {
    entry: E,
    next: OnceLock<Box<Node<E>>>,
}

impl<E> Table<E> {
    pub(crate) const fn new() -> Table<E> {
        Table { first: OnceLock::new() }
    }

    /// The entry that `matches`, made and appended if there is none. `matches` holds of what `make` gives.
    pub(crate) fn get(&self, matches: impl Fn(&E) -> bool, make: impl FnOnce() -> E) -> &E {
        let mut make = Some(make);
        let mut place = &self.first;
        loop {
            let node = match place.get() {
                Some(node) => node,
                // Another thread may win the race for this place; then its entry is compared like any other, and
                // `make` stays unused until the end is reached again.
                None => place.get_or_init(|| {
                    let make = make.take().expect("an entry is made once, for then it matches");
                    Box::new(Node { entry: make(), next: OnceLock::new() })
                }),
            };
            if matches(&node.entry) {
                return &node.entry;
            }
            place = &node.next;
        }
    }
}

/// A value that one caller builds, at once or on another thread, while the others wait. A failure is handed to those who
/// wait, and the next caller builds again.
pub(crate) struct BuildCell<T> {
    ready: OnceLock<T>,
    state: Mutex<State>,
}

enum State {
    Idle,
    Building(Vec<Waker>),
    Failed(DeviceError),
}

impl<T> BuildCell<T> {
    pub(crate) const fn new() -> BuildCell<T> {
        BuildCell { ready: OnceLock::new(), state: Mutex::new(State::Idle) }
    }

    /// The value; `start` begins the building if nobody has, and sees to it that [`finish`](BuildCell::finish) is called
    /// at its end, on any thread, also before it returns.
    pub(crate) fn poll(
        &self,
        waker: &Waker,
        start: impl FnOnce(),
    ) -> Poll<Result<&T, DeviceError>> {
        if let Some(value) = self.ready.get() {
            return Poll::Ready(Ok(value));
        }
        {
            let mut state = self.state();
            if let Some(value) = self.ready.get() {
                return Poll::Ready(Ok(value));
            }
            match std::mem::replace(&mut *state, State::Idle) {
                State::Failed(error) => return Poll::Ready(Err(error)),
                State::Building(mut wakers) => {
                    if !wakers.iter().any(|known| known.will_wake(waker)) {
                        wakers.push(waker.clone());
                    }
                    *state = State::Building(wakers);
                    return Poll::Pending;
                }
                State::Idle => *state = State::Building(vec![waker.clone()]),
            }
        }
        start();
        match self.ready.get() {
            Some(value) => Poll::Ready(Ok(value)),
            None => Poll::Pending,
        }
    }

    /// Ends the building.
    pub(crate) fn finish(&self, result: Result<T, DeviceError>) {
        let mut state = self.state();
        let next = match result {
            Ok(value) => {
                let _ = self.ready.set(value);
                State::Idle
            }
            Err(error) => State::Failed(error),
        };
        let before = std::mem::replace(&mut *state, next);
        drop(state);
        if let State::Building(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use cuda_async::ErrorKind;

    use super::*;

    #[test]
    fn each_entry_is_made_once_whoever_asks_first() {
        let table = Table::new();
        let made = AtomicUsize::new(0);
        thread::scope(|scope| {
            for thread in 0..8 {
                let (table, made) = (&table, &made);
                scope.spawn(move || {
                    for n in (0..100).map(|i| (i * 7 + thread) % 100) {
                        let entry = table.get(
                            |e| *e == n,
                            || {
                                made.fetch_add(1, Ordering::Relaxed);
                                n
                            },
                        );
                        assert_eq!(*entry, n);
                    }
                });
            }
        });
        let mut count = 0;
        let mut place = &table.first;
        while let Some(node) = place.get() {
            count += 1;
            place = &node.next;
        }
        // A thread that loses the race for a place has made nothing.
        assert_eq!((count, made.into_inner()), (100, 100));
    }

    #[test]
    fn one_builds_and_the_others_wait() {
        let cell = BuildCell::new();
        let mut started = 0;
        let poll =
            |started: &mut i32| cell.poll(Waker::noop(), || *started += 1).map_ok(|n: &i32| *n);
        assert!(poll(&mut started).is_pending());
        assert!(poll(&mut started).is_pending());
        assert_eq!(started, 1);
        cell.finish(Ok(7));
        assert!(matches!(poll(&mut started), Poll::Ready(Ok(7))));
        assert_eq!(started, 1);
    }

    #[test]
    fn a_failure_is_told_and_then_tried_again() {
        let cell: BuildCell<i32> = BuildCell::new();
        let site = || ErrorKind::Panicked { site: "a test", message: String::new() };
        assert!(cell.poll(Waker::noop(), || cell.finish(Err(site().into()))).is_pending());
        assert!(matches!(cell.poll(Waker::noop(), || unreachable!()), Poll::Ready(Err(_))));
        assert!(matches!(cell.poll(Waker::noop(), || cell.finish(Ok(1))), Poll::Ready(Ok(1))));
    }
}

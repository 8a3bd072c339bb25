//! Locks, and the atomics of the completion core: std's, or loom's under `--cfg loom`.
//!
//! What loom checks (`completion/`) must be the code that runs, so it takes all of these from here.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering, fence},
};

/// Locks, and goes on after a panic elsewhere: no lock of this crate is held across user code, so
/// what it guards is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

//! A sticky flag to sleep on: a notification that comes before the sleep is not lost.

use std::time::Duration;

use crate::sync::{Condvar, Mutex, lock};

/// Set by anybody, awaited by one thread.
pub(crate) struct Signal {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    pub(crate) fn new() -> Self {
        Signal { set: Mutex::new(false), changed: Condvar::new() }
    }

    /// Sets the flag and wakes the sleeper.
    pub(crate) fn notify(&self) {
        *lock(&self.set) = true;
        self.changed.notify_one();
    }

    /// Sleeps until the flag is set, then clears it.
    pub(crate) fn wait(&self) {
        let mut set = lock(&self.set);
        while !*set {
            set = self.changed.wait(set).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        *set = false;
    }

    /// The same for at most `limit`, perhaps less; whether the flag was set.
    pub(crate) fn wait_for(&self, limit: Duration) -> bool {
        let mut set = lock(&self.set);
        if !*set {
            set = match self.changed.wait_timeout(set, limit) {
                Ok((set, _)) => set,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        std::mem::replace(&mut *set, false)
    }
}

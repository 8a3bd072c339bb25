//! What in-flight work keeps alive: a ring by stream, in order of numbers.
//!
//! Safety of work in flight rests on this ring and on stream-ordered frees, never on the future that
//! submitted it: the future may be dropped, aborted or forgotten. Device memory is not in here: a
//! buffer's last handle frees it in stream order, after all its uses.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::Staging;
use crate::sync::{Mutex, lock};

/// Something that must outlive work in flight. The fields are never read: they are held.
pub(crate) enum Owner {
    Staging(#[allow(dead_code)] Arc<Staging>),
    Shared(#[allow(dead_code)] Arc<dyn Any + Send + Sync>),
    Boxed(#[allow(dead_code)] Box<dyn Any + Send>),
}

#[derive(Default)]
pub(super) struct Owners {
    ring: Mutex<VecDeque<(u64, Owner)>>,
    len: AtomicUsize,
}

impl Owners {
    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::SeqCst) == 0
    }

    pub(super) fn push(&self, number: u64, owner: Owner) {
        let mut ring = lock(&self.ring);
        ring.push_back((number, owner));
        self.len.store(ring.len(), Ordering::SeqCst);
    }

    /// Drops the owners of all work up to `completed`, outside the lock: their destructors may come
    /// back to this stream.
    pub(super) fn release_through(&self, completed: u64) {
        while !self.is_empty() {
            let released = {
                let mut ring = lock(&self.ring);
                match ring.front() {
                    Some((number, _)) if *number <= completed => {
                        let released = ring.pop_front();
                        self.len.store(ring.len(), Ordering::SeqCst);
                        released
                    }
                    _ => return,
                }
            };
            drop(released);
        }
    }
}

//! A stream's timeline on CUDA: a 64-bit word in page-locked host memory that the stream itself
//! writes.
//!
//! Where the device can't write such words, the same word is advanced by whoever looks at it, from
//! events recorded in the stream.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::{DriverError, Event, PinnedMemory, Stream, sys::CUdeviceptr};
use crate::sync::{Mutex, lock};

/// Words are this far apart: a pair of cache lines, so that no two streams share what is
/// prefetched.
const STRIDE: usize = 128;
const PAGE: usize = 4096;

/// Hands out words; a page of them at a time, never given back.
#[derive(Debug, Default)]
pub(super) struct Words(Mutex<Vec<Word>>);

/// One word, seen from both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    host: &'static AtomicU64,
    address: CUdeviceptr,
}

impl Words {
    fn take(&self, stream: &Stream) -> Result<Word, DriverError> {
        let mut free = lock(&self.0);
        if let Some(word) = free.pop() {
            return Ok(word);
        }
        let page = PinnedMemory::allocate(stream.context(), PAGE)?;
        let word = |offset: usize| {
            // SAFETY: inside the page, aligned, and nobody else has it; the page is never given
            // back.
            let host = unsafe {
                let at = page.host_address().cast::<AtomicU64>().byte_add(offset);
                at.write(AtomicU64::new(0));
                &*at.as_ptr()
            };
            Word { host, address: page.device_address() + offset as u64 }
        };
        free.extend((STRIDE..PAGE).step_by(STRIDE).map(word));
        let first = word(0);
        std::mem::forget(page);
        Ok(first)
    }
}

/// The timeline of one stream.
#[derive(Debug)]
pub(super) struct Timeline {
    word: Word,
    /// Without stream writes: numbers and the events that mark them, in order.
    events: Option<Mutex<VecDeque<(u64, Event)>>>,
}

impl Timeline {
    pub(super) fn new(words: &Words, stream: &Stream) -> Result<Self, DriverError> {
        let by_events = !stream.context().properties().stream_memory_operations;
        Ok(Self { word: words.take(stream)?, events: by_events.then(Mutex::default) })
    }

    /// The word. Whoever looks also advances it where the stream can't.
    pub(super) fn word(&self) -> &AtomicU64 {
        if let Some(events) = &self.events {
            let mut events = lock(events);
            // An error is reported by the query that looks for it; here it only means "no
            // progress".
            while events.front().is_some_and(|(_, event)| event.query().unwrap_or(false)) {
                if let Some((number, _)) = events.pop_front() {
                    self.word.host.store(number, Ordering::SeqCst);
                }
            }
        }
        self.word.host
    }

    /// Enqueues a write of `number` in `stream`.
    pub(super) fn write(&self, stream: &Stream, number: u64) -> Result<(), DriverError> {
        let Some(events) = &self.events else {
            // SAFETY: the word lives for ever.
            let written = unsafe { stream.write_value(self.word.address, number) }?;
            debug_assert!(written, "the device said that it can");
            return Ok(());
        };
        let event = Event::new(stream.context())?;
        event.record(stream)?;
        lock(events).push_back((number, event));
        Ok(())
    }

    /// Makes `stream` wait until the word is at least `number`, whose write is enqueued. False if
    /// the device can't do that: nothing was enqueued.
    pub(super) fn wait_in(&self, stream: &Stream, number: u64) -> Result<bool, DriverError> {
        if self.events.is_some() {
            return Ok(false);
        }
        // SAFETY: the word lives for ever, and its write is enqueued.
        unsafe { stream.wait_value(self.word.address, number) }
    }
}

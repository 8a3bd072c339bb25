//! The queue of a host stream and the worker that runs it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

use crate::device::DeviceId;
use crate::error::{DeviceError, ErrorKind, Result, panic_message};
use crate::host::HostTask;
use crate::host::memory::Memory;
use crate::host::work::HostWork;
use crate::stream::StreamCore;
use crate::sync::{Condvar, Mutex, lock};

thread_local! {
    /// The device whose worker this thread is.
    static WORKER: Cell<Option<DeviceId>> = const { Cell::new(None) };
}

/// The device whose work this thread runs, if it is a worker.
pub(crate) fn current_worker() -> Option<DeviceId> {
    WORKER.get()
}

/// One thing for the worker to do.
pub(super) enum Item {
    /// Run a closure.
    Run { task: HostTask, work: HostWork },
    /// Copy bytes; the ranges do not overlap.
    Copy { dst: *mut u8, src: *const u8, bytes: usize, work: HostWork },
    /// Repeat a pattern.
    Fill { dst: *mut u8, pattern: u32, width: usize, count: usize, work: HostWork },
    /// Store a number in the timeline.
    Write(u64),
    /// Wait until another stream's timeline has reached a number.
    Wait(&'static Queue, u64),
}

// SAFETY: the pointers lie in memory that belongs to the work or to its stream until it has run.
unsafe impl Send for Item {}

/// A host stream's queue.
pub(super) struct Queue {
    device: DeviceId,
    memory: &'static Memory,
    items: Mutex<VecDeque<Item>>,
    ready: Condvar,
    /// How many items have been queued, and how many of them are done.
    queued: AtomicU64,
    done: AtomicU64,
    pub(super) timeline: AtomicU64,
    /// Workers of other streams that wait for the timeline.
    waiting: AtomicUsize,
    advanced: (Mutex<()>, Condvar),
    pub(super) core: OnceLock<&'static StreamCore>,
}

impl Queue {
    /// Makes a queue and starts its worker; both live as long as the process.
    pub(super) fn start(device: DeviceId, memory: &'static Memory) -> Result<&'static Queue> {
        let queue: &'static Queue = Box::leak(Box::new(Queue {
            device,
            memory,
            items: Mutex::new(VecDeque::with_capacity(256)),
            ready: Condvar::new(),
            queued: AtomicU64::new(0),
            done: AtomicU64::new(0),
            timeline: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            advanced: (Mutex::new(()), Condvar::new()),
            core: OnceLock::new(),
        }));
        std::thread::Builder::new()
            .name(format!("stream of {device}"))
            .spawn(move || queue.work())
            .map_err(|error| DeviceError::fault(device, "starting a stream", error.to_string()))?;
        Ok(queue)
    }

    pub(super) fn push(&self, item: Item) {
        let mut items = lock(&self.items);
        items.push_back(item);
        self.queued.fetch_add(1, Ordering::SeqCst);
        drop(items);
        self.ready.notify_one();
    }

    /// The place after everything queued so far.
    pub(super) fn place(&self) -> u64 {
        self.queued.load(Ordering::SeqCst)
    }

    /// Whether everything up to `place` is done.
    pub(super) fn passed(&self, place: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= place
    }

    fn work(&'static self) {
        WORKER.set(Some(self.device));
        loop {
            let mut items = lock(&self.items);
            let item = loop {
                match items.pop_front() {
                    Some(item) => break item,
                    None => {
                        items = self.ready.wait(items).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(items);
            // On a lost device nothing runs and no timeline moves, as on a dead CUDA context.
            let lost = self.memory.is_lost();
            // A destructor of something that a skipped closure held may panic; the worker goes on.
            let _ =
                catch_unwind(AssertUnwindSafe(|| if lost { drop(item) } else { self.run(item) }));
            if !lost {
                self.done.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn run(&'static self, item: Item) {
        match item {
            Item::Write(number) => self.write(number),
            Item::Wait(other, number) => other.wait_for(number),
            Item::Run { task, work } => self.report(&work, || {
                let site = task.site();
                match catch_unwind(AssertUnwindSafe(|| task.run())) {
                    Ok(result) => result,
                    Err(payload) => {
                        Err(ErrorKind::Panicked { site, message: panic_message(payload) }.into())
                    }
                }
            }),
            Item::Copy { dst, src, bytes, work } => self.report(&work, || {
                // SAFETY: both ranges are valid and apart until this has run (`enqueue`).
                unsafe { dst.copy_from_nonoverlapping(src, bytes) };
                Ok(())
            }),
            Item::Fill { dst, pattern, width, count, work } => self.report(&work, || {
                let pattern = pattern.to_ne_bytes();
                // SAFETY: the range is valid and aligned to the width until this has run.
                unsafe {
                    match width {
                        1 => dst.write_bytes(pattern[0], count),
                        2 => fill(dst.cast(), u16::from_ne_bytes([pattern[0], pattern[1]]), count),
                        _ => fill(dst.cast(), u32::from_ne_bytes(pattern), count),
                    }
                }
                Ok(())
            }),
        }
    }

    /// Runs one piece of work on sound inputs; a failure goes to its operation and its outputs.
    fn report(&self, work: &HostWork, run: impl FnOnce() -> Result<()>) {
        if let Err(error) = work.check().and_then(|()| run()) {
            if error.is_device_lost() {
                // A trap: this device is finished, and says so from now on.
                self.memory.lose(&error);
            }
            work.fail(&error);
        }
    }

    fn write(&self, number: u64) {
        self.timeline.store(number, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.advanced.0));
            self.advanced.1.notify_all();
        }
        if let Some(core) = self.core.get() {
            core.advanced();
        }
    }

    /// Blocks a worker until this stream's timeline has reached `number`. The write is queued, and
    /// always before the wait in time, so workers can't wait in a circle.
    fn wait_for(&self, number: u64) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut guard = lock(&self.advanced.0);
        while self.timeline.load(Ordering::SeqCst) < number {
            // The limit is for a device that is lost in the meantime: then the runtime itself sets
            // the timeline, and nobody tells.
            let wait = self.advanced.1.wait_timeout(guard, Duration::from_millis(10));
            guard = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(guard);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// # Safety
/// `dst` is valid and aligned for `count` values.
unsafe fn fill<T: Copy>(dst: *mut T, value: T, count: usize) {
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts_mut(dst, count) }.fill(value);
}

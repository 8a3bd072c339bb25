//! Streams: queues of work in order, each with a timeline of numbers.
//!
//! Every enqueue takes the next number of its stream. The timeline word says up to which number all
//! is complete. Streams are pooled and live as long as the process, so the rest of the runtime holds
//! them as plain references: no reference counts on the submission path and nothing to tear down.
//!
//! - `submit`: the stream's lock, numbers, ordering across streams.
//! - `owners`: what in-flight work keeps alive.
//! - `fault`: where a failure of submitted work is reported.
//!
//! No futures, no wakers beyond the wait list, no policies here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::backend::BackendStream;
use crate::completion::{self, WaitList};
use crate::device::{Device, DeviceKind};
use crate::error::{DeviceError, Result};
use crate::sync::{Mutex, lock};

mod fault;
mod owners;
mod submit;

pub(crate) use fault::FaultCell;
pub(crate) use owners::Owner;
use owners::Owners;
use submit::Queue;

/// A stream of a device, as the runtime holds it.
pub struct StreamCore {
    pub(crate) device: Device,
    pub(crate) index: usize,
    pub(crate) backend: Box<dyn BackendStream>,
    /// Whether the device survives faults, so that operations fail and buffers are poisoned one by one.
    pub(crate) survives_faults: bool,
    queue: Mutex<Queue>,
    /// Highest number whose timeline write is enqueued.
    written: AtomicU64,
    waiters: WaitList,
    owners: Owners,
    spare_faults: Mutex<Vec<Arc<FaultCell>>>,
    /// Futures placed here and not done.
    reservations: AtomicUsize,
    /// Whether the reactor looks after this stream.
    pub(crate) watched: AtomicBool,
}

/// A number on a stream: "when `stream` has passed `number`".
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) stream: &'static StreamCore,
    pub(crate) number: u64,
}

impl Mark {
    /// Whether the work is known complete.
    pub(crate) fn passed(self) -> bool {
        self.stream.completed() >= self.number
    }
}

impl StreamCore {
    pub(crate) fn open(device: Device, index: usize) -> Result<&'static StreamCore> {
        let backend = device.backend()?.open_stream()?;
        let core: &'static StreamCore = Box::leak(Box::new(StreamCore {
            device,
            index,
            backend,
            survives_faults: device.kind() != DeviceKind::Cuda,
            queue: Mutex::new(Queue::default()),
            written: AtomicU64::new(0),
            waiters: WaitList::new(),
            owners: Owners::default(),
            spare_faults: Mutex::new(Vec::with_capacity(16)),
            reservations: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
        }));
        core.backend.opened(core);
        Ok(core)
    }

    /// Tells the runtime that the timeline has been stored; for backends that report progress.
    pub fn advanced(&'static self) {
        if !self.waiters.is_empty() {
            completion::progress();
        }
    }

    /// The highest number known complete.
    pub(crate) fn completed(&self) -> u64 {
        self.backend.timeline().load(Ordering::SeqCst)
    }

    /// Wakes `waker` when `number` is passed, or the device is lost.
    pub(crate) fn wake_at(&'static self, number: u64, waker: &std::task::Waker) {
        self.waiters.register(number, waker, || self.completed());
        if !self.waiters.is_empty() {
            completion::watch(self);
        }
    }

    /// The reactor's look at this stream; whether anybody was woken.
    pub(crate) fn wake_completed(&self) -> bool {
        let completed = self.completed();
        self.release_owners();
        self.waiters.wake_through(completed) > 0
    }

    /// Whether nobody waits and nothing can be reclaimed later.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiters.is_empty()
            && (self.owners.is_empty()
                || self.written.load(Ordering::SeqCst) <= self.completed()
                || self.device.check_alive().is_err())
    }

    /// Asks the device whether it still lives; marks it as lost if not.
    pub(crate) fn check_alive(&self) {
        if let Err(error) = self.backend.query() {
            self.device.lose(error);
            self.abandon();
        }
    }

    /// Lets go all who wait for a stream whose device is lost: tasks, and streams of other devices.
    pub(crate) fn abandon(&self) {
        // The device compares by a signed difference, so this is the largest number.
        self.backend.timeline().store(i64::MAX as u64, Ordering::SeqCst);
        self.waiters.wake_all();
    }

    /// Wakes all who wait here, to look for themselves.
    pub(crate) fn wake_everybody(&self) {
        self.waiters.wake_all();
    }

    /// Drops what work that has completed kept alive. On a lost device nobody knows what has.
    pub(crate) fn release_owners(&self) {
        if !self.owners.is_empty() {
            let completed = self.completed();
            if self.device.check_alive().is_ok() {
                self.owners.release_through(completed);
            }
        }
    }

    /// Sees to it that what is in flight is reclaimed even if nobody ever waits for it.
    pub(crate) fn reclaim_later(&'static self, number: u64) {
        if self.ensure_written(number).is_ok() && !self.owners.is_empty() {
            completion::watch(self);
        }
    }

    /// Keeps `owner` until the stream has passed `number`.
    pub(crate) fn keep(&self, number: u64, owner: Owner) {
        self.owners.push(number, owner);
    }

    /// A place for the failure of one operation's work, from the pool.
    pub(crate) fn fault_cell(&self) -> Arc<FaultCell> {
        lock(&self.spare_faults).pop().unwrap_or_default()
    }

    /// Takes a cell back if nothing in flight can still write to it.
    pub(crate) fn recycle(&self, mut cell: Arc<FaultCell>) {
        if let Some(inner) = Arc::get_mut(&mut cell) {
            inner.reset();
            let mut spare = lock(&self.spare_faults);
            if spare.len() < spare.capacity() {
                spare.push(cell);
            }
        }
    }
}

impl fmt::Debug for StreamCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} of {}", self.index, self.device.id())
    }
}

/// A handle on a stream of a device.
///
/// Operations are put on one with [`sync_on`](crate::DeviceOperation::sync_on) or by a scheduling
/// policy. Streams come from a pool and go back to it; dropping a handle waits for nothing.
///
/// ```
/// use cuda_async::prelude::*;
///
/// # fn main() -> Result<(), DeviceError> {
/// let stream = Device::host(0).new_stream()?;
/// assert_eq!(with_context(|_| Ok(7)).sync_on(&stream)?, 7);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream {
    pub(crate) core: &'static StreamCore,
    /// Returns a stream made by [`Device::new_stream`] when the last handle goes.
    _lease: Option<Arc<Lease>>,
}

struct Lease(&'static StreamCore);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.device.give_back(self.0);
    }
}

impl Stream {
    pub(crate) fn pooled(core: &'static StreamCore) -> Stream {
        Stream { core, _lease: None }
    }

    pub(crate) fn leased(core: &'static StreamCore) -> Stream {
        Stream { core, _lease: Some(Arc::new(Lease(core))) }
    }

    /// The device that the stream belongs to.
    pub fn device(&self) -> Device {
        self.core.device
    }

    /// The stream's number on its device.
    pub fn index(&self) -> usize {
        self.core.index
    }

    /// How many futures are placed on this stream and not done.
    pub fn load(&self) -> usize {
        self.core.reservations.load(Ordering::Relaxed)
    }

    /// Blocks until all that is enqueued now has completed.
    ///
    /// # Errors
    /// If the device is lost, or if called from work that runs on this device.
    pub fn synchronize(&self) -> Result<()> {
        crate::block::wait_for_stream(self.core)
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        std::ptr::eq(self.core, other.core)
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

/// A future's place on a stream, counted while it lives.
pub(crate) struct Reservation(&'static StreamCore);

impl Reservation {
    pub(crate) fn new(core: &'static StreamCore) -> Self {
        core.reservations.fetch_add(1, Ordering::Relaxed);
        Reservation(core)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.reservations.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Checks a device and gives its failure, for those that wait on a stream of it.
pub(crate) fn alive(mark: Mark) -> std::result::Result<(), DeviceError> {
    mark.stream.device.check_alive()
}

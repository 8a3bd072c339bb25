//! [`Buffer`]: a piece of device memory that knows its uses.
//!
//! The last handle frees the memory in stream order, after every use on every stream; so a buffer
//! can be dropped at any moment, also while work on it is in flight, and nothing waits.

use std::fmt;
use std::sync::Arc;

use crate::backend::DevicePtr;
use crate::device::Device;
use crate::error::{DeviceError, ErrorKind, Result};
use crate::memory::poison::Poison;
use crate::memory::track::{AccessKind, Track};
use crate::stream::{Mark, StreamCore};
use crate::sync::{Mutex, lock};

/// Device memory by reference count.
///
/// Made by [`ExecutionContext::alloc`](crate::ExecutionContext::alloc). A clone is another handle on
/// the same memory. The contents are reached through declared accesses only
/// ([`read`](crate::ExecutionContext::read), [`write`](crate::ExecutionContext::write)), which order
/// work across streams.
#[derive(Clone)]
pub struct Buffer(Arc<Inner>);

/// Declared use of a buffer by one piece of work.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) buffer: Buffer,
    pub(crate) kind: AccessKind,
}

struct Inner {
    device: Device,
    home: &'static StreamCore,
    ptr: DevicePtr,
    bytes: usize,
    track: Mutex<Track>,
    poison: Arc<Poison>,
}

/// The address of empty buffers: aligned, never used.
const EMPTY: DevicePtr = DevicePtr(256);

impl Buffer {
    pub(crate) fn alloc(home: &'static StreamCore, bytes: usize) -> Result<Buffer> {
        let (ptr, mark) = match bytes {
            0 => (EMPTY, None),
            _ => home.alloc(bytes).map(|(ptr, mark)| (ptr, Some(mark)))?,
        };
        let track = Mutex::new(Track::allocated(mark));
        let device = home.device;
        let poison = Arc::new(Poison::none(device.id(), bytes));
        Ok(Buffer(Arc::new(Inner { device, home, ptr, bytes, track, poison })))
    }

    /// The device that the memory is on.
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.0.bytes
    }

    /// Whether the size is 0.
    pub fn is_empty(&self) -> bool {
        self.0.bytes == 0
    }

    /// Whether this is the only handle, so that nobody else can reach the memory. Work in flight
    /// does not count: it is in order before whatever comes next.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Whether both are handles on the same memory.
    pub fn same(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether work that writes it has been enqueued since it was allocated: until then its contents
    /// are undefined.
    pub fn is_written(&self) -> bool {
        lock(&self.0.track).is_written()
    }

    /// The failure that left the contents undefined, if there was one; on CUDA a failure ends the
    /// whole device, and no buffer is poisoned by itself.
    pub fn poison(&self) -> Option<&DeviceError> {
        self.0.poison.get()
    }

    /// The stream that it was allocated on.
    pub(crate) fn home(&self) -> &'static StreamCore {
        self.0.home
    }

    /// The address, without declaring anything: for those who have declared the access.
    pub(crate) fn ptr(&self) -> DevicePtr {
        self.0.ptr
    }

    /// What work that may outlive all handles needs to know.
    pub(crate) fn trace(&self) -> Arc<Poison> {
        Arc::clone(&self.0.poison)
    }

    /// Fails if the contents are undefined.
    pub(crate) fn check_poison(&self) -> Result<()> {
        self.0.poison.check()
    }

    /// Fails unless `offset..offset + bytes` lies inside.
    pub(crate) fn check_range(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.0.bytes => Ok(()),
            _ => Err(ErrorKind::OutOfRange { offset, bytes, len: self.0.bytes }.into()),
        }
    }

    pub(crate) fn conflict(
        &self,
        kind: AccessKind,
        covered: impl Fn(Mark) -> bool,
    ) -> Option<Mark> {
        lock(&self.0.track).conflict(kind, covered)
    }

    /// Marks the access, unless it conflicts with a mark that is not covered; gives that one.
    pub(crate) fn mark(
        &self,
        kind: AccessKind,
        mark: Mark,
        covered: impl Fn(Mark) -> bool,
    ) -> Option<Mark> {
        let mut track = lock(&self.0.track);
        let conflict = track.conflict(kind, covered);
        if conflict.is_none() {
            track.record(kind, mark);
        }
        conflict
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let track = lock(&self.track);
        // The stream that used it last can free it without a wait.
        let stream = track.pending().next().map_or(self.home, |mark| mark.stream);
        let stream = if stream.device == self.home.device { stream } else { self.home };
        // SAFETY: the last handle is gone; every use that may be in flight is among the marks.
        let freed = unsafe { stream.free(self.ptr, self.bytes, track.pending()) };
        if freed.is_err() {
            // The device can't take it back any more; the memory goes with the device.
            self.home.device.count_leak(self.bytes);
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer of {} bytes on {}", self.0.bytes, self.device().id())?;
        if self.poison().is_some() { f.write_str(" (poisoned)") } else { Ok(()) }
    }
}

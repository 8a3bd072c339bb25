//! What an operation sees while it is advanced: its stream, its declared accesses, its services.
//!
//! Three services go through here and nowhere else: access tracking, allocation, and the answer
//! `Pending`. A later graph capture replaces exactly these. No operation names a stream or a waker
//! in any other way.

use std::sync::Arc;
use std::task::{Poll, Waker};

use smallvec::SmallVec;

use crate::backend::{DevicePtr, Work};
use crate::device::Device;
use crate::error::{DeviceError, ErrorKind, Result};
use crate::memory::{Access, AccessKind, Buffer, Readable, Writable};
use crate::stream::{Mark, Owner, Stream, StreamCore, alive};

mod record;
mod transfer;
mod work;

pub(crate) use record::Record;
pub use transfer::ReadBack;
pub use work::RawStream;

/// What `Pending` waits for, gathered during one call of `advance`.
pub(crate) type Waits = SmallVec<[Mark; 4]>;

/// The context in which an operation is advanced.
///
/// An operation declares what it touches ([`read`](Self::read), [`write`](Self::write)), then
/// enqueues work that uses it. The declarations belong to the next piece of work: they order it after
/// conflicting work on every stream and keep the memory until it is done.
pub struct ExecutionContext<'a> {
    stream: &'static StreamCore,
    lanes: &'a [Stream],
    record: &'a mut Record,
    waits: &'a mut Waits,
    waker: &'a Waker,
    work: Work,
    raw_taken: bool,
}

impl<'a> ExecutionContext<'a> {
    pub(crate) fn new(
        stream: &'static StreamCore,
        lanes: &'a [Stream],
        record: &'a mut Record,
        waits: &'a mut Waits,
        waker: &'a Waker,
    ) -> Self {
        ExecutionContext {
            stream,
            lanes,
            record,
            waits,
            waker,
            work: Work::default(),
            raw_taken: false,
        }
    }

    /// The device that the operation runs on.
    pub fn device(&self) -> Device {
        self.stream.device
    }

    /// The stream that the operation runs on.
    pub fn stream(&self) -> Stream {
        Stream::pooled(self.stream)
    }

    /// The task to wake when something outside any stream (a helper thread) lets the operation go on.
    /// Whoever answers `Pending` for such a reason has given this to somebody.
    pub fn waker(&self) -> &Waker {
        self.waker
    }

    /// Allocates device memory of `bytes`; later work on any stream may use it. Its contents are
    /// undefined. 0 bytes are fine.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], with the bytes asked for, used and in total.
    pub fn alloc(&mut self, bytes: usize) -> Result<Buffer> {
        Buffer::alloc(self.stream, bytes)
    }

    /// Declares that the next piece of work reads `memory`, a buffer or a tensor; gives the address
    /// of its first element.
    ///
    /// # Errors
    /// If the memory is on another device, or holds what failed work left behind.
    pub fn read(&mut self, memory: &(impl Readable + ?Sized)) -> Result<DevicePtr> {
        let (buffer, offset) = memory.readable()?;
        self.check_usable(buffer)?;
        Ok(self.declare(buffer, AccessKind::Read)?.add(offset))
    }

    /// Declares that the next piece of work writes `memory` (and may read it): `&buffer`, or
    /// `&mut tensor`; gives the address of its first element.
    ///
    /// # Errors
    /// If the memory is on another device, or holds what failed work left behind.
    pub fn write(&mut self, memory: impl Writable) -> Result<DevicePtr> {
        let (buffer, offset) = memory.writable()?;
        self.check_usable(buffer)?;
        Ok(self.declare(buffer, AccessKind::Write)?.add(offset))
    }

    /// Keeps `owner` until the work enqueued last has completed: a module, a plan of a library.
    pub fn keep(&mut self, owner: Arc<dyn std::any::Any + Send + Sync>) {
        self.stream.keep(self.record.last_on(self.stream), Owner::Shared(owner));
    }

    /// Whether all work that this operation has submitted so far is complete.
    ///
    /// `Pending` wakes the task when it may be; an error is a failure of that work.
    pub fn wait_submitted(&mut self) -> Poll<Result<()>> {
        self.record.poll(self.waits)
    }

    /// Runs `f` with the context of independent part `part` of this operation.
    ///
    /// Under a policy with several lanes ([`ForkJoin`](crate::ForkJoin)) parts run on different
    /// streams; a part always on the same one. Otherwise on this context's own stream. Outputs may be
    /// used on any stream afterwards, so there is no join.
    pub fn fork<R>(&mut self, part: usize, f: impl FnOnce(&mut ExecutionContext<'_>) -> R) -> R {
        let stream = match self.lanes.len() {
            0 => self.stream,
            count => self.lanes[part % count].core,
        };
        let mut context = ExecutionContext::new(stream, &[], self.record, self.waits, self.waker);
        f(&mut context)
    }

    /// The same context with another place for what is submitted and on another stream.
    pub(crate) fn with_record<R>(
        &mut self,
        stream: &'static StreamCore,
        record: &mut Record,
        f: impl FnOnce(&mut ExecutionContext<'_>) -> R,
    ) -> R {
        let mut context = ExecutionContext::new(stream, self.lanes, record, self.waits, self.waker);
        f(&mut context)
    }

    pub(crate) fn core(&self) -> &'static StreamCore {
        self.stream
    }

    /// Takes over what another execution has submitted: this one is complete only when that is.
    pub(crate) fn absorb(&mut self, other: &Record) {
        self.record.absorb(other);
    }

    /// Waits for `mark`; a failure of this operation's work counts once it is passed.
    pub(crate) fn wait_mark(&mut self, mark: Mark) -> Poll<Result<()>> {
        let passed = mark.passed();
        // Asked after: the timeline of a lost device says that all is passed.
        if let Err(error) = alive(mark) {
            return Poll::Ready(Err(error));
        }
        if !passed {
            self.waits.push(mark);
            return Poll::Pending;
        }
        Poll::Ready(self.record.failure().map_or(Ok(()), Err))
    }

    /// Fails with the device of `buffer`, which is another than this one.
    pub(crate) fn depend_on(&mut self, buffer: &Buffer) {
        self.record.depend_on(buffer.home());
    }

    fn check_usable(&self, buffer: &Buffer) -> Result<()> {
        if buffer.device() == self.device() {
            return if self.stream.survives_faults { buffer.check_poison() } else { Ok(()) };
        }
        Err(DeviceError::from(ErrorKind::WrongDevice {
            expected: self.device().id(),
            found: buffer.device().id(),
        }))
    }

    fn declare(&mut self, buffer: &Buffer, kind: AccessKind) -> Result<DevicePtr> {
        self.work.accesses.push(Access { buffer: buffer.clone(), kind });
        if self.raw_taken {
            self.stream.order(&self.work)?;
        }
        Ok(buffer.ptr())
    }
}

impl Drop for ExecutionContext<'_> {
    fn drop(&mut self) {
        // Reached with work on the raw stream only if the closure that put it there panicked.
        let _ = self.finish_raw();
    }
}

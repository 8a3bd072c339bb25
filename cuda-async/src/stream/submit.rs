//! The stream's lock: numbers, and the order of work across streams.
//!
//! One submission is: lock, take the next number, mark every buffer it touches with (stream,
//! number), make the one driver call, unlock. Marking a buffer looks for conflicting marks of other
//! streams. Where one is found that is neither complete nor already waited for, the lock is let go,
//! the other stream gets a timeline write (under its own lock, never both; backends that wait by
//! events need none), a wait is enqueued here, and the submission starts again. So no wait is for
//! something that is not enqueued, and no two stream locks are ever held together: neither streams
//! nor threads can deadlock.
//!
//! A number that was shown in a mark is always issued, if need be with nothing behind it.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use crate::backend::{Command, DevicePtr, Work};
use crate::error::{DeviceError, Result};
use crate::stream::{Mark, StreamCore};
use crate::sync::{MutexGuard, lock};

/// What the stream's lock guards.
#[derive(Default)]
pub(super) struct Queue {
    /// The last number given out.
    issued: u64,
    /// How far this stream has already been made to wait for others.
    waited: Waited,
    /// Whether the last enqueue was a dependent-launch kernel.
    dependent: bool,
}

/// Other streams and the number up to which all later work here is ordered after them.
#[derive(Default)]
pub(crate) struct Waited(SmallVec<[Mark; 4]>);

impl Waited {
    /// Whether work that is enqueued now runs after `mark` anyway.
    pub(crate) fn covers(&self, own: &StreamCore, mark: Mark) -> bool {
        std::ptr::eq(mark.stream, own)
            || self.0.iter().any(|w| std::ptr::eq(w.stream, mark.stream) && w.number >= mark.number)
            || mark.passed()
    }

    fn note(&mut self, mark: Mark) {
        match self.0.iter_mut().find(|w| std::ptr::eq(w.stream, mark.stream)) {
            Some(known) => known.number = known.number.max(mark.number),
            None => {
                self.0.retain(|w| !w.passed());
                self.0.push(mark);
            }
        }
    }
}

impl StreamCore {
    /// Enqueues `command`, ordered after everything that conflicts with its declared accesses.
    /// Gives the number that it got.
    ///
    /// # Safety
    /// Addresses in `command` lie in buffers declared in `work`, or outlive the work otherwise.
    pub(crate) unsafe fn submit(
        &'static self,
        command: Command<'_>,
        work: &mut Work,
    ) -> Result<u64> {
        // That the device still lives is for the backend to say, in the same call.
        let mut queue = self.lock_marked(work)?;
        let dependent = matches!(&command, Command::Launch { launch, .. } if launch.dependent);
        let command = match command {
            Command::Launch { launch, .. } => {
                Command::Launch { launch, overlap: dependent && queue.dependent }
            }
            other => other,
        };
        queue.issued += 1;
        queue.dependent = dependent;
        // SAFETY: the caller vouches for addresses; conflicting work is ordered by `lock_marked`;
        // the stream's lock is held.
        let result = unsafe { self.backend.enqueue(command, work) };
        let number = queue.issued;
        drop(queue);
        self.noted(result)?;
        Ok(number)
    }

    /// Gives a number to work that somebody else has enqueued on the raw stream.
    pub(crate) fn submit_foreign(&'static self, work: &mut Work) -> Result<u64> {
        let mut queue = self.lock_marked(work)?;
        queue.issued += 1;
        queue.dependent = false;
        Ok(queue.issued)
    }

    /// Orders later work here after what conflicts with the declared accesses, without marking them.
    pub(crate) fn order(&'static self, work: &Work) -> Result<()> {
        for access in &work.accesses {
            let conflict = || {
                let queue = lock(&self.queue);
                access.buffer.conflict(access.kind, |mark| queue.waited.covers(self, mark))
            };
            while let Some(mark) = conflict() {
                self.wait(mark)?;
            }
        }
        Ok(())
    }

    /// Makes later work here wait for `mark`.
    pub(crate) fn wait(&'static self, mark: Mark) -> Result<()> {
        if self.backend.waits_for_writes() {
            mark.stream.ensure_written(mark.number)?;
        } else {
            // Once the lock is free, what the mark stands for is enqueued.
            drop(lock(&mark.stream.queue));
        }
        let mut queue = lock(&self.queue);
        if queue.waited.covers(self, mark) {
            return Ok(());
        }
        let result = self.backend.wait_timeline(&*mark.stream.backend, mark.number);
        queue.dependent = false;
        if result.is_ok() {
            queue.waited.note(mark);
        }
        drop(queue);
        self.noted(result)
    }

    /// Locks the queue with every access of `work` marked with the number that comes next.
    fn lock_marked(&'static self, work: &Work) -> Result<MutexGuard<'static, Queue>> {
        loop {
            let mut queue = lock(&self.queue);
            let next = Mark { stream: self, number: queue.issued + 1 };
            let conflict = work.accesses.iter().find_map(|access| {
                access.buffer.mark(access.kind, next, |mark| queue.waited.covers(self, mark))
            });
            let Some(mark) = conflict else { return Ok(queue) };
            // Some buffers may show this number by now.
            queue.issued = next.number;
            drop(queue);
            self.wait(mark)?;
        }
    }

    /// Enqueues a timeline write that covers `number`, unless one is enqueued.
    pub(crate) fn ensure_written(&'static self, number: u64) -> Result<()> {
        if self.written.load(Ordering::Acquire) >= number {
            return Ok(());
        }
        let mut queue = lock(&self.queue);
        if self.written.load(Ordering::Acquire) >= number {
            return Ok(());
        }
        let issued = queue.issued;
        let result = self.backend.write_timeline(issued);
        queue.dependent = false;
        if result.is_ok() {
            self.written.store(issued, Ordering::Release);
        }
        drop(queue);
        self.noted(result)
    }

    /// The last number given out.
    pub(crate) fn issued(&self) -> u64 {
        lock(&self.queue).issued
    }

    /// Allocates in stream order: others may use the memory once this stream has passed the mark.
    /// Until then it may still be in use here, as what it was before.
    pub(crate) fn alloc(&'static self, bytes: usize) -> Result<(DevicePtr, Mark)> {
        let mut queue = lock(&self.queue);
        queue.dependent = false;
        queue.issued += 1;
        let mark = Mark { stream: self, number: queue.issued };
        let result = self.backend.alloc(bytes);
        drop(queue);
        Ok((self.noted(result)?, mark))
    }

    /// Frees in stream order, here, after `marks` on other streams.
    ///
    /// # Safety
    /// `ptr` came from `alloc(bytes)` on a stream of this device, its last handle is gone, and its
    /// uses are `marks` and work that was enqueued here.
    pub(crate) unsafe fn free(
        &'static self,
        ptr: DevicePtr,
        bytes: usize,
        marks: impl Iterator<Item = Mark>,
    ) -> Result<()> {
        for mark in marks {
            self.wait(mark)?;
        }
        let mut queue = lock(&self.queue);
        queue.dependent = false;
        // SAFETY: as the caller says; the waits above order uses on other streams before this.
        let result = unsafe { self.backend.free(ptr, bytes) };
        drop(queue);
        self.noted(result)
    }

    /// Passes a backend's answer on; a lost device is remembered.
    fn noted<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && error.is_device_lost()
        {
            self.device.lose(DeviceError::clone(error));
        }
        result
    }
}

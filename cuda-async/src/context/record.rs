//! What one execution of an operation has submitted, and whether it is complete or has failed.

use std::sync::Arc;
use std::task::Poll;

use smallvec::SmallVec;

use crate::context::Waits;
use crate::error::{DeviceError, Result};
use crate::stream::{FaultCell, Mark, StreamCore, alive};

/// The last number on each stream used, and where failures are reported.
#[derive(Default)]
pub(crate) struct Record {
    marks: SmallVec<[Mark; 2]>,
    own: Option<(&'static StreamCore, Arc<FaultCell>)>,
    absorbed: SmallVec<[Arc<FaultCell>; 1]>,
    /// Work of other devices that this execution takes data from.
    peers: SmallVec<[Mark; 1]>,
    submissions: u32,
}

impl Record {
    pub(crate) fn note(&mut self, mark: Mark) {
        self.submissions = self.submissions.wrapping_add(1);
        match self.marks.iter_mut().find(|known| std::ptr::eq(known.stream, mark.stream)) {
            Some(known) => known.number = known.number.max(mark.number),
            None => self.marks.push(mark),
        }
    }

    /// Fails with the device of `stream`, which this execution takes data from.
    pub(crate) fn depend_on(&mut self, stream: &'static StreamCore) {
        if !self.peers.iter().any(|peer| peer.stream.device == stream.device) {
            self.peers.push(Mark { stream, number: 0 });
        }
    }

    /// How many pieces of work have been noted; tells whether there are new ones.
    pub(crate) fn submissions(&self) -> u32 {
        self.submissions
    }

    /// The last number on `stream`, 0 if nothing was submitted there.
    pub(crate) fn last_on(&self, stream: &StreamCore) -> u64 {
        self.marks
            .iter()
            .find(|mark| std::ptr::eq(mark.stream, stream))
            .map_or(0, |mark| mark.number)
    }

    /// The place for failures of this execution's work.
    pub(crate) fn fault_cell(&mut self, stream: &'static StreamCore) -> Arc<FaultCell> {
        Arc::clone(&self.own.get_or_insert_with(|| (stream, stream.fault_cell())).1)
    }

    pub(crate) fn absorb(&mut self, other: &Record) {
        other.marks.iter().for_each(|mark| self.note(*mark));
        other.peers.iter().for_each(|peer| self.depend_on(peer.stream));
        let cells = other.own.iter().map(|(_, cell)| cell).chain(&other.absorbed);
        for cell in cells {
            if !self.absorbed.iter().any(|known| Arc::ptr_eq(known, cell)) {
                self.absorbed.push(Arc::clone(cell));
            }
        }
    }

    /// The first failure reported so far.
    pub(crate) fn failure(&self) -> Option<DeviceError> {
        self.own.iter().map(|(_, cell)| cell).chain(&self.absorbed).find_map(|cell| cell.get())
    }

    /// Work that is not complete.
    pub(crate) fn pending(&self) -> impl Iterator<Item = Mark> {
        self.marks.iter().copied().filter(|mark| !mark.passed())
    }

    /// Whether all is complete, and whether it went well; what is not complete is added to `waits`.
    pub(crate) fn poll(&self, waits: &mut Waits) -> Poll<Result<()>> {
        // Each mark is looked at once: what is found incomplete here is what is waited for.
        let before = waits.len();
        waits.extend(self.pending());
        let passed = waits.len() == before;
        // Asked after: the timeline of a lost device says that all is passed.
        for mark in self.marks.iter().chain(&self.peers) {
            if let Err(error) = alive(*mark) {
                return Poll::Ready(Err(error));
            }
        }
        if !passed {
            return Poll::Pending;
        }
        Poll::Ready(self.failure().map_or(Ok(()), Err))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // What this execution leaves in flight is reclaimed without it.
        self.pending().for_each(|mark| mark.stream.reclaim_later(mark.number));
        if let Some((stream, cell)) = self.own.take() {
            stream.recycle(cell);
        }
    }
}

//! The last uses of a buffer: one write and at most one read a stream.
//!
//! An access must come after the marks that it conflicts with: a read after the last write, a write
//! after the last write and all reads since. Work on one stream is in order anyway.

use smallvec::SmallVec;

use crate::stream::Mark;

/// How work uses a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// Only reads it.
    Read,
    /// Writes it, perhaps reads it too. Atomics count as writes.
    Write,
}

pub(super) struct Track {
    write: Option<Mark>,
    reads: SmallVec<[Mark; 2]>,
    /// Whether `write` is a write, and not the allocation.
    written: bool,
}

impl Track {
    /// Fresh memory is as if written by its allocation.
    pub(super) fn allocated(at: Option<Mark>) -> Self {
        Track { write: at, reads: SmallVec::new(), written: false }
    }

    /// Whether any work has written it, or will.
    pub(super) fn is_written(&self) -> bool {
        self.written
    }

    /// A mark that `kind` has to come after and that `covered` does not vouch for.
    pub(super) fn conflict(
        &self,
        kind: AccessKind,
        covered: impl Fn(Mark) -> bool,
    ) -> Option<Mark> {
        let reads: &[Mark] = match kind {
            AccessKind::Read => &[],
            AccessKind::Write => &self.reads,
        };
        self.write.iter().chain(reads).copied().find(|mark| !covered(*mark))
    }

    /// Records an access, which is ordered after all that it conflicts with.
    pub(super) fn record(&mut self, kind: AccessKind, mark: Mark) {
        if kind == AccessKind::Write {
            // Whoever waits for this write waits for everything before it.
            self.write = Some(mark);
            self.written = true;
            self.reads.clear();
            return;
        }
        match self.reads.iter_mut().find(|read| std::ptr::eq(read.stream, mark.stream)) {
            Some(read) => read.number = mark.number,
            None => {
                self.reads.retain(|read| !read.passed());
                self.reads.push(mark);
            }
        }
    }

    /// All uses that may not be complete.
    pub(super) fn pending(&self) -> impl Iterator<Item = Mark> {
        self.write.iter().chain(&self.reads).copied().filter(|mark| !mark.passed())
    }
}

//! For each byte of a memory: its last write and its last reads.
//!
//! A page holds one cell a 4-byte word until somebody accesses less than a word of it; then one cell a byte.

/// Bytes of a page.
pub(crate) const PAGE: u64 = 1024;

/// Who accessed, and when by his warp's clock. Clock 0 means nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) clock: u32,
    pub(crate) cluster: u32,
    /// Warp of the cluster.
    pub(crate) warp: u16,
    pub(crate) lane: u8,
    /// The access was atomic or otherwise strong.
    pub(crate) strong: bool,
    /// Line of the PTX text.
    pub(crate) line: u32,
}

impl Stamp {
    fn same_thread(&self, other: &Stamp) -> bool {
        (self.cluster, self.warp, self.lane) == (other.cluster, other.warp, other.lane)
    }

    fn same_warp(&self, other: &Stamp) -> bool {
        (self.cluster, self.warp) == (other.cluster, other.warp)
    }
}

/// The last ordinary write, the last strong one (atomics are), and the last reads of two lanes, of two warps where there
/// are such.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Stamp,
    strong: Stamp,
    reads: [Stamp; 2],
}

#[derive(Debug)]
enum Page {
    Words(Box<[Cell]>),
    Bytes(Box<[Cell]>),
}

/// The accesses to a memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pages: Vec<Option<Page>>,
}

/// An earlier access that conflicts with a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Conflict {
    pub(crate) with: Stamp,
    pub(crate) was_write: bool,
    /// Offset of a byte that both access.
    pub(crate) at: u64,
}

impl Shadow {
    /// Records an access of `bytes` (a power of two) at the aligned offset `at`. `ordered` says whether an earlier access
    /// is known to have happened before.
    pub(crate) fn access(
        &mut self,
        at: u64,
        bytes: u32,
        write: bool,
        stamp: Stamp,
        ordered: impl Fn(&Stamp) -> bool,
    ) -> Option<Conflict> {
        let index = (at / PAGE) as usize;
        if self.pages.len() <= index {
            self.pages.resize_with(index + 1, || None);
        }
        let page = self.pages[index].get_or_insert_with(|| {
            Page::Words(vec![Cell::default(); PAGE as usize / 4].into_boxed_slice())
        });
        if bytes < 4
            && let Page::Words(words) = page
        {
            *page = Page::Bytes(words.iter().flat_map(|cell| [*cell; 4]).collect());
        }
        let start = (at % PAGE) as usize;
        let end = start + bytes as usize;
        let (cells, unit) = match page {
            Page::Words(words) => (&mut words[start / 4..end / 4], 4),
            Page::Bytes(cells) => (&mut cells[start..end], 1),
        };
        let mut conflict = None;
        for (step, cell) in (0u64..).step_by(unit).zip(cells) {
            let found = cell.access(write, stamp, &ordered);
            if conflict.is_none() {
                conflict =
                    found.map(|(with, was_write)| Conflict { with, was_write, at: at + step });
            }
        }
        conflict
    }
}

impl Cell {
    fn access(
        &mut self,
        write: bool,
        stamp: Stamp,
        ordered: &impl Fn(&Stamp) -> bool,
    ) -> Option<(Stamp, bool)> {
        let clash = |old: &Stamp| old.clock != 0 && !(old.same_thread(&stamp) || ordered(old));
        let mut found = clash(&self.write).then_some((self.write, true));
        if found.is_none() && !stamp.strong && clash(&self.strong) {
            found = Some((self.strong, true));
        }
        if found.is_none() && write {
            let weak = |read: &&Stamp| !(read.strong && stamp.strong) && clash(read);
            found = self.reads.iter().find(weak).map(|read| (*read, false));
        }
        if stamp.strong && write {
            // What came before stays: who is ordered behind this access may not be behind that.
            self.strong = stamp;
        } else if write {
            *self = Cell { write: stamp, ..Cell::default() };
        } else {
            self.remember_read(stamp);
        }
        found
    }

    /// Keeps two readers as different as possible: of two warps, or of two lanes.
    fn remember_read(&mut self, stamp: Stamp) {
        let [first, second] = &mut self.reads;
        if first.clock == 0 || first.same_thread(&stamp) {
            *first = stamp;
        } else if second.clock == 0 || second.same_thread(&stamp) || !first.same_warp(&stamp) {
            *second = stamp;
        } else if !second.same_warp(&stamp) && first.clock < stamp.clock {
            *first = stamp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(warp: u16, lane: u8, clock: u32) -> Stamp {
        Stamp { clock, cluster: 0, warp, lane, strong: false, line: 0 }
    }

    #[test]
    fn unordered_write_and_read_clash() {
        let mut shadow = Shadow::default();
        assert_eq!(shadow.access(2048, 4, true, stamp(0, 0, 1), |_| false), None);
        let found = shadow.access(2050, 2, false, stamp(1, 0, 1), |_| false).unwrap();
        assert!(found.was_write && found.at == 2050 && found.with.warp == 0);
        assert_eq!(shadow.access(2048, 2, false, stamp(1, 0, 1), |_| true), None);
    }

    #[test]
    fn halves_of_a_word_are_told_apart() {
        let mut shadow = Shadow::default();
        assert_eq!(shadow.access(0, 2, true, stamp(0, 0, 1), |_| false), None);
        assert_eq!(shadow.access(2, 2, true, stamp(1, 0, 1), |_| false), None);
        assert!(shadow.access(0, 4, false, stamp(2, 0, 1), |_| false).is_some());
    }

    #[test]
    fn a_write_after_reads_of_two_warps_clashes_with_the_other_one() {
        let mut shadow = Shadow::default();
        for warp in 0..4 {
            assert_eq!(shadow.access(0, 4, false, stamp(warp, 0, 1), |_| false), None);
        }
        let found = shadow.access(0, 4, true, stamp(3, 0, 2), |old| old.warp == 3).unwrap();
        assert!(!found.was_write);
    }

    #[test]
    fn strong_accesses_do_not_clash_with_each_other() {
        let mut shadow = Shadow::default();
        let strong = |warp| Stamp { strong: true, ..stamp(warp, 0, 1) };
        assert_eq!(shadow.access(0, 4, true, strong(0), |_| false), None);
        assert_eq!(shadow.access(0, 4, true, strong(1), |_| false), None);
        assert_eq!(shadow.access(4, 4, false, strong(0), |_| false), None);
        assert_eq!(shadow.access(4, 4, false, stamp(1, 0, 1), |_| false), None, "two reads");
        assert_eq!(shadow.access(4, 4, true, strong(1), |old| old.warp == 1), None);
        assert!(
            shadow.access(4, 4, true, strong(2), |_| false).is_some(),
            "an ordinary read came before"
        );
        assert!(shadow.access(0, 4, false, stamp(2, 0, 1), |_| false).is_some());
    }
}

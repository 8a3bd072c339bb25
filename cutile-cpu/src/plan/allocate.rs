//! Where tiles lie in the frame: two tiles share bytes only if they are never needed at once.

use super::{Buffer, FRAME_LIMIT};
use cutile_ir::Value;

/// A buffer while the plan is made.
pub(super) struct Storage {
    bytes: usize,
    /// First and last position of the plan that touches it.
    live: Option<(u32, u32)>,
    /// The value that it was made for and that may give it up to its successor.
    pub(super) owner: Option<Value>,
}

/// All buffers, and how far the plan has got.
#[derive(Default)]
pub(super) struct Buffers {
    all: Vec<Storage>,
    position: u32,
}

/// Tiles start at multiples of this: a cache line, and the widest vector.
pub(super) const ALIGN: usize = 64;

impl Buffers {
    pub(super) fn new_buffer(&mut self, bytes: usize, owner: Option<Value>) -> Buffer {
        self.all.push(Storage { bytes, live: None, owner });
        self.all.len() as Buffer - 1
    }

    pub(super) fn storage(&mut self, b: Buffer) -> &mut Storage {
        &mut self.all[b as usize]
    }

    /// The next position.
    pub(super) fn advance(&mut self) -> u32 {
        self.position += 1;
        self.position
    }

    /// The buffer is needed at the position that the plan has got to.
    pub(super) fn touch(&mut self, b: Buffer) {
        self.touch_at(b, self.position);
    }

    pub(super) fn touch_at(&mut self, b: Buffer, position: u32) {
        let live = &mut self.all[b as usize].live;
        *live = Some(match *live {
            Some((first, last)) => (first.min(position), last.max(position)),
            None => (position, position),
        });
    }

    /// Ends a loop: what it uses of before is needed until its last turn ends.
    pub(super) fn end_loop(&mut self, start: u32) {
        let end = self.advance();
        for s in &mut self.all {
            if let Some((first, last)) = &mut s.live
                && *first < start
                && *last >= start
            {
                *last = end;
            }
        }
    }

    /// Offsets of all buffers from `base` on, and where they end; `None` if that is too far. First
    /// fit, in the order of first use.
    pub(super) fn place(&self, base: usize) -> Option<(Vec<usize>, usize)> {
        let mut offsets = vec![0; self.all.len()];
        let mut order: Vec<usize> =
            (0..self.all.len()).filter(|i| self.all[*i].live.is_some()).collect();
        order.sort_by_key(|i| self.all[*i].live);
        let mut end = base;
        // Placed buffers that may still be live, by offset.
        let mut active: Vec<usize> = Vec::new();
        for i in order {
            let Storage { bytes, live: Some((first, _)), .. } = self.all[i] else { continue };
            active.retain(|j| self.all[*j].live.is_some_and(|(_, last)| last >= first));
            let mut at = base;
            let mut slot = active.len();
            for (k, j) in active.iter().enumerate() {
                if at.checked_add(bytes)? <= offsets[*j] {
                    slot = k;
                    break;
                }
                at = at.max((offsets[*j] + self.all[*j].bytes).next_multiple_of(ALIGN));
            }
            let this_end = at.checked_add(bytes).filter(|e| *e <= FRAME_LIMIT)?;
            offsets[i] = at;
            active.insert(slot, i);
            end = end.max(this_end);
        }
        Some((offsets, end))
    }
}

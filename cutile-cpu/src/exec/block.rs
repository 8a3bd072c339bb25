//! Runs the operations of a group block by block, all operations on a block before the next one. A
//! block is part of a long run of lanes, or several short runs, put together.

use super::control::division;
use super::{Run, Steps, next_index};
use crate::kernels::map::{DONE, Dst, Lanes, Src};
use crate::kernels::rows::Rows;
use crate::plan::{Check, Dims, LaneOp};
use cutile_ir::MAX_RANK;

/// A place that lanes come from or go to, while a group runs.
#[derive(Clone, Copy)]
pub(super) struct PortState {
    /// The first lane of the run.
    pub(super) at: *mut u8,
    pub(super) steps: Steps,
    pub(super) bytes: usize,
    /// Bytes from lane to lane along a run.
    pub(super) step: isize,
    /// The same lanes for every block: a scalar, or room in the frame.
    pub(super) fixed: bool,
    /// One element for all lanes.
    pub(super) uniform: bool,
    /// Where lanes that are not consecutive are collected; null for places that never need it, and
    /// for those that are written.
    pub(super) room: *mut u8,
}

/// How a group's lanes are walked.
#[derive(Default)]
pub(super) struct Runs {
    /// Lanes of a run.
    pub(super) lanes: usize,
    /// The axes around, the outermost first.
    pub(super) outer: Dims,
    /// How many runs, along the last axis of `outer`, make a block.
    pub(super) rows: usize,
    /// The most lanes of a block.
    pub(super) chunk: usize,
}

/// The most short runs of a block: each is a stream of its own for the processor to foresee.
const BLOCK_ROWS: usize = 8;

impl Runs {
    /// Takes as many runs at once as a block can.
    pub(super) fn choose_rows(&mut self, lengths: &Dims) {
        self.rows = match self.outer.last() {
            Some(row) => (self.chunk / self.lanes.max(1)).clamp(1, BLOCK_ROWS).min(lengths[*row]),
            None => 1,
        };
    }
}

/// What a block covers: lanes from `start` on in each of some rows.
struct Block {
    start: usize,
    lanes: usize,
    rows: usize,
    /// The axis of the rows.
    axis: Option<usize>,
}

impl PortState {
    fn is_consecutive(&self) -> bool {
        self.step == self.bytes as isize
    }

    /// Whether lanes are brought together in the room first.
    fn is_collected(&self) -> bool {
        !self.fixed && !self.room.is_null() && self.step != 0 && !self.is_consecutive()
    }

    /// Whether an address is where the run's lanes would go on after `lanes` of them.
    pub(super) fn is_next(&self, at: *mut u8, lanes: usize) -> bool {
        self.at.wrapping_offset((lanes as isize).wrapping_mul(self.step)) == at
    }

    fn source(&self, b: &Block) -> Src {
        let packed = (b.lanes * self.bytes) as isize;
        if self.is_collected() {
            Src { ptr: self.room, uniform: false, row: packed }
        } else if self.fixed {
            Src { ptr: self.at, uniform: self.uniform, row: if self.uniform { 0 } else { packed } }
        } else {
            let ptr = self.at.wrapping_offset((b.start as isize).wrapping_mul(self.step));
            Src { ptr, uniform: self.step == 0, row: self.row_step(b) }
        }
    }

    fn destination(&self, b: &Block) -> Dst {
        if self.fixed {
            Dst { ptr: self.at, row: (b.lanes * self.bytes) as isize }
        } else {
            Dst { ptr: self.at.wrapping_add(b.start * self.bytes), row: self.row_step(b) }
        }
    }

    fn row_step(&self, b: &Block) -> isize {
        b.axis.map_or(0, |k| self.steps[k])
    }

    /// A block's lanes.
    fn rows(&self, b: &Block) -> Rows {
        Rows {
            at: self.at.wrapping_offset((b.start as isize).wrapping_mul(self.step)),
            step: self.step,
            row_step: self.row_step(b),
            rows: b.rows,
            lanes: b.lanes,
            bytes: self.bytes,
        }
    }
}

/// A group's operations over a box of lanes.
#[derive(Default)]
pub(super) struct Pass {
    pub(super) ports: Vec<PortState>,
    pub(super) runs: Runs,
    pub(super) lengths: Dims,
}

impl Pass {
    /// Runs all blocks.
    ///
    /// # Safety
    /// Every port holds the lanes of the box; the places that are written overlap no place that the
    /// same operation reads.
    pub(super) unsafe fn run(&mut self, ops: &[LaneOp]) -> Run {
        let Pass { ports, runs, lengths } = self;
        let lanes = runs.lanes;
        let Some((row, around)) = runs.outer.split_last() else {
            let block = Block { start: 0, lanes, rows: 1, axis: None };
            // SAFETY: the caller's contract, passed on.
            return unsafe { run_rows(ports, ops, runs, block) };
        };
        let mut index = [0; MAX_RANK];
        loop {
            for done in (0..lengths[*row]).step_by(runs.rows) {
                let rows = runs.rows.min(lengths[*row] - done);
                let block = Block { start: 0, lanes, rows, axis: Some(*row) };
                // SAFETY: the caller's contract, for these rows.
                unsafe { run_rows(ports, ops, runs, block)? };
                step(ports, *row, rows as isize);
            }
            step(ports, *row, -(lengths[*row] as isize));
            let before = index;
            if !next_index(&mut index, lengths, around.iter().copied()) {
                return Ok(());
            }
            for k in around {
                step(ports, *k, index[*k] as isize - before[*k] as isize);
            }
        }
    }

    /// Makes runs `count` times as long.
    pub(super) fn lengthen(&mut self, count: usize) {
        self.runs.lanes *= count;
        self.runs.choose_rows(&self.lengths);
    }
}

/// Moves every port along an axis.
fn step(ports: &mut [PortState], axis: usize, by: isize) {
    for p in ports.iter_mut().filter(|p| !p.fixed) {
        p.at = p.at.wrapping_offset(by.wrapping_mul(p.steps[axis]));
    }
}

/// Runs a block of rows, in parts if a row is longer than a chunk.
///
/// # Safety
/// As for [`Pass::run`].
unsafe fn run_rows(ports: &[PortState], ops: &[LaneOp], runs: &Runs, block: Block) -> Run {
    if block.lanes <= runs.chunk {
        // SAFETY: the caller's contract.
        return unsafe { run_block(ports, ops, &block) };
    }
    for start in (0..block.lanes).step_by(runs.chunk) {
        let lanes = runs.chunk.min(block.lanes - start);
        // SAFETY: the caller's contract.
        unsafe { run_block(ports, ops, &Block { start, lanes, ..block })? };
    }
    Ok(())
}

/// # Safety
/// As for [`Pass::run`]; the block has at most as many lanes as a chunk.
unsafe fn run_block(ports: &[PortState], ops: &[LaneOp], b: &Block) -> Run {
    for p in ports.iter().filter(|p| p.is_collected()) {
        // SAFETY: the lanes are in the source, and a room holds a chunk.
        unsafe { p.rows(b).collect(p.room) };
    }
    for op in ops {
        // Whether every place goes on from row to row without a gap.
        let mut flat = true;
        let mut src = [Src::NONE; 3];
        for (src, port) in src.iter_mut().zip(op.src) {
            if let Some(p) = ports.get(port as usize) {
                *src = p.source(b);
                flat &= src.row == if src.uniform { 0 } else { (b.lanes * p.bytes) as isize };
            }
        }
        let to = &ports[op.dst as usize];
        if !to.fixed && !to.is_consecutive() {
            // Only copies go to a tensor.
            // SAFETY: the caller's contract.
            unsafe { to.rows(b).spread(src[0]) };
            continue;
        }
        let dst = to.destination(b);
        flat &= dst.row == (b.lanes * to.bytes) as isize;
        let lanes =
            if flat { Lanes::run(b.lanes * b.rows) } else { Lanes { n: b.lanes, rows: b.rows } };
        // SAFETY: the caller's contract; a chunk's room holds all lanes.
        let lane = unsafe { (op.kernel)(dst, &src, lanes) };
        if let (Some(check), true) = (&op.check, lane != DONE) {
            // SAFETY: the lane is one of the sources'.
            let [dividend, divisor] =
                [0, 1].map(|i| unsafe { lane_bits(check, src[i], lane, lanes.n) });
            return division(check, dividend, divisor);
        }
    }
    Ok(())
}

/// # Safety
/// The source has that lane, in rows of `n`, of the check's element type.
unsafe fn lane_bits(check: &Check, src: Src, lane: usize, n: usize) -> u64 {
    let bytes = check.element.bytes();
    let mut bits = [0; 8];
    let at = if src.uniform { 0 } else { lane % n * bytes };
    // SAFETY: the caller's contract; no element is wider.
    unsafe {
        let from = src.ptr.offset((lane / n) as isize * src.row).add(at);
        bits.as_mut_ptr().copy_from_nonoverlapping(from, bytes);
    }
    u64::from_le_bytes(bits)
}

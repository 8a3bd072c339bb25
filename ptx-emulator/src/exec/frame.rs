//! Registers of one call of a function by one warp.

use crate::decode::op::{Pred, PredSrc, Reg, Src};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// One register of all lanes.
pub(crate) type Row = [u64; LANES];

/// The registers of a function's activation, and where its part of local memory begins.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) regs: Vec<Row>,
    /// One mask over lanes a predicate.
    pub(crate) preds: Vec<u32>,
    /// Carry flag of each lane.
    pub(crate) carry: u32,
    /// Offset of the frame in each thread's local memory.
    pub(crate) local_base: u32,
}

impl Frame {
    /// The operand in all lanes.
    #[inline(always)]
    pub(crate) fn get(&self, src: Src) -> Row {
        match src {
            Src::Reg(reg) => self.regs[reg as usize],
            Src::Imm(value) => [value; LANES],
        }
    }

    /// The operand in one lane.
    #[inline(always)]
    pub(crate) fn lane(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Reg(reg) => self.regs[reg as usize][lane],
            Src::Imm(value) => value,
        }
    }

    /// Writes `f(lane)` to the lanes of `mask`; `f` runs for every lane.
    #[inline(always)]
    pub(crate) fn put(&mut self, d: Reg, mask: u32, f: impl Fn(usize) -> u64) {
        let out = &mut self.regs[d as usize];
        for (lane, cell) in out.iter_mut().enumerate() {
            let value = f(lane);
            *cell = if mask >> lane & 1 == 1 { value } else { *cell };
        }
    }

    /// Writes one lane.
    #[inline(always)]
    pub(crate) fn set(&mut self, d: Reg, lane: usize, value: u64) {
        self.regs[d as usize][lane] = value;
    }

    /// A predicate source as a mask over lanes.
    #[inline(always)]
    pub(crate) fn pred(&self, src: PredSrc) -> u32 {
        match src {
            PredSrc::Reg(p, negated) => self.preds[p as usize] ^ if negated { u32::MAX } else { 0 },
            PredSrc::Const(value) => {
                if value {
                    u32::MAX
                } else {
                    0
                }
            }
        }
    }

    /// Writes a predicate in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn put_pred(&mut self, d: Pred, mask: u32, value: u32) {
        let cell = &mut self.preds[d as usize];
        *cell = (*cell & !mask) | (value & mask);
    }
}

/// Iterates over the set lanes of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(lane)
    })
}

/// The mask of lanes for which `f` holds.
#[inline(always)]
pub(crate) fn ballot(f: impl Fn(usize) -> bool) -> u32 {
    let mut out = 0;
    for lane in 0..LANES {
        out |= u32::from(f(lane)) << lane;
    }
    out
}

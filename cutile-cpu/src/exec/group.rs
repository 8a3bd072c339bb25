//! Runs groups of elementwise operations: along runs of consecutive lanes, chunk by chunk, all
//! operations on a chunk before the next one.

use super::control::division;
use super::{Frame, Run, Steps, dense, next_index};
use crate::kernels::map::{DONE, Src};
use crate::plan::{CHUNK, Dims, Group, LaneOp, NO_PORT, Port, PortKind};
use cutile_ir::MAX_RANK;

/// A place that lanes come from or go to, while a group runs.
#[derive(Clone, Copy)]
pub(super) struct PortState {
    /// The first lane of the run.
    at: *mut u8,
    steps: Steps,
    bytes: usize,
    /// The same lanes for every run and chunk: a scalar, or a chunk's room.
    fixed: bool,
    /// One element for all lanes of a run.
    uniform: bool,
    /// Bytes from lane to lane along a run, where lanes are not consecutive.
    apart: Option<isize>,
    /// Where lanes that are apart are collected; null for places that are written.
    room: *mut u8,
}

/// The runs of a group: the axis (or the inner axes, which lie without gaps) that a run goes along,
/// and those around it.
struct Runs {
    lanes: usize,
    axis: Option<usize>,
    outer: Dims,
}

impl Frame<'_> {
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn group(&mut self, g: &Group) -> Run {
        let Some((first, rest)) = g.rects.split_first() else { return Ok(()) };
        let lengths = self.lengths(first, &g.shape);
        if rest.iter().all(|r| self.lengths(r, &g.shape) == lengths) {
            // SAFETY: the caller's contract, passed on; where results are valid, so are operands.
            return unsafe { self.pass(g, &g.ops, &lengths, true) };
        }
        for op in &g.ops {
            let lengths = self.lengths(&op.valid, &g.shape);
            // SAFETY: as above.
            unsafe { self.pass(g, std::slice::from_ref(op), &lengths, false)? };
        }
        Ok(())
    }

    /// Runs operations over a box of lanes; `together` keeps what only the group needs in chunks.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks, and every operand in the box.
    unsafe fn pass(&mut self, g: &Group, ops: &[LaneOp], lengths: &Dims, together: bool) -> Run {
        if lengths.contains(&0) {
            return Ok(());
        }
        let mut ports = std::mem::take(&mut self.ports);
        ports.clear();
        ports.extend(g.ports.iter().map(|p| self.open(p, g, together)));
        // Alone, an operation has its own ports and cares for no other's.
        let alone: Option<Dims> = (!together).then(|| {
            ops.iter()
                .flat_map(|op| op.src.iter().chain([&op.dst]))
                .filter(|p| **p != NO_PORT)
                .map(|p| *p as usize)
                .collect()
        });
        let used = |i: &usize| alone.as_ref().is_none_or(|a| a.contains(i));
        for i in (0..ports.len()).filter(|i| !used(i)) {
            ports[i].fixed = true;
        }
        let runs = plan_runs(&ports, &g.shape, lengths);
        for port in &mut ports {
            port.settle(runs.axis);
        }
        // SAFETY: the caller's contract, passed on.
        let result = unsafe { run_all(&mut ports, ops, &runs, lengths) };
        self.ports = ports;
        result
    }

    fn open(&self, port: &Port, g: &Group, together: bool) -> PortState {
        let bytes = port.bytes;
        let mut fixed = false;
        let mut uniform = false;
        let mut room = std::ptr::null_mut();
        let (at, steps) = match &port.kind {
            PortKind::Uniform(slot) => {
                (fixed, uniform) = (true, true);
                (self.slot(*slot), [0; MAX_RANK])
            }
            PortKind::Inner { chunk: Some(chunk), .. } if together => {
                fixed = true;
                (self.at(*chunk as usize), [0; MAX_RANK])
            }
            PortKind::Inner { buffer, .. } | PortKind::Target(buffer) => {
                (self.buffer(*buffer), dense(&g.shape, bytes))
            }
            PortKind::Source { root, map, chunk } => {
                if let Some(chunk) = chunk {
                    room = self.at(*chunk as usize);
                }
                self.view(root, map, bytes)
            }
            PortKind::Store { site, tensor } => {
                (self.sites[*site as usize], self.tensor_steps(*tensor, bytes))
            }
        };
        PortState { at, steps, bytes, fixed, uniform, apart: None, room }
    }
}

impl PortState {
    /// Decides how lanes are reached along the axis of the runs.
    fn settle(&mut self, axis: Option<usize>) {
        let Some(axis) = axis else { return };
        let step = self.steps[axis];
        if self.fixed || step == self.bytes as isize {
        } else if step == 0 && !self.room.is_null() {
            self.uniform = true;
        } else {
            self.apart = Some(step);
        }
    }

    /// Where an operation reads the lanes from `start` on.
    fn source(&self, start: usize) -> Src {
        let ptr = if self.fixed || self.uniform {
            self.at
        } else if self.apart.is_some() {
            self.room
        } else {
            self.at.wrapping_add(start * self.bytes)
        };
        Src { ptr, uniform: self.uniform }
    }
}

fn plan_runs(ports: &[PortState], shape: &Dims, lengths: &Dims) -> Runs {
    let mut lanes = 1;
    let mut axis: Option<usize> = None;
    let mut whole = true;
    let mut outer = Dims::new();
    for k in (0..shape.len()).rev().filter(|k| shape[*k] != 1) {
        let extends = match axis {
            None => true,
            Some(inner) => {
                whole
                    && outer.is_empty()
                    && ports.iter().all(|p| {
                        p.fixed || p.steps[k] == p.steps[inner].wrapping_mul(lanes as isize)
                    })
            }
        };
        if extends {
            axis = axis.or(Some(k));
            lanes *= lengths[k];
            whole = lengths[k] == shape[k];
        } else {
            outer.insert(0, k);
        }
    }
    Runs { lanes, axis, outer }
}

/// # Safety
/// Every port holds the lanes of the box; the places that are written overlap no place that the same
/// operation reads.
unsafe fn run_all(ports: &mut [PortState], ops: &[LaneOp], runs: &Runs, lengths: &Dims) -> Run {
    let mut index = [0; MAX_RANK];
    loop {
        // SAFETY: the caller's contract, for the run at `index`.
        unsafe { run_one(ports, ops, runs.lanes)? };
        let before = index;
        if !next_index(&mut index, lengths, runs.outer.iter().copied()) {
            return Ok(());
        }
        for p in ports.iter_mut().filter(|p| !p.fixed) {
            for k in &runs.outer {
                let steps = index[*k] as isize - before[*k] as isize;
                p.at = p.at.wrapping_offset(steps.wrapping_mul(p.steps[*k]));
            }
        }
    }
}

/// # Safety
/// As for [`run_all`], for one run.
unsafe fn run_one(ports: &[PortState], ops: &[LaneOp], lanes: usize) -> Run {
    for start in (0..lanes).step_by(CHUNK) {
        let n = CHUNK.min(lanes - start);
        for p in ports.iter().filter(|p| !p.room.is_null() && !p.fixed) {
            if let Some(step) = p.apart {
                let from = p.at.wrapping_offset(start as isize * step);
                // SAFETY: the lanes are in the source, and a room holds a chunk.
                unsafe { collect(p.room, from, step, n, p.bytes) };
            }
        }
        for op in ops {
            let src = op.src.map(|s| match ports.get(s as usize) {
                Some(p) => p.source(start),
                None => Src::NONE,
            });
            let dst = &ports[op.dst as usize];
            // SAFETY: the caller's contract; a chunk's room holds `n` lanes.
            let lane = unsafe {
                match dst.apart {
                    Some(step) => {
                        let to = dst.at.wrapping_offset(start as isize * step);
                        spread(to, step, src[0], n, dst.bytes);
                        DONE
                    }
                    None if dst.fixed => (op.kernel)(dst.at, &src, n),
                    None => (op.kernel)(dst.at.wrapping_add(start * dst.bytes), &src, n),
                }
            };
            if let (Some(check), true) = (&op.check, lane != DONE) {
                let bits = |i: usize| {
                    let at = if src[i].uniform { 0 } else { lane };
                    let bytes = check.element.bytes();
                    let mut bits = [0; 8];
                    // SAFETY: the lane is one of the source's.
                    unsafe {
                        let from = src[i].ptr.add(at * bytes);
                        bits.as_mut_ptr().copy_from_nonoverlapping(from, bytes);
                    }
                    u64::from_le_bytes(bits)
                };
                return division(check, bits(0), bits(1));
            }
        }
    }
    Ok(())
}

macro_rules! by_width {
    ($bytes:expr, $t:ident => $e:expr) => {
        match $bytes {
            1 => {
                type $t = u8;
                $e
            }
            2 => {
                type $t = u16;
                $e
            }
            4 => {
                type $t = u32;
                $e
            }
            _ => {
                type $t = u64;
                $e
            }
        }
    };
}

/// Copies `n` elements that lie `step` bytes apart to consecutive ones.
///
/// # Safety
/// Both places hold the elements, aligned; they don't overlap.
pub(super) unsafe fn collect(to: *mut u8, from: *const u8, step: isize, n: usize, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        by_width!(bytes, T => for i in 0..n {
            *to.cast::<T>().add(i) = *from.wrapping_offset(i as isize * step).cast::<T>();
        });
    }
}

/// Copies `n` elements, or one for all, to places `step` bytes apart.
///
/// # Safety
/// Both places hold the elements, aligned; they don't overlap.
unsafe fn spread(to: *mut u8, step: isize, src: Src, n: usize, bytes: usize) {
    let one = usize::from(!src.uniform);
    // SAFETY: the caller's contract.
    unsafe {
        by_width!(bytes, T => for i in 0..n {
            *to.wrapping_offset(i as isize * step).cast::<T>() = *src.ptr.cast::<T>().add(i * one);
        });
    }
}

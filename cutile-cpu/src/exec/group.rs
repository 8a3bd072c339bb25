//! Groups of elementwise operations: where their lanes come from and go to, and along which axes runs
//! of them go. `block` does the work.

use super::block::{Pass, PortState, Runs};
use super::{Frame, Run, dense};
use crate::plan::{CHUNK, Dims, Group, LaneOp, Port, PortKind, Root};
use cutile_ir::MAX_RANK;

/// Neighbours join until their runs are as long as this.
const STREAM_LANES: usize = 1 << 16;

impl Frame<'_> {
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn group(&mut self, g: &Group) -> Run {
        let Some((first, rest)) = g.rects.split_first() else { return Ok(()) };
        let lengths = self.lengths(first, &g.shape);
        if rest.iter().all(|r| self.lengths(r, &g.shape) == lengths) {
            // SAFETY: the caller's contract, passed on; where results are valid, so are operands.
            return unsafe { self.pass(g, &g.ops, lengths, true) };
        }
        for op in &g.ops {
            let lengths = self.lengths(&op.valid, &g.shape);
            // SAFETY: as above.
            unsafe { self.pass(g, std::slice::from_ref(op), lengths, false)? };
        }
        Ok(())
    }

    /// Runs operations over a box of lanes; `together` keeps what only the group needs in chunks.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks, and every operand in the box.
    unsafe fn pass(&mut self, g: &Group, ops: &[LaneOp], lengths: Dims, together: bool) -> Run {
        if lengths.contains(&0) {
            return Ok(());
        }
        let mut pass = std::mem::take(&mut self.pass);
        self.prepare(&mut pass, g, ops, lengths, together);
        // SAFETY: the caller's contract, passed on.
        let result = unsafe { pass.run(ops) };
        self.pass = pass;
        result
    }

    fn prepare(&self, pass: &mut Pass, g: &Group, ops: &[LaneOp], lengths: Dims, together: bool) {
        pass.ports.clear();
        pass.ports.extend(g.ports.iter().map(|p| self.open(p, g, together)));
        if !together {
            // Alone, an operation has its own ports and cares for no other's.
            let used = |i: u16| ops.iter().any(|op| op.dst == i || op.src.contains(&i));
            for (i, port) in pass.ports.iter_mut().enumerate() {
                port.fixed |= !used(i as u16);
            }
        }
        pass.runs = plan_runs(&mut pass.ports, &g.shape, &lengths);
        pass.lengths = lengths;
    }

    /// Takes up the lanes of a program that only streams (`Plan::stream`). Neighbours that go on
    /// where it ends are run with it, so that rows of a tensor are read on and on.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn join_stream(&mut self, g: &Group) -> Run {
        let Some(rect) = g.rects.first() else { return Ok(()) };
        let lengths = self.lengths(rect, &g.shape);
        if lengths.contains(&0) {
            return Ok(());
        }
        if self.goes_on(g, &lengths) {
            self.joined += 1;
            return Ok(());
        }
        // SAFETY: the caller's contract, passed on.
        unsafe { self.run_stream(g)? };
        let mut stream = std::mem::take(&mut self.stream);
        self.prepare(&mut stream, g, &g.ops, lengths, true);
        self.stream = stream;
        self.joined = 1;
        Ok(())
    }

    /// Whether the program's lanes go on where those of the programs that have joined end: together
    /// they are then one box with longer runs.
    fn goes_on(&self, g: &Group, lengths: &Dims) -> bool {
        let lanes = self.stream.runs.lanes * self.joined;
        self.joined > 0
            && lanes < STREAM_LANES
            && self.stream.lengths == *lengths
            && self.stream.ports.iter().zip(&g.ports).all(|(state, port)| {
                let next = match &port.kind {
                    PortKind::Source { root: Root::Memory(site, ..), .. }
                    | PortKind::Store { site, .. } => self.sites[*site as usize],
                    _ => return state.fixed,
                };
                state.is_next(next, lanes)
            })
    }

    /// Runs the programs that have joined.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn run_stream(&mut self, g: &Group) -> Run {
        match std::mem::take(&mut self.joined) {
            0 => return Ok(()),
            1 => {}
            n => self.stream.lengthen(n),
        }
        // SAFETY: the caller's contract, passed on.
        unsafe { self.stream.run(&g.ops) }
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
        PortState { at, steps, bytes, step: bytes as isize, fixed, uniform, room }
    }
}

/// Chooses the axes of runs: the innermost one, and those around it as long as lanes go on without a
/// gap in every place. Short runs are taken several at a time.
fn plan_runs(ports: &mut [PortState], shape: &Dims, lengths: &Dims) -> Runs {
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
    if let Some(axis) = axis {
        for p in ports.iter_mut().filter(|p| !p.fixed) {
            p.step = p.steps[axis];
        }
    }
    let chunk = CHUNK.min(shape.iter().product());
    let mut runs = Runs { lanes, outer, rows: 1, chunk };
    runs.choose_rows(lengths);
    runs
}

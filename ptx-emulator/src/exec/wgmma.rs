//! Asynchronous warpgroup-wide matrix instructions.
//!
//! Each warp computes its own sixteen rows when it meets the instruction. The accumulators, and fragments of A in
//! registers, then belong to the tensor core until a wait: touching them before is an error.

use std::collections::VecDeque;

use crate::decode::op::{Function, List, Reg, Space, Src};
use crate::decode::visit;
use crate::decode::wgmma::{OperandA, WarpgroupMma};
use crate::memory::address;
use crate::num::Round;
use crate::num::convert::mask as ones;
use crate::parse::ast::Type;
use crate::report::{Fault, FaultKind, space_name};
use crate::tensor_map::Swizzle;

use super::barrier::{converged, uniform};
use super::float::format;
use super::frame::{Frame, LANES, Row};
use super::matrix::{a_element, value, width};
use super::memory::{Place, READ};
use super::race::{self, Agent, Issue};
use super::state::Cluster;
use super::warp::Warp;

/// Rows of one warp.
const ROWS: usize = 16;
const MAX_N: usize = 256;
const MAX_K: usize = 32;

/// Matrix instructions under way in a warp.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Registers written, and registers read, by groups not yet waited for; the last group is open.
    groups: VecDeque<Group>,
    /// A `wgmma.fence` stands between the last use of registers and the next instruction.
    fenced: bool,
}

#[derive(Debug, Default)]
struct Group {
    frame: u32,
    written: Vec<Reg>,
    read: Vec<Reg>,
    tick: u32,
    committed: bool,
}

impl InFlight {
    /// Whether any register belongs to the tensor core.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.groups.is_empty()
    }

    pub(super) fn fence(&mut self) {
        self.fenced = true;
    }

    pub(super) fn commit(&mut self) {
        if let Some(group) = self.groups.back_mut() {
            group.committed = true;
        }
    }

    /// All but the latest `left` groups are complete. Gives the tick of the latest of those.
    pub(super) fn wait(&mut self, left: u32) -> Option<u32> {
        self.fenced = false;
        let committed = self.groups.iter().filter(|g| g.committed).count();
        let mut tick = None;
        for _ in 0..committed.saturating_sub(left as usize) {
            tick = self.groups.pop_front().map(|g| g.tick).or(tick);
        }
        tick
    }

    /// An ordinary instruction must leave registers under way alone.
    pub(super) fn check(
        &self,
        op: &crate::decode::op::Op,
        function: &Function,
        frame: u32,
    ) -> Result<(), Box<Fault>> {
        let mut bad = None;
        visit::registers(op, function, &mut |reg, writes| {
            for group in self.groups.iter().filter(|g| g.frame == frame) {
                if group.written.contains(&reg) || (writes && group.read.contains(&reg)) {
                    bad = bad.or(Some(writes));
                }
            }
        });
        match bad {
            None => Ok(()),
            Some(writes) => {
                let verb = if writes { "writes" } else { "reads" };
                Err(Fault::at(
                    FaultKind::Async(format!(
                        "the instruction {verb} a register of a wgmma that was not waited for (wgmma.wait_group)"
                    )),
                    0,
                ))
            }
        }
    }
}

/// Executes `wgmma.mma_async` for one warp.
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    mma: &WarpgroupMma,
    (frame, active): (u32, u32),
) -> Result<(), Box<Fault>> {
    converged(active, u32::MAX)?;
    let misuse = |message: &str| Fault::at(FaultKind::Async(message.to_owned()), 0);
    if !warp.wgmma.fenced {
        return Err(misuse("wgmma.mma_async without a wgmma.fence since registers were last used"));
    }
    let threads = cluster.grid.launch.block.iter().product::<u32>();
    if (warp.index / 4 + 1) * 4 * LANES as u32 > threads {
        return Err(misuse("a warpgroup needs four whole warps"));
    }
    let tick = race::tick(cluster, warp, Agent::Wgmma);
    let (n, k) = (usize::from(mma.n), usize::from(mma.k));
    let mut a = vec![0f64; ROWS * MAX_K];
    let mut b = vec![0f64; MAX_N * MAX_K];
    match mma.a {
        OperandA::Registers(list) => a_registers(f, function, mma, list, &mut a),
        OperandA::Descriptor(src) => {
            let descriptor = Descriptor::of(uniform(f, src, active, "the descriptor")?)?;
            let first = (warp.index % 4) as usize * ROWS;
            let shape = Shape { first, rows: ROWS, k, ty: mma.a_type, trans: mma.trans.0 };
            load(cluster, warp, descriptor, shape, |r, kk, x| a[r * MAX_K + kk] = x)?;
        }
    }
    let descriptor = Descriptor::of(uniform(f, mma.b, active, "the descriptor")?)?;
    let shape = Shape { first: 0, rows: n, k, ty: mma.b_type, trans: mma.trans.1 };
    load(cluster, warp, descriptor, shape, |r, kk, x| b[kk * MAX_N + r] = x)?;
    let sign = if mma.negate.0 != mma.negate.1 { -1.0 } else { 1.0 };
    let mut c = vec![0f64; ROWS * n];
    if f.pred(mma.scale_d) & 1 == 1 {
        accumulators(f, function, mma, |i, j, x| c[i * n + j] = x);
    }
    for i in 0..ROWS {
        let row = &mut c[i * n..(i + 1) * n];
        for kk in 0..k {
            let x = a[i * MAX_K + kk] * sign;
            for (sum, y) in row.iter_mut().zip(&b[kk * MAX_N..kk * MAX_N + n]) {
                *sum += x * y;
            }
        }
    }
    store(f, function, mma, &c);
    remember(warp, function, mma, frame, tick);
    Ok(())
}

fn remember(warp: &mut Warp, function: &Function, mma: &WarpgroupMma, frame: u32, tick: u32) {
    let regs = |list: List| {
        function.pool[list.at as usize..(list.at + list.len) as usize]
            .iter()
            .filter_map(|s| if let Some(Src::Reg(reg)) = s { Some(*reg) } else { None })
    };
    let groups = &mut warp.wgmma.groups;
    if groups.back().is_none_or(|g| g.committed) {
        groups.push_back(Group { frame, ..Group::default() });
    }
    if let Some(group) = groups.back_mut() {
        group.tick = tick;
        for reg in regs(mma.d) {
            if !group.written.contains(&reg) {
                group.written.push(reg);
            }
        }
        if let OperandA::Registers(list) = mma.a {
            group.read.extend(regs(list));
        }
    }
}

/// A matrix in shared memory.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    swizzle: Swizzle,
}

impl Descriptor {
    fn of(bits: u64) -> Result<Self, Box<Fault>> {
        let field = |at: u32| ((bits >> at) as u32 & 0x3fff) << 4;
        if bits >> 49 & 7 != 0 {
            let message = "a matrix descriptor with a base offset: this emulator knows patterns at their natural alignment";
            return Err(Fault::at(FaultKind::Async(message.to_owned()), 0));
        }
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        Ok(Self { start: field(0), leading: field(16), stride: field(32), swizzle })
    }

    /// Address of the 16-byte chunk that holds an element, and the element's offset in it: `r` counts along M or N, `k`
    /// along K, both in elements of `bytes`. The canonical layouts of the PTX ISA.
    fn locate(&self, r: u32, k: u32, bytes: u32, trans: bool) -> u32 {
        let span = self.swizzle.span();
        let (fast, slow) = if trans { (r * bytes, k) } else { (k * bytes, r) };
        let offset = match (self.swizzle, trans) {
            // Core matrices of 8 rows of 16 bytes, one after the other.
            (Swizzle::None, false) => {
                slow / 8 * self.stride + fast / 16 * self.leading + slow % 8 * 16 + fast % 16
            }
            (Swizzle::None, true) => {
                fast / 16 * self.stride + slow / 8 * self.leading + slow % 8 * 16 + fast % 16
            }
            // Atoms of 8 rows as wide as the swizzle.
            (_, false) => slow / 8 * self.stride + slow % 8 * span + fast,
            (_, true) => {
                fast / span * self.leading + slow / 8 * self.stride + slow % 8 * span + fast % span
            }
        };
        self.swizzle.apply(self.start.wrapping_add(offset))
    }
}

#[derive(Clone, Copy)]
struct Shape {
    first: usize,
    rows: usize,
    k: usize,
    ty: Type,
    trans: bool,
}

/// Reads an operand; `put` gets row, depth and value.
fn load(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    descriptor: Descriptor,
    shape: Shape,
    mut put: impl FnMut(usize, usize, f64),
) -> Result<(), Box<Fault>> {
    let block = warp.block as usize;
    let bytes = (width(shape.ty) / 8) as u32;
    let check = cluster.grid.options.checks.uninitialised;
    let per = (16 / bytes) as usize;
    // Chunks run along K, or along rows where the operand is transposed.
    let (outer, inner) = if shape.trans { (shape.k, shape.rows) } else { (shape.rows, shape.k) };
    for o in 0..outer {
        for chunk in (0..inner).step_by(per) {
            let (r, kk) = if shape.trans { (chunk, o) } else { (o, chunk) };
            let row = (shape.first + r) as u32;
            let at = descriptor.locate(row, kk as u32, bytes, shape.trans);
            // A slice of rows may begin inside a chunk only if rows are not the fast dimension; sixteen always fit.
            let count = per.min(inner - chunk);
            let length = count as u32 * bytes;
            let size = cluster.blocks[block].shared.len();
            if at < address::SHARED_START || at + length > size {
                let found =
                    format!("the block's shared memory is {:#x}..{size:#x}", address::SHARED_START);
                let space = space_name(Space::Shared);
                let address = u64::from(at);
                return Err(Fault::at(
                    FaultKind::OutOfBounds { access: READ, space, address, bytes: length, found },
                    0,
                ));
            }
            race::async_access(
                cluster,
                warp,
                Place::Shared(block, at),
                length,
                READ,
                Issue { agent: Agent::Wgmma, lanes: u32::MAX, tick: None },
            )?;
            let shared = &cluster.blocks[block].shared;
            for e in 0..count {
                let place = at + e as u32 * bytes;
                if check && !shared.is_written(place, bytes) {
                    let address = u64::from(place);
                    return Err(Fault::at(
                        FaultKind::Uninitialised { space: "shared", address, bytes },
                        0,
                    ));
                }
                let x = value(shape.ty, shared.load(place, bytes));
                if shape.trans { put(r + e, kk, x) } else { put(r, kk + e, x) }
            }
        }
    }
    Ok(())
}

fn a_registers(f: &Frame, function: &Function, mma: &WarpgroupMma, list: List, a: &mut [f64]) {
    let bits = width(mma.a_type);
    let per = 32 / bits;
    for r in 0..list.len as usize {
        let cells = f.get(function.pool[list.at as usize + r].unwrap_or(Src::Imm(0)));
        for (lane, cell) in cells.iter().enumerate() {
            for e in 0..per {
                let (i, k) = a_element(ROWS, lane, r, e, per);
                a[i * MAX_K + k] = value(mma.a_type, cell >> (e * bits) & ones(bits as u32));
            }
        }
    }
}

/// Row and column of the `i`-th accumulator of a lane, in its warp's sixteen rows.
fn d_element(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2)
}

fn accumulators(
    f: &Frame,
    function: &Function,
    mma: &WarpgroupMma,
    mut put: impl FnMut(usize, usize, f64),
) {
    let per = if mma.d_type == Type::F16 { 2 } else { 1 };
    for r in 0..mma.d.len as usize {
        let cells = f.get(function.pool[mma.d.at as usize + r].unwrap_or(Src::Imm(0)));
        for (lane, cell) in cells.iter().enumerate() {
            for e in 0..per {
                let (i, j) = d_element(lane, r * per + e);
                let bits = if per == 2 { cell >> (16 * e) & 0xffff } else { *cell };
                put(i, j, value(mma.d_type, bits));
            }
        }
    }
}

fn store(f: &mut Frame, function: &Function, mma: &WarpgroupMma, c: &[f64]) {
    let n = usize::from(mma.n);
    let per = if mma.d_type == Type::F16 { 2 } else { 1 };
    let encode = |x: f64| match mma.d_type {
        Type::S32 if mma.sat => u64::from((x as i32) as u32),
        Type::S32 => u64::from((x as i64) as u32),
        ty => u64::from(format(ty).0.narrow(x, Round::Near, false)),
    };
    for r in 0..mma.d.len as usize {
        let mut out: Row = [0; LANES];
        for (lane, cell) in out.iter_mut().enumerate() {
            for e in 0..per {
                let (i, j) = d_element(lane, r * per + e);
                *cell |= encode(c[i * n + j]) << (16 * e);
            }
        }
        if let Some(Src::Reg(d)) = function.pool[mma.d.at as usize + r] {
            f.put(d, u32::MAX, |lane| out[lane]);
        }
    }
}

//! Loads, stores and atomics: where each lane's address leads, what is checked there, and the access itself.

use crate::decode::op::{Access, Addr, AtomOp, Atomic, Base, Function, Space, Src};
use crate::memory::address;
use crate::num::arith::{self, FloatOp};
use crate::num::convert::{mask as ones, sign_extend};
use crate::num::format::Format;
use crate::num::{Mode, Round};
use crate::parse::ast::Type;
use crate::report::{Fault, FaultKind, space_name};

use super::frame::{Frame, LANES, Row, lanes};
use super::state::Cluster;
use super::warp::Warp;

/// Kinds of access, as messages name them.
pub(super) const READ: &str = "read";
pub(super) const WRITE: &str = "write";
pub(super) const ATOMIC: &str = "atomic";

/// The bytes that one lane accesses, checked to exist.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Allocation number in the snapshot, offset in it.
    Global(usize, u64),
    /// Block of the cluster, address.
    Shared(usize, u32),
    Local(u32),
    Param(u32),
}

/// The address of each lane.
pub(super) fn addresses(cluster: &Cluster<'_>, f: &Frame, addr: Addr) -> Row {
    let offset = addr.offset as u64;
    match addr.base {
        Base::Absolute => [offset; LANES],
        Base::Reg(reg) => f.regs[reg as usize].map(|base| base.wrapping_add(offset)),
        Base::Variable(index) => {
            [cluster.grid.variables[index as usize].wrapping_add(offset); LANES]
        }
        Base::Shared(index) => {
            let start = u64::from(cluster.grid.shared_at[index as usize]);
            [start.wrapping_add(offset); LANES]
        }
        Base::Frame => [u64::from(f.local_base).wrapping_add(offset); LANES],
    }
}

/// Finds the bytes of one lane's access. `bytes` is the size in all, and the alignment.
#[inline]
pub(super) fn locate(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    at: u64,
    bytes: u32,
    access: &'static str,
    lane: usize,
) -> Result<Place, Box<Fault>> {
    let (space, at) = if space == Space::Generic { address::split(at) } else { (space, at) };
    if at & u64::from(bytes - 1) != 0 {
        let space = space_name(space);
        return Err(Fault::at(FaultKind::Misaligned { access, space, address: at, bytes }, lane));
    }
    match space {
        Space::Global | Space::Const | Space::Generic => {
            global(cluster, warp, at, bytes, access, lane)
        }
        Space::Shared => {
            let (rank, offset) = address::shared_owner(at as u32);
            let block = rank.unwrap_or(warp.block) as usize;
            let size = cluster.blocks.get(block).map_or(0, |b| b.shared.len());
            if at > u64::from(u32::MAX) || offset < address::SHARED_START || offset + bytes > size {
                let found = match cluster.blocks.get(block) {
                    None => format!("the cluster has {} blocks", cluster.blocks.len()),
                    Some(_) => format!(
                        "the block's shared memory is {:#x}..{size:#x}",
                        address::SHARED_START
                    ),
                };
                return Err(out_of_bounds(access, space, at, bytes, found, lane));
            }
            if block != warp.block as usize && cluster.blocks[block].live_warps == 0 {
                let found = format!("block {block} of the cluster has ended");
                return Err(out_of_bounds(access, space, at, bytes, found, lane));
            }
            Ok(Place::Shared(block, offset))
        }
        Space::Local => {
            let size = warp.local.get(lane).map_or(0, Vec::len) as u64;
            if at >= size || u64::from(bytes) > size - at {
                let found = format!("the thread's local memory has {size} bytes");
                return Err(out_of_bounds(access, space, at, bytes, found, lane));
            }
            Ok(Place::Local(at as u32))
        }
        Space::Param => {
            let size = cluster.grid.params.len() as u64;
            if at >= size || u64::from(bytes) > size - at {
                let found = format!("the parameters take {size} bytes");
                return Err(out_of_bounds(access, space, at, bytes, found, lane));
            }
            Ok(Place::Param(at as u32))
        }
    }
}

fn out_of_bounds(
    access: &'static str,
    space: Space,
    address: u64,
    bytes: u32,
    found: String,
    lane: usize,
) -> Box<Fault> {
    let space = space_name(space);
    Fault::at(FaultKind::OutOfBounds { access, space, address, bytes, found }, lane)
}

#[inline]
fn global(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    bytes: u32,
    access: &'static str,
    lane: usize,
) -> Result<Place, Box<Fault>> {
    let wide = u64::from(bytes);
    let last = warp.last_allocation;
    let index = match cluster.snapshot.allocations.get(last) {
        Some(allocation) if allocation.contains(at, wide) => last,
        _ => match cluster.snapshot.find(at, wide) {
            Some(index) => index,
            None => refreshed(cluster, at, bytes, access, lane)?,
        },
    };
    warp.last_allocation = index;
    let allocation = &cluster.snapshot.allocations[index];
    if allocation.freed() {
        let found = cluster.grid.memory.describe(at);
        return Err(Fault::at(FaultKind::UseAfterFree { access, address: at, bytes, found }, lane));
    }
    if allocation.constant && access != READ {
        return Err(Fault::at(FaultKind::ReadOnly { space: "constant", address: at }, lane));
    }
    if warp.dependency_met >> lane & 1 == 0 && !allocation.constant {
        let message = format!(
            "{access} of global address {at:#x} before griddepcontrol.wait in a dependent launch: the grid before may \
             still run"
        );
        return Err(Fault::at(FaultKind::Async(message), lane));
    }
    Ok(Place::Global(index, at - allocation.base))
}

/// Looks again with the allocations of now: the host may have allocated since.
fn refreshed(
    cluster: &mut Cluster<'_>,
    at: u64,
    bytes: u32,
    access: &'static str,
    lane: usize,
) -> Result<usize, Box<Fault>> {
    let memory = cluster.grid.memory;
    if memory.version() != cluster.snapshot.version {
        cluster.snapshot = memory.snapshot();
        if let Some(index) = cluster.snapshot.find(at, u64::from(bytes)) {
            return Ok(index);
        }
    }
    let found = memory.describe(at);
    if memory.was_freed(at) {
        return Err(Fault::at(FaultKind::UseAfterFree { access, address: at, bytes, found }, lane));
    }
    Err(out_of_bounds(access, Space::Global, at, bytes, found, lane))
}

/// Reads at most 8 bytes of a place, `step` bytes from its start.
#[inline]
pub(super) fn read(
    cluster: &Cluster<'_>,
    warp: &Warp,
    place: Place,
    step: u32,
    bytes: u32,
    lane: usize,
) -> Result<u64, Box<Fault>> {
    let check = cluster.grid.options.checks.uninitialised;
    match place {
        Place::Global(index, offset) => {
            let allocation = &cluster.snapshot.allocations[index];
            let offset = offset + u64::from(step);
            if check && !allocation.is_written(offset, bytes) {
                return Err(uninitialised("global", allocation.base + offset, bytes, lane));
            }
            Ok(allocation.load(offset, bytes))
        }
        Place::Shared(block, at) => {
            let shared = &cluster.blocks[block].shared;
            if check && !shared.is_written(at + step, bytes) {
                return Err(uninitialised("shared", u64::from(at + step), bytes, lane));
            }
            Ok(shared.load(at + step, bytes))
        }
        Place::Local(at) => Ok(little_endian(&warp.local[lane], at + step, bytes)),
        Place::Param(at) => Ok(little_endian(&cluster.grid.params, at + step, bytes)),
    }
}

fn uninitialised(space: &'static str, address: u64, bytes: u32, lane: usize) -> Box<Fault> {
    Fault::at(FaultKind::Uninitialised { space, address, bytes }, lane)
}

fn little_endian(from: &[u8], at: u32, bytes: u32) -> u64 {
    let mut out = [0; 8];
    out[..bytes as usize].copy_from_slice(&from[at as usize..(at + bytes) as usize]);
    u64::from_le_bytes(out)
}

/// Writes at most 8 bytes of a place.
#[inline]
pub(super) fn write(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    place: Place,
    step: u32,
    bytes: u32,
    value: u64,
    lane: usize,
) -> Result<(), Box<Fault>> {
    match place {
        Place::Global(index, offset) => {
            cluster.snapshot.allocations[index].store(offset + u64::from(step), bytes, value);
        }
        Place::Shared(block, at) => cluster.blocks[block].shared.store(at + step, bytes, value),
        Place::Local(at) => {
            let start = (at + step) as usize;
            let count = bytes as usize;
            warp.local[lane][start..start + count].copy_from_slice(&value.to_le_bytes()[..count]);
        }
        Place::Param(at) => {
            return Err(Fault::at(
                FaultKind::ReadOnly { space: "parameter", address: u64::from(at) },
                lane,
            ));
        }
    }
    Ok(())
}

/// `ld`
pub(super) fn load(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    access: &Access,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let bytes = u32::from(access.bytes);
    if access.space == Space::Param && access.addr.base == Base::Absolute {
        return uniform_param(cluster, warp, f, function, access, mask);
    }
    let at = addresses(cluster, f, access.addr);
    let items =
        &function.pool[access.list.at as usize..(access.list.at + access.list.len) as usize];
    let total = (bytes * access.list.len).next_power_of_two();
    for lane in lanes(mask) {
        let place = locate(cluster, warp, access.space, at[lane], total, READ, lane)?;
        super::race::access(cluster, warp, place, total, READ, access.order, lane)?;
        for (step, item) in (0..).step_by(bytes as usize).zip(items) {
            let value = read(cluster, warp, place, step, bytes, lane)?;
            if let Some(Src::Reg(d)) = *item {
                f.set(d, lane, extend(value, access));
            }
        }
    }
    super::race::acquire(cluster, warp, access.order, mask);
    Ok(())
}

#[inline(always)]
fn extend(value: u64, access: &Access) -> u64 {
    if access.extend == 0 {
        value
    } else {
        sign_extend(value, u32::from(access.bytes) * 8) as u64 & ones(u32::from(access.extend))
    }
}

/// A parameter of the entry: the same in all lanes.
fn uniform_param(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    access: &Access,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let bytes = u32::from(access.bytes);
    let lane = super::step::first_lane(mask);
    let items =
        &function.pool[access.list.at as usize..(access.list.at + access.list.len) as usize];
    let total = (bytes * access.list.len).next_power_of_two();
    let place = locate(cluster, warp, Space::Param, access.addr.offset as u64, total, READ, lane)?;
    for (step, item) in (0..).step_by(bytes as usize).zip(items) {
        let value = extend(read(cluster, warp, place, step, bytes, lane)?, access);
        if let Some(Src::Reg(d)) = *item {
            f.put(d, mask, |_| value);
        }
    }
    Ok(())
}

/// `st`
pub(super) fn store(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    access: &Access,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let bytes = u32::from(access.bytes);
    let at = addresses(cluster, f, access.addr);
    let items =
        &function.pool[access.list.at as usize..(access.list.at + access.list.len) as usize];
    let total = (bytes * access.list.len).next_power_of_two();
    super::race::release(cluster, warp, access.order, mask);
    for lane in lanes(mask) {
        let place = locate(cluster, warp, access.space, at[lane], total, WRITE, lane)?;
        super::race::store(cluster, warp, place, total, access.order, lane, |cluster| {
            holds(cluster, warp, place, f, (access, items), lane)
        })?;
        for (step, item) in (0..).step_by(bytes as usize).zip(items) {
            let value = f.lane(item.unwrap_or(Src::Imm(0)), lane);
            write(cluster, warp, place, step, bytes, value, lane)?;
        }
    }
    Ok(())
}

/// Whether a place holds what a lane is about to store.
fn holds(
    cluster: &Cluster<'_>,
    warp: &Warp,
    place: Place,
    f: &Frame,
    (access, items): (&Access, &[Option<Src>]),
    lane: usize,
) -> bool {
    let bytes = u32::from(access.bytes);
    (0..).step_by(bytes as usize).zip(items).all(|(step, item)| {
        let value = f.lane(item.unwrap_or(Src::Imm(0)), lane) & ones(8 * bytes);
        read(cluster, warp, place, step, bytes, lane).is_ok_and(|old| old == value)
    })
}

/// `atom` and `red`
pub(super) fn atomic(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    atomic: &Atomic,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let bytes = atomic.ty.bytes();
    let at = addresses(cluster, f, atomic.addr);
    let count = atomic.src.len;
    super::race::release(cluster, warp, atomic.order, mask);
    for lane in lanes(mask) {
        let place = locate(cluster, warp, atomic.space, at[lane], bytes * count, ATOMIC, lane)?;
        super::race::access(cluster, warp, place, bytes * count, ATOMIC, atomic.order, lane)?;
        for i in 0..count {
            let operand =
                function.pool[(atomic.src.at + i) as usize].map_or(0, |s| f.lane(s, lane));
            let compare = atomic.compare.map_or(0, |s| f.lane(s, lane));
            // The global memory unit flushes subnormals of single precision, shared memory does not (as the ISA says).
            let flush = atomic.ty == Type::F32 && matches!(place, Place::Global(..));
            let new = |old: u64| match flush {
                true => flushing_add(old, operand),
                false => combine(atomic.op, atomic.ty, old, operand, compare),
            };
            let old = update(cluster, warp, place, i * bytes, bytes, lane, new)?;
            let d =
                (i < atomic.dst.len).then(|| function.pool[(atomic.dst.at + i) as usize]).flatten();
            if let Some(Src::Reg(d)) = d {
                f.set(d, lane, old);
            }
        }
    }
    super::race::acquire(cluster, warp, atomic.order, mask);
    Ok(())
}

fn update(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    place: Place,
    step: u32,
    bytes: u32,
    lane: usize,
    new: impl Fn(u64) -> u64,
) -> Result<u64, Box<Fault>> {
    let old = read(cluster, warp, place, step, bytes, lane)?;
    match place {
        Place::Global(index, offset) => {
            Ok(cluster.snapshot.allocations[index].update(offset + u64::from(step), bytes, new))
        }
        _ => {
            write(cluster, warp, place, step, bytes, new(old), lane)?;
            Ok(old)
        }
    }
}

/// The value that an atomic operation leaves.
pub(super) fn combine(op: AtomOp, ty: Type, old: u64, operand: u64, compare: u64) -> u64 {
    let keep = ones(ty.bits());
    if ty.float() && matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max) {
        return float_combine(op, ty, old, operand);
    }
    let (x, y) = (sign_extend(old, ty.bits()), sign_extend(operand, ty.bits()));
    match op {
        AtomOp::And => old & operand,
        AtomOp::Or => old | operand,
        AtomOp::Xor => old ^ operand,
        AtomOp::Exch => operand & keep,
        AtomOp::Cas => {
            if old == compare & keep {
                operand & keep
            } else {
                old
            }
        }
        AtomOp::Add => old.wrapping_add(operand) & keep,
        AtomOp::Inc => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        AtomOp::Min if ty.signed() => x.min(y) as u64 & keep,
        AtomOp::Max if ty.signed() => x.max(y) as u64 & keep,
        AtomOp::Min => old.min(operand & keep),
        AtomOp::Max => old.max(operand & keep),
    }
}

fn flushing_add(old: u64, operand: u64) -> u64 {
    let mode = Mode { ftz: true, ..Mode::PLAIN };
    u64::from(arith::narrow_op(Format::F32, FloatOp::Add, mode, [old as u32, operand as u32, 0]))
}

fn float_combine(op: AtomOp, ty: Type, old: u64, operand: u64) -> u64 {
    if ty == Type::F64 {
        return (f64::from_bits(old) + f64::from_bits(operand)).to_bits();
    }
    let (format, pair) = super::float::format(ty);
    let one = |a: u32, b: u32| match op {
        AtomOp::Add => arith::narrow_op(format, FloatOp::Add, Mode::PLAIN, [a, b, 0]),
        _ => {
            let value = arith::min_max(op == AtomOp::Max, false, format.widen(a), format.widen(b));
            format.narrow(value, Round::Near, false)
        }
    };
    if pair {
        let low = one(old as u32 & 0xffff, operand as u32 & 0xffff);
        let high = one((old >> 16) as u32, (operand >> 16) as u32 & 0xffff);
        u64::from(high << 16 | low)
    } else {
        u64::from(one(old as u32, operand as u32))
    }
}

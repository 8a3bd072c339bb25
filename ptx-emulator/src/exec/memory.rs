//! Loads and stores: where each lane's address leads, what is checked there, and the access itself.

use crate::decode::op::{Access, Addr, Base, Function, Order, Space, Src};
use crate::memory::address;
use crate::num::convert::{mask as ones, sign_extend};
use crate::report::{Fault, FaultKind, space_name};

use super::frame::{Frame, LANES, Row, lanes};
use super::state::Cluster;
use super::warp::Warp;

/// Kinds of access, as messages name them.
pub(super) const READ: &str = "read";
pub(super) const WRITE: &str = "write";
pub(super) const ATOMIC: &str = "atomic";

/// The bytes that one lane accesses, checked to exist.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    if access.order != Order::Weak {
        let places = places(cluster, warp, access.space, &at, total, mask);
        super::race::hear(cluster, warp, &places);
        super::race::acquire(cluster, warp, access.order, mask);
    }
    Ok(())
}

/// Where the lanes' accesses go, as far as they go anywhere.
pub(super) fn places(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    at: &Row,
    bytes: u32,
    mask: u32,
) -> Vec<(Place, u32)> {
    let mut out: Vec<(Place, u32)> = Vec::new();
    for lane in lanes(mask) {
        let Ok(place) = locate(cluster, warp, space, at[lane], bytes, READ, lane) else { continue };
        match out.iter_mut().find(|(known, _)| *known == place) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => out.push((place, 1 << lane)),
        }
    }
    out
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
    if access.order != Order::Weak {
        super::race::release(cluster, warp, access.order, mask);
        let places = places(cluster, warp, access.space, &at, total, mask);
        super::race::offer(cluster, warp, &places);
    }
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

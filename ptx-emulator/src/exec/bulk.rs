//! Bulk and tensor copies.
//!
//! A copy is planned when it is issued: every chunk of 16 bytes is located, checked and stamped. It is carried out once
//! every warp of the cluster has had a turn, so that who does not wait for it meets the bytes of before.

use std::sync::Arc;

use crate::decode::bulk::{BulkCopy, Completion, Effect, TensorCopy};
use crate::decode::op::{AtomOp, Function, Space, Src};
use crate::memory::{Allocation, address};
use crate::parse::ast::Type;
use crate::report::{Fault, FaultKind};
use crate::tensor_map::{ElementType, TensorMap};

use super::frame::{Frame, lanes};
use super::mbarrier;
use super::memory::{self, Place, READ, WRITE};
use super::race::{self, Agent};
use super::state::Cluster;
use super::warp::Warp;

/// Bytes of a chunk.
const CHUNK: u32 = 16;

/// Up to 16 bytes of a copy.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Address in the block's shared memory: destination of loads, source of stores.
    shared: u32,
    /// Offset in the allocation, or address in the other block's shared memory.
    far: u64,
    /// Bytes that exist; a load fills the others.
    valid: u8,
}

/// The far side of a copy.
#[derive(Clone, Debug)]
enum Far {
    Global(Arc<Allocation>),
    /// Shared memory of a block of the cluster.
    Shared(usize),
    /// Nothing of it exists: a load that only fills.
    Nothing,
}

/// A copy under way.
#[derive(Debug)]
pub(super) struct Job {
    chunks: Vec<Chunk>,
    far: Far,
    /// Blocks whose shared memory is written (loads) or read (stores).
    near: Vec<usize>,
    load: bool,
    fill: [u8; 16],
    effect: Effect,
    bytes: u32,
    /// Address of the memory barrier object in each of the near blocks.
    mbarrier: Option<(Vec<usize>, u32)>,
    /// Issuing warp in the cluster, lane, and the lane's group.
    pub(super) owner: (u32, u8, u32),
}

/// Bulk groups of a warp's lanes.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) committed: [u32; 32],
    /// Copies that were not waited for.
    pub(super) log: Vec<Issued>,
}

/// A copy that a lane issued into a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    lane: u8,
    group: u32,
    /// Ticks of its stamps as reader and as writer.
    pub(super) ticks: (u32, u32),
    /// Its source may be written again: the lane waited at least for its reads.
    pub(super) read: bool,
}

impl Groups {
    /// The copies that a wait for all but the latest `left` groups of the lanes covers.
    pub(super) fn due(&mut self, active: u32, left: u32) -> impl Iterator<Item = &mut Issued> {
        let committed = self.committed;
        self.log.iter_mut().filter(move |copy| copy.due(&committed, active, left))
    }

    /// Forgets what a wait for completion covers.
    pub(super) fn complete(&mut self, active: u32, left: u32) {
        let committed = self.committed;
        self.log.retain(|copy| !copy.due(&committed, active, left));
    }
}

impl Issued {
    fn due(&self, committed: &[u32; 32], active: u32, left: u32) -> bool {
        active >> self.lane & 1 == 1 && self.group + left < committed[usize::from(self.lane)]
    }
}

/// A thread that exits leaves its block's shared memory to nobody: its copies must have read their sources.
pub(super) fn exit(warp: &Warp, gone: u32) -> Result<(), Box<Fault>> {
    match warp.bulk.log.iter().find(|copy| gone >> copy.lane & 1 == 1 && !copy.read) {
        None => Ok(()),
        Some(copy) => {
            let message = "the thread exits while a bulk copy of its may still read shared memory \
                           (cp.async.bulk.wait_group.read)";
            Err(misuse(message.to_owned(), usize::from(copy.lane)))
        }
    }
}

/// A block that ends must not have copies under way to its shared memory.
pub(super) fn block_finished(cluster: &Cluster<'_>, block: u32) -> Result<(), Box<Fault>> {
    let state = &cluster.blocks[block as usize];
    let outstanding =
        state.objects.iter().find_map(|(at, object)| object.outstanding().map(|bytes| (at, bytes)));
    match outstanding {
        None => Ok(()),
        Some((at, bytes)) => Err(misuse(
            format!(
                "the block ends while {bytes} bytes are outstanding on the memory barrier object at {at:#x}"
            ),
            0,
        )),
    }
}

fn misuse(message: String, lane: usize) -> Box<Fault> {
    Fault::at(FaultKind::Async(message), lane)
}

/// A block and address in shared memory.
fn shared_place(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    align: u32,
    access: &'static str,
    lane: usize,
) -> Result<(usize, u32), Box<Fault>> {
    match memory::locate(cluster, warp, Space::Shared, at, align, access, lane)? {
        Place::Shared(block, at) => Ok((block, at)),
        _ => Err(misuse(format!("{at:#x} is not in shared memory"), lane)),
    }
}

/// The blocks that a load writes to.
fn targets(
    cluster: &Cluster<'_>,
    own: usize,
    mask: Option<u64>,
    lane: usize,
) -> Result<Vec<usize>, Box<Fault>> {
    let Some(mask) = mask else { return Ok(vec![own]) };
    let blocks: Vec<usize> = (0..16).filter(|b| mask >> b & 1 == 1).collect();
    match blocks.iter().find(|b| **b >= cluster.blocks.len()) {
        None => Ok(blocks),
        Some(b) => Err(misuse(
            format!("the multicast mask names block {b} of a cluster of {}", cluster.blocks.len()),
            lane,
        )),
    }
}

fn completion(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    completion: Completion,
    blocks: &[usize],
    (block, lane): (usize, usize),
) -> Result<Option<(Vec<usize>, u32)>, Box<Fault>> {
    let Completion::Mbarrier(addr) = completion else { return Ok(None) };
    let at = memory::addresses(cluster, f, addr)[lane];
    let (owner, at) = shared_place(cluster, warp, at, 8, memory::ATOMIC, lane)?;
    let owners = if blocks == [block] { vec![owner] } else { blocks.to_vec() };
    for &owner in &owners {
        mbarrier::object(cluster, owner, at, lane)?;
    }
    Ok(Some((owners, at)))
}

/// Issues a one-dimensional copy in each lane.
pub(super) fn copy(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    op: &BulkCopy,
    active: u32,
) -> Result<(), Box<Fault>> {
    let to = memory::addresses(cluster, f, op.to);
    let from = memory::addresses(cluster, f, op.from);
    let load = op.to_space == Space::Shared;
    for lane in lanes(active) {
        let bytes = f.lane(op.bytes, lane) as u32;
        if !bytes.is_multiple_of(CHUNK) || bytes == 0 {
            return Err(misuse(
                format!("a bulk copy of {bytes} bytes is not a positive multiple of {CHUNK}"),
                lane,
            ));
        }
        let (near_at, far_at) = if load { (to[lane], from[lane]) } else { (from[lane], to[lane]) };
        let far_space = if load { op.from_space } else { op.to_space };
        let near_access = if load { WRITE } else { READ };
        let far_access = if load { READ } else { WRITE };
        let (block, start) = shared_place(cluster, warp, near_at, CHUNK, near_access, lane)?;
        shared_place(cluster, warp, near_at + u64::from(bytes - CHUNK), CHUNK, near_access, lane)?;
        let near = targets(cluster, block, op.multicast.map(|m| f.lane(m, lane)), lane)?;
        let mut far = Far::Nothing;
        let mut chunks = Vec::with_capacity((bytes / CHUNK) as usize);
        for step in (0..bytes).step_by(CHUNK as usize) {
            let at = far_at + u64::from(step);
            let place = memory::locate(cluster, warp, far_space, at, CHUNK, far_access, lane)?;
            let offset = join_far(cluster, &mut far, place, lane)?;
            chunks.push(Chunk { shared: start + step, far: offset, valid: CHUNK as u8 });
        }
        let mbarrier = completion(cluster, warp, f, op.completion, &near, (block, lane))?;
        let job = Job {
            chunks,
            far,
            near,
            load,
            fill: [0; 16],
            effect: op.effect,
            bytes,
            mbarrier,
            owner: (race::number(cluster, warp), lane as u8, warp.bulk.committed[lane]),
        };
        issue(cluster, warp, job, lane)?;
    }
    Ok(())
}

/// Remembers where the far side lies; all chunks must lie in one allocation.
fn join_far(
    cluster: &Cluster<'_>,
    far: &mut Far,
    place: Place,
    lane: usize,
) -> Result<u64, Box<Fault>> {
    match place {
        Place::Global(index, offset) => {
            let allocation = &cluster.snapshot.allocations[index];
            match far {
                Far::Global(known) if known.base != allocation.base => {
                    return Err(misuse(
                        "the copy reaches into a second allocation".to_owned(),
                        lane,
                    ));
                }
                Far::Global(_) => {}
                _ => *far = Far::Global(allocation.clone()),
            }
            Ok(offset)
        }
        Place::Shared(block, at) => {
            *far = Far::Shared(block);
            Ok(u64::from(at))
        }
        Place::Local(_) | Place::Param(_) => {
            Err(misuse("bulk copies reach global and shared memory only".to_owned(), lane))
        }
    }
}

/// Issues a tensor copy in each lane.
pub(super) fn tensor(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    function: &Function,
    op: &TensorCopy,
    active: u32,
) -> Result<(), Box<Fault>> {
    let maps = memory::addresses(cluster, f, op.map);
    let shared = memory::addresses(cluster, f, op.shared);
    for lane in lanes(active) {
        let at = if op.map_in_params {
            address::to_generic(Space::Param, maps[lane])
        } else {
            maps[lane]
        };
        let map = read_map(cluster, warp, at, lane)?;
        let pool = &function.pool
            [op.coordinates.at as usize..(op.coordinates.at + op.coordinates.len) as usize];
        let coordinates: Vec<i64> = pool
            .iter()
            .map(|c| i64::from(f.lane(c.unwrap_or(Src::Imm(0)), lane) as u32 as i32))
            .collect();
        if coordinates.len() != map.extents.len() {
            let message = format!(
                "a tensor map of rank {} is used with {} coordinates",
                map.extents.len(),
                coordinates.len()
            );
            return Err(misuse(message, lane));
        }
        let access = if op.load { WRITE } else { READ };
        let (block, start) = shared_place(cluster, warp, shared[lane], 128, access, lane)?;
        let last = shared[lane] + u64::from(map.box_bytes() - CHUNK);
        shared_place(cluster, warp, last, CHUNK, access, lane)?;
        let near = targets(cluster, block, op.multicast.map(|m| f.lane(m, lane)), lane)?;
        let (chunks, far) = plan(cluster, warp, &map, &coordinates, start, op.load, lane)?;
        let mbarrier = completion(cluster, warp, f, op.completion, &near, (block, lane))?;
        let effect = op.reduce.map_or(Effect::Copy, |reduce| {
            Effect::Reduce(reduce, element_type(map.element, reduce))
        });
        let job = Job {
            chunks,
            far,
            near,
            load: op.load,
            fill: map.fill(),
            effect,
            bytes: map.box_bytes(),
            mbarrier,
            owner: (race::number(cluster, warp), lane as u8, warp.bulk.committed[lane]),
        };
        issue(cluster, warp, job, lane)?;
    }
    Ok(())
}

/// The type in which a reduction of such elements computes.
fn element_type(element: ElementType, op: AtomOp) -> Type {
    let bitwise = matches!(op, AtomOp::And | AtomOp::Or | AtomOp::Xor);
    match element {
        ElementType::U8 => Type::U8,
        ElementType::U16 => Type::U16,
        ElementType::F16 => Type::F16,
        ElementType::Bf16 => Type::Bf16,
        ElementType::F32 if !bitwise => Type::F32,
        ElementType::I32 => Type::S32,
        ElementType::U32 | ElementType::F32 => Type::U32,
        ElementType::I64 => Type::S64,
        ElementType::F64 if !bitwise => Type::F64,
        ElementType::U64 | ElementType::F64 => Type::U64,
    }
}

fn read_map(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    lane: usize,
) -> Result<TensorMap, Box<Fault>> {
    if !at.is_multiple_of(64) {
        return Err(misuse(format!("the tensor map at {at:#x} is not aligned to 64 bytes"), lane));
    }
    let mut bytes = [0; 128];
    for (step, word) in bytes.chunks_exact_mut(8).enumerate() {
        let place =
            memory::locate(cluster, warp, Space::Generic, at + 8 * step as u64, 8, READ, lane)?;
        word.copy_from_slice(&memory::read(cluster, warp, place, 0, 8, lane)?.to_le_bytes());
    }
    TensorMap::decode(&bytes).ok_or_else(|| {
        misuse(format!("what lies at {at:#x} is no tensor map that this emulator's `TensorMap::encode` made"), lane)
    })
}

/// The chunks of a box, in the order of shared memory.
fn plan(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    map: &TensorMap,
    start: &[i64],
    shared: u32,
    load: bool,
    lane: usize,
) -> Result<(Vec<Chunk>, Far), Box<Fault>> {
    let width = map.element.bytes();
    let row = map.box_extents[0] * width;
    let rows = map.box_extents[1..].iter().product::<u32>();
    let per_chunk = i64::from(CHUNK / width);
    let mut chunks = Vec::with_capacity((rows * row / CHUNK) as usize);
    let mut far = Far::Nothing;
    for r in 0..rows {
        let mut rest = r;
        let mut inside = true;
        let mut offset = 0u64;
        let axes = map.box_extents.iter().zip(&map.extents).zip(start).skip(1).zip(&map.strides);
        for (((extent, size), first), stride) in axes {
            let at = first + i64::from(rest % extent);
            rest /= extent;
            inside &= at >= 0 && (at as u64) < *size;
            offset = offset.wrapping_add((at as u64).wrapping_mul(*stride));
        }
        for c in 0..row / CHUNK {
            let at = shared + r * row + c * CHUNK;
            let at = map.swizzle.apply(at);
            let x = start[0] + i64::from(c) * per_chunk;
            let end = map.extents[0] as i64;
            let partial_front = x < 0 && x + per_chunk > 0;
            let valid =
                if inside && x >= 0 { (end - x).clamp(0, per_chunk) as u32 * width } else { 0 };
            if inside && partial_front {
                // Elements before the first lie in a chunk with elements behind it: element by element.
                front_chunk(
                    cluster,
                    warp,
                    map,
                    (x, offset, at),
                    (&mut chunks, &mut far),
                    (load, lane),
                )?;
                continue;
            }
            if valid == 0 {
                if load {
                    chunks.push(Chunk { shared: at, far: 0, valid: 0 });
                }
                continue;
            }
            let global = map.address.wrapping_add(offset).wrapping_add(x as u64 * u64::from(width));
            let access = if load { READ } else { WRITE };
            let place = memory::locate(cluster, warp, Space::Global, global, width, access, lane)?;
            memory::locate(
                cluster,
                warp,
                Space::Global,
                global + u64::from(valid - width),
                width,
                access,
                lane,
            )?;
            let offset = join_far(cluster, &mut far, place, lane)?;
            chunks.push(Chunk { shared: at, far: offset, valid: valid as u8 });
        }
    }
    Ok((chunks, far))
}

/// A chunk whose first elements lie before the tensor's first: filled, then its existing elements one by one.
fn front_chunk(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    map: &TensorMap,
    (x, offset, at): (i64, u64, u32),
    (chunks, far): (&mut Vec<Chunk>, &mut Far),
    (load, lane): (bool, usize),
) -> Result<(), Box<Fault>> {
    let width = map.element.bytes();
    if load {
        chunks.push(Chunk { shared: at, far: 0, valid: 0 });
    }
    for e in 0..i64::from(CHUNK / width) {
        if x + e < 0 || x + e >= map.extents[0] as i64 {
            continue;
        }
        let global =
            map.address.wrapping_add(offset).wrapping_add((x + e) as u64 * u64::from(width));
        let access = if load { READ } else { WRITE };
        let place = memory::locate(cluster, warp, Space::Global, global, width, access, lane)?;
        let offset = join_far(cluster, far, place, lane)?;
        chunks.push(Chunk { shared: at + e as u32 * width, far: offset, valid: width as u8 });
    }
    Ok(())
}

/// Stamps the accesses of a planned copy, checks that its sources were written, and queues it.
fn issue(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    job: Job,
    lane: usize,
) -> Result<(), Box<Fault>> {
    let number = job.mbarrier.as_ref().and_then(|(blocks, at)| {
        let block = *blocks.first()?;
        cluster.blocks[block].objects.get(at).map(|o| o.number)
    });
    let agents = match number {
        Some(number) => (Agent::Object(number), Agent::Object(number)),
        None => (Agent::BulkRead, Agent::BulkWrite),
    };
    let ticks = (race::tick(cluster, warp, agents.0), race::tick(cluster, warp, agents.1));
    let check = cluster.grid.options.checks.uninitialised;
    for chunk in &job.chunks {
        let bytes = u32::from(chunk.valid);
        for &block in &job.near {
            let near = Place::Shared(block, chunk.shared);
            let (agent, kind, length) = if job.load {
                (agents.1, WRITE, if bytes == 0 { CHUNK } else { bytes })
            } else {
                (agents.0, READ, bytes)
            };
            race::async_access(cluster, warp, near, length, kind, agent, lane)?;
            if check && !job.load {
                written(cluster, warp, near, bytes, lane)?;
            }
        }
        let far = match &job.far {
            Far::Global(allocation) => cluster
                .snapshot
                .find(allocation.base, 1)
                .map(|index| Place::Global(index, chunk.far)),
            Far::Shared(block) => Some(Place::Shared(*block, chunk.far as u32)),
            Far::Nothing => None,
        };
        if let Some(far) = far.filter(|_| bytes > 0) {
            let (agent, kind) = if job.load { (agents.0, READ) } else { (agents.1, WRITE) };
            if matches!(job.effect, Effect::Copy) {
                race::async_access(cluster, warp, far, bytes, kind, agent, lane)?;
            }
            if check && job.load {
                written(cluster, warp, far, bytes, lane)?;
            }
        }
    }
    if let Some((blocks, at)) = &job.mbarrier {
        race::mbarrier_publish(cluster, warp, blocks, *at, agents.1, ticks);
    } else {
        let reads_shared = !job.load || matches!(job.far, Far::Shared(_));
        warp.bulk.log.push(Issued {
            lane: lane as u8,
            group: job.owner.2,
            ticks,
            read: !reads_shared,
        });
    }
    cluster.queue.push_back(job);
    Ok(())
}

/// Every byte of a source must have been written.
fn written(
    cluster: &Cluster<'_>,
    warp: &Warp,
    place: Place,
    bytes: u32,
    lane: usize,
) -> Result<(), Box<Fault>> {
    for at in 0..bytes {
        memory::read(cluster, warp, place, at, 1, lane)?;
    }
    Ok(())
}

/// Carries out all copies under way; says whether there were any.
pub(super) fn drain(cluster: &mut Cluster<'_>) -> Result<bool, Box<Fault>> {
    let mut any = false;
    while let Some(job) = cluster.queue.pop_front() {
        any = true;
        perform(cluster, &job)?;
        cluster.events += 1;
        if let Some((blocks, at)) = &job.mbarrier {
            for &block in blocks {
                mbarrier::complete_tx(
                    cluster,
                    block,
                    *at,
                    u64::from(job.bytes),
                    usize::from(job.owner.1),
                )?;
            }
        }
    }
    Ok(any)
}

fn perform(cluster: &mut Cluster<'_>, job: &Job) -> Result<(), Box<Fault>> {
    for chunk in &job.chunks {
        let valid = usize::from(chunk.valid);
        if job.load {
            let mut bytes = job.fill;
            match &job.far {
                Far::Global(allocation) => allocation.read(chunk.far, &mut bytes[..valid]),
                Far::Shared(block) => {
                    bytes[..valid].copy_from_slice(
                        cluster.blocks[*block].shared.read(chunk.far as u32, valid as u32),
                    );
                }
                Far::Nothing => {}
            }
            // A part of a chunk that follows a filled one covers its own bytes alone.
            let whole =
                chunk.shared % CHUNK == 0 && (valid == 0 || valid == 16 || !job.is_part(chunk));
            let count = if whole { 16 } else { valid };
            for &block in &job.near {
                cluster.blocks[block].shared.write(chunk.shared, &bytes[..count]);
            }
        } else {
            let source =
                cluster.blocks[job.near[0]].shared.read(chunk.shared, chunk.valid.into()).to_vec();
            match (&job.far, job.effect) {
                (Far::Global(allocation), Effect::Copy) => allocation.write(chunk.far, &source),
                (Far::Global(allocation), Effect::Reduce(op, ty)) => {
                    let width = ty.bytes() as usize;
                    for (i, element) in source.chunks_exact(width).enumerate() {
                        let mut value = [0; 8];
                        value[..width].copy_from_slice(element);
                        let value = u64::from_le_bytes(value);
                        let at = chunk.far + (i * width) as u64;
                        allocation
                            .update(at, width as u32, |old| memory::combine(op, ty, old, value, 0));
                    }
                }
                (Far::Shared(block), _) => {
                    cluster.blocks[*block].shared.write(chunk.far as u32, &source)
                }
                (Far::Nothing, _) => {}
            }
        }
    }
    Ok(())
}

impl Job {
    /// Whether a chunk is one element behind a filled chunk at the same place.
    fn is_part(&self, chunk: &Chunk) -> bool {
        let base = chunk.shared / CHUNK * CHUNK;
        self.chunks.iter().any(|c| c.valid == 0 && c.shared == base)
    }
}

/// Whether all groups but the latest `left` of the lanes are complete.
pub(super) fn groups_done(cluster: &Cluster<'_>, warp: &Warp, active: u32, left: u32) -> bool {
    let number = race::number(cluster, warp);
    !cluster.queue.iter().any(|job| {
        let (owner, lane, group) = job.owner;
        job.mbarrier.is_none()
            && owner == number
            && active >> lane & 1 == 1
            && group + left < warp.bulk.committed[usize::from(lane)]
    })
}

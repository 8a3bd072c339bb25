//! Bulk and tensor copies.
//!
//! A copy is planned when it is issued: every chunk of 16 bytes is located, checked and stamped. It is carried out once
//! every warp of the cluster has had a turn, so that who does not wait for it meets the bytes of before.

mod linear;
mod tensor;

use std::sync::Arc;

use crate::decode::bulk::{Completion, Effect};
use crate::decode::op::Space;
use crate::memory::Allocation;
use crate::parse::ast::Type;
use crate::report::{Fault, FaultKind};

use super::atomic;
use super::blame::Late;
use super::frame::Frame;
use super::mbarrier;
use super::memory::{self, Place, READ, WRITE};
use super::race::{self, Agent, Issue};
use super::state::Cluster;
use super::warp::Warp;

pub(super) use linear::{copy, value};
pub(super) use tensor::tensor;

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
    /// `fill` is a value to be stored, of the chunk's valid bytes.
    value: bool,
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
    let by = |agent| Issue { agent, lanes: 1 << lane, tick: None };
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
            // Reductions are atomic: their destination is not written in the sense of a race.
            if !(job.load && matches!(job.effect, Effect::Reduce(..))) {
                race::async_access(cluster, warp, near, length, kind, by(agent))?;
            }
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
                race::async_access(cluster, warp, far, bytes, kind, by(agent))?;
            }
            if check && job.load {
                written(cluster, warp, far, bytes, lane)?;
            }
        }
    }
    if let Some((blocks, at)) = &job.mbarrier {
        race::mbarrier_publish(cluster, warp, lane, (blocks, *at), agents.1, ticks.0.max(ticks.1));
    } else {
        let reads_shared = !job.load || matches!(job.far, Far::Shared(_));
        warp.bulk.log.push(Issued {
            lane: lane as u8,
            group: job.owner.2,
            ticks,
            read: !reads_shared,
        });
    }
    cluster.queue.push_back((warp.line, job));
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
pub(super) fn drain(cluster: &mut Cluster<'_>) -> Result<bool, Late> {
    let mut any = false;
    while let Some((line, job)) = cluster.queue.pop_front() {
        any = true;
        let late = |fault| Late { warp: job.owner.0, line, fault };
        perform(cluster, &job).map_err(late)?;
        cluster.events += 1;
        if let Some((blocks, at)) = &job.mbarrier {
            let (bytes, lane) = (u64::from(job.bytes), usize::from(job.owner.1));
            for &block in blocks {
                mbarrier::complete_tx(cluster, block, *at, bytes, lane).map_err(late)?;
            }
        }
    }
    Ok(any)
}

fn perform(cluster: &mut Cluster<'_>, job: &Job) -> Result<(), Box<Fault>> {
    for chunk in &job.chunks {
        let valid = usize::from(chunk.valid);
        if job.load {
            load(cluster, job, chunk, valid);
            continue;
        }
        let source =
            cluster.blocks[job.near[0]].shared.read(chunk.shared, chunk.valid.into()).to_vec();
        match (&job.far, job.effect) {
            (Far::Global(allocation), Effect::Copy) => allocation.write(chunk.far, &source),
            (Far::Global(allocation), Effect::Reduce(op, ty)) => {
                for (at, value) in elements(&source, ty) {
                    let new = |old| atomic::combine(op, ty, old, value, 0);
                    allocation.update(chunk.far + u64::from(at), ty.bytes(), new);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a chunk to shared memory.
fn load(cluster: &mut Cluster<'_>, job: &Job, chunk: &Chunk, valid: usize) {
    let mut bytes = job.fill;
    match &job.far {
        Far::Global(allocation) => allocation.read(chunk.far, &mut bytes[..valid]),
        Far::Shared(block) => {
            let source = cluster.blocks[*block].shared.read(chunk.far as u32, valid as u32);
            bytes[..valid].copy_from_slice(source);
        }
        Far::Nothing => {}
    }
    let count = if job.value { valid } else { 16 };
    for &block in &job.near {
        let shared = &mut cluster.blocks[block].shared;
        match job.effect {
            Effect::Copy => shared.write(chunk.shared, &bytes[..count]),
            Effect::Reduce(op, ty) => {
                for (at, value) in elements(&bytes[..count], ty) {
                    let old = shared.load(chunk.shared + at, ty.bytes());
                    shared.store(
                        chunk.shared + at,
                        ty.bytes(),
                        atomic::combine(op, ty, old, value, 0),
                    );
                }
            }
        }
    }
}

/// The elements of some bytes, each with its offset.
fn elements(bytes: &[u8], ty: Type) -> impl Iterator<Item = (u32, u64)> {
    let width = ty.bytes() as usize;
    bytes.chunks_exact(width).enumerate().map(move |(i, element)| {
        let mut value = [0; 8];
        value[..width].copy_from_slice(element);
        ((i * width) as u32, u64::from_le_bytes(value))
    })
}

/// Whether all groups but the latest `left` of the lanes are complete.
pub(super) fn groups_done(cluster: &Cluster<'_>, warp: &Warp, active: u32, left: u32) -> bool {
    let number = race::number(cluster, warp);
    !cluster.queue.iter().any(|(_, job)| {
        let (owner, lane, group) = job.owner;
        job.mbarrier.is_none()
            && owner == number
            && active >> lane & 1 == 1
            && group + left < warp.bulk.committed[usize::from(lane)]
    })
}

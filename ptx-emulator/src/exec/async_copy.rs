//! Dispatch of asynchronous instructions, and `cp.async`.
//!
//! A copy is carried out when its issuer waits for it, the latest moment that PTX allows: a read without a wait meets
//! the bytes of before.

use crate::decode::async_op::{AsyncOp, CpAsync};
use crate::decode::op::{Function, Space};
use crate::report::Fault;

use super::frame::{Frame, LANES, lanes};
use super::memory::{self, Place, READ, WRITE};
use super::race::{self, Agent, Issue};
use super::state::Cluster;
use super::step::Flow;
use super::warp::{Wait, Warp};
use super::{barrier, bulk, mbarrier, wgmma};

/// A copy that was issued and is not complete.
#[derive(Clone, Copy, Debug)]
struct Pending {
    lane: u8,
    bytes: u8,
    /// Bytes read; the rest becomes zero.
    source_bytes: u8,
    /// The issuer's group.
    group: u32,
    to: Place,
    /// Address of what is read. Looked up again at completion: the snapshot of allocations may have changed.
    from: Option<u64>,
}

/// The asynchronous copies of a warp's lanes.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Pending>,
    /// Groups that each lane has committed.
    committed: [u32; LANES],
}

impl Copies {
    /// Groups that a lane has committed.
    pub(super) fn committed(&self, lane: usize) -> u32 {
        self.committed[lane]
    }
}

/// Executes an asynchronous instruction of path `p` in the lanes of `active`.
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    op: &AsyncOp,
    (p, active): (u32, u32),
) -> Result<Flow, Box<Fault>> {
    match op {
        AsyncOp::Copy(copy) => issue(cluster, warp, f, *copy, active)?,
        AsyncOp::CommitCopies => {
            for lane in lanes(active) {
                warp.copies.committed[lane] += 1;
            }
        }
        AsyncOp::WaitCopies(left) => {
            complete(cluster, warp, active, *left)?;
            race::copies_waited(cluster, warp, active, *left);
        }
        AsyncOp::Cluster(op) => return barrier::cluster_barrier(cluster, warp, *op, active),
        AsyncOp::ProxyFence => race::proxy_fence(cluster, warp, active),
        AsyncOp::DependencyWait => warp.dependency_met |= active,
        AsyncOp::LaunchDependents => {}
        AsyncOp::Mbarrier(object, op) => {
            return mbarrier::execute(cluster, warp, f, (*object, op), p, active);
        }
        AsyncOp::PendingCount { d, a } => {
            let a = f.get(*a);
            f.put(*d, active, |i| a[i] & 0xf_ffff);
        }
        AsyncOp::Bulk(copy) => bulk::copy(cluster, warp, f, copy, active)?,
        AsyncOp::Tensor(copy) => bulk::tensor(cluster, warp, f, function, copy, active)?,
        AsyncOp::Value(value) => bulk::value(cluster, warp, f, function, value, active)?,
        AsyncOp::CommitBulk => {
            for lane in lanes(active) {
                warp.bulk.committed[lane] += 1;
            }
        }
        AsyncOp::WaitBulk { left, read } => {
            return Ok(Flow::Wait(Wait::Bulk { lanes: active, left: *left, read: *read }));
        }
        AsyncOp::WgmmaFence => {
            barrier::converged(active, u32::MAX)?;
            warp.wgmma.fence();
        }
        AsyncOp::WgmmaCommit => {
            barrier::converged(active, u32::MAX)?;
            warp.wgmma.commit();
        }
        AsyncOp::WgmmaWait(left) => {
            barrier::converged(active, u32::MAX)?;
            if let Some(tick) = warp.wgmma.wait(*left) {
                race::wgmma_waited(cluster, warp, tick);
            }
        }
        AsyncOp::Wgmma(mma) => {
            let frame = warp.paths[p as usize].frame;
            wgmma::execute(cluster, warp, f, function, mma, (frame, active))?;
        }
        AsyncOp::SetMaxRegisters => barrier::converged(active, warp.live())?,
    }
    Ok(Flow::Next)
}

fn issue(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    copy: CpAsync,
    active: u32,
) -> Result<(), Box<Fault>> {
    let to = memory::addresses(cluster, f, copy.to);
    let from = memory::addresses(cluster, f, copy.from);
    let bytes = u32::from(copy.bytes);
    for lane in lanes(active) {
        let source_bytes = match copy.ignore {
            Some(ignore) if f.pred(ignore) >> lane & 1 == 1 => 0,
            _ => copy.source_bytes.map_or(bytes, |s| f.lane(s, lane) as u32),
        };
        if source_bytes > bytes {
            let message = format!("cp.async of {bytes} bytes reads {source_bytes}");
            return Err(Fault::at(crate::report::FaultKind::Async(message), lane));
        }
        let target = memory::locate(cluster, warp, Space::Shared, to[lane], bytes, WRITE, lane)?;
        let tick = Some(warp.copies.committed[lane] + 1);
        let by = Issue { agent: Agent::Copies, lanes: 1 << lane, tick };
        race::async_access(cluster, warp, target, bytes, WRITE, by)?;
        // With nothing to read the source address may be anything.
        let source = match source_bytes {
            0 => None,
            _ => {
                let place = locate_source(cluster, warp, from[lane], (bytes, source_bytes), lane)?;
                race::async_access(cluster, warp, place, source_bytes, READ, by)?;
                Some(from[lane])
            }
        };
        warp.copies.pending.push(Pending {
            lane: lane as u8,
            bytes: copy.bytes,
            source_bytes: source_bytes as u8,
            group: warp.copies.committed[lane],
            to: target,
            from: source,
        });
    }
    Ok(())
}

/// The source must be aligned to the whole copy, but exist only as far as it is read.
fn locate_source(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    (bytes, source_bytes): (u32, u32),
    lane: usize,
) -> Result<Place, Box<Fault>> {
    if source_bytes == bytes || !at.is_multiple_of(u64::from(bytes)) {
        return memory::locate(cluster, warp, Space::Global, at, bytes, READ, lane);
    }
    let place = memory::locate(cluster, warp, Space::Global, at, 1, READ, lane)?;
    memory::locate(cluster, warp, Space::Global, at + u64::from(source_bytes) - 1, 1, READ, lane)?;
    Ok(place)
}

/// Carries out all copies of the lanes but those of the latest `left` groups.
fn complete(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    active: u32,
    left: u32,
) -> Result<(), Box<Fault>> {
    let pending = std::mem::take(&mut warp.copies.pending);
    let mut kept = Vec::new();
    for copy in pending {
        let lane = copy.lane as usize;
        let due = active >> lane & 1 == 1 && copy.group + left < warp.copies.committed[lane];
        if !due {
            kept.push(copy);
            continue;
        }
        perform(cluster, warp, copy)?;
    }
    warp.copies.pending = kept;
    Ok(())
}

/// Carries out all copies of one lane, committed or not.
pub(super) fn complete_lane(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    lane: usize,
) -> Result<(), Box<Fault>> {
    let pending = std::mem::take(&mut warp.copies.pending);
    let (due, kept): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|copy| usize::from(copy.lane) == lane);
    warp.copies.pending = kept;
    due.into_iter().try_for_each(|copy| perform(cluster, warp, copy))
}

fn perform(cluster: &mut Cluster<'_>, warp: &mut Warp, copy: Pending) -> Result<(), Box<Fault>> {
    let lane = usize::from(copy.lane);
    let bytes = u32::from(copy.bytes);
    let from = match copy.from {
        Some(at) => {
            Some(locate_source(cluster, warp, at, (bytes, u32::from(copy.source_bytes)), lane)?)
        }
        None => None,
    };
    for at in 0..bytes {
        let value = match from {
            Some(from) if at < u32::from(copy.source_bytes) => {
                memory::read(cluster, warp, from, at, 1, lane)?
            }
            _ => 0,
        };
        memory::write(cluster, warp, copy.to, at, 1, value, lane)?;
    }
    Ok(())
}

//! `cp.async`, dependent launches and proxy fences.
//!
//! A copy is carried out when its issuer waits for it, the latest moment that PTX allows: a read without a wait meets
//! the bytes of before.

use crate::decode::async_op::{AsyncOp, CpAsync};
use crate::decode::op::{Order, Space};
use crate::report::Fault;

use super::frame::{Frame, LANES, lanes};
use super::memory::{self, Place, READ, WRITE};
use super::state::Cluster;
use super::step::Flow;
use super::warp::Warp;
use super::{barrier, race};

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
    from: Option<Place>,
}

/// The asynchronous copies of a warp's lanes.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Pending>,
    /// Groups that each lane has committed.
    committed: [u32; LANES],
}

/// Executes an asynchronous instruction.
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    op: &AsyncOp,
    active: u32,
) -> Result<Flow, Box<Fault>> {
    match *op {
        AsyncOp::Copy(copy) => issue(cluster, warp, f, copy, active)?,
        AsyncOp::CommitCopies => {
            for lane in lanes(active) {
                warp.copies.committed[lane] += 1;
            }
        }
        AsyncOp::WaitCopies(left) => complete(cluster, warp, active, left)?,
        AsyncOp::Cluster(op) => return barrier::cluster_barrier(cluster, warp, op, active),
        AsyncOp::ProxyFence { .. } => {}
        AsyncOp::DependencyWait => warp.dependency_met = true,
        AsyncOp::LaunchDependents => {}
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
        let source_bytes = copy.source_bytes.map_or(bytes, |s| f.lane(s, lane) as u32);
        if source_bytes > bytes {
            let message = format!("cp.async of {bytes} bytes reads {source_bytes}");
            return Err(Fault::at(crate::report::FaultKind::Async(message), lane));
        }
        let target = memory::locate(cluster, warp, Space::Shared, to[lane], bytes, WRITE, lane)?;
        // With nothing to read the source address may be anything.
        let source = match source_bytes {
            0 => None,
            _ => {
                let place = locate_source(cluster, warp, from[lane], (bytes, source_bytes), lane)?;
                race::access(cluster, warp, place, source_bytes.next_power_of_two(), READ, Order::Weak, lane)?;
                Some(place)
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
    if source_bytes == bytes || at % u64::from(bytes) != 0 {
        return memory::locate(cluster, warp, Space::Global, at, bytes, READ, lane);
    }
    let place = memory::locate(cluster, warp, Space::Global, at, 1, READ, lane)?;
    memory::locate(cluster, warp, Space::Global, at + u64::from(source_bytes) - 1, 1, READ, lane)?;
    Ok(place)
}

/// Carries out all copies of the lanes but those of the latest `left` groups.
fn complete(cluster: &mut Cluster<'_>, warp: &mut Warp, active: u32, left: u32) -> Result<(), Box<Fault>> {
    let pending = std::mem::take(&mut warp.copies.pending);
    let mut kept = Vec::new();
    for copy in pending {
        let lane = copy.lane as usize;
        let due = active >> lane & 1 == 1 && copy.group + left < warp.copies.committed[lane];
        if !due {
            kept.push(copy);
            continue;
        }
        race::access(cluster, warp, copy.to, u32::from(copy.bytes), WRITE, Order::Weak, lane)?;
        for at in 0..u32::from(copy.bytes) {
            let value = match copy.from {
                Some(from) if at < u32::from(copy.source_bytes) => memory::read(cluster, warp, from, at, 1, lane)?,
                _ => 0,
            };
            memory::write(cluster, warp, copy.to, at, 1, value, lane)?;
        }
    }
    warp.copies.pending = kept;
    Ok(())
}

//! Barriers of a block and of a cluster.

use crate::decode::async_op::ClusterBarrier;
use crate::decode::op::{Barrier, BarrierKind, Src};
use crate::report::{Fault, FaultKind};

use super::frame::{Frame, lanes};
use super::state::{Cluster, NamedBarrier};
use super::step::{Flow, first_lane};
use super::warp::{Wait, Warp};
use super::{bulk, mbarrier, race};

/// Completed reductions that are kept for warps that have not yet looked.
const KEPT_RESULTS: usize = 64;

/// A collective instruction needs these lanes; fewer is an error.
pub(super) fn converged(present: u32, needed: u32) -> Result<(), Box<Fault>> {
    if present & needed == needed {
        return Ok(());
    }
    let lane = first_lane(if present == 0 { needed } else { present });
    Err(Fault::at(FaultKind::Divergence { present, needed }, lane))
}

/// A value that must be the same in all lanes of `mask`.
pub(super) fn uniform(f: &Frame, src: Src, mask: u32, what: &str) -> Result<u64, Box<Fault>> {
    let row = f.get(src);
    let first = row[first_lane(mask)];
    match lanes(mask).find(|&lane| row[lane] != first) {
        None => Ok(first),
        Some(lane) => {
            let message = format!("{what} differs between lanes: {first} and {}", row[lane]);
            Err(Fault::at(FaultKind::Barrier(message), lane))
        }
    }
}

/// `bar` and `barrier`
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    op: &Barrier,
    p: u32,
    active: u32,
) -> Result<Flow, Box<Fault>> {
    if op.aligned {
        converged(active, warp.live())?;
    }
    let id = uniform(f, op.id, active, "the barrier's number")?;
    let misuse = |message: String| Fault::at(FaultKind::Barrier(message), first_lane(active));
    if id > 15 {
        return Err(misuse(format!("barrier {id} does not exist: a block has 0 to 15")));
    }
    let count = match op.count {
        None => None,
        Some(count) => {
            let count = uniform(f, count, active, "the thread count")?;
            if count == 0 || count % 32 != 0 || count > 1024 {
                return Err(misuse(format!(
                    "a thread count of {count} is not a multiple of 32 up to 1024"
                )));
            }
            Some(count as u32)
        }
    };
    let reduction = match op.kind {
        BarrierKind::Popc(_, p) | BarrierKind::And(_, p) | BarrierKind::Or(_, p) => {
            Some(f.pred(p) & active)
        }
        _ => None,
    };
    if let Some(passed) = warp.paths[p as usize].resumed.take() {
        // Second visit: the phase that this path waited for has completed.
        deliver(cluster, warp, f, op, active, id as usize, passed);
        return Ok(Flow::Next);
    }
    let block = warp.block as usize;
    let live_warps = cluster.blocks[block].live_warps;
    let whole = active == warp.live();
    let barrier = &mut cluster.blocks[block].barriers[id as usize];
    if let (Some(old), Some(new)) = (barrier.expected, count)
        && old != new
    {
        return Err(misuse(format!(
            "barrier {id} is used with thread counts {old} and {new} in one phase"
        )));
    }
    barrier.expected = barrier.expected.or(count);
    barrier.arrived += if whole { 32 } else { active.count_ones() };
    if let Some(bits) = reduction {
        let (sum, all, any) = barrier.partial;
        barrier.partial = (sum + bits.count_ones(), all && bits == active, any || bits != 0);
    }
    let passed = barrier.passed;
    race::barrier_arrive(cluster, warp, id as usize, active);
    let barrier = &mut cluster.blocks[block].barriers[id as usize];
    let needed = barrier.expected.unwrap_or(live_warps * 32);
    if barrier.arrived > needed {
        let message =
            format!("{} threads arrived at barrier {id}, which expects {needed}", barrier.arrived);
        return Err(misuse(message));
    }
    if barrier.arrived == needed {
        complete(cluster, block, id as usize);
    }
    match op.kind {
        BarrierKind::Arrive => Ok(Flow::Next),
        BarrierKind::Sync => Ok(Flow::Wait(Wait::Barrier { id: id as u8, passed })),
        _ => {
            warp.paths[p as usize].resumed = Some(passed);
            Ok(Flow::WaitAgain(Wait::Barrier { id: id as u8, passed }))
        }
    }
}

/// Writes the result of a reduction to the lanes that asked for it.
fn deliver(
    cluster: &Cluster<'_>,
    warp: &Warp,
    f: &mut Frame,
    op: &Barrier,
    active: u32,
    id: usize,
    passed: u64,
) {
    let barrier = &cluster.blocks[warp.block as usize].barriers[id];
    let found =
        barrier.results.iter().find(|(phase, _)| *phase == passed).map(|(_, result)| *result);
    let (sum, all, any) = found.unwrap_or((0, true, false));
    let mask = |value: bool| if value { u32::MAX } else { 0 };
    match op.kind {
        BarrierKind::Popc(d, _) => f.put(d, active, |_| u64::from(sum)),
        BarrierKind::And(d, _) => f.put_pred(d, active, mask(all)),
        BarrierKind::Or(d, _) => f.put_pred(d, active, mask(any)),
        BarrierKind::Sync | BarrierKind::Arrive => {}
    }
}

fn complete(cluster: &mut Cluster<'_>, block: usize, id: usize) {
    cluster.events += 1;
    let barrier = &mut cluster.blocks[block].barriers[id];
    barrier.results.push_back((barrier.passed, barrier.partial));
    if barrier.results.len() > KEPT_RESULTS {
        barrier.results.pop_front();
    }
    let kept = std::mem::take(&mut barrier.results);
    *barrier =
        NamedBarrier { passed: barrier.passed + 1, results: kept, ..NamedBarrier::default() };
    race::barrier_complete(cluster, block, id);
}

/// A warp of the block has exited: a barrier that counts all warps may now be complete.
pub(super) fn warp_finished(cluster: &mut Cluster<'_>, block: u32) -> Result<(), Box<Fault>> {
    let state = &mut cluster.blocks[block as usize];
    state.live_warps -= 1;
    let needed = state.live_warps * 32;
    if needed == 0 {
        bulk::block_finished(cluster, block)?;
    }
    for id in 0..16 {
        let barrier = &cluster.blocks[block as usize].barriers[id];
        if barrier.expected.is_none() && barrier.arrived > 0 && barrier.arrived == needed {
            complete(cluster, block as usize, id);
        }
    }
    cluster_may_pass(cluster);
    Ok(())
}

/// Whether what a path of these lanes waits for has come.
pub(super) fn over(cluster: &mut Cluster<'_>, warp: &mut Warp, wait: Wait, mask: u32) -> bool {
    match wait {
        Wait::Barrier { id, passed } => {
            let over = cluster.blocks[warp.block as usize].barriers[id as usize].passed > passed;
            if over {
                race::barrier_passed(cluster, warp, (id as usize, passed), mask);
            }
            over
        }
        Wait::Mbarrier { block, at, phase } => mbarrier::over(cluster, block, at, phase),
        Wait::Bulk { lanes, left, read } => {
            let over = bulk::groups_done(cluster, warp, lanes, left);
            if over {
                race::bulk_waited(cluster, warp, lanes, left, read);
            }
            over
        }
        Wait::Cluster { passed } => {
            let over = cluster.passed > passed;
            if over {
                race::cluster_passed(cluster, warp, mask);
            }
            over
        }
    }
}

/// `barrier.cluster`
pub(super) fn cluster_barrier(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: ClusterBarrier,
    active: u32,
) -> Result<Flow, Box<Fault>> {
    if op.aligned {
        converged(active, warp.live())?;
    }
    let misuse =
        |message: &str| Fault::at(FaultKind::Barrier(message.to_owned()), first_lane(active));
    if op.wait {
        if warp.cluster_arrived & active != active {
            return Err(misuse("barrier.cluster.wait without an arrival before it"));
        }
        warp.cluster_arrived &= !active;
        return Ok(Flow::Wait(Wait::Cluster { passed: warp.cluster_phase }));
    }
    if warp.cluster_arrived & active != 0 {
        return Err(misuse("a second barrier.cluster.arrive before the wait"));
    }
    warp.cluster_arrived |= active;
    warp.cluster_phase = cluster.passed;
    cluster.arrived += active.count_ones();
    race::cluster_arrive(cluster, warp, op.relaxed, active);
    cluster_may_pass(cluster);
    Ok(Flow::Next)
}

/// Completes the cluster barrier if all threads that have not exited are there.
pub(super) fn cluster_may_pass(cluster: &mut Cluster<'_>) {
    if cluster.arrived > 0 && cluster.arrived >= cluster.live_threads {
        cluster.arrived = 0;
        cluster.passed += 1;
        cluster.events += 1;
        race::cluster_complete(cluster);
    }
}

/// What a path waits for, in words.
pub(super) fn describe(cluster: &Cluster<'_>, warp: &Warp, wait: Wait) -> String {
    match wait {
        Wait::Barrier { id, .. } => {
            let block = &cluster.blocks[warp.block as usize];
            let barrier = &block.barriers[id as usize];
            let needed = barrier.expected.unwrap_or(block.live_warps * 32);
            format!("barrier {id}, at which {} of {needed} threads have arrived", barrier.arrived)
        }
        Wait::Mbarrier { block, at, .. } => mbarrier::describe(cluster, block, at),
        Wait::Bulk { .. } => "bulk copies".to_owned(),
        Wait::Cluster { .. } => {
            format!(
                "the cluster barrier, at which {} of {} threads have arrived",
                cluster.arrived, cluster.live_threads
            )
        }
    }
}

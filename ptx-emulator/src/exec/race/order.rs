//! What each synchronising instruction means for the order between lanes.
//!
//! Of the warp-wide instructions only `bar.warp.sync` orders memory (PTX ISA): shuffles, votes, reductions and matrix
//! products exchange registers and appear here not at all. Barriers order the lanes that arrive before those that wait,
//! lanes of one warp included.

use std::sync::PoisonError;

use crate::check::clock::{ALL, Clock};
use crate::decode::op::Order;

use super::super::memory::Place;
use super::super::state::Cluster;
use super::super::warp::Warp;
use super::Standing;

/// Number by which no cluster goes: clocks of strong locations are nobody's own.
pub(super) const NOBODY: u32 = u32::MAX;
/// Phases of a barrier that are kept for warps that have not yet looked.
const KEPT_PHASES: usize = 64;

/// Before strong writes of one instruction: each lane publishes at its place what a fence before made ready, of its own
/// thread, or sequentially consistent and known to it.
pub(in crate::exec) fn offer(cluster: &mut Cluster<'_>, warp: &Warp, places: &[(Place, u32)]) {
    at_locations(cluster, warp, places, |standing, location, (own, number), lanes| {
        standing.offer(lanes, |known, lanes, tick| {
            location.join_foreign(NOBODY, own, known);
            location.raise_foreign(NOBODY, own, (number, lanes, tick));
        });
    });
}

/// After strong reads of one instruction: the lanes hear what was published at their places. Lanes at one place do so
/// together, so that they go on knowing the same.
pub(in crate::exec) fn hear(cluster: &mut Cluster<'_>, warp: &Warp, places: &[(Place, u32)]) {
    at_locations(cluster, warp, places, |standing, location, _, lanes| {
        if !location.is_empty() {
            standing.hear(lanes, location);
        }
    });
}

/// Meets what was published at each place. A writer publishes before it writes and a reader hears after it has read, so
/// that who reads what was written has heard of it, on whichever thread of the host.
fn at_locations(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    places: &[(Place, u32)],
    mut meet: impl FnMut(&mut Standing, &mut Clock, (u32, u32), u32),
) {
    let Some(races) = &mut cluster.races else { return };
    let who = (races.cluster, races.number(warp));
    let standing = &mut races.standings[who.1 as usize];
    for (place, lanes) in places {
        match *place {
            Place::Shared(block, at) => {
                meet(standing, races.released.entry((block, at)).or_default(), who, *lanes)
            }
            Place::Global(index, offset) => {
                let address = cluster.snapshot.allocations[index].base + offset;
                let mut released =
                    races.global.released.lock().unwrap_or_else(PoisonError::into_inner);
                meet(standing, released.entry(address).or_default(), who, *lanes);
            }
            Place::Local(_) | Place::Param(_) => {}
        }
    }
}

/// Before an access of this order.
pub(in crate::exec) fn release(cluster: &mut Cluster<'_>, warp: &Warp, order: Order, mask: u32) {
    if matches!(order, Order::Release | Order::AcqRel) {
        fence(cluster, warp, Order::Release, mask);
    }
}

/// After an access of this order.
pub(in crate::exec) fn acquire(cluster: &mut Cluster<'_>, warp: &Warp, order: Order, mask: u32) {
    if matches!(order, Order::Acquire | Order::AcqRel) {
        fence(cluster, warp, Order::Acquire, mask);
    }
}

/// `fence` and `membar`
pub(in crate::exec) fn fence(cluster: &mut Cluster<'_>, warp: &Warp, order: Order, mask: u32) {
    let Some(races) = &mut cluster.races else { return };
    let own = races.cluster;
    let (standing, slots) = races.standing(warp);
    if matches!(order, Order::Acquire | Order::AcqRel | Order::Sc) {
        standing.acquire_heard(mask, own);
    }
    if matches!(order, Order::Release | Order::AcqRel | Order::Sc) {
        standing.release(mask, slots);
    }
    if order == Order::Sc {
        standing.seal(mask, slots);
    }
}

/// `bar.warp.sync`
pub(in crate::exec) fn warp_sync(cluster: &mut Cluster<'_>, warp: &Warp, mask: u32) {
    let Some(races) = &mut cluster.races else { return };
    let (standing, slots) = races.standing(warp);
    standing.sync(mask, slots);
}

/// Lanes arrive at a barrier of their block.
pub(in crate::exec) fn barrier_arrive(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    id: usize,
    active: u32,
) {
    let Some(races) = &mut cluster.races else { return };
    let mut pending = std::mem::take(&mut races.barriers[warp.block as usize * 16 + id].pending);
    let (standing, slots) = races.standing(warp);
    standing.publish(active, slots, &mut pending);
    races.barriers[warp.block as usize * 16 + id].pending = pending;
}

/// A phase of a barrier is complete.
pub(in crate::exec) fn barrier_complete(cluster: &mut Cluster<'_>, block: usize, id: usize) {
    let phase = cluster.blocks[block].barriers[id].passed - 1;
    let Some(races) = &mut cluster.races else { return };
    let phases = &mut races.barriers[block * 16 + id];
    let known = std::mem::take(&mut phases.pending);
    phases.completed.push_back((phase, known));
    if phases.completed.len() > KEPT_PHASES {
        phases.completed.pop_front();
    }
}

/// Lanes go on after a phase of a barrier.
pub(in crate::exec) fn barrier_passed(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    (id, phase): (usize, u64),
    mask: u32,
) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp) as usize;
    let phases = &races.barriers[warp.block as usize * 16 + id];
    if let Some((_, known)) = phases.completed.iter().rev().find(|(p, _)| *p == phase) {
        races.standings[number].acquire(mask, known);
    }
}

/// Lanes arrive at the cluster's barrier.
pub(in crate::exec) fn cluster_arrive(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    relaxed: bool,
    active: u32,
) {
    let Some(races) = &mut cluster.races else { return };
    let mut pending = std::mem::take(&mut races.cluster_pending);
    let (standing, slots) = races.standing(warp);
    if relaxed {
        // It publishes no more than fences before it made ready.
        standing.offer(active, |known, lanes, tick| {
            pending.join(known);
            pending.raise(slots.warp, lanes, tick);
        });
    } else {
        standing.publish(active, slots, &mut pending);
    }
    races.cluster_pending = pending;
}

/// The cluster's barrier is complete.
pub(in crate::exec) fn cluster_complete(cluster: &mut Cluster<'_>) {
    if let Some(races) = &mut cluster.races {
        races.cluster_done = std::mem::take(&mut races.cluster_pending);
    }
}

/// Lanes go on after the cluster's barrier.
pub(in crate::exec) fn cluster_passed(cluster: &mut Cluster<'_>, warp: &Warp, mask: u32) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp) as usize;
    races.standings[number].acquire(mask, &races.cluster_done);
}

/// What lanes publish by an arrival, if races are checked.
pub(in crate::exec) fn publish(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    lanes: u32,
) -> Option<Clock> {
    let races = cluster.races.as_mut()?;
    let (standing, slots) = races.standing(warp);
    let mut known = Clock::default();
    standing.publish(lanes, slots, &mut known);
    Some(known)
}

/// Lanes have seen a phase of an object completed. If they did so by a relaxed wait, a fence must follow.
pub(in crate::exec) fn mbarrier_acquire(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    (block, at): (usize, u32),
    mask: u32,
    relaxed: bool,
) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp) as usize;
    if let Some(object) = cluster.blocks[block].objects.get(&at) {
        if relaxed {
            let mut location = Clock::default();
            location.join_foreign(NOBODY, races.cluster, &object.done);
            races.standings[number].hear(mask, &location);
        } else {
            races.standings[number].acquire(mask, &object.done);
        }
    }
}

/// `fence.proxy.async`
pub(in crate::exec) fn proxy_fence(cluster: &mut Cluster<'_>, warp: &Warp, active: u32) {
    let Some(races) = &mut cluster.races else { return };
    let (standing, slots) = races.standing(warp);
    standing.proxy_fence(active, slots);
}

/// The matrix instructions of a warp up to a tick are complete.
pub(in crate::exec) fn wgmma_waited(cluster: &mut Cluster<'_>, warp: &Warp, tick: u32) {
    let Some(races) = &mut cluster.races else { return };
    let slot = races.slot(super::Agent::Wgmma, races.number(warp));
    races.standing(warp).0.learn(ALL, |clock| clock.raise(slot, ALL, tick));
}

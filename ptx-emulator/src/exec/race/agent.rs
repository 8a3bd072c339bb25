//! Accesses by what works beside the threads: copies and matrix instructions.
//!
//! An agent accesses memory from its issue to its completion, so an earlier access must be known to the issuing lanes
//! when they issue, and a later one must know of the agent by waiting for it. The asynchronous proxy, through which bulk
//! copies and `wgmma` go, sees what threads wrote only behind a proxy fence.

use crate::check::clock::ALL;
use crate::check::shadow::Stamp;
use crate::report::{Fault, FaultKind};

use super::super::frame::lanes;
use super::super::memory::{Place, READ};
use super::super::state::Cluster;
use super::super::warp::Warp;
use super::{OBJECT_SLOTS, Races, fault, order, record};

/// Who accesses memory besides threads. Each has a clock entry of its own, that others learn of by waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Agent {
    /// A warp's bulk copies as readers of their sources, and as writers.
    BulkRead,
    BulkWrite,
    /// A warp's matrix instructions.
    Wgmma,
    /// A warp's `cp.async`, for each lane apart: its tick is one more than its group. Goes through the generic proxy.
    Copies,
    /// Copies that report to a memory barrier object.
    Object(u32),
}

impl Races<'_> {
    /// The number by which an agent of a warp goes in clocks and stamps.
    pub(super) fn slot(&self, agent: Agent, number: u32) -> u32 {
        let warps = self.standings.len() as u32;
        match agent {
            Agent::BulkRead => warps + number,
            Agent::BulkWrite => 2 * warps + number,
            Agent::Wgmma => 3 * warps + number,
            Agent::Copies => 4 * warps + number,
            Agent::Object(object) => 5 * warps + object % OBJECT_SLOTS,
        }
    }

    /// Whether one of the issuing lanes knows of an earlier access.
    fn issuer_knows(&self, number: u32, issuers: u32, old: &Stamp) -> bool {
        lanes(issuers).any(|lane| self.knows(number, lane, old))
    }

    /// Whether what a thread wrote was handed to the asynchronous proxy: by a fence of the writer behind the write, or of
    /// whoever knew of the write by then, an issuer first of all.
    fn proxied(&self, old: &Stamp) -> bool {
        let slot = usize::from(old.warp);
        if old.cluster != self.cluster || slot >= self.standings.len() {
            return true;
        }
        let own = self.standings[slot].proxied(usize::from(old.lane));
        own.is_some_and(|fence| fence.tick >= old.clock)
            || self
                .standings
                .iter()
                .flat_map(|standing| standing.proxy_fences())
                .any(|fence| fence.clock.of(u32::from(old.warp), old.lane) >= old.clock)
    }
}

/// What an agent does to memory: for which lanes (one of which must know of what came before), and when.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Issue {
    pub(in crate::exec) agent: Agent,
    pub(in crate::exec) lanes: u32,
    /// The agent's tick; none for its latest.
    pub(in crate::exec) tick: Option<u32>,
}

/// Records an access by an agent: earlier accesses must be known to an issuing lane now, and what threads wrote must have
/// been handed over by a proxy fence.
pub(in crate::exec) fn async_access(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    place: Place,
    bytes: u32,
    kind: &'static str,
    issue: Issue,
) -> Result<(), Box<Fault>> {
    let Some(races) = &cluster.races else { return Ok(()) };
    let number = races.number(warp);
    let slot = races.slot(issue.agent, number);
    let lane = issue.lanes.trailing_zeros() as usize % 32;
    let per_lane = issue.agent == Agent::Copies;
    let stamp = Stamp {
        clock: issue.tick.unwrap_or_else(|| races.ticks.get(&slot).copied().unwrap_or(1)),
        cluster: races.cluster,
        warp: slot as u16,
        lane: if per_lane { lane as u8 } else { 0 },
        strong: false,
        line: warp.line,
    };
    let write = kind != READ;
    let start = match place {
        Place::Shared(_, at) => u64::from(at),
        Place::Global(_, offset) => offset,
        Place::Local(_) | Place::Param(_) => return Ok(()),
    };
    // Pieces that are aligned to their size.
    let piece = 1u32 << (start | u64::from(bytes)).trailing_zeros().min(4);
    for step in (0..bytes).step_by(piece as usize) {
        let at = match place {
            Place::Shared(block, at) => Place::Shared(block, at + step),
            Place::Global(index, offset) => Place::Global(index, offset + u64::from(step)),
            other => other,
        };
        let ordered = |races: &Races<'_>, old: &Stamp| {
            races.issuer_knows(number, issue.lanes, old)
                && (write || per_lane || races.proxied(old))
        };
        let Some(conflict) = record(cluster, at, piece, write, stamp, ordered) else { continue };
        let unfenced = cluster.races.as_ref().is_some_and(|races| {
            let known = races.issuer_knows(number, issue.lanes, &conflict.with);
            conflict.was_write && !write && known
        });
        if unfenced {
            let message = format!(
                "the asynchronous proxy reads address {:#x}, which a thread wrote with no fence.proxy.async behind the write",
                conflict.at
            );
            return Err(Fault::at(FaultKind::Async(message), lane));
        }
        return Err(fault(cluster, conflict, at, kind, lane));
    }
    Ok(())
}

/// Lets an agent's clock tick; its accesses from now on are later than what was waited for.
pub(in crate::exec) fn tick(cluster: &mut Cluster<'_>, warp: &Warp, agent: Agent) -> u32 {
    let Some(races) = &mut cluster.races else { return 0 };
    let number = races.number(warp);
    let slot = races.slot(agent, number);
    let tick = races.ticks.entry(slot).or_insert(1);
    *tick = tick.saturating_add(1);
    *tick
}

/// A copy of a lane will report to an object in each of these blocks: who waits there learns of it.
pub(in crate::exec) fn mbarrier_publish(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    lane: usize,
    (blocks, at): (&[usize], u32),
    agent: Agent,
    tick: u32,
) {
    let Some(mut known) = order::publish(cluster, warp, 1 << lane) else { return };
    if let Some(races) = &cluster.races {
        let lanes = if agent == Agent::Copies { 1 << lane } else { ALL };
        known.raise(races.slot(agent, races.number(warp)), lanes, tick);
    }
    for &block in blocks {
        if let Some(object) = cluster.blocks[block].objects.get_mut(&at) {
            object.arriving.join(&known);
        }
    }
}

/// Bulk copies of these lanes, but those of the latest groups, are complete, or have read their sources.
pub(in crate::exec) fn bulk_waited(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    active: u32,
    left: u32,
    read: bool,
) {
    let mut latest = (0, 0);
    for copy in warp.bulk.due(active, left) {
        copy.read = true;
        latest = (latest.0.max(copy.ticks.0), latest.1.max(copy.ticks.1));
    }
    if let Some(races) = &mut cluster.races
        && latest != (0, 0)
    {
        let number = races.number(warp);
        let slots = (races.slot(Agent::BulkRead, number), races.slot(Agent::BulkWrite, number));
        races.standing(warp).0.learn(active, |clock| {
            clock.raise(slots.0, ALL, latest.0);
            if !read {
                clock.raise(slots.1, ALL, latest.1);
            }
        });
    }
    if !read {
        warp.bulk.complete(active, left);
    }
}

/// Each of these lanes has waited for its own `cp.async` copies but those of its latest `left` groups.
pub(in crate::exec) fn copies_waited(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    active: u32,
    left: u32,
) {
    let Some(races) = &mut cluster.races else { return };
    let copied = races.standing(warp).0.copied.get_or_insert_with(Default::default);
    for lane in lanes(active) {
        copied[lane] = copied[lane].max(warp.copies.committed(lane).saturating_sub(left));
    }
}

//! Race detection: what each instruction means for the order between warps.
//!
//! Every warp has a clock that ticks when it may publish what it did (a barrier, a fence). An access is stamped with it;
//! a later access by another warp races unless that warp has since heard of the stamp: through a barrier, or through a
//! strong access to a location that the first warp wrote after a fence. Lanes of one warp are ordered by the warp's
//! barriers alone. What one lane learns counts for its warp: such races are missed, none is invented.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::check::clock::Clock;
use crate::check::shadow::{Conflict, PAGE, Shadow, Stamp};
use crate::decode::op::Order;
use crate::report::{Fault, FaultKind};

use super::frame::{LANES, lanes};
use super::memory::{ATOMIC, Place, READ, WRITE};
use super::state::Cluster;
use super::warp::Warp;

/// Number by which no cluster goes: clocks of locations in global memory are nobody's own.
const NOBODY: u32 = u32::MAX;
const SHARDS: usize = 64;
/// Memory barrier objects that are told apart.
const OBJECT_SLOTS: u32 = 1024;

/// Who accesses memory besides threads. Each has a clock entry of its own, that others learn of by waiting.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agent {
    /// A warp's bulk copies as readers of their sources, and as writers.
    BulkRead,
    BulkWrite,
    /// A warp's matrix instructions.
    Wgmma,
    /// Copies that report to a memory barrier object.
    Object(u32),
}
/// Phases of a barrier that are kept for warps that have not yet looked.
const KEPT_PHASES: usize = 64;

/// What all clusters of a launch share.
#[derive(Debug)]
pub(super) struct GlobalRaces {
    /// Accesses by page, pages spread over locks.
    pages: Vec<Mutex<HashMap<u64, Shadow>>>,
    /// What the writers of strong locations had published.
    released: Mutex<HashMap<u64, Clock>>,
}

impl GlobalRaces {
    pub(super) fn new() -> Self {
        let pages = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { pages, released: Mutex::default() }
    }
}

/// A warp's standing.
#[derive(Clone, Debug)]
struct Standing {
    clock: Clock,
    /// Its own tick, from 1.
    tick: u32,
    /// The tick from which each lane's accesses come after those of the others before it.
    lane_sync: [u32; LANES],
    /// What its latest release fence published.
    fenced: Option<Clock>,
    /// What it has read of released locations and not yet acquired.
    heard: Option<Clock>,
    /// The tick from which each lane's latest proxy fence covers what lies before it.
    proxy_fence: [u32; LANES],
    /// What the warp knew at its latest proxy fence.
    proxy_clock: Clock,
}

#[derive(Debug, Default)]
struct Phases {
    pending: Clock,
    completed: VecDeque<(u64, Clock)>,
}

/// What orders the accesses of a cluster.
#[derive(Debug)]
pub(super) struct Races<'l> {
    cluster: u32,
    warps_per_block: u32,
    global: &'l GlobalRaces,
    standings: Vec<Standing>,
    shared: Vec<Shadow>,
    barriers: Vec<Phases>,
    cluster_pending: Clock,
    cluster_done: Clock,
    /// Ticks of agents by slot.
    ticks: HashMap<u32, u32>,
    /// Strong locations in shared memory.
    released: HashMap<(usize, u32), Clock>,
}

impl<'l> Races<'l> {
    pub(super) fn new(
        cluster: u32,
        blocks: u32,
        warps_per_block: u32,
        global: &'l GlobalRaces,
    ) -> Self {
        let standing = Standing {
            clock: Clock::default(),
            tick: 1,
            lane_sync: [0; LANES],
            fenced: None,
            heard: None,
            proxy_fence: [0; LANES],
            proxy_clock: Clock::default(),
        };
        Self {
            cluster,
            warps_per_block,
            global,
            standings: vec![standing; (blocks * warps_per_block) as usize],
            shared: (0..blocks).map(|_| Shadow::default()).collect(),
            barriers: (0..blocks * 16).map(|_| Phases::default()).collect(),
            cluster_pending: Clock::default(),
            cluster_done: Clock::default(),
            ticks: HashMap::new(),
            released: HashMap::new(),
        }
    }

    fn number(&self, warp: &Warp) -> u32 {
        warp.block * self.warps_per_block + warp.index
    }

    /// The number by which an agent of a warp goes in clocks and stamps.
    fn slot(&self, agent: Agent, number: u32) -> u32 {
        let warps = self.standings.len() as u32;
        match agent {
            Agent::BulkRead => warps + number,
            Agent::BulkWrite => 2 * warps + number,
            Agent::Wgmma => 3 * warps + number,
            Agent::Object(object) => 4 * warps + object % OBJECT_SLOTS,
        }
    }

    /// Whether a warp, at a lane, knows of an earlier access.
    fn knows(&self, number: u32, lane: usize, old: &Stamp) -> bool {
        let standing = &self.standings[number as usize];
        let warp = u32::from(old.warp);
        if old.cluster != self.cluster {
            standing.clock.of_foreign(old.cluster, warp) >= old.clock
        } else if warp == number {
            old.clock < standing.lane_sync[lane].min(standing.lane_sync[usize::from(old.lane)])
        } else {
            standing.clock.of(warp) >= old.clock
        }
    }

    /// Whether what a thread wrote was handed to the asynchronous proxy: by a fence of the writer behind the write, or
    /// of the issuer once it knew of the write.
    fn proxied(&self, number: u32, old: &Stamp) -> bool {
        let warp = u32::from(old.warp);
        let Some(writer) =
            self.standings.get(warp as usize).filter(|_| old.cluster == self.cluster)
        else {
            return true;
        };
        writer.proxy_fence[usize::from(old.lane)] > old.clock
            || self.standings[number as usize].proxy_clock.of(warp) >= old.clock
    }

    fn name(&self, grid: &super::state::Grid<'_>, stamp: &Stamp) -> String {
        let warps = self.standings.len() as u32;
        let place = grid.place(stamp.line);
        let who = match u32::from(stamp.warp) {
            warp if stamp.cluster != self.cluster || warp < warps => {
                grid.thread(stamp.cluster, warp, u32::from(stamp.lane)).to_string()
            }
            slot if slot < 3 * warps => "a bulk copy that was not waited for".to_owned(),
            slot if slot < 4 * warps => "a wgmma that was not waited for".to_owned(),
            _ => "an asynchronous copy whose memory barrier object was not waited for".to_owned(),
        };
        format!("{who} {place}")
    }

    /// What a warp knows, itself included; it ticks, so that what it does next is later.
    fn publish(&mut self, number: u32) -> Clock {
        let standing = &mut self.standings[number as usize];
        standing.clock.set(number, standing.tick);
        standing.tick += 1;
        standing.clock.clone()
    }

    fn acquire_heard(&mut self, number: u32) {
        let own = self.cluster;
        let standing = &mut self.standings[number as usize];
        if let Some(heard) = standing.heard.take() {
            standing.clock.join_foreign(own, NOBODY, &heard);
        }
    }
}

/// Records an access of one lane and says whether it races.
#[inline]
pub(super) fn access(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    place: Place,
    bytes: u32,
    kind: &'static str,
    order: Order,
    lane: usize,
) -> Result<(), Box<Fault>> {
    let Some(races) = &cluster.races else { return Ok(()) };
    if matches!(place, Place::Local(_) | Place::Param(_)) {
        return Ok(());
    }
    let number = races.number(warp);
    let strong = order != Order::Weak || kind == ATOMIC;
    let clock = races.standings[number as usize].tick;
    let stamp = Stamp {
        clock,
        cluster: races.cluster,
        warp: number as u16,
        lane: lane as u8,
        strong,
        line: warp.line,
    };
    let found = record(cluster, place, bytes, kind != READ, stamp, |races, old| {
        races.knows(number, lane, old)
    });
    if strong {
        strong_access(cluster, number, place, kind != READ, kind != WRITE);
    }
    match found {
        None => Ok(()),
        Some(conflict) => Err(fault(cluster, conflict, place, kind, lane)),
    }
}

/// Records an access in the shadow of its memory.
fn record(
    cluster: &mut Cluster<'_>,
    place: Place,
    bytes: u32,
    write: bool,
    stamp: Stamp,
    ordered: impl Fn(&Races<'_>, &Stamp) -> bool,
) -> Option<Conflict> {
    let races = cluster.races.as_mut()?;
    match place {
        Place::Local(_) | Place::Param(_) => None,
        Place::Shared(block, at) => {
            let mut shadow = std::mem::take(&mut races.shared[block]);
            let found =
                shadow.access(u64::from(at), bytes, write, stamp, |old| ordered(races, old));
            races.shared[block] = shadow;
            found
        }
        Place::Global(index, offset) => {
            let allocation = &cluster.snapshot.allocations[index];
            if allocation.constant {
                return None;
            }
            let address = allocation.base + offset;
            let page = address / PAGE;
            let shard = &races.global.pages[page as usize % SHARDS];
            let mut pages = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let shadow = pages.entry(page).or_default();
            let found =
                shadow.access(address % PAGE, bytes, write, stamp, |old| ordered(races, old));
            found.map(|c| Conflict { at: c.at + page * PAGE, ..c })
        }
    }
}

fn fault(
    cluster: &Cluster<'_>,
    conflict: Conflict,
    place: Place,
    kind: &'static str,
    lane: usize,
) -> Box<Fault> {
    let Conflict { with, was_write, at } = conflict;
    let other = match &cluster.races {
        Some(races) => races.name(cluster.grid, &with),
        None => String::new(),
    };
    let other_access = match (was_write, with.strong) {
        (true, false) => WRITE,
        (true, true) => "strong write or atomic",
        (false, _) => READ,
    };
    let space = if matches!(place, Place::Shared(..)) { "shared" } else { "global" };
    Fault::at(FaultKind::Race { space, address: at, access: kind, other_access, other }, lane)
}

/// Records an access by an agent on behalf of a lane: earlier accesses must be known to that lane now, and what threads
/// wrote must have been handed over by a proxy fence.
pub(super) fn async_access(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    place: Place,
    bytes: u32,
    kind: &'static str,
    agent: Agent,
    lane: usize,
) -> Result<(), Box<Fault>> {
    let Some(races) = &cluster.races else { return Ok(()) };
    let number = races.number(warp);
    let slot = races.slot(agent, number);
    let clock = races.ticks.get(&slot).copied().unwrap_or(1);
    let stamp = Stamp {
        clock,
        cluster: races.cluster,
        warp: slot as u16,
        lane: 0,
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
            let own_earlier = usize::from(old.lane) == lane
                && u32::from(old.warp) == number
                && old.cluster == races.cluster;
            let known = own_earlier || races.knows(number, lane, old);
            known && (write || races.proxied(number, old))
        };
        let Some(conflict) = record(cluster, at, piece, write, stamp, ordered) else { continue };
        let unfenced = cluster.races.as_ref().is_some_and(|races| {
            let own =
                usize::from(conflict.with.lane) == lane && u32::from(conflict.with.warp) == number;
            conflict.was_write && !write && (own || races.knows(number, lane, &conflict.with))
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

/// A strong access publishes what a fence before it made ready, and hears what was published there.
fn strong_access(cluster: &mut Cluster<'_>, number: u32, place: Place, write: bool, read: bool) {
    let Some(races) = &mut cluster.races else { return };
    let own = races.cluster;
    let standing = &mut races.standings[number as usize];
    let mut exchange = |location: &mut Clock| {
        if read && *location != Clock::default() {
            standing.heard.get_or_insert_with(Clock::default).join(location);
        }
        if let (true, Some(fenced)) = (write, &standing.fenced) {
            location.join_foreign(NOBODY, own, fenced);
        }
    };
    match place {
        Place::Shared(block, at) => exchange(races.released.entry((block, at)).or_default()),
        Place::Global(index, offset) => {
            let address = cluster.snapshot.allocations[index].base + offset;
            let mut released = races.global.released.lock().unwrap_or_else(PoisonError::into_inner);
            exchange(released.entry(address).or_default());
        }
        Place::Local(_) | Place::Param(_) => {}
    }
}

/// Before an access of this order.
pub(super) fn release(cluster: &mut Cluster<'_>, warp: &Warp, order: Order, _mask: u32) {
    if matches!(order, Order::Release | Order::AcqRel) {
        fence(cluster, warp, Order::Release);
    }
}

/// After an access of this order.
pub(super) fn acquire(cluster: &mut Cluster<'_>, warp: &Warp, order: Order, _mask: u32) {
    if matches!(order, Order::Acquire | Order::AcqRel) {
        fence(cluster, warp, Order::Acquire);
    }
}

/// `fence` and `membar`
pub(super) fn fence(cluster: &mut Cluster<'_>, warp: &Warp, order: Order) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp);
    if matches!(order, Order::Acquire | Order::AcqRel) {
        races.acquire_heard(number);
    }
    if matches!(order, Order::Release | Order::AcqRel) {
        let published = races.publish(number);
        races.standings[number as usize].fenced = Some(published);
    }
}

/// `bar.warp.sync`
pub(super) fn warp_sync(cluster: &mut Cluster<'_>, warp: &Warp, mask: u32) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp);
    let standing = &mut races.standings[number as usize];
    standing.tick += 1;
    for lane in lanes(mask) {
        standing.lane_sync[lane] = standing.tick;
    }
}

/// Lanes arrive at a barrier of their block.
pub(super) fn barrier_arrive(cluster: &mut Cluster<'_>, warp: &Warp, id: usize, active: u32) {
    warp_sync(cluster, warp, active);
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp);
    races.acquire_heard(number);
    let known = races.publish(number);
    races.barriers[warp.block as usize * 16 + id].pending.join(&known);
    let standing = &mut races.standings[number as usize];
    for lane in lanes(active) {
        standing.lane_sync[lane] = standing.tick;
    }
}

/// A phase of a barrier is complete.
pub(super) fn barrier_complete(cluster: &mut Cluster<'_>, block: usize, id: usize) {
    let phase = cluster.blocks[block].barriers[id].passed - 1;
    let Some(races) = &mut cluster.races else { return };
    let phases = &mut races.barriers[block * 16 + id];
    let known = std::mem::take(&mut phases.pending);
    phases.completed.push_back((phase, known));
    if phases.completed.len() > KEPT_PHASES {
        phases.completed.pop_front();
    }
}

/// A warp goes on after a phase of a barrier.
pub(super) fn barrier_passed(cluster: &mut Cluster<'_>, warp: &Warp, id: usize, phase: u64) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp) as usize;
    let phases = &races.barriers[warp.block as usize * 16 + id];
    if let Some((_, known)) = phases.completed.iter().rev().find(|(p, _)| *p == phase) {
        races.standings[number].clock.join(known);
    }
}

/// Lanes arrive at the cluster's barrier.
pub(super) fn cluster_arrive(cluster: &mut Cluster<'_>, warp: &Warp, relaxed: bool) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp);
    if !relaxed {
        let known = races.publish(number);
        races.cluster_pending.join(&known);
    }
}

/// The cluster's barrier is complete.
pub(super) fn cluster_complete(cluster: &mut Cluster<'_>) {
    if let Some(races) = &mut cluster.races {
        races.cluster_done = std::mem::take(&mut races.cluster_pending);
    }
}

/// A warp goes on after the cluster's barrier.
pub(super) fn cluster_passed(cluster: &mut Cluster<'_>, warp: &Warp) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp) as usize;
    let done = &races.cluster_done;
    races.standings[number].clock.join(done);
    // All lanes that wait arrived before: they are ordered among themselves too.
    warp_sync(cluster, warp, warp.live());
}

/// Number of a warp in its cluster.
pub(super) fn number(cluster: &Cluster<'_>, warp: &Warp) -> u32 {
    warp.block * cluster.grid.warps_per_block() + warp.index
}

/// What a warp publishes by an arrival, if races are checked.
pub(super) fn publish(cluster: &mut Cluster<'_>, warp: &Warp) -> Option<Clock> {
    let races = cluster.races.as_mut()?;
    let number = races.number(warp);
    Some(races.publish(number))
}

/// Lets an agent's clock tick; its accesses from now on are later than what was waited for.
pub(super) fn tick(cluster: &mut Cluster<'_>, warp: &Warp, agent: Agent) -> u32 {
    let Some(races) = &mut cluster.races else { return 0 };
    let number = races.number(warp);
    let slot = races.slot(agent, number);
    let tick = races.ticks.entry(slot).or_insert(1);
    *tick += 1;
    *tick
}

/// A copy will report to an object in each of these blocks: who waits there learns of it.
pub(super) fn mbarrier_publish(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    blocks: &[usize],
    at: u32,
    agent: Agent,
    ticks: (u32, u32),
) {
    let Some(mut known) = publish(cluster, warp) else { return };
    if let Some(races) = &cluster.races {
        known.set(races.slot(agent, races.number(warp)), ticks.0.max(ticks.1));
    }
    for &block in blocks {
        if let Some(object) = cluster.blocks[block].objects.get_mut(&at) {
            object.arriving.join(&known);
        }
    }
}

/// A warp has seen a phase of an object completed.
pub(super) fn mbarrier_acquire(cluster: &mut Cluster<'_>, warp: &Warp, block: usize, at: u32) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp) as usize;
    if let Some(object) = cluster.blocks[block].objects.get(&at) {
        races.standings[number].clock.join(&object.done);
    }
}

/// `fence.proxy.async`
pub(super) fn proxy_fence(cluster: &mut Cluster<'_>, warp: &Warp, active: u32) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp);
    let known = races.publish(number);
    let standing = &mut races.standings[number as usize];
    standing.proxy_clock = known;
    // The warp's own entry would cover lanes that did not fence.
    standing.proxy_clock.set(number, 0);
    for lane in lanes(active) {
        standing.proxy_fence[lane] = standing.tick;
    }
}

/// Bulk copies of these lanes, but those of the latest groups, are complete, or have read their sources.
pub(super) fn bulk_waited(
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
    if let Some(races) = &mut cluster.races {
        let number = races.number(warp);
        let slots = (races.slot(Agent::BulkRead, number), races.slot(Agent::BulkWrite, number));
        let clock = &mut races.standings[number as usize].clock;
        clock.set(slots.0, latest.0.max(clock.of(slots.0)));
        if !read {
            clock.set(slots.1, latest.1.max(clock.of(slots.1)));
        }
    }
    if !read {
        warp.bulk.complete(active, left);
    }
}

/// Matrix instructions up to a tick are complete.
pub(super) fn wgmma_waited(cluster: &mut Cluster<'_>, warp: &Warp, tick: u32) {
    let Some(races) = &mut cluster.races else { return };
    let number = races.number(warp);
    let slot = races.slot(Agent::Wgmma, number);
    races.standings[number as usize].clock.set(slot, tick);
}

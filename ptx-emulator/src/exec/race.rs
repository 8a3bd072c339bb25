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
    /// Strong locations in shared memory.
    released: HashMap<(usize, u32), Clock>,
}

impl<'l> Races<'l> {
    pub(super) fn new(cluster: u32, blocks: u32, warps_per_block: u32, global: &'l GlobalRaces) -> Self {
        let standing =
            Standing { clock: Clock::default(), tick: 1, lane_sync: [0; LANES], fenced: None, heard: None };
        Self {
            cluster,
            warps_per_block,
            global,
            standings: vec![standing; (blocks * warps_per_block) as usize],
            shared: (0..blocks).map(|_| Shadow::default()).collect(),
            barriers: (0..blocks * 16).map(|_| Phases::default()).collect(),
            cluster_pending: Clock::default(),
            cluster_done: Clock::default(),
            released: HashMap::new(),
        }
    }

    fn number(&self, warp: &Warp) -> u32 {
        warp.block * self.warps_per_block + warp.index
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
    let Some(races) = &mut cluster.races else { return Ok(()) };
    let number = races.number(warp);
    let standing = &races.standings[number as usize];
    let strong = order != Order::Weak || kind == ATOMIC;
    let stamp = Stamp { clock: standing.tick, cluster: races.cluster, warp: number as u16, lane: lane as u8, strong };
    let own = races.cluster;
    let ordered = |old: &Stamp| {
        if old.cluster != own {
            standing.clock.of_foreign(old.cluster, u32::from(old.warp)) >= old.clock
        } else if u32::from(old.warp) == number {
            old.clock < standing.lane_sync[lane].min(standing.lane_sync[old.lane as usize])
        } else {
            standing.clock.of(u32::from(old.warp)) >= old.clock
        }
    };
    let write = kind != READ;
    let (conflict, space, address) = match place {
        Place::Local(_) | Place::Param(_) => return Ok(()),
        Place::Shared(block, at) => {
            let found = races.shared[block].access(u64::from(at), bytes, write, stamp, ordered);
            (found, "shared", u64::from(at))
        }
        Place::Global(index, offset) => {
            let allocation = &cluster.snapshot.allocations[index];
            if allocation.constant {
                return Ok(());
            }
            let address = allocation.base + offset;
            let page = address / PAGE;
            let shard = &races.global.pages[page as usize % SHARDS];
            let mut pages = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let found = pages.entry(page).or_default().access(address % PAGE, bytes, write, stamp, ordered);
            let found = found.map(|c| Conflict { at: c.at + page * PAGE, ..c });
            (found, "global", address)
        }
    };
    if strong {
        strong_access(races, number, place, address, write, kind != WRITE);
    }
    match conflict {
        None => Ok(()),
        Some(Conflict { with, was_write, at }) => {
            let other = cluster.grid.thread(with.cluster, u32::from(with.warp), u32::from(with.lane)).to_string();
            let other_access = match (was_write, with.strong) {
                (true, false) => WRITE,
                (true, true) => "strong write or atomic",
                (false, _) => READ,
            };
            let race = FaultKind::Race { space, address: at, access: kind, other_access, other };
            Err(Fault::at(race, lane))
        }
    }
}

/// A strong access publishes what a fence before it made ready, and hears what was published there.
fn strong_access(races: &mut Races<'_>, number: u32, place: Place, address: u64, write: bool, read: bool) {
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
        Place::Global(..) => {
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

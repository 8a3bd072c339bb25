//! Race detection: the record of accesses, and whether a new one is ordered behind the old.
//!
//! Every lane has a clock ([`standing`]), which ticks when its warp may publish what it did (a barrier, a fence). An
//! access is stamped with it; a later access by another lane races unless that lane has since heard of the stamp: through
//! `bar.warp.sync` or a barrier, through a memory barrier object, or through a strong access to a location that the first
//! lane wrote after a fence ([`order`]). Asynchronous copies and matrix instructions access memory as agents of their
//! own, of which a lane learns by waiting ([`agent`]).
//!
//! Memory scopes are taken as wide enough: such races are missed, none is invented.

mod agent;
mod order;
mod standing;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::check::clock::Clock;
use crate::check::shadow::{Conflict, PAGE, Shadow, Stamp};
use crate::decode::op::Order;
use crate::report::{Fault, FaultKind};

use super::memory::{ATOMIC, Place, READ, WRITE};
use super::state::{Cluster, Grid};
use super::warp::Warp;

pub(super) use agent::*;
pub(super) use order::*;
use standing::{Slots, Standing};

const SHARDS: usize = 64;
/// Memory barrier objects that are told apart.
const OBJECT_SLOTS: u32 = 1024;

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
    /// Of cluster number `cluster`; `present` are the lanes of each warp of a block.
    pub(super) fn new(cluster: u32, blocks: u32, present: &[u32], global: &'l GlobalRaces) -> Self {
        let standings = (0..blocks).flat_map(|_| present).map(|lanes| Standing::new(*lanes));
        Self {
            cluster,
            warps_per_block: present.len() as u32,
            global,
            standings: standings.collect(),
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

    fn slots(&self, number: u32) -> Slots {
        Slots { warp: number, copies: self.slot(Agent::Copies, number) }
    }

    /// What a warp knows and has made ready, and the slots by which it goes.
    fn standing(&mut self, warp: &Warp) -> (&mut Standing, Slots) {
        let number = self.number(warp);
        let slots = self.slots(number);
        (&mut self.standings[number as usize], slots)
    }

    /// Whether a lane of a warp knows of an earlier access.
    #[inline]
    fn knows(&self, number: u32, lane: usize, old: &Stamp) -> bool {
        let standing = &self.standings[number as usize];
        let slot = u32::from(old.warp);
        if old.cluster != self.cluster {
            return standing.clock(lane).of_foreign(old.cluster, slot, old.lane) >= old.clock;
        }
        if slot == number && usize::from(old.lane) == lane {
            return true;
        }
        let own_copy = usize::from(old.lane) == lane && slot == self.slot(Agent::Copies, number);
        standing.clock(lane).of(slot, old.lane) >= old.clock
            || (own_copy && standing.copied(lane) >= old.clock)
    }

    fn name(&self, grid: &Grid<'_>, stamp: &Stamp) -> String {
        let warps = self.standings.len() as u32;
        let place = grid.place(stamp.line);
        let who = match u32::from(stamp.warp) {
            warp if stamp.cluster != self.cluster || warp < warps => {
                grid.thread(stamp.cluster, warp, u32::from(stamp.lane)).to_string()
            }
            slot if slot < 3 * warps => "a bulk copy that was not waited for".to_owned(),
            slot if slot < 4 * warps => "a wgmma that was not waited for".to_owned(),
            slot if slot < 5 * warps => "an asynchronous copy that was not waited for".to_owned(),
            _ => "an asynchronous copy whose memory barrier object was not waited for".to_owned(),
        };
        format!("{who} {place}")
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
    match conflict(cluster, warp, place, bytes, kind, order, lane) {
        None => Ok(()),
        Some(conflict) => Err(fault(cluster, conflict, place, kind, lane)),
    }
}

/// Records an ordinary store of one lane. Lanes of one instruction that store the same value to one place are no race:
/// which of them stays is open, what stays is not. `same` says whether the place holds that value.
#[inline]
pub(super) fn store(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    place: Place,
    bytes: u32,
    order: Order,
    lane: usize,
    same: impl Fn(&Cluster<'_>) -> bool,
) -> Result<(), Box<Fault>> {
    let Some(found) = conflict(cluster, warp, place, bytes, WRITE, order, lane) else {
        return Ok(());
    };
    let Conflict { with, was_write, .. } = found;
    let instruction = cluster.races.as_ref().is_some_and(|races| {
        let number = races.number(warp);
        let tick = races.standings[number as usize].tick;
        (with.cluster, u32::from(with.warp), with.clock) == (races.cluster, number, tick)
    });
    if was_write && instruction && with.line == warp.line && same(cluster) {
        return Ok(());
    }
    Err(fault(cluster, found, place, WRITE, lane))
}

#[inline]
fn conflict(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    place: Place,
    bytes: u32,
    kind: &'static str,
    order: Order,
    lane: usize,
) -> Option<Conflict> {
    let races = cluster.races.as_ref()?;
    if matches!(place, Place::Local(_) | Place::Param(_)) {
        return None;
    }
    let number = races.number(warp);
    let strong = order != Order::Weak || kind == ATOMIC;
    let stamp = Stamp {
        clock: races.standings[number as usize].tick,
        cluster: races.cluster,
        warp: number as u16,
        lane: lane as u8,
        strong,
        line: warp.line,
    };
    record(cluster, place, bytes, kind != READ, stamp, |races, old| races.knows(number, lane, old))
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

/// Number of a warp in its cluster.
pub(super) fn number(cluster: &Cluster<'_>, warp: &Warp) -> u32 {
    warp.block * cluster.grid.warps_per_block() + warp.index
}

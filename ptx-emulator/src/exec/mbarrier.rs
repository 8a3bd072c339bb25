//! Memory barrier objects: phases, arrivals, transaction counts.

use crate::check::clock::Clock;
use crate::decode::mbarrier::{MbarrierOp, Object, PhaseSrc};
use crate::decode::op::{NO_PC, Order, Src};
use crate::report::{Fault, FaultKind};

use super::async_copy;
use super::frame::{Frame, lanes};
use super::memory::{self, ATOMIC, Place, WRITE};
use super::race::{self, Agent};
use super::state::Cluster;
use super::step::Flow;
use super::warp::{TIMED_OUT, Wait, Warp};

/// Largest arrival count, and largest pending transaction count.
const MAX_COUNT: u64 = (1 << 20) - 1;
/// What a live object's eight bytes hold, so that a store over it is noticed.
const SEAL: u64 = 0x6d62_6172_7269_6572;

/// A live object.
#[derive(Clone, Debug, Default)]
pub(super) struct Mbarrier {
    /// Arrivals that a phase needs.
    count: u32,
    pending: u32,
    /// Bytes announced and not yet arrived; negative if they came first.
    tx: i64,
    /// Completed phases.
    pub(super) phase: u64,
    /// Number of the object among those of its cluster.
    pub(super) number: u32,
    /// What the arrivals of the present phase published, and those of completed phases.
    pub(super) arriving: Clock,
    pub(super) done: Clock,
}

impl Mbarrier {
    /// Bytes announced or arrived that nothing matches.
    pub(super) fn outstanding(&self) -> Option<i64> {
        (self.tx != 0).then_some(self.tx)
    }
}

fn misuse(message: String, lane: usize) -> Box<Fault> {
    Fault::at(FaultKind::Async(message), lane)
}

/// The block and address of an object.
fn place(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    object: Object,
    at: u64,
    init: bool,
    lane: usize,
) -> Result<(usize, u32), Box<Fault>> {
    let kind = if init { WRITE } else { ATOMIC };
    let found = memory::locate(cluster, warp, object.space, at, 8, kind, lane)?;
    let Place::Shared(block, offset) = found else {
        return Err(misuse(
            format!("{at:#x} is not in shared memory, where memory barrier objects lie"),
            lane,
        ));
    };
    race::access(cluster, warp, found, 8, kind, Order::Weak, lane)?;
    Ok((block, offset))
}

/// The live object at a place.
pub(super) fn object<'c>(
    cluster: &'c mut Cluster<'_>,
    block: usize,
    at: u32,
    lane: usize,
) -> Result<&'c mut Mbarrier, Box<Fault>> {
    let state = &mut cluster.blocks[block];
    let sealed = state.shared.load(at, 8) == SEAL ^ u64::from(at);
    match state.objects.get_mut(&at) {
        None => {
            Err(misuse(format!("the memory barrier object at {at:#x} was not initialised"), lane))
        }
        Some(_) if !sealed => {
            Err(misuse(format!("the memory barrier object at {at:#x} was overwritten"), lane))
        }
        Some(object) => Ok(object),
    }
}

/// Executes an operation in the lanes of `active`.
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    (target, op): (Object, &MbarrierOp),
    p: u32,
    active: u32,
) -> Result<Flow, Box<Fault>> {
    let at = memory::addresses(cluster, f, target.addr);
    if let MbarrierOp::Wait { p: d, phase, blocking, acquire } = *op {
        let mut ready = 0;
        let mut first = None;
        let mut seen: Vec<((usize, u32), u32)> = Vec::new();
        for lane in lanes(active) {
            let (block, offset) = place(cluster, warp, target, at[lane], false, lane)?;
            let object = object(cluster, block, offset, lane)?;
            first = first.or(Some((block, offset, object.phase)));
            if complete(f, object, phase, lane)? {
                ready |= 1 << lane;
                match seen.iter_mut().find(|(place, _)| *place == (block, offset)) {
                    Some((_, lanes)) => *lanes |= 1 << lane,
                    None => seen.push(((block, offset), 1 << lane)),
                }
            }
        }
        for (place, lanes) in seen {
            race::mbarrier_acquire(cluster, warp, place, lanes, !acquire);
        }
        let path = &mut warp.paths[p as usize];
        let timed_out = path.resumed.take() == Some(TIMED_OUT);
        let again = path.tried == path.pc;
        path.tried = if ready == 0 { path.pc } else { NO_PC };
        // The first try fails at once, as the hardware's may: who does not try again goes on too early, and is found
        // out. The second one suspends.
        if let (true, true, 0, false, Some((block, offset, phase))) =
            (blocking, again, ready, timed_out, first)
        {
            return Ok(Flow::WaitAgain(Wait::Mbarrier { block: block as u32, at: offset, phase }));
        }
        if let Some(d) = d {
            f.put_pred(d, active, ready);
        }
        return Ok(if ready == 0 { Flow::Yield } else { Flow::Next });
    }
    let mut known = None;
    if let MbarrierOp::Arrive { .. } = op {
        // Lanes that arrive at one object publish together: who waits there learns of all.
        let first = at[super::step::first_lane(active)];
        if lanes(active).all(|lane| at[lane] == first) {
            known = race::publish(cluster, warp, active);
        }
    }
    for lane in lanes(active) {
        let init = matches!(op, MbarrierOp::Init { .. } | MbarrierOp::Invalidate);
        let (block, offset) = place(cluster, warp, target, at[lane], init, lane)?;
        one(cluster, warp, f, op, (block, offset), lane, known.as_ref())?;
    }
    Ok(Flow::Next)
}

/// Whether the phase that a lane waits for is complete.
fn complete(
    f: &Frame,
    object: &Mbarrier,
    phase: PhaseSrc,
    lane: usize,
) -> Result<bool, Box<Fault>> {
    match phase {
        PhaseSrc::Parity(parity) => {
            let parity = f.lane(parity, lane) & 0xffff_ffff;
            if parity > 1 {
                return Err(misuse(format!("phase parity {parity} is neither 0 nor 1"), lane));
            }
            Ok(object.phase & 1 != parity)
        }
        PhaseSrc::State(state) => {
            let phase = f.lane(state, lane) >> 32;
            let now = object.phase & 0xffff_ffff;
            if phase != now && phase.wrapping_add(1) & 0xffff_ffff != now {
                let message = format!(
                    "waits for phase {phase}; only phases {now} and {} may be tested",
                    now.wrapping_sub(1)
                );
                return Err(misuse(message, lane));
            }
            Ok(phase != now)
        }
    }
}

/// One lane's operation. `known` is what it publishes by an arrival, if that is known already.
fn one(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    op: &MbarrierOp,
    (block, at): (usize, u32),
    lane: usize,
    known: Option<&Clock>,
) -> Result<(), Box<Fault>> {
    match *op {
        MbarrierOp::Init { count } => {
            let count = f.lane(count, lane) & 0xffff_ffff;
            if count == 0 || count > MAX_COUNT {
                return Err(misuse(
                    format!("an arrival count of {count} is not in 1..={MAX_COUNT}"),
                    lane,
                ));
            }
            if cluster.blocks[block].objects.contains_key(&at)
                && object(cluster, block, at, lane).is_ok()
            {
                return Err(misuse(
                    format!("the memory barrier object at {at:#x} is initialised twice"),
                    lane,
                ));
            }
            let number = cluster.objects;
            cluster.objects += 1;
            let fresh = Mbarrier {
                count: count as u32,
                pending: count as u32,
                number,
                ..Mbarrier::default()
            };
            let state = &mut cluster.blocks[block];
            state.objects.insert(at, fresh);
            state.shared.store(at, 8, SEAL ^ u64::from(at));
        }
        MbarrierOp::Invalidate => {
            object(cluster, block, at, lane)?;
            cluster.blocks[block].objects.remove(&at);
        }
        MbarrierOp::ExpectTx { bytes } => {
            let bytes = f.lane(bytes, lane) & 0xffff_ffff;
            expect(object(cluster, block, at, lane)?, bytes, lane)?;
        }
        MbarrierOp::CompleteTx { bytes } => {
            let bytes = f.lane(bytes, lane) & 0xffff_ffff;
            complete_tx(cluster, block, at, bytes, lane)?;
        }
        MbarrierOp::Arrive { state, count, tx, drop, no_complete } => {
            let count = f.lane(count, lane) & 0xffff_ffff;
            let tx = tx.map(|tx| f.lane(tx, lane) & 0xffff_ffff);
            let own = match known {
                Some(_) => None,
                None => race::publish(cluster, warp, 1 << lane),
            };
            let object = object(cluster, block, at, lane)?;
            let token = object.phase << 32 | u64::from(object.pending);
            if let Some(bytes) = tx {
                expect(object, bytes, lane)?;
            }
            if count == 0 || count > u64::from(object.pending) {
                let message = format!(
                    "{count} arrivals at the memory barrier object at {at:#x}, whose phase {} expects {} more",
                    object.phase, object.pending
                );
                return Err(misuse(message, lane));
            }
            if no_complete && count == u64::from(object.pending) {
                return Err(misuse(
                    "an arrival with .noComplete completes the phase".to_owned(),
                    lane,
                ));
            }
            object.pending -= count as u32;
            if drop {
                object.count = object.count.saturating_sub(count as u32);
            }
            if let Some(known) = known.or(own.as_ref()) {
                object.arriving.join(known);
            }
            settle(cluster, block, at);
            if let Some(d) = state {
                f.set(d, lane, token);
            }
        }
        MbarrierOp::ArriveOnCopies { no_increment } => {
            async_copy::complete_lane(cluster, warp, lane)?;
            object(cluster, block, at, lane)?;
            let tick = warp.copies.committed(lane) + 1;
            race::mbarrier_publish(cluster, warp, lane, (&[block], at), Agent::Copies, tick);
            if no_increment {
                let arrive = MbarrierOp::Arrive {
                    state: None,
                    count: Src::Imm(1),
                    tx: None,
                    drop: false,
                    no_complete: false,
                };
                one(cluster, warp, f, &arrive, (block, at), lane, None)?;
            }
        }
        MbarrierOp::Wait { .. } => {}
    }
    Ok(())
}

fn expect(object: &mut Mbarrier, bytes: u64, lane: usize) -> Result<(), Box<Fault>> {
    if bytes > MAX_COUNT || object.tx + bytes as i64 > MAX_COUNT as i64 {
        return Err(misuse(
            format!("more than {MAX_COUNT} bytes of transactions are pending"),
            lane,
        ));
    }
    object.tx += bytes as i64;
    Ok(())
}

/// Bytes of transactions have arrived.
pub(super) fn complete_tx(
    cluster: &mut Cluster<'_>,
    block: usize,
    at: u32,
    bytes: u64,
    lane: usize,
) -> Result<(), Box<Fault>> {
    let object = object(cluster, block, at, lane)?;
    object.tx -= bytes as i64;
    if object.tx < -(MAX_COUNT as i64) {
        return Err(misuse(
            format!("more than {MAX_COUNT} bytes arrived that nobody expects"),
            lane,
        ));
    }
    settle(cluster, block, at);
    Ok(())
}

/// Ends the phase if nothing is pending.
fn settle(cluster: &mut Cluster<'_>, block: usize, at: u32) {
    let Some(object) = cluster.blocks[block].objects.get_mut(&at) else { return };
    if object.pending == 0 && object.tx == 0 {
        object.phase += 1;
        object.pending = object.count;
        let arriving = std::mem::take(&mut object.arriving);
        object.done.join(&arriving);
        cluster.events += 1;
    }
}

/// Whether the phase that a path waits for is over.
pub(super) fn over(cluster: &Cluster<'_>, block: u32, at: u32, phase: u64) -> bool {
    cluster.blocks[block as usize].objects.get(&at).is_none_or(|object| object.phase != phase)
}

/// What a path waits for, in words.
pub(super) fn describe(cluster: &Cluster<'_>, block: u32, at: u32) -> String {
    match cluster.blocks[block as usize].objects.get(&at) {
        None => format!("the memory barrier object at {at:#x}"),
        Some(object) => format!(
            "phase {} of the memory barrier object at {at:#x} of block {:?}: {} of {} arrivals and {} bytes are outstanding",
            object.phase,
            cluster.blocks[block as usize].index,
            object.pending,
            object.count,
            object.tx
        ),
    }
}

//! Runs a grid: clusters over the host's cores, the warps of a cluster in turns.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::decode::Code;
use crate::memory::shared::Shared;
use crate::memory::{Memory, address};
use crate::report::{Report, ThreadId};

use super::blame::Late;
use super::frame::LANES;
use super::race::{GlobalRaces, Races};
use super::state::{Block, Cluster, Grid};
use super::step::{self, Turn};
use super::warp::{NONE, Path, State, TIMED_OUT, Wait, Warp};
use super::{Launch, Options, Stats, admit, bulk, call};

/// Warp-instructions of a turn.
const QUANTUM: u32 = 512;
/// Rounds without any event after which a cluster is taken to wait for one that has not begun, and rounds after which it
/// is so despite events (it may spin on an atomic).
const IDLE_PATIENCE: u32 = 16;
const PATIENCE: u32 = 4096;
/// Clusters of one worker that may be under way at once.
const MAX_RESIDENT: usize = 256;
/// Time-outs of `try_wait` without any event before a deadlock is declared.
const MAX_TIME_OUTS: u32 = 8;

/// What a launch is made of.
pub(crate) struct Job<'l> {
    pub(crate) code: &'l Code,
    pub(crate) entry: u32,
    pub(crate) memory: &'l Memory,
    pub(crate) variables: &'l [u64],
    pub(crate) params: &'l [u8],
}

impl Grid<'_> {
    fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.launch.grid[axis] / self.cluster[axis])
    }

    pub(super) fn warps_per_block(&self) -> u32 {
        self.threads_per_block().div_ceil(LANES as u32)
    }

    fn threads_per_block(&self) -> u32 {
        self.launch.block.iter().product()
    }

    /// Lanes that a warp of a block has.
    fn lanes_of(&self, warp: u32) -> u32 {
        let count = (self.threads_per_block() - warp * LANES as u32).min(LANES as u32);
        u32::MAX >> (32 - count)
    }

    /// Index of a block by its cluster's number and its rank.
    fn block_index(&self, cluster: u32, rank: u32) -> [u32; 3] {
        let outer = coordinates(cluster, self.clusters());
        let inner = coordinates(rank, self.cluster);
        std::array::from_fn(|axis| outer[axis] * self.cluster[axis] + inner[axis])
    }

    /// A thread by its cluster's number, its warp in the cluster and its lane.
    pub(super) fn thread(&self, cluster: u32, warp: u32, lane: u32) -> ThreadId {
        let per_block = self.warps_per_block();
        let linear = warp % per_block * LANES as u32 + lane;
        ThreadId {
            block: self.block_index(cluster, warp / per_block),
            thread: coordinates(linear, self.launch.block),
        }
    }
}

/// Three coordinates of a linear number, x fastest.
fn coordinates(linear: u32, extent: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extent;
    [linear % x, linear / x % y, linear / x / y]
}

/// Runs a launch to its end.
pub(crate) fn launch(
    job: &Job<'_>,
    text: &str,
    launch: &Launch,
    options: &Options,
) -> Result<Stats, Box<Report>> {
    let entry = &job.code.functions[job.entry as usize];
    let refused = |kind| {
        Box::new(Report {
            kind,
            kernel: entry.name.clone(),
            thread: None,
            ptx_line: None,
            instruction: None,
            source: None,
        })
    };
    let cluster = launch.cluster.or(entry.cluster).unwrap_or([1; 3]);
    admit::check(job, launch, cluster).map_err(refused)?;
    let layout = &job.code.layouts[job.entry as usize];
    let grid = Grid {
        code: job.code,
        entry: job.entry,
        memory: job.memory,
        variables: job.variables,
        launch: *launch,
        cluster,
        params: job.params.to_vec(),
        options: *options,
        shared_at: &layout.at,
        shared_bytes: match launch.dynamic_shared {
            0 => address::SHARED_START + layout.fixed,
            bytes => layout.dynamic_at + bytes,
        },
        budget: AtomicU64::new(options.instruction_budget),
        stop: AtomicBool::new(false),
        output: Mutex::default(),
        start: Instant::now(),
    };
    let races = options.checks.races.then(GlobalRaces::new);
    let count = grid.clusters().iter().map(|&n| u64::from(n)).product::<u64>();
    let workers = match options.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let next = AtomicU64::new(0);
    let totals = Mutex::new(Stats::default());
    let failure: Mutex<Option<Box<Report>>> = Mutex::default();
    let work = || {
        let mut worker = Worker {
            grid: &grid,
            races: races.as_ref(),
            next: &next,
            count,
            text,
            stats: Stats::default(),
        };
        if let Err(report) = worker.run() {
            grid.stop.store(true, Relaxed);
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(report);
        }
        let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.thread_instructions += worker.stats.thread_instructions;
        totals.warp_instructions += worker.stats.warp_instructions;
        totals.blocks += worker.stats.blocks;
    };
    let workers = workers.min(count as usize);
    if workers <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
    }
    if let Some(report) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(report);
    }
    let mut stats = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    stats.output = grid.output.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(stats)
}

/// A cluster under way.
struct Resident<'l> {
    number: u32,
    state: Cluster<'l>,
    warps: Vec<Warp>,
    /// Rounds since another cluster was begun, and those of them since the last event.
    rounds: u32,
    idle_rounds: u32,
    events_before: u64,
    /// Time-outs given since the state's events last changed.
    time_outs: u32,
    events_seen: u64,
}

struct Worker<'l> {
    grid: &'l Grid<'l>,
    races: Option<&'l GlobalRaces>,
    next: &'l AtomicU64,
    count: u64,
    text: &'l str,
    stats: Stats,
}

impl<'l> Worker<'l> {
    fn run(&mut self) -> Result<(), Box<Report>> {
        let mut residents: Vec<Resident<'l>> = Vec::new();
        loop {
            let patience = IDLE_PATIENCE + 4 * residents.len() as u32;
            let waits = |r: &Resident<'_>| r.idle_rounds > patience || r.rounds > PATIENCE;
            let impatient = residents.len() < MAX_RESIDENT && residents.iter().all(waits);
            if impatient {
                residents.iter_mut().for_each(|r| (r.rounds, r.idle_rounds) = (0, 0));
                let number = self.next.fetch_add(1, Relaxed);
                if number < self.count {
                    residents.push(self.begin(number as u32));
                }
            }
            if residents.is_empty() || self.grid.stop.load(Relaxed) {
                return Ok(());
            }
            let mut at = 0;
            while at < residents.len() {
                if self.round(&mut residents[at])? {
                    let done = residents.swap_remove(at);
                    self.account(&done);
                } else {
                    at += 1;
                }
            }
        }
    }

    fn account(&mut self, done: &Resident<'_>) {
        self.grid.budget.fetch_add(done.state.granted, Relaxed);
        self.stats.blocks += done.state.blocks.len() as u64;
        for warp in &done.warps {
            self.stats.warp_instructions += warp.counts.0;
            self.stats.thread_instructions += warp.counts.1;
        }
    }

    fn begin(&self, number: u32) -> Resident<'l> {
        let grid = self.grid;
        let blocks = grid.cluster.iter().product::<u32>();
        let (threads, warps) = (grid.threads_per_block(), grid.warps_per_block());
        let present: Vec<u32> = (0..warps).map(|w| grid.lanes_of(w)).collect();
        let state = Cluster {
            grid,
            blocks: (0..blocks)
                .map(|rank| Block {
                    index: grid.block_index(number, rank),
                    shared: Shared::new(grid.shared_bytes),
                    live_warps: warps,
                    ..Block::default()
                })
                .collect(),
            snapshot: grid.memory.snapshot(),
            live_threads: blocks * threads,
            arrived: 0,
            passed: 0,
            queue: Default::default(),
            objects: 0,
            events: 0,
            granted: 0,
            races: self.races.map(|global| Races::new(number, blocks, &present, global)),
        };
        let warps = (0..blocks * warps).map(|w| self.warp(w / warps, w % warps)).collect();
        Resident {
            number,
            state,
            warps,
            rounds: 0,
            idle_rounds: 0,
            events_before: 0,
            time_outs: 0,
            events_seen: 0,
        }
    }

    fn warp(&self, block: u32, index: u32) -> Warp {
        let grid = self.grid;
        let entry = &grid.code.functions[grid.entry as usize];
        let lanes = grid.lanes_of(index);
        let dependency_met = if grid.launch.dependent { 0 } else { u32::MAX };
        let mut warp = Warp { block, index, lanes, dependency_met, ..Warp::default() };
        for lane in 0..LANES {
            let tid = coordinates(index * LANES as u32 + lane as u32, grid.launch.block);
            for (axis, value) in tid.into_iter().enumerate() {
                warp.tid[axis][lane] = value;
            }
        }
        warp.reserve_local(entry.frame_bytes);
        warp.frames.push(call::frame(entry, grid.entry, 0));
        warp.callers.push((NONE, 0));
        let meet = crate::decode::op::NO_PC;
        warp.add_path(Path {
            pc: 0,
            mask: lanes,
            meet,
            frame: 0,
            parent: NONE,
            state: State::Ready,
            resumed: None,
            tried: meet,
        });
        warp
    }

    /// Gives each warp a turn, then carries out the copies under way. True once all have finished.
    fn round(&self, cluster: &mut Resident<'l>) -> Result<bool, Box<Report>> {
        cluster.rounds += 1;
        cluster.idle_rounds += 1;
        if cluster.state.events != cluster.events_before {
            cluster.events_before = cluster.state.events;
            cluster.idle_rounds = 0;
        }
        let mut finished = true;
        let mut progress = false;
        for at in 0..cluster.warps.len() {
            let warp = &mut cluster.warps[at];
            if warp.done() {
                continue;
            }
            match step::run(&mut cluster.state, warp, QUANTUM) {
                Ok(Turn::Finished) => progress = true,
                Ok(Turn::Ran) => (finished, progress) = (false, true),
                Ok(Turn::Blocked) => finished = false,
                Err(fault) => {
                    let (place, warp) = ((cluster.number, at as u32), &cluster.warps[at]);
                    return Err(self.grid.report_current(self.text, place, warp, *fault));
                }
            }
        }
        match bulk::drain(&mut cluster.state) {
            Ok(any) => progress |= any,
            Err(Late { warp, line, fault }) => {
                return Err(self.grid.report(
                    self.text,
                    (cluster.number, warp),
                    Some(line),
                    *fault,
                ));
            }
        }
        if finished {
            return Ok(true);
        }
        if !progress && !self.time_out(cluster) {
            return Err(self.grid.deadlock(
                self.text,
                cluster.number,
                &cluster.state,
                &cluster.warps,
            ));
        }
        Ok(false)
    }

    /// Lets every `try_wait` return without success, as the hardware does after a while. False once that has been tried
    /// often with nothing to show for it.
    fn time_out(&self, cluster: &mut Resident<'l>) -> bool {
        if cluster.state.events != cluster.events_seen {
            cluster.events_seen = cluster.state.events;
            cluster.time_outs = 0;
        }
        cluster.time_outs += 1;
        if cluster.time_outs > MAX_TIME_OUTS {
            return false;
        }
        let mut any = false;
        for path in cluster.warps.iter_mut().flat_map(|w| &mut w.paths) {
            if let State::Waits(Wait::Mbarrier { .. }) = path.state {
                path.state = State::Ready;
                path.resumed = Some(TIMED_OUT);
                any = true;
            }
        }
        any
    }
}

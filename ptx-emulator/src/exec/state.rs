//! What the threads of a cluster share while they run.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::decode::Code;
use crate::memory::shared::Shared;
use crate::memory::{Memory, Snapshot};
use crate::report::{Fault, FaultKind};

use super::bulk::Job;
use super::mbarrier::Mbarrier;
use super::race::Races;
use super::{Launch, Options};

/// A launch, as all its workers see it.
pub(super) struct Grid<'l> {
    pub(super) code: &'l Code,
    pub(super) entry: u32,
    pub(super) memory: &'l Memory,
    /// Addresses of the module's variables.
    pub(super) variables: &'l [u64],
    pub(super) launch: Launch,
    pub(super) cluster: [u32; 3],
    pub(super) params: Vec<u8>,
    pub(super) options: Options,
    /// Addresses of the module's shared variables in this entry.
    pub(super) shared_at: &'l [u32],
    /// Bytes of shared memory of a block, from address 0.
    pub(super) shared_bytes: u32,
    /// Thread-instructions that remain.
    pub(super) budget: AtomicU64,
    /// Some worker met a fault.
    pub(super) stop: AtomicBool,
    /// What the kernel printed.
    pub(super) output: Mutex<String>,
    pub(super) start: std::time::Instant,
}

/// One of a block's sixteen barriers.
#[derive(Debug)]
pub(super) struct NamedBarrier {
    /// Threads that have arrived in the present phase.
    pub(super) arrived: u32,
    /// Threads that the phase needs, where the instruction says so.
    pub(super) expected: Option<u32>,
    /// Completed phases.
    pub(super) passed: u64,
    /// Reduction of the present phase: count, all, any.
    pub(super) partial: (u32, bool, bool),
    /// Reductions of completed phases, latest last.
    pub(super) results: VecDeque<(u64, (u32, bool, bool))>,
}

impl Default for NamedBarrier {
    fn default() -> Self {
        Self {
            arrived: 0,
            expected: None,
            passed: 0,
            partial: (0, true, false),
            results: Default::default(),
        }
    }
}

/// A block's state.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// `%ctaid`
    pub(super) index: [u32; 3],
    pub(super) shared: Shared,
    pub(super) barriers: [NamedBarrier; 16],
    /// Live memory barrier objects by address.
    pub(super) objects: HashMap<u32, Mbarrier>,
    /// Warps that have not finished.
    pub(super) live_warps: u32,
}

/// The state of a cluster.
pub(super) struct Cluster<'l> {
    pub(super) grid: &'l Grid<'l>,
    pub(super) blocks: Vec<Block>,
    pub(super) snapshot: Snapshot,
    /// Threads that have not exited.
    pub(super) live_threads: u32,
    /// Cluster barrier: threads arrived, completed phases.
    pub(super) arrived: u32,
    pub(super) passed: u64,
    /// Copies under way, each with the line of PTX that issued it.
    pub(super) queue: VecDeque<(u32, Job)>,
    /// Memory barrier objects initialised so far.
    pub(super) objects: u32,
    /// Counts what may let somebody go on: phases, copies, exits.
    pub(super) events: u64,
    /// Thread-instructions granted from the grid's budget and not yet used.
    pub(super) granted: u64,
    /// What orders accesses, if races are checked.
    pub(super) races: Option<Races<'l>>,
}

impl Cluster<'_> {
    /// Takes `count` thread-instructions from the budget.
    pub(super) fn spend(&mut self, count: u64) -> Result<(), Box<Fault>> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.granted >= count {
            self.granted -= count;
            return Ok(());
        }
        // Clusters under way hold what they were granted: together little of the whole.
        let grant = (self.grid.options.instruction_budget >> 10).clamp(1, 1 << 20);
        let want = grant.max(count);
        let taken =
            self.grid.budget.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(want)));
        let taken = taken.unwrap_or(0).min(want);
        self.granted += taken;
        if self.granted < count {
            return Err(Fault::new(FaultKind::Budget(self.grid.options.instruction_budget)));
        }
        self.granted -= count;
        Ok(())
    }
}

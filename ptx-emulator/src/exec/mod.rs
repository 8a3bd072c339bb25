//! Executes decoded entries: grids of clusters of blocks of warps.

mod admit;
mod alu;
pub(crate) mod async_copy;
mod atomic;
mod barrier;
mod blame;
mod bulk;
mod call;
mod compare;
mod cvt;
mod float;
mod frame;
mod grid;
mod int;
mod matrix;
mod mbarrier;
mod memory;
mod print;
mod race;
mod state;
mod step;
mod warp;
mod warp_op;
mod wgmma;

pub(crate) use grid::{Job, launch};

/// Shape and resources of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; at most 1024 together.
    pub block: [u32; 3],
    /// Blocks of a cluster, where the launch sets it; the entry's own `.reqnctapercluster` otherwise, else 1.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The launch may overlap the grid before it (programmatic stream serialisation): global accesses before
    /// `griddepcontrol.wait` are errors.
    pub dependent: bool,
}

impl Launch {
    /// A launch without dynamic shared memory, clusters or overlap.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, cluster: None, dynamic_shared: 0, dependent: false }
    }
}

/// Which checks run beyond those that always do (bounds, alignment, use after free, divergence, barrier misuse).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Accesses to one place of shared or global memory that nothing orders.
    pub races: bool,
    /// Reads of global or shared memory that nobody wrote.
    pub uninitialised: bool,
}

impl Checks {
    /// Every check.
    pub const ALL: Checks = Checks { races: true, uninitialised: true };
    /// Only those that always run.
    pub const NONE: Checks = Checks { races: false, uninitialised: false };
}

/// How a launch is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Checks to run.
    pub checks: Checks,
    /// Thread-instructions after which the launch fails: endless loops end.
    pub instruction_budget: u64,
    /// Threads of the host that run blocks; 0 for as many as the host has cores.
    pub workers: usize,
}

impl Default for Options {
    /// All checks, a budget of 10^10 thread-instructions (minutes), all cores.
    fn default() -> Self {
        Self { checks: Checks::ALL, instruction_budget: 10_000_000_000, workers: 0 }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions times active lanes.
    pub thread_instructions: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Blocks run.
    pub blocks: u64,
    /// What the kernel printed with `vprintf`.
    pub output: String,
}

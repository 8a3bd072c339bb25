//! Runs the programs of a grid on the threads of the machine.

use crate::args::{self, Arg, ArgumentError};
use crate::exec::{Frame, Launch, Stop, Tensor, Trap};
use crate::fault::{Fault, PrepareError, RunError, SourceLocation};
use crate::plan::Plan;
use cutile_ir::{Function, Kernel, MAX_RANK};
use std::cell::Cell;
use std::collections::TryReserveError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A specialised kernel, prepared for the CPU. Prepare it once and run it often, from any thread.
#[derive(Debug)]
pub struct Program {
    function: Function,
    files: Vec<String>,
    plan: Plan,
}

/// The most threads that a launch can use: what the machine offers to this process.
pub fn max_threads() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Threads that wait for work, one less than there may be: the caller of `run` works too.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let workers = max_threads() - 1;
        if workers == 0 {
            return None;
        }
        let name = |i| format!("cutile-cpu-{i}");
        // Without threads of its own a launch still runs, on its caller's.
        rayon::ThreadPoolBuilder::new().num_threads(workers).thread_name(name).build().ok()
    })
    .as_ref()
}

impl Program {
    /// Prepares a kernel.
    ///
    /// # Errors
    /// [`PrepareError`] if the CPU can't run it: its tiles are too large, or it passes views from
    /// turn to turn of a loop.
    pub fn new(kernel: &Kernel) -> Result<Program, PrepareError> {
        Ok(Program {
            function: kernel.function().clone(),
            files: kernel.files().to_vec(),
            plan: Plan::new(kernel)?,
        })
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.function.name
    }

    /// Runs one tile program for each position of a grid (axis 0 slowest; a grid of rank 0 has one
    /// position), on at most `threads` threads of which the caller's is one. Returns when all have
    /// ended. A grid with a zero has no programs.
    ///
    /// # Errors
    /// [`RunError::Argument`] if arguments or grid don't suit the kernel, before anything runs;
    /// [`RunError::OutOfMemory`] if no thread gets the memory of one program; [`RunError::Fault`] if a program faults: the
    /// first one in the grid's order.
    ///
    /// # Safety
    /// Until `run` returns, for every tensor argument: each element that extents, strides and base
    /// address describe is initialised and valid for reads, for a partitioned parameter also for
    /// writes; it is aligned to its element type; nobody else writes it, nor reads it if it belongs
    /// to a partitioned parameter. Tensors of partitioned parameters overlap no other argument, and
    /// no two of their indices share an address. Positions of the grid store to tiles apart from one
    /// another, as partitioned parameters make them.
    pub unsafe fn run(&self, args: &[Arg], grid: &[u32], threads: usize) -> Result<(), RunError> {
        args::check(&self.function, args)?;
        let total = args::check_grid(grid)?;
        if total == 0 {
            return Ok(());
        }
        let launch = Launch {
            plan: &self.plan,
            tensors: args.iter().map(tensor).collect(),
            grid,
            first_fault: AtomicU64::new(u64::MAX),
        };
        let shared = Shared {
            launch,
            args,
            total,
            next: AtomicU64::new(0),
            fault: Mutex::default(),
            has_memory: AtomicBool::new(false),
        };
        let threads = threads.clamp(1, max_threads()).min(usize::try_from(total).unwrap_or(1));
        // Eight portions a thread even out what programs differ in; a portion is a row of neighbours.
        let portion = (total / (threads as u64 * 8)).max(1);
        match pool() {
            Some(pool) if threads > 1 => pool.in_place_scope(|scope| {
                let shared = &shared;
                for _ in 1..threads {
                    // SAFETY: the caller's contract, passed on.
                    scope.spawn(move |_| unsafe { shared.work(portion) });
                }
                // SAFETY: the caller's contract, passed on.
                unsafe { shared.work(portion) };
            }),
            // SAFETY: the caller's contract, passed on.
            _ => unsafe { shared.work(total) },
        }
        if !shared.has_memory.into_inner() {
            let (kernel, bytes) = (self.function.name.clone(), self.plan.frame_bytes);
            return Err(RunError::OutOfMemory { kernel, bytes });
        }
        let fault = shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        match fault {
            Some((number, trap)) => Err(self.fault(number, *trap, grid).into()),
            None => Ok(()),
        }
    }

    fn fault(&self, number: u64, trap: Trap, grid: &[u32]) -> Box<Fault> {
        let loc = trap.loc.and_then(|l| {
            let file = self.files.get(l.file as usize)?.clone();
            Some(SourceLocation { file, line: l.line, column: l.column })
        });
        Box::new(Fault {
            kernel: self.function.name.clone(),
            kind: trap.kind,
            loc,
            program: position(number, grid)[..grid.len()].to_vec(),
            operands: trap.operands,
            message: trap.message,
        })
    }
}

fn tensor(arg: &Arg) -> Tensor {
    match arg {
        Arg::Tensor(t) => {
            Tensor { base: t.base, extents: t.extents.clone(), strides: t.strides.clone() }
        }
        Arg::Scalar(_) => Tensor {
            base: std::ptr::null_mut(),
            extents: Default::default(),
            strides: Default::default(),
        },
    }
}

/// The position of a program by its number.
fn position(number: u64, grid: &[u32]) -> [u32; MAX_RANK] {
    let mut at = [0; MAX_RANK];
    let mut rest = number;
    for axis in (0..grid.len()).rev() {
        let n = u64::from(grid[axis]).max(1);
        at[axis] = (rest % n) as u32;
        rest /= n;
    }
    at
}

/// What the threads of a launch share.
struct Shared<'a> {
    launch: Launch<'a>,
    args: &'a [Arg],
    total: u64,
    /// The first program that no thread has taken.
    next: AtomicU64,
    /// The first fault in the grid's order, so far.
    fault: Mutex<Option<(u64, Box<Trap>)>>,
    /// Some thread has the memory that a program needs; the others can do without their own.
    has_memory: AtomicBool,
}

// SAFETY: the raw pointers in it are tensors' addresses, which `Program::run`'s contract lets all
// threads of a launch use.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// Takes portions of programs and runs them until none is left.
    ///
    /// # Safety
    /// As for [`Program::run`].
    unsafe fn work(&self, portion: u64) {
        let ran = with_scratch(self.launch.plan.frame_bytes, |base| {
            // SAFETY: the scratch memory is this thread's alone and as large as the plan asks.
            let mut frame = unsafe { Frame::new(&self.launch, base) };
            for (arg, slot) in &self.launch.plan.scalars {
                if let Arg::Scalar(s) = self.args[*arg] {
                    frame.write(*slot, s.bits);
                }
            }
            loop {
                let start = self.next.fetch_add(portion, Ordering::Relaxed);
                if start >= self.total {
                    return;
                }
                let end = start.saturating_add(portion).min(self.total);
                // SAFETY: the caller's contract, passed on.
                unsafe { self.portion(&mut frame, start, end) };
            }
        });
        if ran.is_ok() {
            self.has_memory.store(true, Ordering::Relaxed);
        }
    }

    /// # Safety
    /// As for [`Program::run`].
    unsafe fn portion(&self, frame: &mut Frame<'_>, start: u64, end: u64) {
        let grid = self.launch.grid;
        frame.position = position(start, grid);
        let mut result = Ok(());
        for number in start..end {
            // Programs before the first that faulted still run: one of them may be the first.
            if number > self.launch.first_fault.load(Ordering::Relaxed) {
                break;
            }
            frame.number = number;
            // SAFETY: the caller's contract, passed on.
            result = unsafe { frame.run() };
            if result.is_err() {
                break;
            }
            for axis in (0..grid.len()).rev() {
                frame.position[axis] += 1;
                if frame.position[axis] < grid[axis] {
                    break;
                }
                frame.position[axis] = 0;
            }
        }
        // SAFETY: the caller's contract, passed on.
        let rest = unsafe { frame.finish() };
        if let Err(Stop::Trap(trap)) = result.and(rest) {
            self.report(frame.number, trap);
        }
    }

    fn report(&self, number: u64, trap: Box<Trap>) {
        self.launch.first_fault.fetch_min(number, Ordering::Relaxed);
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.as_ref().is_none_or(|(n, _)| number < *n) {
            *fault = Some((number, trap));
        }
    }
}

/// Memory of frames, in cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// More than this is not kept for the next launch.
const KEPT_LINES: usize = (64 << 20) / 64;

/// Runs `f` with as many bytes, initialised and aligned to a cache line, which the thread keeps for
/// the next launch; an error if there is no such memory.
fn with_scratch(bytes: usize, f: impl FnOnce(*mut u8)) -> Result<(), TryReserveError> {
    thread_local! {
        static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
    }
    let mut lines = SCRATCH.take();
    let needed = bytes.div_ceil(64).max(1);
    if lines.len() < needed {
        lines = Vec::new();
        lines.try_reserve_exact(needed)?;
        lines.resize(needed, Line([0; 64]));
    }
    f(lines.as_mut_ptr().cast());
    if lines.len() <= KEPT_LINES {
        SCRATCH.set(lines);
    }
    Ok(())
}

/// The most programs of a launch.
pub(crate) const PROGRAM_LIMIT: u64 = 1 << 62;

/// The number of programs of a grid.
pub(crate) fn program_count(grid: &[u32]) -> Result<u64, ArgumentError> {
    if grid.contains(&0) {
        return Ok(0);
    }
    grid.iter()
        .try_fold(1u64, |n, g| n.checked_mul((*g).into()).filter(|n| *n <= PROGRAM_LIMIT))
        .ok_or(ArgumentError::GridSize { limit: PROGRAM_LIMIT })
}

#[cfg(test)]
mod tests {
    use super::with_scratch;

    #[test]
    fn memory_that_is_not_there_is_an_error_and_the_next_launch_runs() {
        assert!(with_scratch(isize::MAX as usize, |_| unreachable!("there is none")).is_err());
        let mut ran = false;
        // SAFETY: the memory is as large as asked for.
        with_scratch(100, |base| ran = unsafe { base.add(99).read() } == 0).unwrap();
        assert!(ran);
    }
}

//! What goes wrong in a launch, and where.

use std::fmt;

/// A thread of a grid, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// `%ctaid`
    pub block: [u32; 3],
    /// `%tid`
    pub thread: [u32; 3],
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        write!(f, "thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})")
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The launch can't start.
    #[error("the launch is invalid: {0}")]
    InvalidLaunch(String),
    /// More shared memory than the target has for a block.
    #[error(
        "{fixed} bytes of static and {dynamic} of dynamic shared memory, of which {target} allows {limit} a block{}",
        advice(*.fixed, *.limit)
    )]
    SharedMemory {
        /// Bytes of the static variables that the entry and its functions name.
        fixed: u32,
        /// Bytes that the launch adds.
        dynamic: u32,
        /// Bytes that there may be: of static memory if that alone is more, else in all.
        limit: u32,
        /// The module's target.
        target: String,
    },
    /// An access to no memory of the kernel's.
    #[error("out-of-bounds {access} of {bytes} bytes at {space} address {address:#x}: {found}")]
    OutOfBounds {
        /// `read`, `write` or `atomic`.
        access: &'static str,
        /// State space.
        space: &'static str,
        /// First byte.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// What is there instead.
        found: String,
    },
    /// An address that is no multiple of the access's size.
    #[error("misaligned {access}: {space} address {address:#x} is not a multiple of {bytes}")]
    Misaligned {
        /// `read`, `write` or `atomic`.
        access: &'static str,
        /// State space.
        space: &'static str,
        /// First byte.
        address: u64,
        /// Required alignment.
        bytes: u32,
    },
    /// An access to an allocation that was freed.
    #[error("use after free: {access} of {bytes} bytes at global address {address:#x}, {found}")]
    UseAfterFree {
        /// `read`, `write` or `atomic`.
        access: &'static str,
        /// First byte.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Which allocation it was.
        found: String,
    },
    /// A read of bytes that nobody wrote.
    #[error("uninitialised read of {bytes} bytes at {space} address {address:#x}")]
    Uninitialised {
        /// State space.
        space: &'static str,
        /// First byte.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
    },
    /// A write to memory that kernels may only read.
    #[error("write to read-only {space} memory at address {address:#x}")]
    ReadOnly {
        /// State space.
        space: &'static str,
        /// First byte.
        address: u64,
    },
    /// Two accesses to one place, one of them a write, that nothing orders.
    #[error(
        "data race on {space} address {address:#x}: this {access} and an earlier {other_access} by {other}, with no synchronisation between them"
    )]
    Race {
        /// State space.
        space: &'static str,
        /// The byte that both touch.
        address: u64,
        /// This access: `read`, `write` or `atomic`.
        access: &'static str,
        /// The earlier access.
        other_access: &'static str,
        /// Who made the earlier access, and where.
        other: String,
    },
    /// A collective instruction that not all of its lanes reached together.
    #[error("divergence: lanes {present:#010x} reached this instruction, it needs {needed:#010x}")]
    Divergence {
        /// Lanes that execute it.
        present: u32,
        /// Lanes that must.
        needed: u32,
    },
    /// Wrong use of a barrier.
    #[error("barrier misuse: {0}")]
    Barrier(String),
    /// Wrong use of an asynchronous copy, a memory barrier object, or an asynchronous matrix instruction.
    #[error("asynchronous misuse: {0}")]
    Async(String),
    /// Nobody can go on.
    #[error("deadlock: every thread waits{}", list(.0))]
    Deadlock(Vec<String>),
    /// `trap` or `brkpt`.
    #[error("the kernel trapped")]
    Trap,
    /// A device-side assertion.
    #[error("assertion failed: {0}")]
    Assertion(String),
    /// More instructions than allowed.
    #[error(
        "the instruction budget of {0} thread-instructions is used up: an endless loop, or a budget too small for this launch"
    )]
    Budget(u64),
    /// Anything else that the hardware would not do.
    #[error("{0}")]
    Illegal(String),
}

fn advice(fixed: u32, limit: u32) -> &'static str {
    if fixed > limit {
        " as static memory: declare a part `.extern .shared` and give it at launch"
    } else {
        ""
    }
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

/// A fault and the lane that made it.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) lane: Option<u32>,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind) -> Box<Self> {
        Box::new(Self { kind, lane: None })
    }

    pub(crate) fn at(kind: FaultKind, lane: usize) -> Box<Self> {
        Box::new(Self { kind, lane: Some(lane as u32) })
    }
}

/// Where a PTX instruction comes from, by `.loc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// Why a launch failed, and where.
#[derive(Clone, Debug)]
pub struct Report {
    /// What went wrong.
    pub kind: FaultKind,
    /// The entry launched.
    pub kernel: String,
    /// The thread that made the fault, where it was one.
    pub thread: Option<ThreadId>,
    /// Line of the PTX text.
    pub ptx_line: Option<u32>,
    /// The instruction as written.
    pub instruction: Option<String>,
    /// The source line, where the PTX has `.loc` directives.
    pub source: Option<Source>,
}

impl std::error::Error for Report {}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`: {}", self.kernel, self.kind)?;
        if let Some(thread) = self.thread {
            write!(f, "\n  in {thread}")?;
        }
        if let Some(line) = self.ptx_line {
            write!(f, "\n  at PTX line {line}")?;
            if let Some(instruction) = &self.instruction {
                write!(f, ": {instruction}")?;
            }
        }
        if let Some(Source { file, line, column }) = &self.source {
            write!(f, "\n  from {file}:{line}:{column}")?;
        }
        Ok(())
    }
}

/// A state space's name in messages.
pub(crate) fn space_name(space: crate::decode::op::Space) -> &'static str {
    use crate::decode::op::Space;
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Const => "constant",
        Space::Param => "parameter",
    }
}

//! What can go wrong: a fault of a tile program, and the errors of preparing and running.

use crate::args::ArgumentError;
use std::fmt;

/// Why a tile program stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A tile index outside the grid of tiles. Operands: the index, the number of tiles.
    IndexOutOfRange,
    /// An integer division or remainder by zero. Operands: dividend, divisor.
    DivisionByZero,
    /// The type's minimum divided by -1. Operands: dividend, divisor.
    DivisionOverflow,
    /// `assert!` failed.
    Assertion,
    /// A `for` whose step is not positive. Operands: the step, 1.
    LoopStep,
    /// An extent or a number of tiles that does not fit the i32 that the kernel asks for. Operands:
    /// the number, the largest i32.
    ExtentOverflow,
}

/// A place in the kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The file, as the compiler named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A fault of a tile program. Of all programs that would fault, the one that comes first in the
/// grid (axis 0 slowest) is reported; what the others wrote is undefined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {}", self.description())]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// Why.
    pub kind: FaultKind,
    /// Where, if the kernel's source is known.
    pub loc: Option<SourceLocation>,
    /// The program's position in the grid.
    pub program: Vec<u32>,
    /// The numbers that the check saw; see [`FaultKind`] for their meaning. Zeros if it has none.
    pub operands: [i128; 2],
    /// What happened, in words; of an assertion, the user's text.
    pub message: String,
}

impl Fault {
    /// What happened, in which program if there are several, and where: all but the kernel's name.
    pub fn description(&self) -> String {
        let mut text = match &self.program[..] {
            [] => self.message.clone(),
            program => format!("tile program {program:?}: {}", self.message),
        };
        if let Some(loc) = &self.loc {
            text += &format!(" at {loc}");
        }
        text
    }
}

/// Why a launch did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The arguments or the grid do not suit the kernel; nothing ran.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A tile program stopped.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// There is no memory for the tiles of one program; nothing ran.
    #[error(
        "kernel `{kernel}`: no memory for the {bytes} bytes that the tiles of one program need; use smaller tiles"
    )]
    OutOfMemory {
        /// The kernel.
        kernel: String,
        /// What one program needs.
        bytes: usize,
    },
}

/// Why a kernel can't be prepared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// An operation that this backend can't run.
    #[error("kernel `{kernel}`: `{op}` is not supported on the CPU: {reason}")]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The operation's name.
        op: String,
        /// What is not supported about it.
        reason: String,
    },
    /// The tiles of one program need more memory than can be addressed.
    #[error("kernel `{kernel}`: the tiles of one program need more than {limit} bytes")]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// The most that one program may use.
        limit: usize,
    },
}

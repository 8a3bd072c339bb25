//! What can go wrong between tile IR and PTX, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use cutile_bundle::target::Arch;

use crate::ptx::parse::ParseError;
use crate::ptx::patch::PatchError;
use crate::ptx::{RustcFailure, Violation};
use crate::toolchain::ToolchainError;

/// A kernel that could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is no compiler for kernels on this machine, or it does not work.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// rustc refused the generated Rust: a bug of cutile, never of the kernel's author.
    #[error(transparent)]
    Rustc(#[from] Box<RustcFailure>),
    /// rustc's PTX is not PTX as we know it: a compiler newer than this version of cutile.
    #[error("rustc's PTX could not be read: {0}")]
    Parse(#[from] ParseError),
    /// rustc's PTX lacks what the generator announced: a bug of cutile.
    #[error("rustc's PTX could not be completed: {0}")]
    Patch(#[from] PatchError),
    /// The PTX is not what the generator announced: a bug of cutile, or of the compiler under it.
    #[error("the PTX of kernel `{name}` failed its checks:{}", list(.violations))]
    Check {
        /// The kernel.
        name: String,
        /// All that is wrong.
        violations: Vec<Violation>,
        /// The PTX.
        ptx: String,
    },
    /// `ptxas` refused the PTX: a bug of cutile.
    #[error("ptxas refused the PTX for {arch}:\n{said}")]
    Ptxas {
        /// What it was assembled for.
        arch: Arch,
        /// Its messages.
        said: String,
        /// The PTX.
        ptx: String,
    },
    /// `nvdisasm` cannot read what `ptxas` wrote.
    #[error("nvdisasm failed:\n{said}")]
    Nvdisasm {
        /// Its messages.
        said: String,
    },
    /// The kernel's tiles do not fit the shared memory of a block.
    #[error(
        "kernel `{kernel}` needs {needed} bytes of shared memory a block, and the GPU has {available}: \
         use smaller tiles"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that its plan needs.
        needed: u32,
        /// Bytes that the target has.
        available: u32,
    },
    /// A tile is too large for the registers of a block, by far.
    #[error(
        "kernel `{kernel}`{}: a tile of {shape:?} leaves {elements} elements to each of {threads} threads, \
         and a thread can hold {most}: use smaller tiles",
        at(.place)
    )]
    TileTooLarge {
        /// The kernel.
        kernel: String,
        /// Where in the kernel's source, if that is known.
        place: Option<String>,
        /// The tile's extents.
        shape: Vec<u32>,
        /// Elements that a thread would hold.
        elements: usize,
        /// Threads of a block.
        threads: u32,
        /// Elements that a thread may hold.
        most: usize,
    },
    /// A pass made tile IR that the verifier refuses: a bug of cutile.
    #[error("kernel `{kernel}` is not well formed after pass `{pass}`:{}", lines(.diagnostics))]
    Pass {
        /// The kernel.
        kernel: String,
        /// The pass.
        pass: &'static str,
        /// What the verifier says.
        diagnostics: Vec<cutile_ir::Diagnostic>,
    },
    /// A file or program of this machine failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

fn at(place: &Option<String>) -> String {
    place.as_ref().map_or(String::new(), |place| format!(", {place}"))
}

fn lines(diagnostics: &[cutile_ir::Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| format!("\n  {diagnostic}")).collect()
}

fn list(violations: &[Violation]) -> String {
    violations.iter().map(|violation| format!("\n  - {violation}")).collect()
}

/// An input or output error, with what was tried and on what.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {}: {source}", path.display())]
pub struct IoError {
    /// What was tried: `read`, `write`, `run`.
    pub action: &'static str,
    /// On which file or program.
    pub path: PathBuf,
    /// The system's answer.
    pub source: io::Error,
}

impl IoError {
    /// For `map_err`: names what was tried.
    pub(crate) fn on(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> IoError {
        let path = path.as_ref().to_owned();
        move |source| IoError { action, path, source }
    }
}

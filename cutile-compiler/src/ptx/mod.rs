//! From generated SIMT Rust to checked PTX: rustc, text patch, facts, and `ptxas` where it is at hand.
//!
//! Nothing here knows a tile or an operation: what the generator promised stands in [`EntryPlan`], and is checked.

pub mod check;
pub mod facts;
mod instruction;
pub mod parse;
pub mod patch;
mod ptxas;
mod rustc;

use std::collections::BTreeMap;

use cutile_bundle::target::Target;

pub use check::{Expected, Severity, Violation};
pub use facts::{Facts, InstructionClass};
pub use ptxas::{Assembled, EntryUsage, disassemble};
pub(crate) use rustc::FLAGS;
pub use rustc::{Diagnostic, RustcFailure};

use crate::error::CompileError;
use crate::toolchain::Toolchain;

/// A generated Rust file and what its generator knows about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimtSource {
    /// The kernel's name; also the name of the file in messages.
    pub name: String,
    /// The complete file: crate attributes, panic handler, the text of cutile-simt, entries.
    pub text: String,
    /// Every entry of the file.
    pub entries: Vec<EntryPlan>,
    /// Which line of the kernel's source a stretch of the text comes from, in ascending order. May be empty.
    pub origins: Vec<Origin>,
}

/// From `first_line` of the generated text on, up to the next origin, the text comes from `at`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Line of the generated text, from 1.
    pub first_line: u32,
    /// Place in the kernel's source: `src/k.rs:12`.
    pub at: String,
}

/// What the generator promises of one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryPlan {
    /// Its symbol.
    pub name: String,
    /// Threads in a block, along x.
    pub threads: u32,
    /// Blocks that must fit one multiprocessor at once.
    pub min_blocks: u32,
    /// Blocks in a cluster, along x; 1 for none.
    pub cluster: u32,
    /// Which PTX parameters, from 0, are tensor maps: 128 bytes, to be aligned to 64.
    pub tensor_maps: Vec<u16>,
    /// How many instructions of a class the PTX must have. Classes left out are not checked.
    pub announced: BTreeMap<InstructionClass, Expected>,
}

impl EntryPlan {
    /// An entry with so many threads a block, no cluster, no tensor maps and nothing announced.
    pub fn new(name: impl Into<String>, threads: u32) -> EntryPlan {
        EntryPlan {
            name: name.into(),
            threads,
            min_blocks: 1,
            cluster: 1,
            tensor_maps: Vec::new(),
            announced: BTreeMap::new(),
        }
    }
}

/// PTX that passed its checks.
#[derive(Clone, Debug)]
pub struct BuiltPtx {
    /// The text that the driver loads.
    pub text: String,
    /// What was read in it.
    pub facts: Facts,
    /// What `ptxas` said; `None` where there is no `ptxas`.
    pub assembled: Option<Assembled>,
    /// What cost speed but not correctness: spills, local memory, serialised matrix instructions.
    pub warnings: Vec<Violation>,
}

/// Compiles generated Rust to PTX, patches it, and checks it.
///
/// # Errors
///
/// The text does not compile or lacks what its plan says; the PTX has unresolved externs, a wrong target, a newer PTX version
/// than the target allows, or other instruction counts than announced; `ptxas` refuses it. All of them are bugs of the generator,
/// but for a toolchain that is missing or broken.
pub fn build_ptx(
    simt: &SimtSource,
    target: &Target,
    toolchain: &Toolchain,
) -> Result<BuiltPtx, CompileError> {
    let raw = rustc::emit(simt, target, toolchain)?;
    let text = patch::patch(&raw, &simt.entries)?;
    let facts = Facts::of(&text)?;
    let (errors, mut warnings): (Vec<_>, Vec<_>) = facts
        .check(&simt.entries, target)
        .into_iter()
        .partition(|violation| violation.severity() == Severity::Error);
    if !errors.is_empty() {
        return Err(CompileError::Check { name: simt.name.clone(), violations: errors, ptx: text });
    }
    let assembled = match toolchain.ptxas() {
        Some(program) => Some(ptxas::assemble(program, &text, target.arch)?),
        None => None,
    };
    warnings.extend(assembled.iter().flat_map(Assembled::violations));
    Ok(BuiltPtx { text, facts, assembled, warnings })
}

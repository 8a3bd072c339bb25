//! From a kernel to PTX: the stages in their order, and nothing else.

use crate::codegen::{self, Generated, Settings};
use crate::error::CompileError;
use crate::mapping::assign::Mapping;
use crate::package::CompiledKernel;
use crate::passes;
use crate::ptx::{SimtSource, Violation, build_ptx};
use crate::toolchain::Toolchain;
use cutile_bundle::key::FactsClass;
use cutile_bundle::target::Target;
use cutile_ir::Kernel;

/// What can be shown of a compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The specialised kernel.
    Ir,
    /// After the passes.
    Opt,
    /// Layouts, products, pipelines.
    Map,
    /// The generated Rust.
    Simt,
}

/// Compiles a kernel.
///
/// # Errors
///
/// The kernel's tiles do not fit the target's shared memory; the toolchain is missing or broken. Every other error is a bug of
/// cutile.
pub fn compile(
    kernel: &Kernel,
    facts: FactsClass,
    target: &Target,
    toolchain: &Toolchain,
) -> Result<CompiledKernel, CompileError> {
    let optimised = passes::run(kernel)?;
    let Generated { text, origins, plan, abi } = simt(&optimised, facts, target)?;
    let name = optimised.function().name.clone();
    let mut source = SimtSource { name, text, entries: vec![plan], origins };
    let mut ptx = build_ptx(&source, target, toolchain)?;
    let spills = |w: &Violation| matches!(w, Violation::Spills { .. });
    if source.entries[0].min_blocks > 1 && ptx.warnings.iter().any(spills) {
        // Registers for one block alone are worth more than a second block.
        source.entries[0].min_blocks = 1;
        ptx = build_ptx(&source, target, toolchain)?;
    }
    Ok(CompiledKernel { abi, ptx })
}

/// A stage of a compilation, as text.
///
/// # Errors
///
/// As [`compile`], as far as the stage.
pub fn stage(
    kernel: &Kernel,
    facts: FactsClass,
    target: &Target,
    stage: Stage,
) -> Result<String, CompileError> {
    if stage == Stage::Ir {
        return Ok(kernel.to_string());
    }
    let optimised = passes::run(kernel)?;
    Ok(match stage {
        Stage::Map => mapping(&optimised, facts).describe(optimised.function()),
        Stage::Simt => simt(&optimised, facts, target)?.text,
        Stage::Ir | Stage::Opt => optimised.to_string(),
    })
}

fn mapping(kernel: &Kernel, facts: FactsClass) -> Mapping {
    Mapping::new(kernel.function(), facts == FactsClass::Aligned)
}

fn simt(kernel: &Kernel, facts: FactsClass, target: &Target) -> Result<Generated, CompileError> {
    codegen::generate(kernel, mapping(kernel, facts), Settings { facts, arch: target.arch })
}

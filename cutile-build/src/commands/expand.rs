//! `expand KERNEL`: shows a kernel at any stage between its IR and machine code.

use std::io::Write;

use clap::ValueEnum;
use cutile_bundle::artifacts::Units;
use cutile_bundle::key::FactsClass;
use cutile_bundle::target::{Arch, Target};
use cutile_compiler::CompileError;
use cutile_compiler::toolchain::{Tool, Toolchain, install};
use cutile_ir::blob::Unit;
use cutile_ir::{Kernel, Specialisation, link, specialise};

use super::build_kernels::{read_recorded, read_units};
use crate::cargo::{self, Selection, Workspace};
use crate::error::BuildError;

/// Arguments of `expand`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The kernel: its full path, or the end of it.
    pub kernel: String,
    /// The specialisation, `S=[64,64], T=f32`; else the first that is declared or recorded.
    #[arg(long)]
    pub spec: Option<String>,
    /// What to show.
    #[arg(long, value_enum, default_value = "simt")]
    pub stage: Stage,
    /// The class of arguments.
    #[arg(long, value_enum, default_value = "aligned")]
    pub facts: Facts,
    /// The GPU architecture.
    #[arg(long, default_value = "sm_90a")]
    pub arch: Arch,
    /// Where to look for the kernel.
    #[command(flatten)]
    pub selection: Selection,
}

/// A stage of compilation.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The tile IR, specialised.
    Ir,
    /// The tile IR after the passes.
    Opt,
    /// How tiles are laid out over threads, and what is where in shared memory.
    Map,
    /// The generated Rust.
    Simt,
    /// The PTX.
    Ptx,
    /// Machine code.
    Sass,
}

/// [`FactsClass`], for the command line.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Facts {
    /// Rows are contiguous and aligned to 16 bytes.
    Aligned,
    /// Nothing is known.
    General,
}

impl From<Facts> for FactsClass {
    fn from(facts: Facts) -> FactsClass {
        match facts {
            Facts::Aligned => FactsClass::Aligned,
            Facts::General => FactsClass::General,
        }
    }
}

/// Shows the stage.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<bool, BuildError> {
    let workspace = Workspace::of(&args.selection)?;
    let artifacts = cargo::build(&args.selection, &workspace)?;
    let units = read_units(&artifacts)?;
    let unit = find(&units, &args.kernel)?;
    let recorded = read_recorded(&workspace.packages)?;
    let recorded = recorded.iter().find(|request| request.kernel == unit.name);
    let recorded = recorded.map(|request| request.specialisation.as_str());
    let kernel = kernel(&unit, args.spec.as_deref(), recorded)?;
    writeln!(out, "{}", show(&kernel, args)?.trim_end())?;
    Ok(true)
}

/// The one unit whose path is this, or ends with it.
fn find<'a>(units: &'a Units, name: &str) -> Result<Unit<'a>, BuildError> {
    let ends = |unit: &Unit<'_>| {
        let rest = unit.name.strip_suffix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    };
    let mut found = units.iter().filter(ends);
    match (found.next(), found.next()) {
        (Some(unit), None) => Ok(unit),
        (Some(first), Some(second)) => {
            let all = [first, second].into_iter().chain(found);
            let names: Vec<&str> = all.map(|unit| unit.name).collect();
            let known = format!("are several with this end: {}", names.join(", "));
            Err(BuildError::NoKernel { given: name.to_owned(), known })
        }
        (None, _) => {
            let names: Vec<&str> = units.iter().map(|unit| unit.name).collect();
            let known = if names.is_empty() {
                "are no kernels in these programs at all".to_owned()
            } else {
                format!("are: {}", names.join(", "))
            };
            let known = known + " (kernels of tests: `--test NAME` or `--all-targets`)";
            Err(BuildError::NoKernel { given: name.to_owned(), known })
        }
    }
}

/// The kernel under the specialisation that was asked for, else the first declared, else the one recorded.
fn kernel(
    unit: &Unit<'_>,
    spec: Option<&str>,
    recorded: Option<&str>,
) -> Result<Kernel, BuildError> {
    let error = |message: String| BuildError::Specialisation { kernel: unit.name.into(), message };
    let module = link(unit).map_err(|source| error(source.to_string()))?;
    let function = &module.functions[0];
    let declared = unit.specialisations.lines().find(|line| !line.trim().is_empty());
    let text = spec.or(declared).or(recorded).unwrap_or_default();
    let specialisation = Specialisation::parse(text, function)
        .map_err(|source| error(format!("{source}; give it as --spec 'NAME=VALUE, ..'")))?;
    specialise(&module, &specialisation).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        error(texts.join("\n"))
    })
}

fn show(kernel: &Kernel, args: &Args) -> Result<String, BuildError> {
    let (facts, target) = (args.facts.into(), Target::new(args.arch));
    let early = |stage| cutile_compiler::stage(kernel, facts, &target, stage).map_err(failed);
    match args.stage {
        Stage::Ir => early(cutile_compiler::Stage::Ir),
        Stage::Opt => early(cutile_compiler::Stage::Opt),
        Stage::Map => early(cutile_compiler::Stage::Map),
        Stage::Simt => early(cutile_compiler::Stage::Simt),
        Stage::Ptx => ptx(kernel, facts, &target),
        Stage::Sass => {
            let text = ptx(kernel, facts, &target)?;
            let mut say = |command: &str| eprintln!("running {command}");
            let ptxas = install::tool(Tool::Ptxas, &mut say)?;
            let nvdisasm = install::tool(Tool::Nvdisasm, &mut say)?;
            cutile_compiler::ptx::disassemble(&ptxas, &nvdisasm, &text, args.arch).map_err(failed)
        }
    }
}

fn ptx(kernel: &Kernel, facts: FactsClass, target: &Target) -> Result<String, BuildError> {
    let toolchain = Toolchain::find_or_add_target()?;
    let compiled = cutile_compiler::compile(kernel, facts, target, &toolchain).map_err(failed)?;
    Ok(compiled.ptx.text)
}

fn failed(error: CompileError) -> BuildError {
    BuildError::Kernel { message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_comes_before_declared_before_recorded() {
        let text = "entry @double<const N: i32>(%y: partitioned i32[?] by [N]) {\n    yield\n}\n";
        let unit = |specialisations| Unit {
            name: "app::double",
            text,
            specialisations,
            externs: Vec::new(),
            imports: Vec::new(),
        };
        let shown = |unit: &Unit<'_>, spec, recorded| {
            kernel(unit, spec, recorded).map(|kernel| kernel.to_string())
        };
        let declared = unit("N=8\nN=16\n");
        assert!(shown(&declared, Some("N=4"), Some("N=32")).unwrap().contains("by [4]"));
        assert!(shown(&declared, None, Some("N=32")).unwrap().contains("by [8]"));
        assert!(shown(&unit(""), None, Some("N=32")).unwrap().contains("by [32]"));
        let error = shown(&unit(""), None, None).unwrap_err().to_string();
        assert!(error.contains("`N` is missing") && error.contains("--spec"), "{error}");
    }
}

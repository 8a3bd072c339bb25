//! `build-kernels`: compiles the package as cargo would, reads the kernels out of what came of it, and builds each.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cutile_bundle::artifacts::Units;
use cutile_bundle::bundle::{BuiltKernel, Bundle, replace};
use cutile_bundle::manifest::{GlobalAccess, KernelRecord, Usage};
use cutile_bundle::record::{self, Recorded};
use cutile_bundle::target::Arch;
use cutile_compiler::toolchain::{CoreFlavour, Toolchain};

use crate::build::{self, Outcome};
use crate::cargo::{self, Artifact, Selection, Workspace};
use crate::costs::{self, Costs};
use crate::error::BuildError;
use crate::kernels::{self, Job, Plan};

/// File in a package's folder that `cutile::embed_kernels!()` includes.
const EMBEDDED: &str = "cutile-kernels.bundle";

/// Arguments of `build-kernels`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// What to compile.
    #[command(flatten)]
    pub selection: Selection,
    /// GPU architectures, separated by commas. A program takes the nearest one below its GPU.
    #[arg(long, value_delimiter = ',', default_value = "sm_80,sm_90a")]
    pub arch: Vec<Arch>,
    /// Where to write the kernels; else `cutile/` in cargo's target folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write `cutile-kernels.bundle`, which `cutile::embed_kernels!()` includes, into each package's folder.
    #[arg(long)]
    pub embed: bool,
    /// Fail if a kernel spills registers, uses local memory or is serialised, or costs more than `kernel-costs.txt` says.
    #[arg(long)]
    pub check: bool,
    /// Write `kernel-costs.txt`, the table that `--check` compares with, in the workspace's folder.
    #[arg(long)]
    pub write_costs: bool,
    /// How panics in kernels are compiled: calls that must not occur, or traps.
    #[arg(long, value_enum, default_value = "plain")]
    pub core: Core,
}

/// [`CoreFlavour`], for the command line.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Core {
    /// As rustup ships the library.
    Plain,
    /// With a trap for each panic; needs the library's sources.
    Hardened,
}

impl From<Core> for CoreFlavour {
    fn from(core: Core) -> CoreFlavour {
        match core {
            Core::Plain => CoreFlavour::Plain,
            Core::Hardened => CoreFlavour::Hardened,
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Kernels that are there now.
    pub built: usize,
    /// Kernels that could not be built.
    pub failed: usize,
    /// Kernels that are slower than they should be.
    pub weak: usize,
}

/// Builds; false if a kernel failed.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<bool, BuildError> {
    let workspace = Workspace::of(&args.selection)?;
    if args.embed {
        prepare_embedding(&workspace)?;
    }
    let artifacts = cargo::build(&args.selection, &workspace)?;
    let folder = args.out.clone().unwrap_or_else(|| workspace.target.join("cutile"));
    let how = How { archs: &args.arch, core: args.core.into(), folder: &folder };
    let (bundle, tally) = build_artifacts(&artifacts, &workspace, how, out)?;
    if args.embed {
        write_embedded(&workspace, &bundle)?;
    }
    let table = workspace.root.join(costs::FILE);
    let costs = Costs::of(bundle.records());
    let mut worse = Vec::new();
    if args.write_costs {
        write_costs(costs, &table, out)?;
    } else if args.check
        && let Some(known) = read_costs(&table)?
    {
        worse = costs.regressions(&known);
    }
    for text in &worse {
        writeln!(out, "worse: {text}")?;
    }
    let Tally { built, failed, weak } = tally;
    let weak_text = if weak > 0 { format!(", {weak} with warnings") } else { String::new() };
    writeln!(out, "{built} built, {failed} failed{weak_text}")?;
    Ok(failed == 0 && !(args.check && weak + worse.len() > 0))
}

/// What the table says, if there is one.
fn read_costs(table: &Path) -> Result<Option<Costs>, BuildError> {
    let text = match fs::read_to_string(table) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BuildError::io("read", table)(error)),
    };
    let costs = Costs::parse(&text);
    costs.map(Some).map_err(|line| BuildError::Costs { path: table.to_owned(), line })
}

/// Writes the table; what it says of crates that were not built now stays, unless it cannot be read.
fn write_costs(costs: Costs, table: &Path, out: &mut dyn Write) -> Result<(), BuildError> {
    if costs.is_empty() {
        writeln!(out, "note: {} stays as it is: costs come from `ptxas`", table.display())?;
        return Ok(());
    }
    let earlier = match read_costs(table) {
        Err(BuildError::Costs { .. }) => None,
        earlier => earlier?,
    };
    let all = costs.with_other_crates(earlier.unwrap_or_default());
    Ok(replace(table, all.to_string().as_bytes())?)
}

/// For what, with what and where kernels are built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How<'a> {
    pub(crate) archs: &'a [Arch],
    pub(crate) core: CoreFlavour,
    pub(crate) folder: &'a Path,
}

/// Builds the kernels in what cargo made and writes them into a folder. The bundle holds this build's kernels alone; the folder
/// also keeps those of an earlier build that this one has no word on (another package's).
pub(crate) fn build_artifacts(
    artifacts: &[Artifact],
    workspace: &Workspace,
    how: How<'_>,
    out: &mut dyn Write,
) -> Result<(Bundle, Tally), BuildError> {
    let How { archs, core, folder } = how;
    let units = read_units(artifacts)?;
    let recorded = read_recorded(&workspace.packages)?;
    let plan = kernels::plan(&units, &recorded, archs);
    // A damaged or foreign folder of ours is written anew.
    let earlier = Bundle::read_folder(folder).ok().flatten().unwrap_or_default();
    // Without a kernel nothing need be installed.
    let outcomes = if plan.jobs.is_empty() {
        Vec::new()
    } else {
        let toolchain = Toolchain::find_or_add_target()?.with_core(core);
        let mut told = BTreeSet::new();
        build::build(&plan, &earlier, &toolchain, cutile_compiler::compile, |job, outcome| {
            let _ = tell(job, outcome, &mut told, out); // a closed output does not stop a build
        })
    };
    for text in &plan.errors {
        writeln!(out, "error: {text}")?;
    }
    for text in &plan.notes {
        writeln!(out, "note: {text}")?;
    }
    let kernels: Vec<BuiltKernel> = outcomes.iter().filter_map(Outcome::kernel).cloned().collect();
    let built = kernels.len();
    let kept = others(&plan, &earlier)?;
    Bundle::new(kernels.iter().cloned().chain(kept)).write_folder(folder)?;
    let weak = |o: &&Outcome| matches!(o, Outcome::Built { warnings, .. } if !warnings.is_empty());
    let failed = outcomes.len() - built + plan.errors.len();
    let tally = Tally { built, failed, weak: outcomes.iter().filter(weak).count() };
    Ok((Bundle::new(kernels), tally))
}

/// The kernels of what cargo made. A program holds those of its dependencies too that it can launch, and not those of its own
/// package's library that only tests or other packages launch.
pub(crate) fn read_units(artifacts: &[Artifact]) -> Result<Units, BuildError> {
    let mut units = Units::default();
    artifacts.iter().try_for_each(|artifact| units.add_file(&artifact.file))?;
    Ok(units)
}

/// What the packages' files say was asked for.
pub(super) fn read_recorded(packages: &[PathBuf]) -> Result<Vec<Recorded>, BuildError> {
    let mut recorded = Vec::new();
    for package in packages {
        let path = package.join(record::FILE);
        match fs::read_to_string(&path) {
            Ok(text) => recorded.extend(record::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(BuildError::io("read", &path)(error)),
        }
    }
    Ok(recorded)
}

/// One line a kernel; an error that it has in common with another variant of it is told once.
fn tell(
    job: &Job,
    outcome: &Outcome,
    told: &mut BTreeSet<[String; 3]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let request = &job.request;
    let name = if request.specialisation.is_empty() {
        request.kernel.clone()
    } else {
        format!("{} {}", request.kernel, request.specialisation)
    };
    write!(out, "{name}  {}  {}", request.facts, request.arch)?;
    match outcome {
        Outcome::Failed(errors) => {
            writeln!(out, "  FAILED")?;
            for error in errors {
                let key = [&request.kernel, &request.specialisation, error].map(String::clone);
                if told.insert(key) {
                    writeln!(out, "error: {error}")?;
                }
            }
        }
        Outcome::Built { kernel, warnings } => {
            writeln!(out, "{}", usage(kernel))?;
            for warning in warnings {
                writeln!(out, "warning: {warning}")?;
            }
        }
        Outcome::Reused(kernel) => writeln!(out, "{}  (unchanged)", usage(kernel))?,
    }
    out.flush()
}

fn usage(kernel: &BuiltKernel) -> String {
    let GlobalAccess { load, store } = kernel.record.access;
    let usage = kernel.record.usage.map_or(String::new(), |usage| {
        let Usage { registers, shared, spills, .. } = usage;
        format!("  {registers} registers  {shared} bytes shared  {spills} bytes spilled")
    });
    format!("{usage}  {load}/{store} bytes a load/store")
}

/// Kernels of an earlier build that are still right: of other packages, and of this build's specialisations for other
/// architectures.
fn others(plan: &Plan<'_>, earlier: &Bundle) -> Result<Vec<BuiltKernel>, BuildError> {
    let stays = |record: &KernelRecord| {
        let same = plan.jobs.iter().map(|job| &job.request).filter(|r| r.key == record.key);
        let mut same = same.peekable();
        if same.peek().is_some() {
            return same.all(|request| request.arch != record.arch);
        }
        plan.entries.iter().all(|entry| entry.unit.name != record.kernel)
    };
    let others = earlier.records().enumerate().filter(|(_, record)| stays(record));
    others.map(|(index, _)| Ok(earlier.kernel(index)?)).collect()
}

/// `embed_kernels!()` includes a file, which must be there when the package is compiled for the first time.
fn prepare_embedding(workspace: &Workspace) -> Result<(), BuildError> {
    for package in &workspace.packages {
        let path = package.join(EMBEDDED);
        if !path.exists() {
            fs::write(&path, b"").map_err(BuildError::io("write", &path))?;
        }
    }
    Ok(())
}

fn write_embedded(workspace: &Workspace, bundle: &Bundle) -> Result<(), BuildError> {
    let bytes = bundle.to_bytes()?;
    for package in &workspace.packages {
        replace(&package.join(EMBEDDED), &bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutile_ir::blob::UnitParts;

    #[test]
    fn an_error_that_variants_share_is_told_once() {
        const PLAIN: UnitParts<'_> = UnitParts {
            name: "app::plain",
            text: "entry @plain() {\n    yield\n}\n",
            specialisations: "",
            externs: &[],
            imports: &[],
        };
        static BYTES: [u8; PLAIN.size()] = PLAIN.bytes();
        let mut units = Units::default();
        units.add_section(&BYTES).unwrap();
        let plan = kernels::plan(&units, &[], &[Arch::new(8, 0), Arch::exact(9, 0)]);
        let failed = Outcome::Failed(vec!["too wide".into()]);
        let (mut told, mut out) = (BTreeSet::new(), Vec::new());
        for job in &plan.jobs {
            tell(job, &failed, &mut told, &mut out).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        let count = |word| text.matches(word).count();
        assert_eq!((count("FAILED"), count("error: too wide")), (4, 1), "{text}");
    }
}

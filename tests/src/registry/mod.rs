//! Every kernel that a program holds, compiled and run by the PTX emulator with all checks, against the CPU backend.
//!
//! The kernels are read from the program's registry, as `build-kernels` reads them, with the
//! specialisations that they declare or that were recorded, and arguments are made from their signatures. So a new kernel is
//! compared from its first day, and one that cannot be compared fails. Only kernels that check what they are given need a line.
//!
//! - `arguments`: arguments for a signature, at small, ragged and whole shapes.
//! - `backends`: one launch on the CPU backend, one in the emulator.
//! - `verdict`: how far results may be apart.

mod arguments;
mod backends;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cutile_build::kernels::{Job, Plan, plan};
use cutile_bundle::artifacts::Units;
use cutile_bundle::key::FactsClass;
use cutile_bundle::lookup::Library;
use cutile_bundle::options::Options;
use cutile_bundle::record;
use cutile_bundle::target::{Arch, Target};
use cutile_compiler::toolchain::Toolchain;
use cutile_ir::{Kernel, specialise};

use arguments::{Attempt, Layout};
use backends::{Compiled, Outcome};
use verdict::Bound;

/// The architectures that kernels are built for.
const ARCHS: [Arch; 2] = [Arch::new(8, 0), Arch::exact(9, 0)];

/// Thread-instructions after which a specialisation has been run enough, its first attempts excepted.
const ENOUGH: u64 = 20_000_000;

/// Arguments of a kernel that checks what it is given, so that others would fail alike everywhere and say little.
pub struct Given {
    /// Its full path.
    pub kernel: &'static str,
    /// Its arguments, in order.
    pub args: &'static [Value],
    /// The grid, for kernels without a partitioned parameter.
    pub grid: &'static [u32],
}

/// An argument, in whole numbers of the parameter's type.
pub enum Value {
    /// A scalar.
    Scalar(i64),
    /// A tensor with these extents, the numbers again and again in row-major order.
    Tensor(&'static [i64], &'static [i64]),
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Kernels.
    pub kernels: usize,
    /// Their specialisations.
    pub specialisations: usize,
    /// Launches in the emulator that gave the CPU's results.
    pub same: usize,
    /// Launches in the emulator that failed by the same checks as on the CPU.
    pub same_faults: usize,
    /// Elements compared.
    pub elements: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { kernels, specialisations, same, same_faults, elements } = self;
        write!(
            f,
            "{kernels} kernels, {specialisations} specialisations: {same} launches with the same results ({elements} elements), \
             {same_faults} with the same faults"
        )
    }
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Summary) {
        self.kernels += other.kernels;
        self.specialisations += other.specialisations;
        self.same += other.same;
        self.same_faults += other.same_faults;
        self.elements += other.elements;
    }
}

/// What is compared: every kernel of some programs, under the specialisations that it declares and those that were recorded.
pub struct Registry<'a> {
    /// The kernels of the programs.
    pub units: &'a Units,
    /// The text of the package's `cutile-kernels.txt`.
    pub recorded: &'a str,
    /// Which of the kernels, by full path: not those of a dependency that has a test of its own.
    pub wanted: fn(&str) -> bool,
    /// What kernels are given beside the arguments that suit their signatures.
    pub given: &'a [Given],
}

/// Compares. All failures come together, a line each; the toolchain compiles what its cache does not have.
pub fn compare(registry: &Registry<'_>, toolchain: &Toolchain) -> Result<Summary, String> {
    let Registry { units, recorded, wanted, given } = registry;
    let mut plan = plan(units, &record::parse(recorded), &ARCHS);
    plan.jobs.retain(|job| wanted(&job.request.kernel));
    let library = Library::of_program(&Options::from_env()).map_err(|error| error.to_string())?;
    // A group holds all forms of one specialisation.
    let mut groups: BTreeMap<(&str, &str), Vec<&Job>> = BTreeMap::new();
    for job in &plan.jobs {
        groups.entry((&job.request.kernel, &job.request.specialisation)).or_default().push(job);
    }
    let groups: Vec<&Vec<&Job>> = groups.values().collect();
    let mut failures = unspecialised(&plan, *wanted);
    failures.extend(plan.errors.iter().cloned());
    let (next, found) = (AtomicUsize::new(0), Mutex::new((Summary::default(), Vec::new())));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(jobs) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let group = Group { plan: &plan, jobs, given, library: &library, toolchain };
                    let result = group.compare();
                    let mut found = found.lock().expect("no thread panics with the lock");
                    match result {
                        Ok(summary) => found.0 += summary,
                        Err(failure) => found.1.push(failure),
                    }
                }
            });
        }
    });
    let (mut summary, told) = found.into_inner().expect("all threads have ended well");
    summary.kernels = plan.entries.iter().filter(|entry| wanted(entry.unit.name)).count();
    failures.extend(told);
    failures.sort();
    if failures.is_empty() { Ok(summary) } else { Err(failures.join("\n")) }
}

/// A line for each kernel that nothing would be compiled of.
fn unspecialised(plan: &Plan<'_>, wanted: fn(&str) -> bool) -> Vec<String> {
    let names = plan.entries.iter().map(|entry| entry.unit.name).enumerate();
    names
        .filter(|(index, name)| wanted(name) && plan.jobs.iter().all(|job| job.entry != *index))
        .map(|(_, name)| {
            format!(
                "`{name}` has no specialisation: declare one (`#[cutile::entry(specialize(..))]`) or record one \
                 (`cargo xtask record`), so that its compiled form can be compared with the CPU's"
            )
        })
        .collect()
}

/// All forms of one specialisation.
struct Group<'a> {
    plan: &'a Plan<'a>,
    jobs: &'a [&'a Job],
    given: &'a [Given],
    library: &'a Library,
    toolchain: &'a Toolchain,
}

impl Group<'_> {
    fn compare(&self) -> Result<Summary, String> {
        let job = self.jobs[0];
        let name = format!("`{}` {}", job.request.kernel, job.request.specialisation);
        self.launches().map_err(|failure| format!("{}: {failure}", name.trim_end()))
    }

    fn launches(&self) -> Result<Summary, String> {
        let job = self.jobs[0];
        let module = &self.plan.entries[job.entry].module;
        let kernel = specialise(module, &job.specialisation)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<String>())?;
        let program = cutile_cpu::Program::new(&kernel).map_err(|error| error.to_string())?;
        let forms = self.jobs.iter().map(|job| Ok((*job, self.compiled(&kernel, job)?)));
        let forms: Vec<(&Job, Compiled)> = forms.collect::<Result<_, String>>()?;
        let bound = Bound::of(&kernel);
        let mut summary = Summary { specialisations: 1, ..Summary::default() };
        let mut spent = 0;
        let given = self.given.iter().filter(|given| given.kernel == job.request.kernel);
        let attempts = given.map(Attempt::Given).chain(Attempt::all(kernel.function()));
        for (number, attempt) in attempts.enumerate() {
            if number >= 3 && spent > ENOUGH && summary.same > 0 {
                break;
            }
            for layout in [Layout::Aligned, Layout::General] {
                let case = attempt.arguments(kernel.function(), layout);
                let Some(expected) = backends::on_cpu(&program, &case)? else { continue };
                let facts = case.facts();
                for (job, compiled) in forms.iter().filter(|(job, _)| job.request.facts == facts) {
                    let what =
                        |told: String| format!("{} {facts}, {case}: {told}", job.request.arch);
                    let (found, instructions) = compiled.run(&case).map_err(what)?;
                    spent += instructions;
                    match (&expected, &found) {
                        (Outcome::Done(expected), Outcome::Done(found)) => {
                            summary.elements +=
                                bound.compare(&case, expected, found).map_err(what)?;
                            summary.same += 1;
                        }
                        (Outcome::Failed(_), Outcome::Failed(_)) => summary.same_faults += 1,
                        (Outcome::Done(_), Outcome::Failed(check)) => {
                            return Err(what(format!("fails and should not: {check}")));
                        }
                        (Outcome::Failed(check), Outcome::Done(_)) => {
                            return Err(what(format!("should have failed: {check}")));
                        }
                    }
                }
            }
        }
        if summary.same < self.jobs.len() / FactsClass::ALL.len() {
            return Err(format!(
                "nothing was compared, for {} launches failed alike: give it arguments (`Given`) that it accepts",
                summary.same_faults
            ));
        }
        Ok(summary)
    }

    fn compiled(&self, kernel: &Kernel, job: &Job) -> Result<Compiled, String> {
        let (library, toolchain, request) = (self.library, self.toolchain, &job.request);
        let cached = library.find_cached(request.key, request.arch, &toolchain.builder());
        let built = match cached.map_err(|error| error.to_string())? {
            Some(built) => built,
            None => {
                let target = Target::new(request.arch);
                let compiled = cutile_compiler::compile(kernel, request.facts, &target, toolchain)
                    .map_err(|error| format!("{} {}: {error}", request.arch, request.facts))?;
                let built = cutile_compiler::package(request.clone(), compiled, toolchain);
                // A cache that can't be written costs the next run its time, not this one its result.
                let _ = library.store(&built);
                built
            }
        };
        Compiled::new(built)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutile_ir::blob::UnitParts;

    const SCALE: UnitParts<'_> = UnitParts {
        name: "app::scale",
        text: "entry @scale<const S: [i32; 1]>(%y: partitioned f32[?] by [S.0]) {\n    yield\n}\n",
        specialisations: "",
        externs: &[],
        imports: &[],
    };
    static SECTION: [u8; SCALE.size()] = SCALE.bytes();

    #[test]
    fn a_kernel_without_a_specialisation_is_told() {
        let mut units = Units::default();
        units.add_section(&SECTION).unwrap();
        let told = unspecialised(&plan(&units, &[], &ARCHS), |_| true);
        assert!(told.len() == 1 && told[0].starts_with("`app::scale` has no"), "{told:?}");
        assert_eq!(unspecialised(&plan(&units, &[], &ARCHS), |_| false).len(), 0);
        let recorded = record::parse("app::scale S=[4]");
        assert_eq!(unspecialised(&plan(&units, &recorded, &ARCHS), |_| true).len(), 0);
    }
}

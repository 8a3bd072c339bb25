//! Builds what was planned, several kernels at a time; what an earlier build left and is still right is taken as it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use cutile_bundle::bundle::{BuiltKernel, Bundle};
use cutile_bundle::key::FactsClass;
use cutile_bundle::manifest::KernelRecord;
use cutile_bundle::target::Target;
use cutile_compiler::ptx::Violation;
use cutile_compiler::toolchain::Toolchain;
use cutile_compiler::{CompileError, CompiledKernel, package};
use cutile_ir::{Kernel, specialise};

use crate::kernels::{Job, Plan};

/// The compiler, as a function: [`cutile_compiler::compile`].
pub type Compile =
    fn(&Kernel, FactsClass, &Target, &Toolchain) -> Result<CompiledKernel, CompileError>;

/// What became of a job.
#[derive(Debug)]
pub enum Outcome {
    /// Compiled now.
    Built {
        /// The kernel.
        kernel: Box<BuiltKernel>,
        /// What makes it slower than it should be.
        warnings: Vec<Violation>,
    },
    /// Compiled earlier from the same IR by the same compiler.
    Reused(Box<BuiltKernel>),
    /// All that is wrong with it, one message each.
    Failed(Vec<String>),
}

impl Outcome {
    /// The kernel, if there is one.
    pub fn kernel(&self) -> Option<&BuiltKernel> {
        match self {
            Outcome::Built { kernel, .. } | Outcome::Reused(kernel) => Some(kernel),
            Outcome::Failed(_) => None,
        }
    }
}

/// Builds every job, in the order of the plan; `done` hears of each as soon as all before it are done.
pub fn build(
    plan: &Plan<'_>,
    earlier: &Bundle,
    toolchain: &Toolchain,
    compile: Compile,
    mut done: impl FnMut(&Job, &Outcome),
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = mpsc::channel();
    let mut waiting: BTreeMap<usize, Outcome> = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(plan.jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..workers.min(plan.jobs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = plan.jobs.get(index) else {
                        break;
                    };
                    let outcome = run(plan, job, earlier, toolchain, compile);
                    if sender.send((index, outcome)).is_err() {
                        break; // nobody listens any more
                    }
                }
            });
        }
        drop(sender);
        for (index, outcome) in receiver {
            waiting.insert(index, outcome);
            while let Some(outcome) = waiting.remove(&outcomes.len()) {
                done(&plan.jobs[outcomes.len()], &outcome);
                outcomes.push(outcome);
            }
        }
    });
    outcomes
}

fn run(
    plan: &Plan<'_>,
    job: &Job,
    earlier: &Bundle,
    toolchain: &Toolchain,
    compile: Compile,
) -> Outcome {
    if let Some(kernel) = reuse(job, earlier, toolchain) {
        return Outcome::Reused(Box::new(kernel));
    }
    let module = &plan.entries[job.entry].module;
    let kernel = match specialise(module, &job.specialisation) {
        Ok(kernel) => kernel,
        Err(errors) => return Outcome::Failed(errors.iter().map(|e| e.to_string()).collect()),
    };
    let target = Target::new(job.request.arch);
    match compile(&kernel, job.request.facts, &target, toolchain) {
        Ok(compiled) => {
            let warnings = compiled.ptx.warnings.clone();
            let kernel = Box::new(package(job.request.clone(), compiled, toolchain));
            Outcome::Built { kernel, warnings }
        }
        Err(error) => Outcome::Failed(vec![error.to_string()]),
    }
}

/// What an earlier build made of the same IR, for the same architecture, with the same compiler. A kernel with a weakness is
/// built again, so that it is told again.
fn reuse(job: &Job, earlier: &Bundle, toolchain: &Toolchain) -> Option<BuiltKernel> {
    let builder = toolchain.builder();
    let same = |record: &KernelRecord| {
        record.key == job.request.key
            && record.arch == job.request.arch
            && record.builder == builder
            && record.usage.is_some_and(|usage| usage.spills + usage.stack == 0)
    };
    earlier.kernel(earlier.records().position(same)?).ok()
}

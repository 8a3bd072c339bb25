//! `test`: everything that CI checks, step by step. All steps run even when one fails; the last line sums them up.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use cutile_build::commands::doctor;

use crate::figures::Figures;
use crate::step::{self, Counts, Outcome, cargo, target_folder, workspace};

/// Arguments of `test`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only these steps, by name (see --list).
    steps: Vec<String>,
    /// Only this package, for steps that go package by package; the others are left out.
    #[arg(short, long)]
    package: Vec<String>,
    /// Name the steps and do nothing.
    #[arg(long)]
    list: bool,
}

/// A step: its name, whether it can be confined to packages, and how to run it.
struct Step {
    name: &'static str,
    by_package: bool,
    run: fn(&Scope) -> Outcome,
}

/// Everything, in order. Cheap and telling steps first; kernels before tests, which load those that are built.
const STEPS: &[Step] = &[
    Step { name: "tools", by_package: true, run: tools },
    Step { name: "format", by_package: true, run: format },
    Step { name: "clippy", by_package: true, run: clippy },
    Step { name: "features", by_package: false, run: features },
    Step { name: "kernels", by_package: false, run: kernels },
    Step { name: "tests", by_package: true, run: tests },
    Step { name: "doc-tests", by_package: true, run: doc_tests },
    Step { name: "loom", by_package: false, run: loom },
    Step { name: "docs", by_package: true, run: docs },
    Step { name: "outside", by_package: false, run: outside },
];

/// Optional parts are checked like all others: on the systems where CI runs each of them works.
const ALL: &str = "--all-features";

/// What to check, and with what.
struct Scope {
    packages: Vec<String>,
    /// This program, for its other commands. Asked for before any step: one of them may replace the file.
    program: PathBuf,
}

impl Scope {
    /// A cargo command for the packages, or for the whole workspace.
    fn cargo(&self, subcommand: &[&str], whole: &str, rest: &[&str]) -> Command {
        let mut command = cargo(subcommand);
        if self.packages.is_empty() {
            command.arg(whole);
        }
        for package in &self.packages {
            command.args(["--package", package]);
        }
        command.args(rest);
        command
    }
}

pub(crate) fn run(args: &Args) -> ExitCode {
    if args.list {
        STEPS.iter().for_each(|step| println!("{}", step.name));
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = args.steps.iter().find(|name| STEPS.iter().all(|s| s.name != **name)) {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        eprintln!("error: there is no step `{unknown}`; there are: {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            eprintln!("error: could not find this program: {error}");
            return ExitCode::FAILURE;
        }
    };
    let scope = Scope { packages: args.package.clone(), program };
    let start = Instant::now();
    let mut sum = Figures::default();
    let mut failures = Vec::new();
    for step in STEPS {
        if !args.steps.is_empty() && !args.steps.iter().any(|name| name == step.name) {
            continue;
        }
        if !scope.packages.is_empty() && !step.by_package {
            println!("{:<10} left out: it concerns the workspace as a whole", step.name);
            continue;
        }
        print!("{:<10} ", step.name);
        let _ = std::io::stdout().flush(); // only for people who watch
        let outcome = (step.run)(&scope);
        println!("{}", summary(&outcome));
        sum += outcome.figures;
        if let Some(failure) = outcome.failure {
            println!("{failure}");
            failures.push(step.name);
        }
    }
    println!("whole time {:.0} s", start.elapsed().as_secs_f32());
    if sum.ignored > 0 {
        println!("{} ignored", sum.ignored);
    }
    if !failures.is_empty() {
        println!("failed steps: {}", failures.join(", "));
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed == 0 && failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary(outcome: &Outcome) -> String {
    let Figures { passed, failed, ignored } = outcome.figures;
    let state = if failed == 0 { "ok    " } else { "FAILED" };
    let mut text = format!("{state} {:>6.1} s", outcome.took.as_secs_f32());
    if passed + failed > 1 {
        text += &format!("   {passed} passed, {failed} failed");
    }
    if ignored > 0 {
        text += &format!(", {ignored} ignored");
    }
    text
}

/// What building and checking kernels needs, installed if it is missing.
fn tools(_: &Scope) -> Outcome {
    step::run_inside("tools", |out| {
        let args = doctor::Args { install: true, strict: true };
        doctor::run(&args, "cargo xtask", out).map_err(|error| error.to_string())
    })
}

fn format(scope: &Scope) -> Outcome {
    // Names of files are enough: `cargo fmt` mends them.
    let check = scope.cargo(&["fmt"], "--all", &["--check", "--", "--files-with-diff"]);
    step::run("format", Counts::Itself, vec![check])
}

fn clippy(scope: &Scope) -> Outcome {
    let options = ["clippy", "--quiet", "--keep-going", "--all-targets", "--message-format=short"];
    step::run("clippy", Counts::Silence, vec![scope.cargo(&options, "--workspace", &[ALL])])
}

/// What users get who turn everything off that can be turned off.
fn features(_: &Scope) -> Outcome {
    let selection = ["clippy", "--quiet", "--package", "cutile", "--no-default-features"];
    let mut lint = cargo(&selection);
    lint.arg("--message-format=short");
    step::run("features", Counts::Silence, vec![lint])
}

/// Unit and integration tests, by nextest where it is installed: it runs the tests of all crates side by side.
fn tests(scope: &Scope) -> Outcome {
    let nextest = cargo(&["nextest", "--version"]).output().is_ok_and(|out| out.status.success());
    let commands = if nextest {
        vec![scope.cargo(
            &["nextest", "run", "--no-fail-fast", ALL, "--status-level=fail"],
            "--workspace",
            &["--final-status-level=fail", "--failure-output=final", "--no-tests=pass"],
        )]
    } else {
        // Everything but doc tests, which have a step of their own. Examples are programs that tests run: `cargo test
        // --examples` would build test harnesses of them.
        let targets = ["--lib", "--bins", "--tests"];
        vec![
            scope.cargo(&["build", "--examples", ALL], "--workspace", &[]),
            scope.cargo(&["test", "--no-fail-fast", ALL], "--workspace", &targets),
        ]
    };
    step::run("tests", Counts::Tests, commands)
}

fn doc_tests(scope: &Scope) -> Outcome {
    let command = scope.cargo(&["test", "--doc", "--no-fail-fast", ALL], "--workspace", &[]);
    step::run("doc-tests", Counts::Tests, vec![command])
}

/// The completion core under every interleaving. Its own target folder: the flag changes every crate.
fn loom(_: &Scope) -> Outcome {
    let mut command = cargo(&["test", "--release", "--package", "cuda-async", "--lib", "loom"]);
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_folder().join("loom"));
    step::run("loom", Counts::Tests, vec![command])
}

/// Every kernel of the workspace, with both flavours of core: PTX that passes its checks, that ptxas takes, and that costs no
/// more than the table says.
fn kernels(_: &Scope) -> Outcome {
    // With the features of the steps before, so that nothing is compiled once more.
    let build = ["run", "--quiet", "--package", "xtask", "--", "build-kernels", ALL];
    let mut plain = cargo(&build);
    plain.arg("--check");
    let mut hardened = cargo(&build);
    hardened.args(["--core", "hardened", "--out"]);
    hardened.arg(target_folder().join("check/hardened"));
    step::run("kernels", Counts::Itself, vec![plain, hardened])
}

fn docs(scope: &Scope) -> Outcome {
    let mut command = scope.cargo(&["doc", "--no-deps", "--keep-going", ALL], "--workspace", &[]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    step::run("docs", Counts::Itself, vec![command])
}

/// A crate that is no member of the workspace, from a folder where none of our configuration applies: its tests, then with
/// its kernels built and inside its program.
fn outside(scope: &Scope) -> Outcome {
    let of_crate = |mut command: Command| {
        command
            .arg("--manifest-path")
            .arg(workspace().join("tests/outside/Cargo.toml"))
            .current_dir(std::env::temp_dir())
            .env_remove("CUDA_LIBRARY_PATH")
            .env("CARGO_TARGET_DIR", target_folder().join("outside"));
        command
    };
    let test = of_crate(cargo(&["test", "--no-fail-fast"]));
    let mut build = Command::new(&scope.program);
    build.args(["build-kernels", "--embed", "--out"]).arg(target_folder().join("check/outside"));
    let build = of_crate(build);
    let embedded = of_crate(cargo(&[
        "test",
        "--no-fail-fast",
        "--features",
        "embedded",
        "--test",
        "embedded",
    ]));
    step::run("outside", Counts::Tests, vec![test, build, embedded])
}

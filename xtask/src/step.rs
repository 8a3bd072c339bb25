//! One step of a check: a command with its output in a log, its time, and what it counted.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::figures::Figures;

/// Lines of a failed step's log that are shown.
const SHOWN: usize = 60;

/// What became of a step.
pub(crate) struct Outcome {
    /// Its figures, with the step itself counted where it runs no tests.
    pub(crate) figures: Figures,
    /// Wall time.
    pub(crate) took: Duration,
    /// What to show of a failure: the end of the log and where the rest is.
    pub(crate) failure: Option<String>,
}

/// Whether a step's output has figures of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// A test runner: its own figures count. None at all is a failure, since nothing was tested.
    Tests,
    /// A linter counts as one, and whatever it says is a failure. (Were lints errors, crates behind the first one would not be
    /// looked at.)
    Silence,
    /// Anything else counts as one.
    Itself,
}

/// The workspace's folder.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A cargo command in the workspace, without colours and without input.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace()).args(arguments);
    command
}

/// Runs the commands one after the other, all of them even if one fails.
pub(crate) fn run(name: &str, counts: Counts, commands: Vec<Command>) -> Outcome {
    let log = log_path(name);
    let start = Instant::now();
    match run_logged(&log, commands) {
        Ok((success, output)) => {
            let silent = output.lines().all(|line| line.starts_with("$ "));
            let success = success && (silent || counts != Counts::Silence);
            let figures = judge(counts, success, Figures::read(&output));
            let failure = (figures.failed > 0).then(|| excerpt(&output, &log));
            Outcome { figures, took: start.elapsed(), failure }
        }
        Err(error) => failed(start.elapsed(), format!("could not run: {error}")),
    }
}

/// Runs a part of this program as a step. `work` writes what it has to say and returns whether all is well.
pub(crate) fn run_inside(
    name: &str,
    work: impl FnOnce(&mut dyn Write) -> Result<bool, String>,
) -> Outcome {
    let log = log_path(name);
    let start = Instant::now();
    let mut output = Vec::new();
    let done = work(&mut output);
    let mut output = String::from_utf8_lossy(&output).into_owned();
    if let Err(error) = &done {
        output += &format!("error: {error}\n");
    }
    let logged = log.parent().map_or(Ok(()), std::fs::create_dir_all);
    if let Err(error) = logged.and_then(|()| std::fs::write(&log, &output)) {
        return failed(start.elapsed(), format!("could not write {}: {error}", log.display()));
    }
    let figures = judge(Counts::Itself, done == Ok(true), Figures::default());
    let failure = (figures.failed > 0).then(|| excerpt(&output, &log));
    Outcome { figures, took: start.elapsed(), failure }
}

/// Figures that cannot say that all is well when it is not.
fn judge(counts: Counts, success: bool, read: Figures) -> Figures {
    match counts {
        Counts::Itself | Counts::Silence => {
            Figures { passed: success.into(), failed: (!success).into(), ignored: 0 }
        }
        Counts::Tests if read.failed == 0 && (!success || read.passed == 0) => {
            Figures { failed: 1, ..read }
        }
        Counts::Tests => read,
    }
}

fn failed(took: Duration, reason: String) -> Outcome {
    Outcome { figures: Figures { failed: 1, ..Figures::default() }, took, failure: Some(reason) }
}

fn log_path(name: &str) -> PathBuf {
    target_folder().join("check").join(format!("{}.log", name.replace(' ', "-")))
}

/// cargo's target folder: this program is `<target>/<profile>/xtask`, its tests `<target>/<profile>/deps/xtask-..`.
pub(crate) fn target_folder() -> PathBuf {
    let of = |program: PathBuf| {
        let folder = program.parent()?;
        let profile = if folder.ends_with("deps") { folder.parent()? } else { folder };
        Some(profile.parent()?.to_owned())
    };
    std::env::current_exe().ok().and_then(of).unwrap_or_else(|| workspace().join("target"))
}

/// Runs each command with both output streams in the log; the log's text and whether all succeeded.
fn run_logged(log: &Path, commands: Vec<Command>) -> io::Result<(bool, String)> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = File::create(log)?;
    let mut success = true;
    for mut command in commands {
        writeln!(file, "$ {}", display(&command))?;
        let status = command
            .env("CARGO_TERM_COLOR", "never")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file.try_clone()?)
            .status()?;
        if !status.success() {
            writeln!(file, "ended with {status}")?;
            success = false;
        }
    }
    drop(file);
    Ok((success, String::from_utf8_lossy(&std::fs::read(log)?).into_owned()))
}

fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The end of the log, without the lines that say nothing.
fn excerpt(output: &str, log: &Path) -> String {
    const NOISE: [&str; 8] = [
        "Compiling ",
        "Checking ",
        "Finished ",
        "Blocking ",
        "Downloaded ",
        "Downloading ",
        "Documenting ",
        "PASS ",
    ];
    let told = |line: &&str| !NOISE.iter().any(|noise| line.trim_start().starts_with(noise));
    let lines: Vec<&str> = output.lines().filter(told).collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN)..];
    let mut text = String::new();
    for line in shown {
        text += &format!("    {line}\n");
    }
    text + &format!("    whole output: {}", log.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_runner_that_fails_without_figures_counts_as_a_failure() {
        let outcome = run("test of a step 1", Counts::Tests, vec![shell("echo broken; exit 3")]);
        assert_eq!((outcome.figures.passed, outcome.figures.failed), (0, 1));
        let told = outcome.failure.unwrap();
        assert!(told.contains("broken") && told.contains("exit status: 3"), "{told}");
    }

    #[test]
    fn a_runner_that_ran_nothing_counts_as_a_failure() {
        let outcome = run("test of a step 2", Counts::Tests, vec![shell("true")]);
        assert_eq!(outcome.figures.failed, 1);
    }

    #[test]
    fn a_linter_that_speaks_fails() {
        let failed =
            |script| run("test of a step 4", Counts::Silence, vec![shell(script)]).figures.failed;
        assert_eq!(
            (failed("true"), failed("echo a.rs:1:1: warning: odd"), failed("false")),
            (0, 1, 1)
        );
    }

    #[test]
    fn all_commands_of_a_step_run_and_one_failure_fails_it() {
        let commands = vec![shell("echo first; false"), shell("echo second")];
        let outcome = run("test of a step 3", Counts::Itself, commands);
        assert_eq!((outcome.figures.passed, outcome.figures.failed), (0, 1));
        assert!(outcome.failure.unwrap().contains("second"));
    }
}

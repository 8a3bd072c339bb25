//! `bless`: rewrites expectations from what the code does now. The difference is then reviewed like any other change.

use std::process::ExitCode;

use crate::step::cargo;

/// Arguments of `bless`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only this package.
    #[arg(short, long)]
    package: Vec<String>,
    /// Only tests with this in their name.
    filter: Option<String>,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let mut command = cargo(&["test", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    if args.package.is_empty() {
        command.arg("--workspace");
    }
    for package in &args.package {
        command.args(["--package", package]);
    }
    command.args(&args.filter);
    // The two kinds of expectation: insta's snapshots and trybuild's messages.
    command.env("INSTA_UPDATE", "always").env("TRYBUILD", "overwrite");
    match command.status() {
        // A rewritten expectation may be reported as a failure: what counts is the difference.
        Ok(_) => {
            println!("expectations rewritten; review them with `git diff`");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: could not run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

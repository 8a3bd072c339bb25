//! The commands, one file each.

pub mod build_kernels;
pub mod bundle;
pub mod doctor;
pub mod expand;
pub mod record;

use std::io::Write;
use std::process::ExitCode;

use crate::error::BuildError;

/// A command that works in any crate.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Build the kernels of a package, into `<target>/cutile/`.
    BuildKernels(build_kernels::Args),
    /// Run a command and remember the specialisations that it asks for, in `cutile-kernels.txt`.
    Record(record::Args),
    /// Show a kernel at any stage between its IR and machine code.
    Expand(expand::Args),
    /// Gather test, example and benchmark programs with their kernels, to run where there is only a driver.
    Bundle(bundle::Args),
    /// Say what this machine has for building and running kernels, and how to get what is missing.
    Doctor(doctor::Args),
}

impl Command {
    /// The same, for the whole workspace where no package was named.
    pub fn in_whole_workspace(mut self) -> Command {
        let selection = match &mut self {
            Command::BuildKernels(args) => Some(&mut args.selection),
            Command::Bundle(args) => Some(&mut args.selection),
            Command::Expand(args) => Some(&mut args.selection),
            Command::Record(_) | Command::Doctor(_) => None,
        };
        if let Some(selection) = selection.filter(|selection| selection.package.is_empty()) {
            selection.workspace = true;
        }
        self
    }

    /// Runs it, with its output on the standard streams. `program` is how the user called it, for advice.
    pub fn run(self, program: &str) -> ExitCode {
        let mut out = std::io::stdout().lock();
        let done = match self {
            Command::BuildKernels(args) => build_kernels::run(&args, &mut out),
            Command::Record(args) => record::run(&args, &mut out),
            Command::Expand(args) => expand::run(&args, &mut out),
            Command::Bundle(args) => bundle::run(&args, &mut out),
            Command::Doctor(args) => {
                doctor::run(&args, program, &mut out).map_err(BuildError::from)
            }
        };
        let _ = out.flush(); // a closed output is no failure of the command
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }
}

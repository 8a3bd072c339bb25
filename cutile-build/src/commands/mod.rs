//! The commands, one file each.

pub mod doctor;
pub mod record;

use std::io::Write;
use std::process::ExitCode;

use crate::error::BuildError;

/// A command that works in any crate.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Run a command and remember the specialisations that it asks for, in `cutile-kernels.txt`.
    Record(record::Args),
    /// Say what this machine has for building and running kernels, and how to get what is missing.
    Doctor(doctor::Args),
}

impl Command {
    /// Runs it, with its output on the standard streams. `program` is how the user called it, for advice.
    pub fn run(self, program: &str) -> ExitCode {
        let mut out = std::io::stdout().lock();
        let done = match self {
            Command::Record(args) => record::run(&args, &mut out),
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

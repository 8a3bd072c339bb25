//! The commands, one file each.

pub mod doctor;

use std::io::Write;
use std::process::ExitCode;

/// A command that works in any crate.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Say what this machine has for building and running kernels, and how to get what is missing.
    Doctor(doctor::Args),
}

impl Command {
    /// Runs it, with its output on the standard streams. `program` is how the user called it, for advice.
    pub fn run(self, program: &str) -> ExitCode {
        let mut out = std::io::stdout().lock();
        let done = match self {
            Command::Doctor(args) => doctor::run(&args, program, &mut out),
        };
        let _ = out.flush();
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

//! `cargo cutile <command>`: builds and inspects the kernels of any crate. All of it is the library's.

use std::process::ExitCode;

use clap::Parser;

/// cargo calls `cargo-cutile cutile ..`.
#[derive(Parser)]
#[command(bin_name = "cargo", styles = clap::builder::Styles::plain())]
enum Cargo {
    /// Build and inspect the GPU kernels of a crate.
    #[command(subcommand, version)]
    Cutile(cutile_build::Command),
}

fn main() -> ExitCode {
    let Cargo::Cutile(command) = Cargo::parse();
    command.run("cargo cutile")
}

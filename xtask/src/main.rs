//! The workspace's own commands: `cargo xtask <command>`. One file a command; those that work in any crate come from
//! cutile-build.

mod bench;
mod bless;
mod figures;
mod step;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The workspace's own commands.")]
enum Xtask {
    #[command(flatten)]
    Shared(cutile_build::Command),
    /// Check everything that CI checks.
    Test(test::Args),
    /// Rewrite the expectations of snapshot and compile-fail tests from what the code does now.
    Bless(bless::Args),
    /// Measure.
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match Xtask::parse() {
        Xtask::Shared(command) => command.in_whole_workspace().run("cargo xtask"),
        Xtask::Test(args) => test::run(&args),
        Xtask::Bless(args) => bless::run(&args),
        Xtask::Bench(args) => bench::run(&args),
    }
}

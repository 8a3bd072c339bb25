//! `bench`: builds and runs one of the benchmarks, optimised.

use std::process::ExitCode;

use crate::step::{cargo, workspace};

/// Benchmarks of crates that stand alone: name, package, and its `[[bench]]`.
const OF_CRATES: [(&str, &str, &str); 1] = [("emulator", "ptx-emulator", "throughput")];

/// Arguments of `bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The benchmark; without a name, those there are are listed.
    name: Option<String>,
    /// Passed on to the benchmark.
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let names = match names() {
        Ok(names) => names,
        Err(error) => {
            eprintln!("error: could not read the folder of benchmarks: {error}");
            return ExitCode::FAILURE;
        }
    };
    let Some(name) = &args.name else {
        names.iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    if !names.contains(name) {
        eprintln!("error: there is no benchmark `{name}`; there are: {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let mut command = match OF_CRATES.iter().find(|(own, ..)| own == name) {
        Some((_, package, bench)) => {
            cargo(&["bench", "--package", package, "--bench", bench, "--"])
        }
        None => cargo(&["run", "--release", "--package", "cutile-benches", "--bin", name, "--"]),
    };
    match command.args(&args.arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: could not run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The benchmarks: each program of the package in `benches/` is one, and those of crates that stand alone.
fn names() -> std::io::Result<Vec<String>> {
    let mut names: Vec<String> = OF_CRATES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    for entry in std::fs::read_dir(workspace().join("benches/src/bin"))? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

//! `record -- CMD`: runs a command and adds the specialisations that its kernels asked for to `cutile-kernels.txt`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use cutile_bundle::bundle::replace;
use cutile_bundle::record;

use crate::cargo::{Selection, Workspace};
use crate::error::BuildError;

/// Arguments of `record`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The package whose file gets the requests; else the one in this folder.
    #[arg(short, long, value_name = "P")]
    package: Option<String>,
    /// The file itself, instead of a package's.
    #[arg(long, value_name = "FILE", conflicts_with = "package")]
    file: Option<PathBuf>,
    /// The command to run, with its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs the command; false if it failed. What it had asked for until then is added all the same.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<bool, BuildError> {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => package_file(args.package.as_deref())?,
    };
    let requests = tempfile::NamedTempFile::new()
        .map_err(BuildError::io("create a file in", std::env::temp_dir()))?;
    let (program, arguments) = args.command.split_first().expect("clap asks for a command");
    let status = Command::new(program)
        .args(arguments)
        .env("CUTILE_RECORD", requests.path())
        .status()
        .map_err(BuildError::run(&program.to_string_lossy()))?;

    let asked =
        fs::read_to_string(requests.path()).map_err(BuildError::io("read", requests.path()))?;
    let known = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(BuildError::io("read", &file)(error)),
    };
    let (merged, added) = record::merge(&known, record::parse(&asked));
    if added > 0 {
        replace(&file, merged.as_bytes())?;
    }
    let total = record::parse(&merged).len();
    writeln!(out, "{added} specialisations added to {}, {total} in all", file.display())?;
    if !status.success() {
        writeln!(out, "the command ended with {status}")?;
    }
    Ok(status.success())
}

fn package_file(package: Option<&str>) -> Result<PathBuf, BuildError> {
    let selection = Selection {
        package: package.map(str::to_owned).into_iter().collect(),
        ..Default::default()
    };
    let workspace = Workspace::of(&selection)?;
    let folder = workspace.packages.into_iter().next();
    let folder = folder.ok_or_else(|| BuildError::NoPackage {
        given: package.unwrap_or("this folder").to_owned(),
    })?;
    Ok(folder.join(record::FILE))
}

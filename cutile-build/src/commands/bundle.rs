//! `bundle --out DIR`: test, example and benchmark programs with their kernels, to run on a machine that has a driver alone.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cutile_bundle::lookup;
use cutile_bundle::target::Arch;
use cutile_compiler::toolchain::CoreFlavour;

use super::build_kernels::{How, build_artifacts};
use crate::cargo::{self, Artifact, ArtifactKind, Selection, Workspace};
use crate::error::BuildError;

/// What runs the programs over there: a shell is all it needs.
const RUN: &str = include_str!("bundle_run.sh");

/// Arguments of `bundle`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// What to compile.
    #[command(flatten)]
    pub selection: Selection,
    /// GPU architectures, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "sm_80,sm_90a")]
    pub arch: Vec<Arch>,
    /// The folder to make. It must be new, or one that this command made.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Makes the folder; false if a kernel failed.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<bool, BuildError> {
    prepare(&args.out)?;
    let workspace = Workspace::of(&args.selection)?;
    let artifacts = cargo::build_tests(&args.selection, &workspace)?;
    let folder = args.out.join(lookup::FOLDER);
    let how = How { archs: &args.arch, core: CoreFlavour::Plain, folder: &folder };
    let (_, tally) = build_artifacts(&artifacts, &workspace, how, out)?;
    let mut names = BTreeSet::new();
    for artifact in &artifacts {
        if let Some(kind) = folder_of(artifact.kind) {
            let name = copy_program(artifact, &args.out.join("bin").join(kind), &mut names)?;
            writeln!(out, "{kind} {name}")?;
        }
    }
    let script = args.out.join("run.sh");
    fs::write(&script, RUN).map_err(BuildError::io("write", &script))?;
    make_executable(&script)?;
    writeln!(out, "{} kernels built, {} failed", tally.built, tally.failed)?;
    writeln!(out, "run: {}/run.sh test|bench|example [NAME]", args.out.display())?;
    Ok(tally.failed == 0)
}

/// Empties a folder of ours; never one that holds something else.
fn prepare(folder: &Path) -> Result<(), BuildError> {
    let ours = folder.join("run.sh").exists();
    let empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if !ours && !empty {
        return Err(BuildError::NotEmpty { folder: folder.to_owned() });
    }
    let programs = folder.join("bin");
    if ours && programs.exists() {
        fs::remove_dir_all(&programs).map_err(BuildError::io("remove", &programs))?;
    }
    fs::create_dir_all(folder).map_err(BuildError::io("create", folder))
}

fn folder_of(kind: ArtifactKind) -> Option<&'static str> {
    match kind {
        ArtifactKind::Test => Some("test"),
        ArtifactKind::Example => Some("example"),
        ArtifactKind::Bench => Some("bench"),
        ArtifactKind::Library | ArtifactKind::Program => None,
    }
}

/// Copies a program under its target's name; under its file's name, which has a hash, if two have the same.
fn copy_program(
    artifact: &Artifact,
    folder: &Path,
    names: &mut BTreeSet<PathBuf>,
) -> Result<String, BuildError> {
    fs::create_dir_all(folder).map_err(BuildError::io("create", folder))?;
    let mut target = folder.join(&artifact.name);
    if !names.insert(target.clone()) {
        target = folder.join(artifact.file.file_name().unwrap_or_default());
    }
    fs::copy(&artifact.file, &target).map_err(BuildError::io("copy", &artifact.file))?;
    // Smaller to carry about; where there is no `strip`, they run as well.
    let _ = Command::new("strip").arg(&target).stdin(Stdio::null()).stderr(Stdio::null()).status();
    Ok(target.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<(), BuildError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, PermissionsExt::from_mode(0o755))
        .map_err(BuildError::io("make executable", path))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<(), BuildError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_else_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("thesis.txt");
        fs::write(&file, "x").unwrap();
        let error = prepare(folder.path()).unwrap_err().to_string();
        assert!(error.contains("not empty") && file.exists(), "{error}");
        fs::remove_file(&file).unwrap();
        prepare(folder.path()).unwrap();
        fs::create_dir_all(folder.path().join("bin/test")).unwrap();
        fs::write(folder.path().join("run.sh"), RUN).unwrap();
        prepare(folder.path()).unwrap();
        assert!(!folder.path().join("bin").exists());
    }

    /// Runs the script on programs that are scripts themselves.
    #[cfg(unix)]
    #[test]
    fn the_script_runs_programs_by_name_and_sums_tests() {
        let folder = tempfile::tempdir().unwrap();
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            make_executable(&path).unwrap();
        };
        program("run.sh", RUN);
        program(
            "bin/test/good",
            "#!/bin/sh\necho 'test result: ok. 3 passed; 0 failed; 1 ignored;'\n",
        );
        program(
            "bin/test/bad",
            "#!/bin/sh\necho 'test result: FAILED. 2 passed; 1 failed;'\nexit 101\n",
        );
        program("bin/test/killed", "#!/bin/sh\nexit 9\n");
        program("bin/example/hello", "#!/bin/sh\necho \"hello $1\"\n");
        let run = |arguments: &[&str]| {
            let output =
                Command::new(folder.path().join("run.sh")).args(arguments).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            (output.status.success(), said)
        };
        let (success, said) = run(&["test", "good"]);
        assert!(success && said.ends_with("3 passed, 0 failed\n"), "{said}");
        let (success, said) = run(&["test"]);
        assert!(!success && said.ends_with("5 passed, 2 failed\n"), "{said}");
        let (success, said) = run(&["example", "hello", "you"]);
        assert!(success && said.contains("hello you"), "{said}");
        let (success, said) = run(&["example", "nothing"]);
        assert!(!success && said.contains("there is no example `nothing`"), "{said}");
        assert!(!run(&[]).0);
    }
}

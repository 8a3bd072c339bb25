//! The layout rules of ARCHITECTURE.md and CONTRIBUTING.md, as tests: file lengths, headers, names, arrows between crates, and
//! where the environment is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::step::workspace;

/// A file is small enough to be read in one go.
const LONGEST: usize = 600;

/// Names that say nothing of what is inside.
const BANNED: [&str; 5] = ["util", "utils", "helpers", "common", "misc"];

/// Files that may read the environment, by name; elsewhere it comes in as a value.
const READS_ENVIRONMENT: [&str; 2] = ["config.rs", "options.rs"];

/// Which of our crates a crate may use. Crates that nobody depends on (examples, tests, benches) may use any.
const ARROWS: &[(&str, &[&str])] = &[
    ("cuda-async", &[]),
    ("cutile-ir", &[]),
    ("cutile-simt", &[]),
    ("ptx-emulator", &[]),
    ("cutile-frontend", &["cutile-ir"]),
    ("cutile-macros", &["cutile-frontend"]),
    ("cutile-cpu", &["cutile-ir"]),
    ("cutile-bundle", &["cutile-ir"]),
    // The text of cutile-simt goes into every kernel; the crate gives it.
    ("cutile-compiler", &["cutile-ir", "cutile-bundle", "cutile-simt"]),
    ("cutile-build", &["cutile-compiler", "cutile-bundle", "cutile-ir"]),
    ("xtask", &["cutile-build"]),
    (
        "cutile-core",
        &[
            "cuda-async",
            "cutile-ir",
            "cutile-cpu",
            "cutile-bundle",
            "cutile-compiler",
            "ptx-emulator",
        ],
    ),
    ("cutile-kernels", &["cutile-core", "cutile-macros"]),
    ("cutile", &["cutile-core", "cutile-macros", "cutile-kernels"]),
];

/// Crates that only use others.
const LEAVES: [&str; 3] = ["cutile-examples", "cutile-tests", "cutile-benches"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` for an ordinary one.
    kind: Option<String>,
}

fn metadata() -> Metadata {
    let output = Command::new("cargo")
        .current_dir(workspace())
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// Every Rust file of the workspace and of tests/outside, with its path from the workspace's folder.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> = metadata()
        .packages
        .iter()
        .filter_map(|package| Some(package.manifest_path.parent()?.to_owned()))
        .collect();
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the workspace can be read") {
            let path = entry.expect("a folder of the workspace can be read").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file can be read");
                let name = path.strip_prefix(workspace()).unwrap_or(&path).to_owned();
                found.insert(name, text);
            }
        }
    }
    assert!(found.len() > 30, "only {} source files found", found.len());
    found.into_iter().collect()
}

/// Inputs of compile-fail tests stand for what users write.
fn is_test_input(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "ui")
}

/// Fails with all of them, so that one run tells everything.
#[track_caller]
fn none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn files_can_be_read_in_one_go() {
    let long = sources().into_iter().filter_map(|(path, text)| {
        let lines = text.lines().count();
        (lines > LONGEST).then(|| format!("{}: {lines} lines", path.display()))
    });
    none(&format!("files of more than {LONGEST} lines"), long.collect());
}

#[test]
fn files_begin_with_their_purpose() {
    let bare = sources().into_iter().filter(|(path, text)| {
        let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
        !is_test_input(path) && !first.is_some_and(|line| line.starts_with("//! "))
    });
    let bare = bare.map(|(path, _)| path.display().to_string());
    none("files without a `//!` header that says what they are for", bare.collect());
}

#[test]
fn modules_are_named_after_what_is_in_them() {
    let named = sources().into_iter().map(|(path, _)| path).filter(|path| {
        let parts = path.with_extension("");
        parts.components().any(|part| BANNED.iter().any(|banned| part.as_os_str() == *banned))
    });
    none("names that say nothing", named.map(|path| path.display().to_string()).collect());
}

#[test]
fn the_environment_is_read_in_one_file_a_crate() {
    let mut readers = Vec::new();
    for (path, text) in sources() {
        let name = path.file_name().unwrap_or_default();
        let allowed = READS_ENVIRONMENT.iter().any(|file| name == *file);
        // Spelled in two halves, so that this file is not found.
        let reads = |line: &str| line.contains(concat!("env:", ":var"));
        if !allowed && !path.components().any(|part| part.as_os_str() == "tests") {
            let lines = text.lines().enumerate().filter(|(_, line)| reads(line));
            readers.extend(lines.map(|(at, _)| format!("{}:{}", path.display(), at + 1)));
        }
    }
    none("places that read environment variables outside of config.rs or options.rs", readers);
}

#[test]
fn crates_use_only_what_their_arrows_allow() {
    let packages = metadata().packages;
    let ours: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|package| !LEAVES.contains(&package.name.as_str())) {
        let Some(allowed) = arrows.get(package.name.as_str()) else {
            wrong.push(format!("{}: not in ARCHITECTURE.md's list of arrows", package.name));
            continue;
        };
        let used = package.dependencies.iter().filter(|d| d.kind.as_deref() != Some("dev"));
        for used in used.filter(|d| ours.contains(d.name.as_str())) {
            if !allowed.contains(&used.name.as_str()) {
                wrong.push(format!("{} -> {}", package.name, used.name));
            }
        }
    }
    none("arrows that ARCHITECTURE.md does not have", wrong);
}

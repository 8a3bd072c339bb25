//! `core` for kernels, built once from a compiler's own sources and kept in the user's cache.

use std::path::{Path, PathBuf};

use cutile_bundle::cache::Cache;

use super::rustc::{Provision, Rustc, RustcVersion};
use super::{CoreFlavour, TRIPLE, ToolchainError};
use crate::error::IoError;

/// Changes when the recipe below changes, so that old builds are not used.
const RECIPE: u32 = 1;

/// The crate that every `no_std` crate is linked with; kernels need none of its functions.
const COMPILER_BUILTINS: &str = "#![no_std]\n#![feature(compiler_builtins)]\n#![compiler_builtins]\n#![allow(internal_features)]\n";

/// The folder with `core`, built if need be; `None` where the compiler finds its own.
///
/// One build serves every GPU architecture: kernels take from it generic and inline code alone, which is compiled for the kernel's
/// architecture with the kernel.
pub(super) fn folder(
    rustc: &Rustc,
    flavour: CoreFlavour,
    cache: &Cache,
) -> Result<Option<PathBuf>, ToolchainError> {
    let sources = match (&rustc.provision, flavour) {
        (Provision::Installed { .. }, CoreFlavour::Plain) => return Ok(None),
        (provision, _) => provision
            .sources()
            .ok_or_else(|| ToolchainError::NoSources { rustc: rustc.program.clone() })?,
    };
    cache
        .get_or_fill(&name(rustc, flavour), |folder| build(rustc, flavour, sources, folder))
        .map(Some)
}

/// Name of the folder in the cache.
pub(super) fn name(rustc: &Rustc, flavour: CoreFlavour) -> String {
    let RustcVersion { release, commit, .. } = &rustc.version;
    let commit = commit.get(..9).unwrap_or("unknown");
    format!("core/{release}-{commit}-{}-{RECIPE}", flavour.name())
}

fn build(
    rustc: &Rustc,
    flavour: CoreFlavour,
    sources: &Path,
    folder: &Path,
) -> Result<(), ToolchainError> {
    let mut core = rustc.command();
    core.args(["--crate-name=core", "--edition=2024", "-Zforce-unstable-if-unmarked"]);
    if flavour == CoreFlavour::Hardened {
        // Every function can then be compiled into the kernel, so that no panic path stays outside.
        core.args(["-Zcross-crate-inline-threshold=always", "-Zalways-encode-mir"]);
    }
    core.arg(sources.join("core/src/lib.rs"));
    compile(core, rustc, flavour, sources, folder)?;

    let stub = folder.join("compiler_builtins.rs");
    std::fs::write(&stub, COMPILER_BUILTINS).map_err(IoError::on("write", &stub))?;
    let mut builtins = rustc.command();
    builtins.args(["--crate-name=compiler_builtins", "--edition=2024", "-L"]).arg(folder).arg(stub);
    compile(builtins, rustc, flavour, sources, folder)
}

fn compile(
    mut command: std::process::Command,
    rustc: &Rustc,
    flavour: CoreFlavour,
    sources: &Path,
    folder: &Path,
) -> Result<(), ToolchainError> {
    let output = command
        .args(["--crate-type=rlib", "-Copt-level=3", "--cap-lints=allow", "--target", TRIPLE])
        .args(flavour.panic_flags())
        .arg("--out-dir")
        .arg(folder)
        .output()
        .map_err(IoError::on("run", &rustc.program))?;
    if output.status.success() {
        return Ok(());
    }
    Err(ToolchainError::Core {
        rustc: rustc.program.clone(),
        sources: sources.to_owned(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

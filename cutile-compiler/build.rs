//! A fingerprint of what turns tile IR into PTX: without it the user's cache would give back kernels that another state of this
//! crate made, under the same version.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// This crate, and those of the workspace whose text it uses; published, they are pinned by version.
const SOURCES: &[&str] = &["src", "../cutile-simt/src", "../cutile-ir/src"];

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    for folder in SOURCES.iter().map(Path::new).filter(|folder| folder.is_dir()) {
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = BTreeSet::new();
        collect(folder, &mut files)?;
        for file in files {
            file.hash(&mut hasher);
            fs::read(&file)?.hash(&mut hasher);
        }
    }
    println!("cargo:rustc-env=CUTILE_COMPILER_FINGERPRINT={:016x}", hasher.finish());
    Ok(())
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

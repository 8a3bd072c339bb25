//! Every environment variable that the compiler reads, and nowhere else.

use std::path::PathBuf;

/// What the environment asks of the kernel toolchain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `CUTILE_RUSTC`: compile kernels with this rustc and no other.
    pub rustc: Option<PathBuf>,
    /// `CUTILE_PTXAS`: check kernels with this `ptxas`.
    pub ptxas: Option<PathBuf>,
    /// `RUSTUP_HOME`, else `.rustup` in the home directory: where to look for other toolchains.
    pub rustup_home: Option<PathBuf>,
    /// `PATH`, split.
    pub path: Vec<PathBuf>,
}

impl Options {
    /// Reads the environment.
    pub fn from_env() -> Options {
        let path = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = std::env::home_dir().map(|home| home.join(".rustup"));
        Options {
            rustc: path("CUTILE_RUSTC"),
            ptxas: path("CUTILE_PTXAS"),
            rustup_home: path("RUSTUP_HOME").or(home),
            path: std::env::var_os("PATH")
                .map(|list| std::env::split_paths(&list).collect())
                .unwrap_or_default(),
        }
    }

    /// The first program of this name on the search path.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.path.iter().map(|folder| folder.join(&name)).find(|file| file.is_file())
    }
}

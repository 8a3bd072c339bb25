//! Every environment variable that finding built kernels depends on, and nowhere else.

use std::path::PathBuf;

/// What the environment asks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `CUTILE_KERNELS`: folders with built kernels, searched first, separated as `PATH` is.
    pub kernels: Vec<PathBuf>,
    /// Where this user's caches are: `CUTILE_CACHE`, else `cutile` in the system's folder for caches. `None` where the system
    /// knows no home directory.
    pub cache: Option<PathBuf>,
}

impl Options {
    /// Reads the environment.
    pub fn from_env() -> Options {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let caches = if cfg!(windows) {
            variable("LOCALAPPDATA").map(PathBuf::from)
        } else if cfg!(target_os = "macos") {
            std::env::home_dir().map(|home| home.join("Library/Caches"))
        } else {
            variable("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        };
        Options {
            kernels: variable("CUTILE_KERNELS")
                .map(|list| std::env::split_paths(&list).collect())
                .unwrap_or_default(),
            cache: variable("CUTILE_CACHE")
                .map(PathBuf::from)
                .or_else(|| caches.map(|folder| folder.join("cutile"))),
        }
    }
}

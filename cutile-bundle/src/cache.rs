//! Folders that are made once and shared by every process of a user: kernels, and what the compiler needs to make them.
//!
//! A folder appears complete or not at all (it is filled under another name and renamed), and is filled by one process while
//! the others wait (a lock file beside it). Nothing here knows what is in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::options::Options;

/// A folder of caches.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// A cache that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The system knows no folder for caches.
    #[error("this user has no home directory: set CUTILE_CACHE to a folder for cutile's caches")]
    NoFolder,
    /// A file operation failed.
    #[error("could not {action} {}: {source} (CUTILE_CACHE chooses another folder)", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Io { action, path, source }
}

impl Cache {
    /// The cache of this user.
    pub fn of_user(options: &Options) -> Result<Cache, CacheError> {
        options.cache.clone().map(Cache::at).ok_or(CacheError::NoFolder)
    }

    /// The cache in this folder, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of this name (parts separated by `/`), if it was filled before.
    pub fn get(&self, name: &str) -> Option<PathBuf> {
        let path = self.root.join(name);
        path.is_dir().then_some(path)
    }

    /// The folder of this name, filled by `fill` if it is not there.
    ///
    /// `fill` gets an empty folder. When it fails, nothing stays behind.
    pub fn get_or_fill<E: From<CacheError>>(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if let Some(path) = self.get(name) {
            return Ok(path);
        }
        let path = self.root.join(name);
        let parent = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(on("create", parent))?;
        let lock_path = sibling(&path, "lock");
        let lock = File::create(&lock_path).map_err(on("create", &lock_path))?;
        lock.lock().map_err(on("lock", &lock_path))?;
        // Another process may have filled it while this one waited.
        if path.is_dir() {
            return Ok(path);
        }
        // A process that died here left this behind; the lock says that nobody is at it.
        let draft = sibling(&path, "draft");
        if draft.exists() {
            fs::remove_dir_all(&draft).map_err(on("remove", &draft))?;
        }
        fs::create_dir(&draft).map_err(on("create", &draft))?;
        if let Err(error) = fill(&draft) {
            let _ = fs::remove_dir_all(&draft); // the first error is the one to tell
            return Err(error);
        }
        fs::rename(&draft, &path).map_err(on("rename", &draft))?;
        Ok(path)
    }
}

/// `<path>.<suffix>`.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn write(folder: &Path) -> Result<(), CacheError> {
        fs::write(folder.join("file"), "x").map_err(on("write", folder))
    }

    #[test]
    fn fills_once_for_many_threads() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let filled = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let path = cache
                        .get_or_fill("core/a", |draft| {
                            filled.fetch_add(1, Ordering::Relaxed);
                            assert!(cache.get("core/a").is_none(), "visible before it is complete");
                            write(draft)
                        })
                        .unwrap();
                    assert!(path.join("file").is_file());
                });
            }
        });
        assert_eq!(filled.into_inner(), 1);
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_can_be_retried() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let failed = cache.get_or_fill("a", |draft| {
            write(draft)?;
            Err(CacheError::NoFolder)
        });
        assert!(failed.is_err() && cache.get("a").is_none());
        fs::create_dir(folder.path().join("a.draft")).unwrap(); // as a killed process leaves it
        assert!(cache.get_or_fill("a", write).unwrap().join("file").is_file());
    }

    #[test]
    fn errors_name_the_folder_and_the_way_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Cache::at(file.path()).get_or_fill("a/b", write).unwrap_err().to_string();
        assert!(error.contains("CUTILE_CACHE") && error.contains("create"), "{error}");
    }
}

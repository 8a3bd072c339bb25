//! Which compilers are on this machine, and which of them can build kernels.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::TRIPLE;
use crate::options::Options;

/// Older compilers lack flags that every kernel needs, or emit PTX that was never tried.
const OLDEST: (u32, u32) = (1, 95);

/// A compiler that can build kernels.
#[derive(Clone, Debug)]
pub(super) struct Rustc {
    pub(super) program: PathBuf,
    pub(super) version: RustcVersion,
    pub(super) provision: Provision,
}

/// What a compiler says of itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RustcVersion {
    /// `1.96.0`, `1.97.0-nightly`.
    pub release: String,
    /// The commit it was built from; empty where it does not say.
    pub commit: String,
    /// Version of its LLVM.
    pub llvm: String,
}

impl fmt::Display for RustcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {}", self.release)?;
        if let Some(commit) = self.commit.get(..9) {
            write!(f, " ({commit})")?;
        }
        write!(f, ", LLVM {}", self.llvm)
    }
}

/// Where `core` for kernels comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Provision {
    /// The compiler has it: the target is installed. Sources may be there too.
    Installed {
        /// Sources of its library.
        sources: Option<PathBuf>,
    },
    /// It is built from the compiler's own library sources.
    Sources(PathBuf),
}

impl Provision {
    /// The library's sources, if they are there.
    pub fn sources(&self) -> Option<&Path> {
        match self {
            Provision::Installed { sources } => sources.as_deref(),
            Provision::Sources(sources) => Some(sources),
        }
    }
}

/// A compiler that cannot build kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// The compiler.
    pub rustc: PathBuf,
    /// Why not.
    pub reason: String,
}

/// Why each compiler was rejected, for the end of a sentence.
pub(super) fn reasons(rejected: &[Rejected]) -> String {
    if rejected.is_empty() {
        return " There is no rustc at all.".to_owned();
    }
    rejected.iter().map(|r| format!("\n  {}: {}", r.rustc.display(), r.reason)).collect()
}

/// The best compiler of this machine, or why there is none.
///
/// Any with the target installed comes before one whose `core` has to be built; within each group the active one is first.
/// Files are looked at first, since a process costs more than all of them: the common case asks two questions in all.
pub(super) fn find(options: &Options) -> Result<Rustc, Vec<Rejected>> {
    let mut rejected = Vec::new();
    let mut usable = Vec::new();
    let mut seen = HashSet::new();
    for program in candidates(options) {
        match Candidate::of(&program) {
            Ok(candidate) if !seen.insert(candidate.sysroot.clone()) => {}
            Ok(candidate) if candidate.installed || candidate.sources.is_some() => {
                usable.push(candidate);
            }
            Ok(_) => rejected.push(Rejected {
                rustc: program,
                reason: format!(
                    "it has neither the target {TRIPLE} nor the sources of its library"
                ),
            }),
            Err(reason) => rejected.push(Rejected { rustc: program, reason }),
        }
    }
    usable.sort_by_key(|candidate| !candidate.installed);
    for candidate in usable {
        let program = candidate.program.clone();
        match candidate.check() {
            Ok(rustc) => return Ok(rustc),
            Err(reason) => rejected.push(Rejected { rustc: program, reason }),
        }
    }
    Err(rejected)
}

/// Compilers to look at: the one that the environment fixes, or the active one, rustup's others, the system's.
fn candidates(options: &Options) -> Vec<PathBuf> {
    if let Some(fixed) = &options.rustc {
        return vec![fixed.clone()];
    }
    let name = format!("rustc{}", std::env::consts::EXE_SUFFIX);
    let mut found: Vec<PathBuf> = options.program("rustc").into_iter().collect();
    if let Some(home) = &options.rustup_home
        && let Ok(toolchains) = std::fs::read_dir(home.join("toolchains"))
    {
        let mut others: Vec<PathBuf> =
            toolchains.flatten().map(|entry| entry.path().join("bin").join(&name)).collect();
        others.sort();
        found.extend(others);
    }
    // rustup's stand-in hides the system's compiler further down the path.
    found.extend(options.path.iter().map(|folder| folder.join(&name)));
    found.retain(|program| program.is_file());
    found
}

/// A compiler that was found, by its files alone.
struct Candidate {
    program: PathBuf,
    sysroot: PathBuf,
    /// It has `core` for the target.
    installed: bool,
    sources: Option<PathBuf>,
}

impl Candidate {
    fn of(program: &Path) -> Result<Candidate, String> {
        let own = program.parent().and_then(Path::parent);
        let (program, sysroot) = match own.filter(|root| root.join("lib/rustlib").is_dir()) {
            Some(root) => (program.to_owned(), root.to_owned()),
            // rustup's stand-in. The compiler behind it is called by its own path: kernels are compiled in a folder where the
            // stand-in might choose another.
            None => {
                let sysroot = PathBuf::from(ask(program, &["--print", "sysroot"])?.trim());
                let real = sysroot.join("bin").join(program.file_name().unwrap_or_default());
                (if real.is_file() { real } else { program.to_owned() }, sysroot)
            }
        };
        let sysroot = sysroot.canonicalize().unwrap_or(sysroot);
        let library = sysroot.join("lib/rustlib/src/rust/library").canonicalize().ok();
        Ok(Candidate {
            program,
            installed: has_core(&sysroot.join("lib/rustlib").join(TRIPLE).join("lib")),
            sources: library.filter(|library| library.join("core/src/lib.rs").is_file()),
            sysroot,
        })
    }

    /// Asks the compiler for its version, which must be new enough and that of the sources.
    fn check(self) -> Result<Rustc, String> {
        let version = parse_version(&ask(&self.program, &["-vV"])?)
            .ok_or_else(|| "its version is not of the usual form".to_owned())?;
        let release = &version.release;
        if release_number(release) < OLDEST {
            let (major, minor) = OLDEST;
            return Err(format!("{release} is older than {major}.{minor}"));
        }
        let sources = self.sources.filter(|sources| belong_to(sources, release));
        let provision = match (self.installed, sources) {
            (true, sources) => Provision::Installed { sources },
            (false, Some(sources)) => Provision::Sources(sources),
            (false, None) => return Err(format!("its library sources are not those of {release}")),
        };
        Ok(Rustc { program: self.program, version, provision })
    }
}

impl Rustc {
    /// A process of it with unstable features allowed.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("RUSTC_BOOTSTRAP", "1").stdin(Stdio::null());
        // What cargo says to its own compilers must not change a kernel.
        for variable in ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_LOG", "CARGO_ENCODED_RUSTFLAGS"] {
            command.env_remove(variable);
        }
        command
    }
}

fn ask(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("it does not run ({error})"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("it does not run: {}", said.lines().next().unwrap_or("no message")))
    }
}

/// Reads what `rustc -vV` prints.
fn parse_version(said: &str) -> Option<RustcVersion> {
    let field = |name: &str| {
        said.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    Some(RustcVersion {
        release: field("release:")?,
        commit: field("commit-hash:").filter(|hash| hash != "unknown").unwrap_or_default(),
        llvm: field("LLVM version:")?,
    })
}

/// (1, 96) of `1.96.0-nightly`; (0, 0) for what is no version.
fn release_number(release: &str) -> (u32, u32) {
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn has_core(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libcore-") && name.ends_with(".rlib")
        })
    })
}

/// Whether library sources are this version's, as far as their folder says. Debian keeps them in /usr/src/rustc-1.96.0: with two
/// versions installed the compiler's link may point to the other.
fn belong_to(library: &Path, release: &str) -> bool {
    library
        .components()
        .filter_map(|part| part.as_os_str().to_str()?.strip_prefix("rustc-"))
        .next_back()
        .is_none_or(|version| version == release)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\ncommit-hash: ac68faa20c58cbcc\n\
        host: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

    #[test]
    fn reads_a_version() {
        let version = parse_version(SAID).unwrap();
        assert_eq!(version.to_string(), "rustc 1.96.0 (ac68faa20), LLVM 22.1.8");
        assert_eq!(release_number("1.97.0-nightly"), (1, 97));
        assert!(parse_version("cargo 1.96.0").is_none());
        let unknown = SAID.replace("ac68faa20c58cbcc", "unknown");
        assert_eq!(parse_version(&unknown).unwrap().to_string(), "rustc 1.96.0, LLVM 22.1.8");
    }

    #[cfg(unix)]
    mod compilers {
        use super::*;
        use std::os::unix::fs::PermissionsExt;

        /// A stand-in for rustc: answers the two questions that are asked of it.
        fn fake(folder: &Path, release: &str) -> PathBuf {
            let program = folder.join("bin/rustc");
            std::fs::create_dir_all(folder.join("bin")).unwrap();
            let version = SAID.replace("release: 1.96.0", &format!("release: {release}"));
            let script = format!(
                "#!/bin/sh\ncase $1 in -vV) cat <<X\n{version}X\n;; *) echo {};; esac\n",
                folder.display()
            );
            std::fs::write(&program, script).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            program
        }

        fn touch(path: PathBuf) {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }

        fn options(folders: &[&Path]) -> Options {
            let path = folders.iter().map(|folder| folder.join("bin")).collect();
            Options { path, ..Options::default() }
        }

        #[test]
        fn an_installed_target_wins_over_sources() {
            let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            fake(a.path(), "1.96.0");
            fake(b.path(), "1.97.0-nightly");
            touch(a.path().join("lib/rustlib/src/rust/library/core/src/lib.rs"));
            let both = options(&[a.path(), b.path()]);
            let found = find(&both).unwrap();
            assert!(matches!(found.provision, Provision::Sources(_)));
            touch(b.path().join(format!("lib/rustlib/{TRIPLE}/lib/libcore-0.rlib")));
            let found = find(&both).unwrap();
            assert_eq!(found.version.release, "1.97.0-nightly");
            assert_eq!(found.provision, Provision::Installed { sources: None });
        }

        /// rustup's stand-in answers for a toolchain elsewhere; kernels must not depend on whom it chooses later.
        #[test]
        fn a_stand_in_is_replaced_by_the_compiler_behind_it() {
            let (stand_in, toolchain) =
                (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let real = fake(toolchain.path(), "1.96.0");
            touch(toolchain.path().join(format!("lib/rustlib/{TRIPLE}/lib/libcore-0.rlib")));
            std::fs::create_dir_all(stand_in.path().join("bin")).unwrap();
            std::fs::copy(&real, stand_in.path().join("bin/rustc")).unwrap();
            assert_eq!(find(&options(&[stand_in.path()])).unwrap().program, real);
        }

        #[test]
        fn each_rejected_compiler_has_its_reason() {
            let (old, bare) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            fake(old.path(), "1.63.0");
            touch(old.path().join("lib/rustlib/src/rust/library/core/src/lib.rs"));
            fake(bare.path(), "1.96.0");
            let rejected = find(&options(&[old.path(), bare.path()])).unwrap_err();
            let text = reasons(&rejected);
            assert!(text.contains("1.63.0 is older than 1.95"), "{text}");
            assert!(text.contains("neither the target nvptx64-nvidia-cuda nor"), "{text}");
            assert_eq!(find(&options(&[])).unwrap_err(), []);
        }

        #[test]
        fn sources_of_another_version_do_not_count() {
            let (root, sources) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            fake(root.path(), "1.96.0");
            touch(sources.path().join("rustc-1.85.0/library/core/src/lib.rs"));
            std::fs::create_dir_all(root.path().join("lib/rustlib/src")).unwrap();
            let link = root.path().join("lib/rustlib/src/rust");
            std::os::unix::fs::symlink(sources.path().join("rustc-1.85.0"), link).unwrap();
            let rejected = find(&options(&[root.path()])).unwrap_err();
            assert!(reasons(&rejected).contains("not those of 1.96.0"), "{rejected:?}");
        }
    }
}

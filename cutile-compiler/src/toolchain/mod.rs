//! Finds a rustc that emits PTX, with the `core` library for it, and `ptxas` where there is one.
//!
//! In this order: the active toolchain with the target installed; another toolchain of rustup with it; a rustc with the
//! sources of its own library, from which `core` is built once and cached. [`install`] adds what is missing.

pub mod install;
mod library;
mod nvidia;
mod rustc;

use std::path::{Path, PathBuf};
use std::process::Command;

use cutile_bundle::cache::{Cache, CacheError};
use cutile_bundle::manifest::Builder;
use cutile_bundle::options::Options as BundleOptions;

pub use nvidia::Tool;
pub use rustc::{Provision, Rejected, RustcVersion};

use crate::error::IoError;
use crate::options::Options;
use rustc::Rustc;

/// The compilation target of every kernel.
pub const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// How `core` is compiled for kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CoreFlavour {
    /// As rustup ships it: the reference. Panic paths stay calls.
    #[default]
    Plain,
    /// Every panic path is a trap on the spot; needs library sources. A second opinion in tests.
    Hardened,
}

impl CoreFlavour {
    /// How a kernel that uses this `core` treats panics: both must agree.
    pub(crate) fn panic_flags(self) -> &'static [&'static str] {
        match self {
            CoreFlavour::Plain => &["-Cpanic=abort"],
            CoreFlavour::Hardened => &["-Zunstable-options", "-Cpanic=immediate-abort"],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            CoreFlavour::Plain => "plain",
            CoreFlavour::Hardened => "hardened",
        }
    }
}

/// What turns generated Rust into PTX on this machine.
#[derive(Clone, Debug)]
pub struct Toolchain {
    rustc: Rustc,
    core: CoreFlavour,
    cache: Cache,
    ptxas: Option<PathBuf>,
}

/// One of NVIDIA's tools, if this machine has it.
pub fn tool(tool: Tool) -> Option<PathBuf> {
    let cache = Cache::of_user(&BundleOptions::from_env()).ok();
    tool.find(&Options::from_env(), cache.as_ref())
}

/// No compiler for kernels, or one that does not work.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// Nothing on this machine can emit PTX.
    #[error(
        "no Rust toolchain here can build GPU kernels.{}\nOne of these mends it:\n  \
         rustup target add {TRIPLE}\n  \
         apt-get install rustc-web rust-web-src    (Debian)\n\
         or let `cargo cutile doctor --install` do it",
        rustc::reasons(.rejected)
    )]
    NotFound {
        /// The compilers looked at, and why each will not do.
        rejected: Vec<Rejected>,
    },
    /// A hardened `core` was asked for, and this rustc has no library sources.
    #[error("{} has no library sources, which a hardened core is built from: `rustup component add rust-src`", rustc.display())]
    NoSources {
        /// The compiler.
        rustc: PathBuf,
    },
    /// `core` could not be built.
    #[error("{} could not build core from {}:\n{said}", rustc.display(), sources.display())]
    Core {
        /// The compiler.
        rustc: PathBuf,
        /// Its library sources.
        sources: PathBuf,
        /// Its messages.
        said: String,
    },
    /// A program that was to install something failed.
    #[error("`{command}` failed:\n{said}")]
    Install {
        /// The command.
        command: String,
        /// What it printed.
        said: String,
    },
    /// The user's cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file or program failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Toolchain {
    /// The toolchain of this machine, as it is.
    ///
    /// # Errors
    ///
    /// None can build kernels: the error says why each that is here cannot, and how to get one.
    pub fn find() -> Result<Toolchain, ToolchainError> {
        Toolchain::find_with(&Options::from_env(), &BundleOptions::from_env())
    }

    /// The same for an environment given as values.
    pub fn find_with(
        options: &Options,
        bundle: &BundleOptions,
    ) -> Result<Toolchain, ToolchainError> {
        let cache = Cache::of_user(bundle)?;
        let rustc =
            rustc::find(options).map_err(|rejected| ToolchainError::NotFound { rejected })?;
        let ptxas = Tool::Ptxas.find(options, Some(&cache));
        Ok(Toolchain { rustc, core: CoreFlavour::default(), cache, ptxas })
    }

    /// The toolchain of this machine; when there is none, after adding the target to the active toolchain of rustup.
    ///
    /// For builds and for compilation at run time: where rustup has no network this costs less than a second, and the
    /// error is [`Toolchain::find`]'s.
    pub fn find_or_add_target() -> Result<Toolchain, ToolchainError> {
        let options = Options::from_env();
        match Toolchain::find() {
            Err(ToolchainError::NotFound { rejected }) => match install::rustup_target(&options) {
                Ok(()) => Toolchain::find(),
                Err(_) => Err(ToolchainError::NotFound { rejected }),
            },
            found => found,
        }
    }

    /// The same toolchain with another flavour of `core`.
    pub fn with_core(self, core: CoreFlavour) -> Toolchain {
        Toolchain { core, ..self }
    }

    /// The flavour of `core` in use.
    pub fn core(&self) -> CoreFlavour {
        self.core
    }

    /// The compiler.
    pub fn rustc(&self) -> &Path {
        &self.rustc.program
    }

    /// The compiler's version: part of what a cached kernel depends on.
    pub fn version(&self) -> &RustcVersion {
        &self.rustc.version
    }

    /// All that its kernels depend on, for manifests and caches.
    pub fn builder(&self) -> Builder {
        let RustcVersion { release, commit, llvm } = self.version();
        let rustc = match commit.get(..9) {
            Some(commit) => format!("{release} ({commit})"),
            None => release.clone(),
        };
        let flags = crate::ptx::FLAGS.iter().chain(self.core.panic_flags());
        Builder {
            cutile: env!("CUTILE_COMPILER_FINGERPRINT").to_owned(),
            rustc,
            llvm: llvm.clone(),
            flags: flags.map(|flag| (*flag).to_owned()).collect(),
        }
    }

    /// Where its `core` comes from.
    pub fn provision(&self) -> &Provision {
        &self.rustc.provision
    }

    /// `ptxas`, if this machine has it.
    pub fn ptxas(&self) -> Option<&Path> {
        self.ptxas.as_deref()
    }

    /// A kernel compiler process, unstable features allowed in it and in no other.
    pub(crate) fn command(&self) -> Command {
        self.rustc.command()
    }

    /// The folder with the `core` that was built for it, if that has been done.
    pub fn built_library(&self) -> Option<PathBuf> {
        self.cache.get(&library::name(&self.rustc, self.core))
    }

    /// The folder to search for `core`; `None` where rustc has it itself. Builds it on first use, in about ten seconds.
    pub fn library(&self) -> Result<Option<PathBuf>, ToolchainError> {
        library::folder(&self.rustc, self.core, &self.cache)
    }
}

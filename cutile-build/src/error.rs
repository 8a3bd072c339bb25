//! What can go wrong around a build; errors of a kernel itself are the compiler's.

use std::io;
use std::path::{Path, PathBuf};

use cutile_bundle::artifacts::ArtifactError;
use cutile_bundle::bundle::BundleError;
use cutile_compiler::toolchain::ToolchainError;

/// A command that could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// cargo failed; it has said why.
    #[error("`{command}` failed")]
    Cargo {
        /// The command.
        command: String,
    },
    /// A program could not be run.
    #[error("could not run `{command}`: {source}")]
    Run {
        /// The command.
        command: String,
        /// The system's answer.
        source: io::Error,
    },
    /// cargo's answer is not of the usual form.
    #[error("`{command}` said something unexpected: {source}")]
    CargoSaid {
        /// The command.
        command: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A file operation failed.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A compiled program's kernels cannot be read.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// Built kernels cannot be read or written.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// No compiler for kernels.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The table of costs is not of its form.
    #[error("{}: `{line}` is not a line of this table; write it anew by `build-kernels --write-costs`", path.display())]
    Costs {
        /// The table.
        path: PathBuf,
        /// The line.
        line: String,
    },
    /// A folder to be made holds something else.
    #[error("{} is not empty and no bundle: name a new folder", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// No package of this name.
    #[error("{given}: cargo knows no such package here")]
    NoPackage {
        /// What was asked for.
        given: String,
    },
    /// No kernel of this name.
    #[error("there is no kernel `{given}`; there {known}")]
    NoKernel {
        /// The name that was given.
        given: String,
        /// Those there are, with the verb.
        known: String,
    },
    /// A specialisation does not suit a kernel.
    #[error("`{kernel}`: {message}")]
    Specialisation {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        message: String,
    },
    /// A kernel does not compile; all its errors, each with its line.
    #[error("{message}")]
    Kernel {
        /// The errors.
        message: String,
    },
}

impl BuildError {
    pub(crate) fn run(command: &str) -> impl FnOnce(io::Error) -> BuildError {
        let command = command.to_owned();
        move |source| BuildError::Run { command, source }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> BuildError {
        let path = path.as_ref().to_owned();
        move |source| BuildError::Io { action, path, source }
    }
}

/// For writing reports: the output is gone.
impl From<io::Error> for BuildError {
    fn from(source: io::Error) -> BuildError {
        BuildError::Io { action: "write", path: "the output".into(), source }
    }
}

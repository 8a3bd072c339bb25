//! Built cutile kernels: what the builder writes and the program finds again.
//!
//! - [`target`]: GPU architectures and PTX versions.
//! - [`abi`]: how a kernel is called.
//! - [`cache`]: folders made once and shared by processes.
//! - [`options`]: the environment.
//!
//! Must not be here: compiling (cutile-compiler), loading or launching (cutile-core), any driver.

pub mod abi;
#[cfg(feature = "artifacts")]
pub mod artifacts;
pub mod cache;
pub mod options;
pub mod target;

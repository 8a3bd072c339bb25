//! Built cutile kernels: what the builder writes and the program finds again.
//!
//! - [`target`]: GPU architectures and PTX versions.
//! - [`abi`]: how a kernel is called.
//! - [`key`]: what a kernel is found by.
//! - [`manifest`], [`bundle`]: built kernels in memory, in a folder, in one file.
//! - [`lookup`]: where a program finds its kernels, in order.
//! - [`cache`]: folders made once and shared by processes.
//! - [`record`]: what programs asked for.
//! - [`artifacts`] (feature): the kernels that a compiled program contains.
//! - [`options`]: the environment.
//!
//! Must not be here: compiling (cutile-compiler), loading or launching (cutile-core), any driver.

pub mod abi;
#[cfg(feature = "artifacts")]
pub mod artifacts;
pub mod bundle;
pub mod cache;
pub mod key;
pub mod lookup;
pub mod manifest;
pub mod options;
pub mod record;
pub mod target;

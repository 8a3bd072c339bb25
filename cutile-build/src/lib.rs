//! Finds a program's cutile kernels and builds them: the commands behind `cargo cutile` and `cargo xtask`.
//!
//! - [`commands`]: one file each.
//! - [`cargo`]: what to compile, and what cargo made of it.
//! - [`kernels`]: which kernels those programs hold, and under which specialisations.
//! - [`build`]: building them.
//! - [`costs`]: the checked-in table of what they cost.
//!
//! Must not be here: reading kernel source, compiling tile IR, launching.

pub mod build;
pub mod cargo;
pub mod commands;
pub mod costs;
pub mod error;
pub mod kernels;

pub use commands::Command;
pub use error::BuildError;

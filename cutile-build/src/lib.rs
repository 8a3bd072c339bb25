//! Finds a program's cutile kernels and builds them: the commands behind `cargo cutile` and `cargo xtask`.
//!
//! One file a command in [`commands`]. Must not be here: reading kernel source, compiling tile IR, launching.

pub mod commands;

pub use commands::Command;

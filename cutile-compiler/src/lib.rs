//! Tile IR to PTX through rustc, for cutile.
//!
//! - [`ptx`]: generated Rust to checked PTX.
//! - [`package()`]: a compiled kernel with its record.
//! - [`toolchain`]: finding or making the compiler for it.
//! - [`options`]: the environment.
//!
//! Must not be here: reading kernel source (cutile-frontend), launching (cutile-core).

pub mod error;
pub mod options;
pub mod package;
pub mod ptx;
pub mod toolchain;

pub use error::{CompileError, IoError};
pub use package::{CompiledKernel, Request, package};

//! Tile IR to PTX through rustc, for cutile.
//!
//! - [`ptx`]: generated Rust to checked PTX.
//! - [`toolchain`]: finding or making the compiler for it.
//! - [`options`]: the environment.
//!
//! Must not be here: reading kernel source (cutile-frontend), launching (cutile-core).

pub mod error;
pub mod options;
pub mod ptx;
pub mod toolchain;

pub use error::{CompileError, IoError};

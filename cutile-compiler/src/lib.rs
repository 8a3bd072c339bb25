//! Tile IR to PTX through rustc, for cutile.
//!
//! - [`compile`], [`stage()`]: a kernel to PTX, by the stages of `pipeline`.
//! - [`passes`]: tile IR to better tile IR.
//! - [`analysis`]: what is known of values.
//! - [`mapping`]: where tiles live: layouts, shared memory, pipelines.
//! - [`codegen`]: tile IR and mapping to readable SIMT Rust.
//! - [`ptx`]: generated Rust to checked PTX.
//! - [`package()`]: a compiled kernel with its record.
//! - [`toolchain`]: finding or making the compiler for it.
//! - [`options`]: the environment.
//!
//! Must not be here: reading kernel source (cutile-frontend), launching (cutile-core).

pub mod analysis;
pub mod codegen;
pub mod error;
pub mod mapping;
pub mod options;
pub mod package;
pub mod passes;
mod pipeline;
pub mod ptx;
pub mod toolchain;

pub use error::{CompileError, IoError};
pub use package::{CompiledKernel, Request, package};
pub use pipeline::{Stage, compile, stage};

//! Tensors, launches and the kernel vocabulary of cutile.
//!
//! - [`core`]: the vocabulary of kernels, types only.
//! - [`Tensor`], [`Partition`], [`api`]: device memory with a type and a shape.
//! - [`launch`](mod@launch): what the launchers that the macro writes are made of.
//! - `backend`: how a launch runs on a kind of device.

pub mod api;
mod backend;
mod config;
pub mod dsl;
pub mod error;
mod host;
#[cfg(feature = "jit")]
mod jit;
pub mod launch;
mod loader;
pub mod prelude;

/// Devices, streams, operations, scheduling.
pub use cuda_async;
pub use dsl as core;
pub use error::{LaunchError, LaunchReason, MissingKernel, TensorError};
pub use host::{
    CopyTo, DType, HostElement, HostFloat, HostNumber, IntoPartition, IntoShape, MAX_RANK,
    Partition, PartitionTarget, Partitioned, ReadTensor, Shape, SharedTensor, Tensor,
    TensorOperation, ToHostVec, Unpartitioned,
};

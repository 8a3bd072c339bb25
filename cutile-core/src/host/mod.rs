//! Tensors as host code sees them: element types, shapes, partitions, copies, and how they enter operations.
//!
//! - `element`, `shape`, `random`: no device is involved.
//! - `tensor`, `partition`: device memory with a type and a shape.
//! - `read`, `transfer`: copies to the host and between devices.
//! - `shared`: tensors behind an `Arc`.
//! - `declared`: tensors in operations made with `with_context`.
//! - `operation`: what operations that yield tensors can do.
//!
//! Kernels and launches are in `launch/`.

mod declared;
mod element;
mod operation;
mod partition;
pub(crate) mod random;
mod read;
mod shape;
mod shared;
mod tensor;
mod transfer;

pub use element::{DType, HostElement, HostFloat, HostNumber};
pub use operation::{IntoPartition, Partitioned, TensorOperation, Unpartitioned};
pub(crate) use partition::grid;
pub use partition::{Partition, PartitionTarget};
pub(crate) use read::Read;
pub use read::{ReadTensor, ToHostVec};
pub(crate) use shape::Layout;
pub use shape::{IntoShape, MAX_RANK, Shape};
pub use shared::SharedTensor;
pub(crate) use tensor::RawTensor;
pub use tensor::Tensor;
pub use transfer::CopyTo;

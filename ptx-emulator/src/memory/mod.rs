//! The memories of the device: global memory with its allocations, a block's shared memory, and the map of addresses.

pub(crate) mod address;
mod global;
pub(crate) mod shared;

pub(crate) use global::{Allocation, Snapshot};
pub use global::{Memory, MemoryError};

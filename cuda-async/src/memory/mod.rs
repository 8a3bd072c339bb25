//! Device memory and staging memory: who uses it, when it can be freed.
//!
//! - `buffer`: [`Buffer`], device memory by reference count, freed in stream order.
//! - `declared`: what can be declared as read or written.
//! - `track`: which stream last wrote and read a buffer.
//! - `poison`: whether its contents are defined.
//! - `staging`: pooled pinned host memory for copies.
//!
//! No element types and no shapes: bytes only.

mod buffer;
mod declared;
mod poison;
mod staging;
mod track;

pub(crate) use buffer::Access;
pub use buffer::Buffer;
pub use declared::{Readable, Writable};
pub(crate) use poison::Poison;
pub(crate) use staging::{Staging, StagingPool};
pub(crate) use track::AccessKind;

//! The kernel vocabulary as types: what `use cutile::core::*;` brings into a kernel module.
//!
//! `#[cutile::module]` emits a copy of each function in which shapes are types, and rustc checks that copy against the
//! declarations here. The copy is never run, and neither is anything here: a kernel's meaning is its tile IR. So this
//! folder holds names, types and documentation, and no behaviour. Host-side tensors live elsewhere in the crate.

pub mod element;
pub mod ops;
pub mod scalar;
pub mod shape;
pub mod tensor;
pub mod tile;

pub use element::{
    Element, Element as ElementType, Float, Integer, Number, bf16, f8e4m3, f8e5m2, f16, tf32,
};
pub use ops::*;
pub use scalar::Scalar;
pub use shape::{Array, Dim, Shape, ShapeType};
pub use tensor::{
    PartitionView, PartitionView as Partition, PartitionViewMut, PartitionViewMut as PartitionMut,
    Tensor,
};
pub use tile::Tile;

/// The body of every vocabulary item: reached only when host code calls what belongs in a kernel.
#[cold]
pub(crate) fn kernel_only() -> ! {
    panic!(
        "an item of `cutile::core` was called on the host: it has a meaning inside `#[cutile::module]` only"
    )
}

//! The kernel vocabulary: what `use cutile::core::*;` brings into a kernel module.
//!
//! | family | functions |
//! | --- | --- |
//! | the program | [`get_tile_block_id`], [`tile_block_id`], [`program_id`], [`get_num_tile_blocks`], [`num_programs`], `assert!` |
//! | memory | [`Tensor::load`], [`Tensor::store`], [`Tensor::partition`], [`PartitionView::load`], [`PartitionView::load_padded`], [`load_tile`], [`load_tile_like`], [`load_tile_mut`], [`store_tile`], [`num_tiles`] |
//! | creation | [`full`], [`constant`], [`broadcast_scalar`], [`zeros`], [`ones`], [`iota`] |
//! | shape | [`reshape`], [`broadcast`], [`permute`], [`transpose`], [`tile_to_scalar`], `const_shape!` |
//! | arithmetic | operators; [`Tile::map`], [`min`], [`max`], [`minimum`], [`maximum`], [`fma`], [`pow`], [`div_floor`], [`div_ceil`], [`rem_euclid`], [`abs`] |
//! | math | [`exp`], [`exp2`], [`log`], [`log2`], [`sqrt`], [`rsqrt`], [`tanh`], [`sin`], [`cos`], [`erf`], [`sigmoid`], [`floor`], [`ceil`], [`round`], [`round_even`], [`trunc`] |
//! | comparison | operators; [`select`], [`is_nan`], [`is_inf`] |
//! | conversion | [`convert`], [`bitcast`]; `as` for scalars |
//! | reduction | [`reduce_sum`], [`reduce_prod`], [`reduce_max`], [`reduce_min`], [`reduce_maximum`], [`reduce_minimum`], [`reduce_argmax`], [`reduce_argmin`], [`reduce_any`], [`reduce_all`] |
//! | matrices | [`mma`] |
//!
//! Names that end in `_tile`, `_scalar` or `i` (`eq_tile`, `andi`) are those of cuTile for Rust; they do what the operator does.
//!
//! Rules that all share: integer arithmetic wraps, and division by zero is a fault; floats follow IEEE-754, f16 and bf16 round
//! once an operation; of a ragged tile only the valid elements take part. Operands have one type, or one is a scalar of the
//! tile's element: there is no silent broadcasting and no silent conversion.
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

//! Loads and stores of whole tiles. The methods of tensors and views do the same and more.
//!
//! A tile at the edge of a tensor is ragged: its elements outside are invalid, take no part in reductions, and are never stored.
//! A tile index outside the tensor is a fault, unless the load says with what to fill (`load_padded`).
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn shifted<const N: i32>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
//!         let tiles = x.partition(const_shape![N]);
//!         let next = tiles.load_padded([program_id(0) + 1], 0.0);
//!         store_tile(load_tile_like_1d(x, y) + next, y);
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let x = api::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], [5]);
//! let (_, y) = kernels::shifted(x, api::zeros::<f32>([5]).partition([2])).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [4.0, 6.0, 8.0, 4.0, 5.0]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;
use crate::dsl::{
    element::Element,
    shape::{Cuts, Dim, Shape, ShapeType},
    tensor::{PartitionView, Tensor},
    tile::Tile,
};

vocabulary! {
    /// The tile of `x` at this program's position, of the shape of this program's sub-tensor of `y`. Ragged at the edge of
    /// `x`. The tensors have equal rank; their element types may differ.
    fn load_tile_like[T: Element, U: Element, X: ShapeType, S: Cuts<X>](
        x: &Tensor<T, X>,
        y: &Tensor<U, S>,
    ) -> Tile<T, S>;
    /// As [`load_tile_like`], for tensors of rank 1.
    fn load_tile_like_1d[T: Element, U: Element, X: Dim, A: Dim](x: &Tensor<T, (X,)>, y: &Tensor<U, (A,)>) -> Tile<T, (A,)>;
    /// As [`load_tile_like`], for tensors of rank 2.
    fn load_tile_like_2d[T: Element, U: Element, X: Dim, Y: Dim, A: Dim, B: Dim](
        x: &Tensor<T, (X, Y)>,
        y: &Tensor<U, (A, B)>,
    ) -> Tile<T, (A, B)>;
    /// As [`load_tile_like`], for tensors of rank 3.
    fn load_tile_like_3d[T: Element, U: Element, X: Dim, Y: Dim, Z: Dim, A: Dim, B: Dim, D: Dim](
        x: &Tensor<T, (X, Y, Z)>,
        y: &Tensor<U, (A, B, D)>,
    ) -> Tile<T, (A, B, D)>;
    /// As [`load_tile_like`], for tensors of rank 4.
    fn load_tile_like_4d[T: Element, U: Element, W: Dim, X: Dim, Y: Dim, Z: Dim, A: Dim, B: Dim, D: Dim, E: Dim](
        x: &Tensor<T, (W, X, Y, Z)>,
        y: &Tensor<U, (A, B, D, E)>,
    ) -> Tile<T, (A, B, D, E)>;
    /// This program's sub-tensor of `y`.
    fn load_tile_mut[T: Element, S: ShapeType](y: &mut Tensor<T, S>) -> Tile<T, S>;
    /// Writes this program's sub-tensor of `y`; elements outside the tensor are left out.
    fn store_tile[T: Element, S: ShapeType](tile: Tile<T, S>, y: &mut Tensor<T, S>);
    /// The tile of `x` of the given shape at a tile index. An index outside the tensor is a fault.
    fn load_tile[T: Element, X: ShapeType, P: Cuts<X>](
        x: &Tensor<T, X>,
        shape: Shape<P>,
        index: P::Index,
    ) -> Tile<T, P>;
    /// The number of tiles of a view along an axis, a ragged one counted.
    fn num_tiles[T: Element, P: ShapeType](view: &PartitionView<'_, T, P>, axis: i32) -> i32;
}

//! The same elements in another shape. Tiles have these as methods, too.
//!
//! A reshape keeps the row-major order and the number of elements; a broadcast keeps the rank and repeats axes of extent 1; a
//! permutation names each axis once.
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn outer<const M: i32, const N: i32>(
//!         a: &Tensor<f32, { [M] }>,
//!         b: &Tensor<f32, { [N] }>,
//!         y: &mut Tensor<f32, { [N, M] }>,
//!     ) {
//!         let rows = a.load().reshape(const_shape![M, 1]).broadcast(const_shape![M, N]);
//!         let columns = b.load().reshape(const_shape![1, N]).broadcast(const_shape![M, N]);
//!         y.store(transpose(rows * columns));
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let (a, b) = (api::from_slice(&[1.0f32, 2.0], [2]), api::from_slice(&[1.0f32, 10.0], [2]));
//! let (_, _, y) = kernels::outer(a, b, api::zeros::<f32>([2, 2]).partition([2, 2])).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [1.0, 2.0, 10.0, 20.0]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;
use crate::dsl::{
    element::Element,
    shape::{Array, BroadcastTo, Dim, Permute, Shape, ShapeType},
    tile::Tile,
};

vocabulary! {
    /// The same elements in row-major order under another shape of equal size.
    fn reshape[T: Element, S: ShapeType, P: ShapeType](x: Tile<T, S>, shape: Shape<P>) -> Tile<T, P>;
    /// Repeats the axes of extent 1 to the extents of `shape`, which has the same rank.
    fn broadcast[T: Element, S: ShapeType + BroadcastTo<P>, P: ShapeType](x: Tile<T, S>, shape: Shape<P>) -> Tile<T, P>;
    /// The axes in another order: axis `i` of the result is axis `order[i]` of `x`.
    fn permute[T: Element, S: Permute<P>, P](x: Tile<T, S>, order: Array<P>) -> Tile<T, S::Out>;
    /// The transposed matrix.
    fn transpose[T: Element, M: Dim, N: Dim](x: Tile<T, (M, N)>) -> Tile<T, (N, M)>;
    /// The one element of a tile that has one.
    fn tile_to_scalar[T: Element, S: ShapeType](x: Tile<T, S>) -> T;
}

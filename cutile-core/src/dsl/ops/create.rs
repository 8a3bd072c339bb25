//! Tiles from nothing. The shape is known before the launch: `const_shape![..]`, or the shape of a tile or of a `&mut Tensor`.
//! Where the element type doesn't follow from the value, it follows from what the tile is used for.
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn ramp<const N: i32>(first: f32, y: &mut Tensor<f32, { [N] }>) {
//!         let steps: Tile<i32, { [N] }> = iota(const_shape![N]);
//!         let steps: Tile<f32, { [N] }> = convert(steps);
//!         y.store(broadcast_scalar(first, y.shape()) + steps * full(0.5, y.shape()));
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let (_, y) = kernels::ramp(1.0, api::zeros::<f32>([4]).partition([4])).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [1.0, 1.5, 2.0, 2.5]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;
use crate::dsl::{
    element::{Element, Integer},
    shape::{Dim, Shape, ShapeType},
    tile::Tile,
};

vocabulary! {
    /// A tile of `shape` with `value` in every element.
    fn full[T: Element, S: ShapeType](value: T, shape: Shape<S>) -> Tile<T, S>;

    /// As [`full`]; the name for a value that is a literal.
    fn constant[T: Element, S: ShapeType](value: T, shape: Shape<S>) -> Tile<T, S>;

    /// As [`full`]; the name for a scalar parameter.
    fn broadcast_scalar[T: Element, S: ShapeType](value: T, shape: Shape<S>) -> Tile<T, S>;

    /// A tile of zeros; of bool, of `false`.
    fn zeros[T: Element, S: ShapeType](shape: Shape<S>) -> Tile<T, S>;

    /// A tile of ones; of bool, of `true`.
    fn ones[T: Element, S: ShapeType](shape: Shape<S>) -> Tile<T, S>;

    /// The integers 0, 1, 2, ... as a tile of rank 1.
    fn iota[T: Integer, N: Dim](shape: Shape<(N,)>) -> Tile<T, (N,)>;
}

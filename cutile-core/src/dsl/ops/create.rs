//! Tiles from nothing.

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

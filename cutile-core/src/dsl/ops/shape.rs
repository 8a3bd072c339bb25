//! The same elements in another shape. Tiles have these as methods, too.

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

//! [`Tensor`] and its views as a kernel sees them. Host tensors are another type.

use std::marker::PhantomData;

use super::{
    element::Element,
    kernel_only,
    shape::{Cuts, Shape, ShapeType},
    tile::Tile,
};

/// A tensor parameter. `&Tensor` is the whole tensor; `&mut Tensor` is the sub-tensor of shape `S` that belongs to this program.
#[derive(Debug)]
pub struct Tensor<T, S>(PhantomData<(T, S)>);

/// A tensor cut into tiles of shape `P`, to be loaded by tile index.
#[derive(Debug)]
pub struct PartitionView<'a, T, P>(PhantomData<&'a (T, P)>);

impl<T, P> Clone for PartitionView<'_, T, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, P> Copy for PartitionView<'_, T, P> {}

/// This program's sub-tensor cut into tiles of shape `P`, to be loaded and stored by tile index.
#[derive(Debug)]
pub struct PartitionViewMut<'a, T, P>(PhantomData<&'a mut (T, P)>);

impl<T: Element, S: ShapeType> Tensor<T, S> {
    /// The shape: `shape()[0]` is an extent, also where it is known at launch only.
    pub fn shape(&self) -> Shape<S> {
        kernel_only()
    }

    /// This program's sub-tensor as a tile. On a `&Tensor` the shape must be known: no `-1`.
    pub fn load(&self) -> Tile<T, S> {
        kernel_only()
    }

    /// Writes this program's sub-tensor.
    pub fn store(&mut self, tile: Tile<T, S>) {
        let _ = tile;
        kernel_only()
    }

    /// The tensor cut into tiles of `shape`; the last ones may be ragged.
    pub fn partition<P: Cuts<S>>(&self, shape: Shape<P>) -> PartitionView<'_, T, P> {
        let _ = shape;
        kernel_only()
    }

    /// This program's sub-tensor cut into tiles of `shape`, which divides it. Tiles of the last, ragged sub-tensor may lie
    /// outside the tensor, where using one is a fault: compare with the whole extent first, as in
    /// `if program_id(0) * BM + i < x.shape()[0]`.
    pub fn partition_mut<P: Cuts<S>>(&mut self, shape: Shape<P>) -> PartitionViewMut<'_, T, P> {
        let _ = shape;
        kernel_only()
    }

    /// The tile of shape `P` at tile index `index`.
    pub fn load_tile<P: Cuts<S>>(&self, shape: Shape<P>, index: P::Index) -> Tile<T, P> {
        let _ = (shape, index);
        kernel_only()
    }
}

impl<T: Element, P: ShapeType> PartitionView<'_, T, P> {
    /// The tile at `index`. An index outside the tensor is a fault; a ragged tile has fewer valid elements.
    pub fn load(&self, index: P::Index) -> Tile<T, P> {
        let _ = index;
        kernel_only()
    }

    /// The tile at `index`, with `value` where the tensor ends. An index outside the tensor gives a tile of `value`.
    pub fn load_padded(&self, index: P::Index, value: T) -> Tile<T, P> {
        let _ = (index, value);
        kernel_only()
    }

    /// The number of tiles along each axis is `grid()[axis]`.
    pub fn grid(&self) -> P::Index {
        kernel_only()
    }
}

impl<T: Element, P: ShapeType> PartitionViewMut<'_, T, P> {
    /// The tile at `index`. An index outside the sub-tensor, or outside the tensor, is a fault.
    pub fn load(&self, index: P::Index) -> Tile<T, P> {
        let _ = index;
        kernel_only()
    }

    /// Writes the tile at `index`; elements outside the tensor are left out. An index outside the sub-tensor, or outside
    /// the tensor, is a fault.
    pub fn store(&mut self, index: P::Index, tile: Tile<T, P>) {
        let _ = (index, tile);
        kernel_only()
    }
}

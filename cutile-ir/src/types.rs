//! Types of values: scalars, tiles, tensors, partition views.

use crate::dim::{Dim, Shape};
use crate::element::{Element, ElementType};

/// The highest rank of a tile or a tensor.
pub const MAX_RANK: usize = 6;

/// The type of a [`Value`](crate::Value).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One element, the same for the whole tile program.
    Scalar(ElementType),
    /// A block of elements, with a valid length for each axis.
    Tile(TileType),
    /// A tensor parameter of the kernel, in device memory.
    Tensor(TensorType),
    /// A tensor cut into tiles of one shape.
    View(ViewType),
}

/// A tile: every extent is at least 1; rank 0 is a tile of one element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileType {
    /// The element type.
    pub element: ElementType,
    /// The extents.
    pub shape: Shape,
}

/// A tensor: an extent is a [`Dim`] where the author fixed it, `None` where it is known at launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type.
    pub element: ElementType,
    /// The extents, `None` for `-1` in the source.
    pub extents: smallvec::SmallVec<[Option<Dim>; 3]>,
}

/// A tensor seen as a grid of tiles; its rank is the tensor's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ViewType {
    /// The element type.
    pub element: ElementType,
    /// The shape of one tile.
    pub shape: Shape,
}

impl Type {
    /// A scalar type.
    pub fn scalar(element: impl Into<ElementType>) -> Type {
        Type::Scalar(element.into())
    }

    /// A tile type.
    pub fn tile(element: impl Into<ElementType>, shape: impl IntoIterator<Item = Dim>) -> Type {
        Type::Tile(TileType { element: element.into(), shape: shape.into_iter().collect() })
    }

    /// A view type.
    pub fn view(element: impl Into<ElementType>, shape: impl IntoIterator<Item = Dim>) -> Type {
        Type::View(ViewType { element: element.into(), shape: shape.into_iter().collect() })
    }

    /// A tensor type.
    pub fn tensor(
        element: impl Into<ElementType>,
        extents: impl IntoIterator<Item = Option<Dim>>,
    ) -> Type {
        Type::Tensor(TensorType { element: element.into(), extents: extents.into_iter().collect() })
    }

    /// The element type.
    pub fn element(&self) -> ElementType {
        match self {
            Type::Scalar(e) => *e,
            Type::Tile(t) => t.element,
            Type::Tensor(t) => t.element,
            Type::View(t) => t.element,
        }
    }

    /// The same type over another element.
    pub fn with_element(&self, element: ElementType) -> Type {
        let mut t = self.clone();
        match &mut t {
            Type::Scalar(e) => *e = element,
            Type::Tile(t) => t.element = element,
            Type::Tensor(t) => t.element = element,
            Type::View(t) => t.element = element,
        }
        t
    }

    /// Rank; 0 for scalars.
    pub fn rank(&self) -> usize {
        match self {
            Type::Scalar(_) => 0,
            Type::Tile(t) => t.shape.len(),
            Type::Tensor(t) => t.extents.len(),
            Type::View(t) => t.shape.len(),
        }
    }

    /// The tile type, if it is one.
    pub fn as_tile(&self) -> Option<&TileType> {
        match self {
            Type::Tile(t) => Some(t),
            _ => None,
        }
    }

    /// The view type, if it is one.
    pub fn as_view(&self) -> Option<&ViewType> {
        match self {
            Type::View(t) => Some(t),
            _ => None,
        }
    }

    /// The tensor type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// A scalar of exactly that known element.
    pub fn is_scalar(&self, element: Element) -> bool {
        matches!(self, Type::Scalar(ElementType::Known(e)) if *e == element)
    }
}

impl TileType {
    /// The extents of specialised IR.
    ///
    /// # Panics
    /// On a symbolic extent, which `specialise` leaves nowhere.
    pub fn numbers(&self) -> smallvec::SmallVec<[usize; 3]> {
        self.shape.iter().map(|d| d.expect() as usize).collect()
    }
}

impl ViewType {
    /// The tile that a load of this view gives.
    pub fn tile(&self) -> TileType {
        TileType { element: self.element, shape: self.shape.clone() }
    }
}

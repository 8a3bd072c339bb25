//! The types of the language, as inference sees them. How they become types of the IR: [`Ty::flatten`].

use cutile_ir::{Dim, Element, ElementType, Shape, Type};

/// An element type, perhaps not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum El {
    /// Known, or a type parameter.
    Is(ElementType),
    /// To be inferred.
    Var(u32),
}

impl El {
    /// The element type `element`.
    pub const fn known(element: Element) -> El {
        El::Is(ElementType::Known(element))
    }

    /// Exactly `element`.
    pub fn is(self, element: Element) -> bool {
        self == El::known(element)
    }
}

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    /// Of `return`, `break`, `continue`, and of a block that ends in one.
    Never,
    /// Reported already; goes with anything.
    Error,
    /// To be inferred.
    Var(u32),
    /// One element.
    Scalar(El),
    /// A tile.
    Tile(El, Shape),
    /// A tensor parameter; `None` is an extent known at launch.
    Tensor {
        /// `&mut`.
        mutable: bool,
        /// The element type.
        element: El,
        /// The extents.
        extents: Vec<Option<Dim>>,
    },
    /// A view.
    View {
        /// Of a `&mut` tensor's sub-tensor.
        mutable: bool,
        /// The element type.
        element: El,
        /// The shape of one tile.
        shape: Shape,
    },
    /// A shape as a value; `None` is an extent known at launch.
    Shape(Vec<Option<Dim>>),
    /// An order of axes as a value.
    Order(Vec<u32>),
    /// A tuple; `()` is empty.
    Tuple(Vec<Ty>),
    /// An array.
    Array(Box<Ty>, usize),
}

impl Ty {
    /// `()`.
    pub const fn unit() -> Ty {
        Ty::Tuple(Vec::new())
    }

    /// A scalar of a known element.
    pub const fn scalar(element: Element) -> Ty {
        Ty::Scalar(El::known(element))
    }

    /// `i32`.
    pub const fn i32() -> Ty {
        Ty::scalar(Element::I32)
    }

    /// `bool`.
    pub const fn bool() -> Ty {
        Ty::scalar(Element::Bool)
    }

    /// The element type of scalars, tiles, tensors and views.
    pub fn element(&self) -> Option<El> {
        match self {
            Ty::Scalar(e)
            | Ty::Tile(e, _)
            | Ty::Tensor { element: e, .. }
            | Ty::View { element: e, .. } => Some(*e),
            _ => None,
        }
    }

    /// The same scalar or tile over another element.
    pub fn with_element(&self, element: El) -> Ty {
        match self {
            Ty::Scalar(_) => Ty::Scalar(element),
            Ty::Tile(_, shape) => Ty::Tile(element, shape.clone()),
            other => other.clone(),
        }
    }

    /// A scalar or a tile.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Ty::Scalar(_) | Ty::Tile(..))
    }

    /// Known to the last part.
    pub fn is_known(&self) -> bool {
        match self {
            Ty::Error | Ty::Var(_) => false,
            Ty::Tuple(list) => list.iter().all(Ty::is_known),
            Ty::Array(t, _) => t.is_known(),
            other => !matches!(other.element(), Some(El::Var(_))),
        }
    }

    /// Made of scalars and tiles alone: what a branch can choose and a variable can be assigned.
    pub fn is_value(&self) -> bool {
        match self {
            Ty::Tuple(list) => list.iter().all(Ty::is_value),
            Ty::Array(t, _) => t.is_value(),
            Ty::Tensor { .. } | Ty::View { .. } | Ty::Shape(_) | Ty::Order(_) => false,
            Ty::Never | Ty::Error | Ty::Var(_) | Ty::Scalar(_) | Ty::Tile(..) => true,
        }
    }

    /// The IR types of a value of this type, tuples and arrays taken apart; shapes and orders have none. The type is
    /// fully inferred.
    pub fn flatten(&self, out: &mut Vec<Type>) {
        match self {
            Ty::Scalar(El::Is(e)) => out.push(Type::Scalar(*e)),
            Ty::Tile(El::Is(e), shape) => out.push(Type::tile(*e, shape.iter().cloned())),
            Ty::Tensor { element: El::Is(e), extents, .. } => {
                out.push(Type::tensor(*e, extents.iter().cloned()))
            }
            Ty::View { element: El::Is(e), shape, .. } => {
                out.push(Type::view(*e, shape.iter().cloned()))
            }
            Ty::Tuple(list) => list.iter().for_each(|t| t.flatten(out)),
            Ty::Array(ty, n) => (0..*n).for_each(|_| ty.flatten(out)),
            _ => {}
        }
    }
}

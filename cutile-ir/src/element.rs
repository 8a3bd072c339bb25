//! Element types of tiles, tensors and scalars. Nothing here knows shapes or operations.

use std::fmt;

/// What one element of a tile, a tensor or a scalar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the variants are the field's own names")]
pub enum Element {
    F64,
    F32,
    F16,
    BF16,
    /// 32 bits in memory, 10 bits of mantissa in `mma`; no arithmetic.
    TF32,
    F8E4M3,
    F8E5M2,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    /// One byte in memory: 0 or 1.
    Bool,
}

/// How an element type computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementClass {
    /// IEEE-like floating point, of any width.
    Float,
    /// Two's complement.
    Signed,
    /// Unsigned.
    Unsigned,
    /// Truth values.
    Bool,
}

impl Element {
    /// Every element type, in declaration order.
    pub const ALL: [Element; 16] = {
        use Element::*;
        [F64, F32, F16, BF16, TF32, F8E4M3, F8E5M2, I8, I16, I32, I64, U8, U16, U32, U64, Bool]
    };

    /// The name in source and in the text form (`f32`, `bf16`, `f8e4m3`, ...).
    pub const fn name(self) -> &'static str {
        match self {
            Element::F64 => "f64",
            Element::F32 => "f32",
            Element::F16 => "f16",
            Element::BF16 => "bf16",
            Element::TF32 => "tf32",
            Element::F8E4M3 => "f8e4m3",
            Element::F8E5M2 => "f8e5m2",
            Element::I8 => "i8",
            Element::I16 => "i16",
            Element::I32 => "i32",
            Element::I64 => "i64",
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::U64 => "u64",
            Element::Bool => "bool",
        }
    }

    /// The element type of that name.
    pub fn from_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|e| e.name() == name)
    }

    /// Bytes that one element takes in memory.
    pub const fn bytes(self) -> usize {
        match self {
            Element::F64 | Element::I64 | Element::U64 => 8,
            Element::F32 | Element::TF32 | Element::I32 | Element::U32 => 4,
            Element::F16 | Element::BF16 | Element::I16 | Element::U16 => 2,
            Element::F8E4M3 | Element::F8E5M2 | Element::I8 | Element::U8 | Element::Bool => 1,
        }
    }

    /// Bits that one element takes in memory.
    pub const fn bits(self) -> usize {
        self.bytes() * 8
    }

    /// How the type computes.
    pub const fn class(self) -> ElementClass {
        match self {
            Element::F64
            | Element::F32
            | Element::F16
            | Element::BF16
            | Element::TF32
            | Element::F8E4M3
            | Element::F8E5M2 => ElementClass::Float,
            Element::I8 | Element::I16 | Element::I32 | Element::I64 => ElementClass::Signed,
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => ElementClass::Unsigned,
            Element::Bool => ElementClass::Bool,
        }
    }

    /// A floating-point type of any width.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), ElementClass::Float)
    }

    /// A signed or unsigned integer (`bool` is not one).
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), ElementClass::Signed | ElementClass::Unsigned)
    }

    /// Has arithmetic; fp8 and tf32 only convert, load, store and enter `mma`.
    pub const fn has_arithmetic(self) -> bool {
        !matches!(self, Element::TF32 | Element::F8E4M3 | Element::F8E5M2 | Element::Bool)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type parameter of a function, by position in [`Function::type_params`](crate::Function).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeParam(pub u32);

/// An element type that may still be a parameter; after `specialise` it is always known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Fixed by the source.
    Known(Element),
    /// Fixed by the launch or by the caller.
    Param(TypeParam),
}

impl ElementType {
    /// The element, once it is known.
    pub fn known(self) -> Option<Element> {
        match self {
            ElementType::Known(e) => Some(e),
            ElementType::Param(_) => None,
        }
    }

    /// The element of specialised IR.
    ///
    /// # Panics
    /// On a type parameter, which `specialise` leaves nowhere.
    pub fn expect(self) -> Element {
        self.known().expect("specialised IR has no type parameters")
    }
}

impl From<Element> for ElementType {
    fn from(e: Element) -> Self {
        ElementType::Known(e)
    }
}

//! Traits that let one function name serve scalars and tiles. No functions here: those are in `ops`.

use super::{
    element::{Element, Float, Integer, Number, bf16, f16},
    shape::ShapeType,
    tile::Tile,
};

/// A scalar or a tile: what elementwise functions take and give.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a scalar nor a tile",
    label = "expected a scalar or a tile"
)]
pub trait Scalar: Copy {
    /// The element type.
    type Element: Element;
    /// The same with bool elements: what a comparison gives.
    type Bool;
    /// The same with i32 elements.
    type Int;
    /// The same with elements of another type.
    type With<U: Element>;
}

macro_rules! scalars {
    ($($t:ty),*) => { $(
        impl Scalar for $t {
            type Element = $t;
            type Bool = bool;
            type Int = i32;
            type With<U: Element> = U;
        }

        #[diagnostic::do_not_recommend]
        impl Operand<$t> for $t {}
    )* };
}
scalars!(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool);

impl<T: Element, S: ShapeType> Scalar for Tile<T, S> {
    type Element = T;
    type Bool = Tile<bool, S>;
    type Int = Tile<i32, S>;
    type With<U: Element> = Tile<U, S>;
}

/// The right side of an operation on a `V`: a `V`, or one element if `V` is a tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` doesn't go with `{V}`",
    label = "neither the same type nor one element of it",
    note = "shapes must be equal: reshape and broadcast it first, as in `m.reshape(const_shape![BM, 1]).broadcast(t.shape())`",
    note = "element types must be equal: convert it first, with `convert`; a number is written `f16::from_f32(2.0)` for f16"
)]
pub trait Operand<V> {}

#[diagnostic::do_not_recommend]
impl<T: Element, S: ShapeType> Operand<Tile<T, S>> for Tile<T, S> {}

#[diagnostic::do_not_recommend]
impl<T: Element, S: ShapeType> Operand<Tile<T, S>> for T {}

/// A float or a tile of floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a float nor a tile of floats",
    label = "expected floats"
)]
pub trait FloatValue: Scalar {}

/// An integer or a tile of integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an integer nor a tile of integers",
    label = "expected integers"
)]
pub trait IntegerValue: Scalar {}

/// A number or a tile of numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a number nor a tile of numbers",
    label = "expected numbers"
)]
pub trait NumberValue: Scalar {}

macro_rules! groups {
    ($value:ident $element:ident: $($t:ty),*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl $value for $t {}
        )*
        #[diagnostic::do_not_recommend]
        impl<T: $element, S: ShapeType> $value for Tile<T, S> {}
    };
}
groups!(FloatValue Float: f16, bf16, f32, f64);
groups!(IntegerValue Integer: i8, i16, i32, i64, u8, u16, u32, u64);
groups!(NumberValue Number: f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

//! Element types and the traits that group them. Host storage of these types is not decided here.

use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

pub use half::{bf16, f16};

use super::{
    ops::Compare,
    scalar::{FloatValue, IntegerValue, NumberValue, Operand, Scalar},
};

/// A 19-bit float (8-bit exponent, 10-bit mantissa) held in 32 bits: an operand type of [`mma`](super::mma).
#[allow(non_camel_case_types, reason = "element types are spelled like Rust's primitive types")]
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct tf32(f32);

impl tf32 {
    /// Keeps the bits of `value`; the conversion that rounds is [`convert`](super::convert), in a kernel.
    pub const fn from_f32_bits(value: f32) -> Self {
        Self(value)
    }

    /// The value as f32 (exact).
    pub const fn to_f32(self) -> f32 {
        self.0
    }
}

macro_rules! eight_bit_float {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "element types are spelled like Rust's primitive types")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The value with this bit pattern.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bit pattern.
            pub const fn to_bits(self) -> u8 {
                self.0
            }
        }
    };
}

eight_bit_float!(
    /// The 8-bit float with 4 exponent and 3 mantissa bits, no infinities, largest finite value 448.
    f8e4m3
);
eight_bit_float!(
    /// The 8-bit float with 5 exponent and 2 mantissa bits, largest finite value 57344.
    f8e5m2
);

/// What a tile or a tensor can hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    label = "not an element type",
    note = "element types are f64 f32 f16 bf16 tf32 f8e4m3 f8e5m2 i8 i16 i32 i64 u8 u16 u32 u64 bool"
)]
pub trait Element: Copy + Send + Sync + 'static {}

/// Elements with arithmetic: every integer, and f16, bf16, f32, f64.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic",
    label = "needs an integer, f16, bf16, f32 or f64"
)]
pub trait Number:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + RemAssign
    + Compare<Self, Out = bool>
    + Scalar<Element = Self, Bool = bool, Int = i32>
    + Operand<Self>
    + NumberValue
{
}

/// Floats with arithmetic: f16, bf16, f32, f64.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a float",
    label = "needs f16, bf16, f32 or f64"
)]
pub trait Float: Number + FloatValue + Neg<Output = Self> {}

/// Signed and unsigned integers.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an integer", label = "needs an integer")]
pub trait Integer: Number + IntegerValue {}

macro_rules! elements {
    ($group:ident: $($t:ty),*) => { $(
        impl Element for $t {}
        #[diagnostic::do_not_recommend]
        impl Number for $t {}
        #[diagnostic::do_not_recommend]
        impl $group for $t {}
    )* };
}
elements!(Float: f16, bf16, f32, f64);
elements!(Integer: i8, i16, i32, i64, u8, u16, u32, u64);
impl Element for bool {}
impl Element for tf32 {}
impl Element for f8e4m3 {}
impl Element for f8e5m2 {}

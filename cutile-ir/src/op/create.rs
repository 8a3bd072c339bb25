//! Values from nothing: constants, const parameters, counters, splats.

use super::declare_ops;
use super::field::Field;
use crate::dim::Dim;
use crate::module::Value;
use crate::parse::{ParseError, Parser};
use crate::print::Printer;

/// A constant, exact: floats are kept by their 64 bits, so that -0.0, infinities and NaN survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// An integer of any width up to 64 bits.
    Int(i128),
    /// A float as the bits of an `f64`; f32 and narrower literals are represented exactly.
    Float(u64),
}

impl Literal {
    /// A float literal.
    pub fn float(v: f64) -> Literal {
        Literal::Float(v.to_bits())
    }

    /// The float's value.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Literal::Float(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }
}

impl Field for Literal {
    fn print(&self, p: &mut Printer<'_>) {
        p.literal(*self);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.literal()
    }
}

declare_ops! {
    /// Values from nothing.
    CreateOp {
        /// A constant: a scalar, or a tile with that value in every element. Fully valid.
        Constant = "constant" {
            /// The value; it must suit the result's element type.
            value: Literal,
        },
        /// A number known before the launch, as a scalar of an integer type or of bool (not zero).
        Dim = "dim" {
            /// The number.
            dim: Dim,
        },
        /// A rank-1 tile of integers that counts 0, 1, 2, ... Fully valid.
        Iota = "iota" {},
        /// A tile with the scalar in every element. Fully valid.
        Splat = "splat" {
            /// The scalar.
            scalar: Value,
        },
    }
}

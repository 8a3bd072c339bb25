//! Elementwise arithmetic on scalars and on tiles. Both operands have the same type; a scalar is
//! splatted first. Valid lengths: the minimum over the tile operands, axis by axis.

use super::declare_ops;
use super::field::Attribute;
use crate::element::ElementClass;
use crate::module::Value;

macro_rules! words {
    ($(#[$m:meta])* $name:ident, $what:literal { $( $(#[$vm:meta])* $v:ident = $w:literal ),* $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$vm])* $v ),* }
        impl Attribute for $name {
            const WORDS: &'static [(Self, &'static str)] = &[$(($name::$v, $w)),*];
            const WHAT: &'static str = $what;
        }
    };
}
pub(super) use words;

words! {
    /// Operators of one operand. Math functions of f16 and bf16 compute in f32 and round once.
    UnaryOp, "unary operator" {
        /// Negation; wraps for integers.
        Neg = "neg",
        /// Logical not of bool, bitwise not of integers.
        Not = "not",
        /// Absolute value; wraps at the minimum of signed integers.
        Abs = "abs",
        /// e^x.
        Exp = "exp",
        /// 2^x.
        Exp2 = "exp2",
        /// Natural logarithm.
        Log = "log",
        /// Logarithm to base 2.
        Log2 = "log2",
        /// Square root, correctly rounded.
        Sqrt = "sqrt",
        /// 1 / sqrt(x).
        Rsqrt = "rsqrt",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Sine of radians.
        Sin = "sin",
        /// Cosine of radians.
        Cos = "cos",
        /// The error function.
        Erf = "erf",
        /// 1 / (1 + e^-x).
        Sigmoid = "sigmoid",
        /// Toward minus infinity.
        Floor = "floor",
        /// Toward plus infinity.
        Ceil = "ceil",
        /// To the nearest integer, halves away from zero.
        Round = "round",
        /// To the nearest integer, halves to even.
        RoundEven = "round_even",
        /// Toward zero.
        Trunc = "trunc",
        /// Is a NaN; the result is bool.
        IsNan = "is_nan",
        /// Is an infinity; the result is bool.
        IsInf = "is_inf",
    }
}

impl UnaryOp {
    /// The result is bool whatever the operand is.
    pub const fn gives_bool(self) -> bool {
        matches!(self, UnaryOp::IsNan | UnaryOp::IsInf)
    }

    /// Takes elements of this class.
    pub const fn takes(self, class: ElementClass) -> bool {
        match self {
            UnaryOp::Neg => matches!(class, ElementClass::Float | ElementClass::Signed),
            UnaryOp::Not => !matches!(class, ElementClass::Float),
            UnaryOp::Abs => matches!(class, ElementClass::Float | ElementClass::Signed),
            _ => matches!(class, ElementClass::Float),
        }
    }
}

words! {
    /// Operators of two operands of one type. Integer arithmetic wraps.
    BinaryOp, "binary operator" {
        /// Sum.
        Add = "add",
        /// Difference.
        Sub = "sub",
        /// Product.
        Mul = "mul",
        /// Quotient: IEEE for floats, truncating for integers (a zero divisor or MIN / -1 faults).
        Div = "div",
        /// Remainder with the dividend's sign.
        Rem = "rem",
        /// Integer quotient rounded toward minus infinity.
        DivFloor = "div_floor",
        /// Integer quotient rounded toward plus infinity.
        DivCeil = "div_ceil",
        /// Euclidean remainder: never negative.
        RemEuclid = "rem_euclid",
        /// The smaller; ignores NaN, and -0.0 is smaller than 0.0.
        Min = "min",
        /// The larger; ignores NaN, and 0.0 is larger than -0.0.
        Max = "max",
        /// The smaller; NaN if either is.
        Minimum = "minimum",
        /// The larger; NaN if either is.
        Maximum = "maximum",
        /// x^y.
        Pow = "pow",
        /// Bitwise and; logical for bool.
        And = "and",
        /// Bitwise or; logical for bool.
        Or = "or",
        /// Bitwise exclusive or; logical for bool.
        Xor = "xor",
        /// Shift left; the amount is masked by the width.
        Shl = "shl",
        /// Shift right, arithmetic for signed types; the amount is masked by the width.
        Shr = "shr",
    }
}

impl BinaryOp {
    /// Integer division and remainder fault on a zero divisor (and MIN / -1).
    pub const fn may_fault(self) -> bool {
        matches!(
            self,
            BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::DivFloor
                | BinaryOp::DivCeil
                | BinaryOp::RemEuclid
        )
    }

    /// Takes elements of this class.
    pub const fn takes(self, class: ElementClass) -> bool {
        use BinaryOp::*;
        match self {
            Add | Sub | Mul | Div | Rem | Min | Max => !matches!(class, ElementClass::Bool),
            Minimum | Maximum | Pow => matches!(class, ElementClass::Float),
            And | Or | Xor => !matches!(class, ElementClass::Float),
            DivFloor | DivCeil | RemEuclid | Shl | Shr => {
                matches!(class, ElementClass::Signed | ElementClass::Unsigned)
            }
        }
    }
}

words! {
    /// Comparisons; IEEE for NaN. The result is bool.
    CompareOp, "comparison" {
        /// Equal; false for NaN.
        Eq = "eq",
        /// Not equal; true for NaN.
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
    }
}

declare_ops! {
    /// Elementwise arithmetic.
    ArithOp {
        /// An operator of one operand.
        Unary = "unary" {
            /// The operator.
            op: UnaryOp,
            /// The operand.
            x: Value,
        },
        /// An operator of two operands.
        Binary = "binary" {
            /// The operator.
            op: BinaryOp,
            /// The left operand.
            lhs: Value,
            /// The right operand.
            rhs: Value,
        },
        /// A comparison: bool, of the operands' shape.
        Compare = "compare" {
            /// The comparison.
            op: CompareOp,
            /// The left operand.
            lhs: Value,
            /// The right operand.
            rhs: Value,
        },
        /// `on_true` where the condition holds, `on_false` elsewhere; all three of one shape.
        Select = "select" {
            /// bool.
            cond: Value,
            /// Where it holds.
            on_true: Value,
            /// Elsewhere.
            on_false: Value,
        },
        /// a * b + c, rounded once. Floats only.
        Fma = "fma" {
            /// Factor.
            a: Value,
            /// Factor.
            b: Value,
            /// Addend.
            c: Value,
        },
        /// To the result's element type: float to integer saturates and NaN gives 0, to a narrower
        /// float rounds to nearest even (fp8 saturates), integer narrowing wraps, bool is 0 or 1.
        Convert = "convert" {
            /// The operand.
            x: Value,
        },
        /// The same bits as another element type of the same width.
        Bitcast = "bitcast" {
            /// The operand.
            x: Value,
        },
    }
}

//! Reductions along an axis and matrix products.

use super::arith::words;
use super::declare_ops;
use super::field::{Attribute, Axis};
use crate::module::Value;

words! {
    /// How a reduction combines. Only valid lanes take part; none gives the identity.
    ReduceKind, "reduction" {
        /// Sum, from 0; f16 and bf16 accumulate in f32.
        Sum = "sum",
        /// Product, from 1; f16 and bf16 accumulate in f32.
        Prod = "prod",
        /// Largest, from -inf (or the type's minimum); ignores NaN.
        Max = "max",
        /// Smallest, from +inf (or the type's maximum); ignores NaN.
        Min = "min",
        /// Largest; NaN if any is.
        Maximum = "maximum",
        /// Smallest; NaN if any is.
        Minimum = "minimum",
        /// i32 index of the largest, the lowest on ties, NaN skipped; 0 if all are NaN or none is valid.
        ArgMax = "argmax",
        /// i32 index of the smallest, the lowest on ties, NaN skipped; 0 if all are NaN or none is valid.
        ArgMin = "argmin",
        /// Whether any holds. bool only.
        Any = "any",
        /// Whether all hold. bool only.
        All = "all",
    }
}

declare_ops! {
    /// Reductions.
    ReduceOp {
        /// Reduces one axis, which the result drops.
        Reduce = "reduce" {
            /// How.
            kind: ReduceKind,
            /// The axis.
            axis: Axis,
            /// The tile.
            x: Value,
        },
    }
}

declare_ops! {
    /// Matrix products.
    MatrixOp {
        /// a * b + acc for a [M, K], b [K, N], acc [M, N]. Lanes invalid along K count as zero. f32
        /// operands multiply in f32; f16 and bf16 products are exact and accumulate in f32.
        Mma = "mma" {
            /// [M, K].
            a: Value,
            /// [K, N].
            b: Value,
            /// [M, N].
            acc: Value,
        },
    }
}

//! The same elements in another shape.

use super::declare_ops;
use super::field::Axes;
use crate::module::Value;

declare_ops! {
    /// The same elements in another shape.
    ShapeOp {
        /// Row-major order kept, element count equal. An axis that is kept one to one keeps its valid
        /// length, and an axis of extent 1 that appears is full. Axes that are merged or split have no
        /// rectangular image: their invalid lanes become 0 and the axes that they make are full.
        Reshape = "reshape" {
            /// The tile.
            x: Value,
        },
        /// Axes of extent 1 repeated to the result's shape, rank kept. The valid length of a
        /// repeated axis is full.
        Broadcast = "broadcast" {
            /// The tile.
            x: Value,
        },
        /// Axes in another order: result axis i is operand axis `order[i]`.
        Permute = "permute" {
            /// The order.
            order: Axes,
            /// The tile.
            x: Value,
        },
        /// The element of a tile that has one.
        ToScalar = "to_scalar" {
            /// A tile of one element.
            x: Value,
        },
    }
}

//! Tensors in device memory: extents, partition views, loads and stores of tiles.

use super::declare_ops;
use super::field::{Axis, Field};
use crate::module::Value;
use crate::parse::{ParseError, Parser};
use crate::print::Printer;

/// What a load gives for lanes outside the tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Padding {
    /// They are invalid: valid lengths are clipped at the edge. A tile index outside the grid of
    /// tiles is a fault.
    Clip,
    /// They hold this scalar and are valid; any tile index is legal.
    Fill(Value),
}

impl Field for Padding {
    fn print(&self, p: &mut Printer<'_>) {
        match self {
            Padding::Clip => p.text("clip"),
            Padding::Fill(v) => {
                p.text("fill ");
                p.value(*v);
            }
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.here();
        match p.word()? {
            "clip" => Ok(Padding::Clip),
            "fill" => Ok(Padding::Fill(p.value_use()?)),
            w => {
                Err(ParseError::at(at, format!("`{w}` is not a padding: `clip` or `fill %value`")))
            }
        }
    }

    fn walk(&self, w: &mut dyn super::Walk) {
        if let Padding::Fill(v) = self {
            w.value(*v);
        }
    }

    fn walk_mut(&mut self, w: &mut dyn super::WalkMut) {
        if let Padding::Fill(v) = self {
            w.value(v);
        }
    }
}

declare_ops! {
    /// Tensors in device memory.
    MemoryOp {
        /// A tensor's extent along an axis, as i32.
        Extent = "extent" {
            /// The tensor.
            tensor: Value,
            /// The axis.
            axis: Axis,
        },
        /// A tensor cut into tiles of the result's shape, the last ones ragged.
        Partition = "partition" {
            /// The tensor.
            tensor: Value,
        },
        /// The number of tiles along an axis, the ragged one counted, as i32.
        TileCount = "tile_count" {
            /// The view.
            view: Value,
            /// The axis.
            axis: Axis,
        },
        /// The tile at an index, one integer an axis, in tiles.
        Load = "load" {
            /// The view.
            view: Value,
            /// The tile index.
            index: Vec<Value>,
            /// Lanes outside the tensor.
            padding: Padding,
        },
        /// Writes the lanes of a tile that are valid and inside the tensor. A tile index outside
        /// the grid of tiles is a fault.
        Store = "store" {
            /// The tile.
            tile: Value,
            /// The view, of a tensor that the kernel may write.
            view: Value,
            /// The tile index.
            index: Vec<Value>,
        },
    }
}

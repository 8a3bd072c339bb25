//! Which tile indices are proved to be inside a view, so that their check can be left out.

use cutile_ir::op::{ControlOp, CreateOp, Literal, MemoryOp, OpKind, ProgramOp};
use cutile_ir::{Function, ParamRole, Value};
use std::collections::HashMap;

/// What bounds a scalar.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Constant(i128),
    /// The program's position along a grid axis.
    Program(u32),
    /// The number of tiles of a tensor along an axis, for tiles of this extent.
    Tiles {
        tensor: Value,
        axis: usize,
        extent: i64,
    },
    /// Counts from one value up to another, excluded.
    Counter {
        lower: Value,
        upper: Value,
    },
}

/// Bounds of the scalars of a function.
#[derive(Clone, Debug)]
pub struct Ranges {
    bounds: HashMap<Value, Bound>,
}

impl Ranges {
    /// Analyses a function.
    pub fn of(f: &Function) -> Ranges {
        let mut bounds = HashMap::new();
        let mut views = HashMap::new();
        f.body.for_each_op(&mut |op| {
            let result = op.results.first().copied();
            match (&op.kind, result) {
                (OpKind::Create(CreateOp::Constant { value: Literal::Int(n) }), Some(r)) => {
                    bounds.insert(r, Bound::Constant(*n));
                }
                (OpKind::Program(ProgramOp::Id { axis }), Some(r)) => {
                    bounds.insert(r, Bound::Program(*axis));
                }
                (OpKind::Memory(MemoryOp::Partition { tensor }), Some(r)) => {
                    views.insert(r, *tensor);
                }
                (OpKind::Memory(MemoryOp::TileCount { view, axis }), Some(r)) => {
                    let shape = f.ty(*view).as_view().map(|v| v.shape[*axis as usize].expect());
                    if let (Some(tensor), Some(extent)) = (views.get(view), shape) {
                        let axis = *axis as usize;
                        bounds.insert(r, Bound::Tiles { tensor: *tensor, axis, extent });
                    }
                }
                (OpKind::Control(ControlOp::For { lower, upper, body, .. }), _) => {
                    bounds.insert(body.params[0], Bound::Counter { lower: *lower, upper: *upper });
                }
                _ => {}
            }
        });
        Ranges { bounds }
    }

    /// The value of a scalar, if it is a constant.
    pub fn constant(&self, v: Value) -> Option<i128> {
        match self.bounds.get(&v) {
            Some(Bound::Constant(n)) => Some(*n),
            _ => None,
        }
    }

    /// Whether an index along an axis of a tensor cut into tiles of `extent` is always that of a tile.
    pub fn proves(
        &self,
        f: &Function,
        tensor: Value,
        axis: usize,
        extent: i64,
        index: Value,
    ) -> bool {
        let count = f
            .ty(tensor)
            .as_tensor()
            .and_then(|t| t.extents[axis].as_ref()?.known())
            .map(|e| i128::from(e).div_euclid(extent.into()) + i128::from(e % extent != 0));
        match self.bounds.get(&index) {
            Some(Bound::Constant(n)) => *n >= 0 && count.is_some_and(|c| *n < c),
            Some(Bound::Program(of)) => {
                *of as usize == axis && partitioned(f, tensor, axis, extent)
            }
            Some(Bound::Counter { lower, upper }) => {
                self.constant(*lower).is_some_and(|n| n >= 0)
                    && match self.bounds.get(upper) {
                        Some(Bound::Constant(n)) => count.is_some_and(|c| *n <= c),
                        Some(Bound::Tiles { tensor: t, axis: a, extent: e }) => {
                            (*t, *a, *e) == (tensor, axis, extent)
                        }
                        _ => false,
                    }
            }
            _ => false,
        }
    }
}

/// The launch gives each tile of a partitioned parameter one program: its position is the index of its tile.
fn partitioned(f: &Function, tensor: Value, axis: usize, extent: i64) -> bool {
    f.params.iter().any(|p| {
        p.value == tensor
            && matches!(&p.role, ParamRole::Partitioned { tile } if tile[axis].expect() == extent)
    })
}

//! Which tiles may be ragged: for each axis whether the valid length can be less than the extent.
//!
//! Forward over the operations; loops are walked until nothing changes, which it does in as many rounds as there are axes
//! of carried tiles at most, since an axis only ever turns from full to ragged.

use cutile_ir::op::{ControlOp, MatrixOp, MemoryOp, OpKind, Padding, ReduceOp, ShapeOp};
use cutile_ir::{Block, Function, Op, Value};
use smallvec::SmallVec;

type Axes = SmallVec<[bool; 4]>;

/// By value, by axis: may be ragged.
#[derive(Clone, Debug)]
pub struct Ragged {
    axes: Vec<Axes>,
}

impl Ragged {
    /// Analyses a function.
    pub fn of(f: &Function) -> Ragged {
        let axes = f.values.iter().map(|v| SmallVec::from_elem(false, v.ty.rank())).collect();
        let mut r = Ragged { axes };
        let mut sources = vec![None; f.values.len()];
        f.body.for_each_op(&mut |op| {
            if let (OpKind::Memory(MemoryOp::Partition { tensor }), [view]) =
                (&op.kind, &op.results[..])
            {
                sources[view.0 as usize] = Some(*tensor);
            }
        });
        while r.block(f, &sources, &f.body) {}
        r
    }

    /// Whether a tile may be ragged along an axis.
    pub fn is(&self, v: Value, axis: usize) -> bool {
        self.axes[v.0 as usize][axis]
    }

    fn get(&self, v: Value) -> Axes {
        self.axes[v.0 as usize].clone()
    }

    /// Marks axes; whether any is new.
    fn mark(&mut self, v: Value, axes: &[bool]) -> bool {
        let mut new = false;
        for (have, add) in self.axes[v.0 as usize].iter_mut().zip(axes) {
            new |= *add && !*have;
            *have |= *add;
        }
        new
    }

    fn mark_all(&mut self, to: &[Value], from: &[Value]) -> bool {
        to.iter().zip(from).fold(false, |new, (t, f)| {
            let axes = self.get(*f);
            self.mark(*t, &axes) | new
        })
    }

    fn block(&mut self, f: &Function, sources: &[Option<Value>], b: &Block) -> bool {
        b.ops.iter().fold(false, |new, op| self.op(f, sources, op) | new)
    }

    fn op(&mut self, f: &Function, sources: &[Option<Value>], op: &Op) -> bool {
        let mut new = false;
        op.kind.for_each_block(|b| new |= self.block(f, sources, b));
        if let OpKind::Control(kind) = &op.kind {
            return new | self.control(op, kind);
        }
        let Some(&r) = op.results.first() else { return new };
        let Some(tile) = f.ty(r).as_tile() else { return new };
        let axes: Axes = match &op.kind {
            OpKind::Arith(_) => self.arith(f, op, tile.shape.len()),
            OpKind::Memory(MemoryOp::Load { view, padding: Padding::Clip, .. }) => {
                let tensor = sources[view.0 as usize].and_then(|t| f.ty(t).as_tensor());
                let extents = tensor.map(|t| t.extents.iter());
                let extents =
                    extents.into_iter().flatten().map(|e| e.as_ref().and_then(|d| d.known()));
                extents
                    .zip(&tile.shape)
                    .map(|(extent, t)| {
                        t.expect() != 1 && extent.is_none_or(|e| e % t.expect() != 0)
                    })
                    .collect()
            }
            OpKind::Shape(kind) => self.shape(f, kind, r),
            OpKind::Reduce(ReduceOp::Reduce { axis, x, .. }) => {
                let mut axes = self.get(*x);
                axes.remove(*axis as usize);
                axes
            }
            OpKind::Matrix(MatrixOp::Mma { a, b, acc }) => {
                let mut axes = self.get(*acc);
                axes[0] |= self.is(*a, 0);
                axes[1] |= self.is(*b, 1);
                axes
            }
            _ => return new,
        };
        self.mark(r, &axes) | new
    }

    fn arith(&self, f: &Function, op: &Op, rank: usize) -> Axes {
        let mut axes: Axes = SmallVec::from_elem(false, rank);
        for v in op.kind.operands().into_iter().filter(|v| f.ty(*v).as_tile().is_some()) {
            axes.iter_mut().zip(&self.axes[v.0 as usize]).for_each(|(a, b)| *a |= b);
        }
        axes
    }

    fn shape(&self, f: &Function, kind: &ShapeOp, r: Value) -> Axes {
        match kind {
            ShapeOp::Permute { order, x } => {
                order.iter().map(|a| self.is(*x, *a as usize)).collect()
            }
            ShapeOp::Broadcast { x } => {
                let (from, to) = (f.ty(*x).as_tile(), f.ty(r).as_tile());
                let same = from
                    .into_iter()
                    .flat_map(|t| &t.shape)
                    .zip(to.into_iter().flat_map(|t| &t.shape));
                same.enumerate().map(|(i, (a, b))| a == b && self.is(*x, i)).collect()
            }
            ShapeOp::Reshape { x } => {
                let wide =
                    |v: Value| f.ty(v).as_tile().map(|t| t.numbers().to_vec()).unwrap_or_default();
                let kept = kept_axes(&wide(*x), &wide(r));
                (0..wide(r).len())
                    .map(|i| {
                        kept.as_ref().is_some_and(|k| k[i].is_some_and(|from| self.is(*x, from)))
                    })
                    .collect()
            }
            ShapeOp::ToScalar { .. } => SmallVec::new(),
        }
    }

    fn control(&mut self, op: &Op, kind: &ControlOp) -> bool {
        match kind {
            ControlOp::For { init, body, .. } => {
                self.mark_all(&body.params[1..], init)
                    | self.mark_all(&body.params[1..], &body.yields)
                    | self.mark_all(&op.results, &body.params[1..])
            }
            ControlOp::While { init, cond, body } => {
                self.mark_all(&cond.params, init)
                    | self.mark_all(&cond.params, &body.yields)
                    | self.mark_all(&body.params, &cond.params)
                    | self.mark_all(&op.results, &cond.params)
            }
            ControlOp::If { on_true, on_false, .. } => {
                self.mark_all(&op.results, &on_true.yields)
                    | self.mark_all(&op.results, &on_false.yields)
            }
            ControlOp::Call { .. } => false,
        }
    }
}

/// For each axis of the new shape the old axis that it is, where a reshape only puts in or takes out axes of extent 1;
/// `None` where it merges or splits.
pub fn kept_axes(from: &[usize], to: &[usize]) -> Option<Vec<Option<usize>>> {
    let wide: Vec<usize> = (0..from.len()).filter(|i| from[*i] != 1).collect();
    if !wide.iter().map(|i| from[*i]).eq(to.iter().copied().filter(|n| *n != 1)) {
        return None;
    }
    let mut next = wide.into_iter();
    Some(to.iter().map(|n| if *n == 1 { None } else { next.next() }).collect())
}

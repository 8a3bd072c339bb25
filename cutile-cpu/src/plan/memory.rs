//! Loads, stores and what is known of tensors. A load reads nothing by itself: it finds its tile, which
//! then stands for the tensor's memory, as long as no store may come between.

use super::group::Pending;
use super::lower::{Lower, Lowered, Rep, full};
use super::*;
use cutile_ir::op::{MemoryOp, Padding};
use cutile_ir::{Block, Op, OpKind, Type, Value};

impl Lower<'_> {
    pub(super) fn memory(
        &mut self,
        block: &Block,
        at: usize,
        op: &Op,
        k: &MemoryOp,
    ) -> Lowered<()> {
        match k {
            MemoryOp::Extent { tensor, axis } => {
                let tensor = self.tensor(op, *tensor)?;
                self.query(op, Query::Extent { tensor, axis: *axis as usize });
            }
            MemoryOp::Partition { tensor } => {
                let tensor = self.tensor(op, *tensor)?;
                let tile = self.dims(op.results[0]);
                self.define(op.results[0], Rep::View { tensor, tile });
            }
            MemoryOp::TileCount { view, axis } => {
                let (tensor, tile) = self.view(op, *view)?;
                let axis = *axis as usize;
                self.query(op, Query::TileCount { tensor, axis, tile: tile[axis] });
            }
            MemoryOp::Load { view, index, padding: Padding::Clip } => {
                self.flush_if(|p| p.has_stores() || p.has_checks())?;
                let access = self.access(op, *view, index, "load")?;
                let root = Root::Memory(access.site, access.tensor, access.tile.clone());
                let map = identity(access.tile.len());
                let tile = Tile { root, map, valid: access.valid.clone() };
                self.emit(Instr::Locate(access));
                let result = op.results[0];
                self.define(result, Rep::Tile(tile));
                if !deferrable(block, at, result) {
                    self.keep(op, result)?;
                }
            }
            MemoryOp::Load { view, index, padding: Padding::Fill(value) } => {
                self.flush_if(Pending::has_stores)?;
                let access = self.access(op, *view, index, "load")?;
                let Rep::Scalar(fill) = self.rep(op, *value)? else {
                    return self.refuse(op, "the padding is not a scalar");
                };
                let result = op.results[0];
                let dst = self.new_buffer(result);
                let shape = access.tile.clone();
                self.emit(Instr::LoadPadded { access: Box::new(access), fill, dst });
                self.buffers.touch(dst);
                let valid = full(shape.len());
                self.define(result, Rep::Tile(Tile::whole(dst, &shape, valid)));
            }
            MemoryOp::Store { tile, view, index } => {
                self.flush_if(Pending::has_checks)?;
                let access = self.access(op, *view, index, "store")?;
                self.store(op, *tile, access)?;
            }
        }
        Ok(())
    }

    pub(super) fn query(&mut self, op: &Op, what: Query) {
        let dst = self.new_slot();
        self.emit(Instr::Query { what, dst, loc: op.loc });
        self.define(op.results[0], Rep::Scalar(dst));
    }

    fn tensor(&self, op: &Op, v: Value) -> Lowered<usize> {
        match self.rep(op, v)? {
            Rep::Tensor(t) => Ok(t),
            _ => self.refuse(op, "the operand is not a tensor"),
        }
    }

    fn view(&self, op: &Op, v: Value) -> Lowered<(usize, Dims)> {
        match self.rep(op, v)? {
            Rep::View { tensor, tile } => Ok((tensor, tile)),
            _ => self.refuse(op, "the operand is not a view"),
        }
    }

    /// A load or a store, with new cells for the lengths that only the launch tells.
    fn access(
        &mut self,
        op: &Op,
        view: Value,
        index: &[Value],
        what: &'static str,
    ) -> Lowered<Access> {
        let (tensor, tile) = self.view(op, view)?;
        let mut slots = SmallVec::new();
        for v in index {
            match self.rep(op, *v)? {
                Rep::Scalar(s) => slots.push((s, self.element(*v))),
                _ => return self.refuse(op, "an index is not a scalar"),
            }
        }
        let extents = match self.f.ty(self.f.params[tensor].value) {
            Type::Tensor(t) => t.extents.clone(),
            _ => return self.refuse(op, "the parameter is not a tensor"),
        };
        let valid = (tile.iter().zip(&extents))
            .map(|(tile, extent)| {
                let known = extent.as_ref().and_then(|d| d.known());
                let divides = known.is_some_and(|n| n % *tile as i64 == 0);
                // In range, a tile of extent 1 is not cut.
                if divides || *tile == 1 { Valid::Full } else { Valid::To(self.new_cell()) }
            })
            .collect();
        let site = self.sites;
        self.sites += 1;
        let bytes = self.element(view).bytes();
        Ok(Access { tensor, bytes, tile, index: slots, site, valid, what, loc: op.loc })
    }
}

/// Whether a load may be read when it is used: nothing is stored in between, and no block inside
/// uses it, perhaps often.
fn deferrable(block: &Block, at: usize, result: Value) -> bool {
    let mut names = vec![result];
    let mut stored = false;
    for op in &block.ops[at + 1..] {
        let mut used = false;
        op.kind.for_each_operand(|v| used |= names.contains(&v));
        let mut used_inside = false;
        let mut stores = matches!(op.kind, OpKind::Memory(MemoryOp::Store { .. }));
        op.kind.for_each_block(|b| {
            used_inside |= b.yields.iter().any(|v| names.contains(v));
            b.for_each_op(&mut |inner| {
                stores |= matches!(inner.kind, OpKind::Memory(MemoryOp::Store { .. }));
                inner.kind.for_each_operand(|v| used_inside |= names.contains(&v));
                inner.kind.for_each_block(|b| {
                    used_inside |= b.yields.iter().any(|v| names.contains(v));
                });
            });
        });
        if used_inside || (used && stored) {
            return false;
        }
        if used && matches!(op.kind, OpKind::Shape(_)) {
            names.extend(&op.results);
        }
        stored |= stores;
    }
    !(stored && block.yields.iter().any(|v| names.contains(v)))
}

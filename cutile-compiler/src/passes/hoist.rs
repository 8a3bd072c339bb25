//! Moves operations without effect and without fault out of loops whose turns do not change them: scalars and views always,
//! tiles only if they are one number in every element, since a tile outside holds registers through the whole loop.

use cutile_ir::op::{ControlOp, CreateOp, MemoryOp, OpKind, ProgramOp};
use cutile_ir::{Block, Function, Op, Type, Value};
use std::collections::HashSet;

/// Runs the pass.
pub(super) fn run(f: &mut Function) -> bool {
    let types: Vec<Type> = f.values.iter().map(|v| v.ty.clone()).collect();
    let mut body = std::mem::take(&mut f.body);
    let changed = block(&mut body, &types);
    f.body = body;
    changed
}

fn block(b: &mut Block, types: &[Type]) -> bool {
    let mut changed = false;
    let mut ops = Vec::with_capacity(b.ops.len());
    for mut op in std::mem::take(&mut b.ops) {
        // Inner loops first: what leaves them may leave this one too.
        op.kind.for_each_block_mut(|b| changed |= block(b, types));
        if matches!(op.kind, OpKind::Control(ControlOp::For { .. } | ControlOp::While { .. })) {
            let moved = invariant(&mut op, types);
            changed |= !moved.is_empty();
            ops.extend(moved);
        }
        ops.push(op);
    }
    b.ops = ops;
    changed
}

/// Takes the invariant operations out of a loop's blocks.
fn invariant(op: &mut Op, types: &[Type]) -> Vec<Op> {
    let mut inside: HashSet<Value> = HashSet::new();
    op.kind.for_each_block(|b| {
        inside.extend(&b.params);
        b.for_each_op(&mut |op| {
            inside.extend(op.results.iter().copied());
            op.kind.for_each_block(|b| inside.extend(&b.params));
        });
    });
    let mut moved = Vec::new();
    op.kind.for_each_block_mut(|b| {
        let mut stay = Vec::with_capacity(b.ops.len());
        for op in std::mem::take(&mut b.ops) {
            let fixed = op.kind.operands().iter().all(|v| !inside.contains(v));
            if fixed && movable(&op, types) {
                op.results.iter().for_each(|r| {
                    inside.remove(r);
                });
                moved.push(op);
            } else {
                stay.push(op);
            }
        }
        b.ops = stay;
    });
    moved
}

fn movable(op: &Op, types: &[Type]) -> bool {
    if op.kind.has_effect() {
        return false;
    }
    match &op.kind {
        OpKind::Control(_) | OpKind::Matrix(_) | OpKind::Reduce(_) => false,
        OpKind::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. }) => false,
        OpKind::Create(CreateOp::Constant { .. } | CreateOp::Splat { .. }) => true,
        OpKind::Program(p) => !matches!(p, ProgramOp::Assert { .. }),
        _ => op.results.iter().all(|r| !matches!(types[r.0 as usize], Type::Tile(_))),
    }
}

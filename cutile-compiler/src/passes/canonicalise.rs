//! One form for what can be written in several: shape operations that change nothing or follow each other, splats of
//! constants, conversions to the same type, selections between equal values; under `fast_math`, multiply-adds.

use super::rewrite::{Replacements, constant, definitions};
use cutile_ir::op::{ArithOp, BinaryOp, CreateOp, Literal, OpKind, ShapeOp};
use cutile_ir::{Function, Op, Value};
use std::collections::HashMap;

/// What an operation becomes.
enum Becomes {
    /// Another value that exists.
    Value(Value),
    /// Another operation with the same result.
    Kind(OpKind),
}

/// Runs the pass.
pub(super) fn run(f: &mut Function) -> bool {
    let definitions = definitions(f);
    let uses = f.use_counts();
    let mut replacements = Replacements::default();
    let mut changed = false;
    let view = f.clone();
    f.body.for_each_op_mut(&mut |op| match simplify(&view, &definitions, &uses, op) {
        Some(Becomes::Value(v)) => replacements.add(op.results[0], v),
        Some(Becomes::Kind(kind)) => {
            op.kind = kind;
            changed = true;
        }
        None => {}
    });
    // A replaced operation that still has uses under its old name is dead after this; `dce` takes it away.
    let used = |v: &Value| uses[v.0 as usize] > 0;
    let mut unused = Replacements::default();
    std::mem::swap(&mut unused, &mut replacements);
    changed | apply_used(unused, f, used)
}

/// Applies replacements; a change only where a replaced value had uses.
fn apply_used(replacements: Replacements, f: &mut Function, used: impl Fn(&Value) -> bool) -> bool {
    let any =
        (0..f.values.len() as u32).map(Value).any(|v| used(&v) && replacements.resolve(v) != v);
    replacements.apply(f) && any
}

fn simplify(
    f: &Function,
    definitions: &HashMap<Value, OpKind>,
    uses: &[u32],
    op: &Op,
) -> Option<Becomes> {
    let [r] = op.results[..] else { return None };
    match &op.kind {
        OpKind::Shape(kind) => shape(f, definitions, r, kind),
        OpKind::Create(CreateOp::Splat { scalar }) => {
            let value = constant(definitions, *scalar)?;
            Some(Becomes::Kind(CreateOp::Constant { value }.into()))
        }
        OpKind::Arith(ArithOp::Convert { x } | ArithOp::Bitcast { x }) if f.ty(*x) == f.ty(r) => {
            Some(Becomes::Value(*x))
        }
        OpKind::Arith(ArithOp::Select { cond, on_true, on_false }) => {
            match constant(definitions, *cond) {
                Some(Literal::Bool(true)) => Some(Becomes::Value(*on_true)),
                Some(Literal::Bool(false)) => Some(Becomes::Value(*on_false)),
                _ if on_true == on_false => Some(Becomes::Value(*on_true)),
                _ => None,
            }
        }
        OpKind::Arith(ArithOp::Binary { op: BinaryOp::Add, lhs, rhs }) if f.fast_math => {
            contract(f, definitions, uses, *lhs, *rhs)
        }
        _ => None,
    }
}

fn shape(
    f: &Function,
    definitions: &HashMap<Value, OpKind>,
    r: Value,
    kind: &ShapeOp,
) -> Option<Becomes> {
    let x = match kind {
        ShapeOp::Reshape { x } | ShapeOp::Broadcast { x } | ShapeOp::Permute { x, .. } => *x,
        ShapeOp::ToScalar { x } => {
            return match definitions.get(x)? {
                OpKind::Create(CreateOp::Splat { scalar }) => Some(Becomes::Value(*scalar)),
                OpKind::Create(CreateOp::Constant { value }) => {
                    Some(Becomes::Kind(CreateOp::Constant { value: *value }.into()))
                }
                _ => None,
            };
        }
    };
    let in_order = !matches!(kind, ShapeOp::Permute { order, .. } if !order.is_sorted());
    if f.ty(x) == f.ty(r) && in_order {
        return Some(Becomes::Value(x));
    }
    match (kind, definitions.get(&x)?) {
        // One number in every element stays that in every shape: it has no invalid lanes.
        (_, OpKind::Create(CreateOp::Splat { scalar })) => {
            Some(Becomes::Kind(CreateOp::Splat { scalar: *scalar }.into()))
        }
        (_, OpKind::Create(CreateOp::Constant { value })) => {
            Some(Becomes::Kind(CreateOp::Constant { value: *value }.into()))
        }
        (ShapeOp::Broadcast { .. }, OpKind::Shape(ShapeOp::Broadcast { x })) => {
            Some(Becomes::Kind(ShapeOp::Broadcast { x: *x }.into()))
        }
        (ShapeOp::Permute { order, .. }, OpKind::Shape(ShapeOp::Permute { order: first, x })) => {
            let order = order.iter().map(|a| first[*a as usize]).collect();
            Some(Becomes::Kind(ShapeOp::Permute { order, x: *x }.into()))
        }
        _ => None,
    }
}

/// a * b + c where the product has no other use.
fn contract(
    f: &Function,
    definitions: &HashMap<Value, OpKind>,
    uses: &[u32],
    lhs: Value,
    rhs: Value,
) -> Option<Becomes> {
    if !f.ty(lhs).element().expect().is_float() {
        return None;
    }
    for (product, c) in [(lhs, rhs), (rhs, lhs)] {
        if let Some(OpKind::Arith(ArithOp::Binary { op: BinaryOp::Mul, lhs: a, rhs: b })) =
            definitions.get(&product)
            && uses[product.0 as usize] == 1
        {
            return Some(Becomes::Kind(ArithOp::Fma { a: *a, b: *b, c }.into()));
        }
    }
    None
}

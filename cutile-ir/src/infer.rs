//! The result type of operations whose operands determine it. The verifier compares stated types
//! with these; what an operation states itself (a reshape's shape, say) has no rule here.

use crate::element::{Element, ElementType};
use crate::module::{Function, Value};
use crate::op::{ArithOp, MatrixOp, MemoryOp, OpKind, ProgramOp, ReduceKind, ReduceOp, ShapeOp};
use crate::types::Type;

/// The type of the one result, or `None` where the operands don't determine it or don't suit the
/// operation.
pub fn result_type(kind: &OpKind, f: &Function) -> Option<Type> {
    match kind {
        OpKind::Arith(op) => arith(op, f),
        OpKind::Shape(ShapeOp::Permute { order, x }) => {
            let t = f.ty(*x).as_tile()?;
            let shape: Option<Vec<_>> =
                order.iter().map(|a| t.shape.get(*a as usize).cloned()).collect();
            Some(Type::tile(t.element, shape?))
        }
        OpKind::Shape(ShapeOp::ToScalar { x }) => Some(Type::Scalar(f.ty(*x).as_tile()?.element)),
        OpKind::Memory(MemoryOp::Extent { .. } | MemoryOp::TileCount { .. })
        | OpKind::Program(ProgramOp::Id { .. } | ProgramOp::Count { .. }) => {
            Some(Type::scalar(Element::I32))
        }
        OpKind::Memory(MemoryOp::Load { view, .. }) => {
            Some(Type::Tile(f.ty(*view).as_view()?.tile()))
        }
        OpKind::Reduce(ReduceOp::Reduce { kind, axis, x }) => reduce(*kind, *axis, *x, f),
        OpKind::Matrix(MatrixOp::Mma { acc, .. }) => Some(f.ty(*acc).clone()),
        _ => None,
    }
}

fn arith(op: &ArithOp, f: &Function) -> Option<Type> {
    let bool = ElementType::Known(Element::Bool);
    let numeric = |v: Value| match f.ty(v) {
        t @ (Type::Scalar(_) | Type::Tile(_)) => Some(t.clone()),
        _ => None,
    };
    match op {
        ArithOp::Unary { op, x } if op.gives_bool() => Some(numeric(*x)?.with_element(bool)),
        ArithOp::Unary { x, .. } => numeric(*x),
        ArithOp::Binary { lhs, .. } => numeric(*lhs),
        ArithOp::Compare { lhs, .. } => Some(numeric(*lhs)?.with_element(bool)),
        ArithOp::Select { on_true, .. } => numeric(*on_true),
        ArithOp::Fma { a, .. } => numeric(*a),
        ArithOp::Convert { .. } | ArithOp::Bitcast { .. } => None,
    }
}

fn reduce(kind: ReduceKind, axis: u32, x: Value, f: &Function) -> Option<Type> {
    let t = f.ty(x).as_tile()?;
    let mut shape = t.shape.clone();
    if axis as usize >= shape.len() {
        return None;
    }
    shape.remove(axis as usize);
    let element = match kind {
        ReduceKind::ArgMax | ReduceKind::ArgMin => Element::I32.into(),
        _ => t.element,
    };
    Some(Type::tile(element, shape))
}

//! Folds integer and boolean scalars whose operands are constants. Floats are left to the compiler below, which knows their
//! rounding; branches on constants become the arm that is taken.

use super::rewrite::{Replacements, constant, definitions};
use cutile_ir::op::{ArithOp, BinaryOp, CompareOp, ControlOp, CreateOp, Literal, OpKind, UnaryOp};
use cutile_ir::{Block, Element, ElementClass, Function, Op, Value};
use std::collections::HashMap;

/// Runs the pass.
pub(super) fn run(f: &mut Function) -> bool {
    let mut changed = false;
    let mut known = definitions(f);
    let types: Vec<Option<Element>> = f
        .values
        .iter()
        .map(|v| {
            if v.ty.rank() == 0 && v.ty.as_tile().is_none() { v.ty.element().known() } else { None }
        })
        .collect();
    f.body.for_each_op_mut(&mut |op| {
        let OpKind::Arith(kind) = &op.kind else { return };
        let [r] = op.results[..] else { return };
        let Some(element) = types[r.0 as usize] else { return };
        if let Some(value) = fold(&known, &types, kind, element) {
            op.kind = CreateOp::Constant { value }.into();
            known.insert(r, op.kind.clone());
            changed = true;
        }
    });
    let mut replacements = Replacements::default();
    let mut body = std::mem::take(&mut f.body);
    branches(&mut body, &known, &mut replacements);
    f.body = body;
    replacements.apply(f) | changed
}

fn fold(
    known: &HashMap<Value, OpKind>,
    types: &[Option<Element>],
    kind: &ArithOp,
    to: Element,
) -> Option<Literal> {
    let int = |v: Value| match constant(known, v)? {
        Literal::Int(n) => Some(n),
        Literal::Bool(b) => Some(b.into()),
        Literal::Float(_) => None,
    };
    let of = |v: Value| types[v.0 as usize].filter(|e| !e.is_float());
    match kind {
        ArithOp::Unary { op, x } => {
            let (e, n) = (of(*x)?, int(*x)?);
            let n = match op {
                UnaryOp::Neg => -n,
                UnaryOp::Abs => n.abs(),
                UnaryOp::Not if e == Element::Bool => 1 - n,
                UnaryOp::Not => !n,
                _ => return None,
            };
            Some(literal(n, to))
        }
        ArithOp::Binary { op, lhs, rhs } => {
            let (e, a, b) = (of(*lhs)?, int(*lhs)?, int(*rhs)?);
            Some(literal(binary(*op, e, a, b)?, to))
        }
        ArithOp::Compare { op, lhs, rhs } => {
            of(*lhs)?;
            let (a, b) = (int(*lhs)?, int(*rhs)?);
            Some(Literal::Bool(match op {
                CompareOp::Eq => a == b,
                CompareOp::Ne => a != b,
                CompareOp::Lt => a < b,
                CompareOp::Le => a <= b,
                CompareOp::Gt => a > b,
                CompareOp::Ge => a >= b,
            }))
        }
        ArithOp::Convert { x } if !to.is_float() => {
            of(*x)?;
            Some(literal(int(*x)?, to))
        }
        _ => None,
    }
}

/// `None` for faults and for what is not worth folding.
fn binary(op: BinaryOp, e: Element, a: i128, b: i128) -> Option<i128> {
    let bits = e.bits() as u32;
    let faults =
        b == 0 || (e.class() == ElementClass::Signed && b == -1 && a == -(1 << (bits - 1)));
    let amount = b.rem_euclid(bits.into()) as u32;
    Some(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.checked_mul(b)?,
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << amount,
        BinaryOp::Shr => a >> amount,
        _ if faults => return None,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::DivFloor => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        BinaryOp::DivCeil => -((-a).div_euclid(b) - i128::from(b < 0 && (-a).rem_euclid(b) != 0)),
        BinaryOp::RemEuclid => a.rem_euclid(b),
        _ => return None,
    })
}

/// An integer wrapped to an element type.
fn literal(n: i128, e: Element) -> Literal {
    let modulus = 1i128 << e.bits();
    match e.class() {
        ElementClass::Bool => Literal::Bool(n & 1 == 1),
        ElementClass::Unsigned => Literal::Int(n.rem_euclid(modulus)),
        _ => {
            let wrapped = n.rem_euclid(modulus);
            Literal::Int(if wrapped >= modulus / 2 { wrapped - modulus } else { wrapped })
        }
    }
}

/// Puts the arm that is taken in the place of a branch on a constant.
fn branches(block: &mut Block, known: &HashMap<Value, OpKind>, replacements: &mut Replacements) {
    let mut ops: Vec<Op> = Vec::with_capacity(block.ops.len());
    for mut op in std::mem::take(&mut block.ops) {
        op.kind.for_each_block_mut(|b| branches(b, known, replacements));
        let taken = match &mut op.kind {
            OpKind::Control(ControlOp::If { cond, on_true, on_false }) => {
                match constant(known, *cond) {
                    Some(Literal::Bool(true)) => Some(std::mem::take(on_true)),
                    Some(Literal::Bool(false)) => Some(std::mem::take(on_false)),
                    _ => None,
                }
            }
            _ => None,
        };
        match taken {
            Some(arm) => {
                for (r, y) in op.results.iter().zip(&arm.yields) {
                    replacements.add(*r, *y);
                }
                ops.extend(arm.ops);
            }
            None => ops.push(op),
        }
    }
    block.ops = ops;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_round_as_their_names_say() {
        for a in -9i128..=9 {
            for b in (-4i128..=4).filter(|b| *b != 0) {
                let exact = a as f64 / b as f64;
                let fold = |op| binary(op, Element::I32, a, b).unwrap() as f64;
                assert_eq!(fold(BinaryOp::DivFloor), exact.floor(), "{a} {b}");
                assert_eq!(fold(BinaryOp::DivCeil), exact.ceil(), "{a} {b}");
                assert_eq!(fold(BinaryOp::Div), exact.trunc(), "{a} {b}");
            }
        }
        assert_eq!(binary(BinaryOp::Div, Element::I32, 1, 0), None);
        assert_eq!(binary(BinaryOp::Div, Element::I8, -128, -1), None);
    }

    #[test]
    fn results_wrap() {
        assert_eq!(literal(130, Element::I8), Literal::Int(-126));
        assert_eq!(literal(-1, Element::U16), Literal::Int(65535));
    }
}

//! Comparisons and selections.

use crate::decode::op::{BoolOp, Cmp, Compare, Src};
use crate::num::convert::{mask as ones, sign_extend};
use crate::parse::ast::Type;

use super::float::format;
use super::frame::{Frame, Row, ballot};

/// The comparison of the lower (or only) elements, and of the upper ones where the type is packed, before combination.
fn evaluate(f: &Frame, compare: &Compare) -> (u32, u32) {
    let (a, b) = (f.get(compare.a), f.get(compare.b));
    let (cmp, ty) = (compare.cmp, compare.ty);
    match ty {
        Type::F32 if !compare.ftz => (floats(cmp, &a, &b, |x| f32::from_bits(x as u32)), 0),
        Type::F64 => (floats(cmp, &a, &b, f64::from_bits), 0),
        _ if ty.float() => {
            let (format, pair) = format(ty);
            let widen = |x: u64| {
                let value = format.widen(x as u32);
                if compare.ftz && format.subnormal(x as u32) { 0f64.copysign(value) } else { value }
            };
            if pair {
                (
                    floats(cmp, &a, &b, |x| widen(x & 0xffff)),
                    floats(cmp, &a, &b, |x| widen(x >> 16)),
                )
            } else {
                (floats(cmp, &a, &b, |x| widen(x & ones(ty.bits()))), 0)
            }
        }
        _ => (integers(cmp, ty, &a, &b), 0),
    }
}

fn floats<T: PartialOrd>(cmp: Cmp, a: &Row, b: &Row, of: impl Fn(u64) -> T) -> u32 {
    let unordered = |i: usize| of(a[i]).partial_cmp(&of(b[i])).is_none();
    match cmp {
        Cmp::Eq => ballot(|i| of(a[i]) == of(b[i])),
        Cmp::Ne => ballot(|i| of(a[i]) != of(b[i]) && !unordered(i)),
        Cmp::Lt => ballot(|i| of(a[i]) < of(b[i])),
        Cmp::Le => ballot(|i| of(a[i]) <= of(b[i])),
        Cmp::Gt => ballot(|i| of(a[i]) > of(b[i])),
        Cmp::Ge => ballot(|i| of(a[i]) >= of(b[i])),
        Cmp::Equ => ballot(|i| of(a[i]) == of(b[i]) || unordered(i)),
        Cmp::Neu => ballot(|i| of(a[i]) != of(b[i])),
        Cmp::Ltu => ballot(|i| of(a[i]) < of(b[i]) || unordered(i)),
        Cmp::Leu => ballot(|i| of(a[i]) <= of(b[i]) || unordered(i)),
        Cmp::Gtu => ballot(|i| of(a[i]) > of(b[i]) || unordered(i)),
        Cmp::Geu => ballot(|i| of(a[i]) >= of(b[i]) || unordered(i)),
        Cmp::Num => !ballot(unordered),
        Cmp::Nan => ballot(unordered),
    }
}

fn integers(cmp: Cmp, ty: Type, a: &Row, b: &Row) -> u32 {
    let bits = ty.bits();
    if ty.signed() {
        ordered(cmp, a, b, |x| sign_extend(x, bits))
    } else {
        ordered(cmp, a, b, |x| x & ones(bits))
    }
}

#[inline(always)]
fn ordered<T: Ord>(cmp: Cmp, a: &Row, b: &Row, of: impl Fn(u64) -> T) -> u32 {
    match cmp {
        Cmp::Eq => ballot(|i| of(a[i]) == of(b[i])),
        Cmp::Ne => ballot(|i| of(a[i]) != of(b[i])),
        Cmp::Lt => ballot(|i| of(a[i]) < of(b[i])),
        Cmp::Le => ballot(|i| of(a[i]) <= of(b[i])),
        Cmp::Gt => ballot(|i| of(a[i]) > of(b[i])),
        _ => ballot(|i| of(a[i]) >= of(b[i])),
    }
}

fn combine(f: &Frame, compare: &Compare, value: u32) -> u32 {
    match compare.combine {
        None => value,
        Some((op, p)) => logic(op, value, f.pred(p)),
    }
}

/// A boolean operation on masks.
pub(super) fn logic(op: BoolOp, a: u32, b: u32) -> u32 {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

/// `setp`: `p` is the result, `q` that of the opposite comparison (or of the upper halves).
pub(super) fn setp(f: &mut Frame, mask: u32, compare: &Compare, p: Option<u32>, q: Option<u32>) {
    let (low, high) = evaluate(f, compare);
    let packed = matches!(compare.ty, Type::F16x2 | Type::Bf16x2);
    let second = if packed { high } else { !low };
    let (low, second) = (combine(f, compare, low), combine(f, compare, second));
    if let Some(p) = p {
        f.put_pred(p, mask, low);
    }
    if let Some(q) = q {
        f.put_pred(q, mask, second);
    }
}

/// `set`: all ones or 1.0 where the comparison holds, zero elsewhere.
pub(super) fn set(f: &mut Frame, mask: u32, compare: &Compare, to: Type, d: u32) {
    let (low, high) = evaluate(f, compare);
    let (low, high) = (combine(f, compare, low), combine(f, compare, high));
    let one = match to {
        Type::F32 => u64::from(1f32.to_bits()),
        Type::F16 => 0x3c00,
        Type::Bf16 => 0x3f80,
        Type::F16x2 => 0x3c00,
        Type::Bf16x2 => 0x3f80,
        _ if matches!(compare.ty, Type::F16x2 | Type::Bf16x2) => 0xffff,
        _ => ones(to.bits()),
    };
    let packed = matches!(compare.ty, Type::F16x2 | Type::Bf16x2);
    f.put(d, mask, |i| {
        let lower = if low >> i & 1 == 1 { one } else { 0 };
        let upper = if packed && high >> i & 1 == 1 { one << 16 } else { 0 };
        lower | upper
    });
}

/// `selp`.
pub(super) fn select(f: &mut Frame, mask: u32, d: u32, a: Src, b: Src, p: u32) {
    let (a, b) = (f.get(a), f.get(b));
    f.put(d, mask, |i| if p >> i & 1 == 1 { a[i] } else { b[i] });
}

/// `slct`: `a` where `c` is not negative, else `b`.
pub(super) fn slct(f: &mut Frame, mask: u32, d: u32, [a, b, c]: [Src; 3], float: bool) {
    let (a, b, c) = (f.get(a), f.get(b), f.get(c));
    f.put(d, mask, |i| {
        let first = if float { f32::from_bits(c[i] as u32) >= 0.0 } else { c[i] as i32 >= 0 };
        if first { a[i] } else { b[i] }
    });
}

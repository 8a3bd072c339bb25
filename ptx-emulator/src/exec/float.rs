//! Floating-point instructions.

use crate::decode::op::{Fast, FloatMinMax, Property, Sign, Src};
use crate::num::approx::{self, Approx};
use crate::num::arith::{self, FloatOp, NAN32, fma32};
use crate::num::format::Format;
use crate::num::{Mode, Round};
use crate::parse::ast::Type;

use super::frame::{Frame, ballot};

/// The format of a narrow type's elements, and whether there are two of them.
pub(super) fn format(ty: Type) -> (Format, bool) {
    match ty {
        Type::F16 => (Format::F16, false),
        Type::F16x2 => (Format::F16, true),
        Type::Bf16 => (Format::BF16, false),
        Type::Bf16x2 => (Format::BF16, true),
        Type::Tf32 => (Format::TF32, false),
        Type::E4m3 => (Format::E4M3, false),
        Type::E5m2 => (Format::E5M2, false),
        _ => (Format::F32, false),
    }
}

#[inline(always)]
fn single(cell: u64) -> f32 {
    f32::from_bits(cell as u32)
}

/// A single as a cell, every NaN being the one that the hardware produces.
#[inline(always)]
fn cell(value: f32) -> u64 {
    u64::from(if value.is_nan() { NAN32 } else { value.to_bits() })
}

/// Single precision, to nearest, nothing flushed.
pub(super) fn fast(f: &mut Frame, mask: u32, op: Fast, d: u32, [a, b, c]: [Src; 3]) {
    let (a, b) = (f.get(a), f.get(b));
    match op {
        Fast::Add => f.put(d, mask, |i| cell(single(a[i]) + single(b[i]))),
        Fast::Sub => f.put(d, mask, |i| cell(single(a[i]) - single(b[i]))),
        Fast::Mul => f.put(d, mask, |i| cell(single(a[i]) * single(b[i]))),
        Fast::Fma => {
            let c = f.get(c);
            f.put(d, mask, |i| cell(fma32(single(a[i]), single(b[i]), single(c[i]))));
        }
        Fast::Div => f.put(d, mask, |i| cell(single(a[i]) / single(b[i]))),
        Fast::Sqrt => f.put(d, mask, |i| cell(single(a[i]).sqrt())),
        Fast::Min => f.put(d, mask, |i| cell(extreme(single(a[i]), single(b[i]), false))),
        Fast::Max => f.put(d, mask, |i| cell(extreme(single(a[i]), single(b[i]), true))),
    }
}

#[inline(always)]
fn extreme(a: f32, b: f32, max: bool) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else if a == b {
        if a.is_sign_negative() == max { b } else { a }
    } else if (a < b) == max {
        b
    } else {
        a
    }
}

/// Applies `op` to one value, or to each half of a packed pair.
fn halves(pair: bool, args: [u64; 3], op: impl Fn([u32; 3]) -> u32) -> u64 {
    if pair {
        let low = op(args.map(|x| x as u32 & 0xffff));
        let high = op(args.map(|x| (x as u32) >> 16));
        u64::from(high << 16 | low)
    } else {
        u64::from(op(args.map(|x| x as u32)))
    }
}

/// Arithmetic in any mode and type.
pub(super) fn arithmetic(
    f: &mut Frame,
    mask: u32,
    op: FloatOp,
    ty: Type,
    mode: Mode,
    d: u32,
    args: [Src; 3],
) {
    let [a, b, c] = args.map(|src| f.get(src));
    if ty == Type::F64 {
        let x = f64::from_bits;
        f.put(d, mask, |i| {
            let flushed = |cell: u64| {
                if mode.ftz && x(cell).is_subnormal() { 0f64.copysign(x(cell)) } else { x(cell) }
            };
            arith::op64(op, mode, flushed(a[i]), flushed(b[i]), flushed(c[i])).to_bits()
        });
        return;
    }
    let (format, pair) = format(ty);
    f.put(d, mask, |i| {
        halves(pair, [a[i], b[i], c[i]], |args| arith::narrow_op(format, op, mode, args))
    });
}

/// Minimum and maximum with options.
pub(super) fn min_max(f: &mut Frame, mask: u32, inst: FloatMinMax) {
    let FloatMinMax { max, nan, ftz, xorsign, ty, d, a, b, c } = inst;
    let (a, b) = (f.get(a), f.get(b));
    if ty == Type::F64 {
        f.put(d, mask, |i| {
            arith::min_max(max, nan, f64::from_bits(a[i]), f64::from_bits(b[i])).to_bits()
        });
        return;
    }
    let third = c.map(|src| f.get(src));
    let (format, pair) = format(ty);
    let widen = |bits: u32| {
        let value = format.widen(bits);
        if ftz && format.subnormal(bits) { 0f64.copysign(value) } else { value }
    };
    let one = |args: [u32; 3]| {
        let [x, y, z] = args.map(widen);
        let mut out = if xorsign {
            let negative = x.is_sign_negative() != y.is_sign_negative();
            let size = arith::min_max(max, nan, x.abs(), y.abs());
            if negative { -size } else { size }
        } else {
            arith::min_max(max, nan, x, y)
        };
        if third.is_some() {
            out = arith::min_max(max, nan, out, z);
        }
        format.narrow(out, Round::Near, false)
    };
    f.put(d, mask, |i| halves(pair, [a[i], b[i], third.map_or(0, |c| c[i])], one));
}

/// The approximate functions.
pub(super) fn function(f: &mut Frame, mask: u32, fun: Approx, ty: Type, ftz: bool, d: u32, a: Src) {
    let a = f.get(a);
    if ty == Type::F64 {
        f.put(d, mask, |i| approx::double(fun, f64::from_bits(a[i])).to_bits());
        return;
    }
    let (format, pair) = format(ty);
    f.put(d, mask, |i| {
        // Transcendental functions are dear: only for lanes that take part.
        if mask >> i & 1 == 0 {
            return 0;
        }
        halves(pair, [a[i], 0, 0], |[x, ..]| approx::narrow(format, fun, ftz, x))
    });
}

/// Bits of the sign of each element.
fn sign_bits(ty: Type) -> u64 {
    match ty {
        Type::F64 => 1 << 63,
        Type::F16 | Type::Bf16 => 0x8000,
        Type::F16x2 | Type::Bf16x2 => 0x8000_8000,
        _ => 0x8000_0000,
    }
}

/// `neg` and `abs`.
pub(super) fn sign(f: &mut Frame, mask: u32, op: Sign, ty: Type, ftz: bool, d: u32, a: Src) {
    let a = f.get(a);
    let bits = sign_bits(ty);
    let (format, pair) = format(ty);
    let flush = |x: u64| {
        if !ftz || ty == Type::F64 {
            return x;
        }
        halves(pair, [x, 0, 0], |[x, ..]| if format.subnormal(x) { x & (bits as u32) } else { x })
    };
    match op {
        Sign::Neg => f.put(d, mask, |i| flush(a[i]) ^ bits),
        Sign::Abs => f.put(d, mask, |i| flush(a[i]) & !bits),
    }
}

/// `copysign d, a, b`: the magnitude of `b` with the sign of `a`.
pub(super) fn copy_sign(f: &mut Frame, mask: u32, ty: Type, d: u32, a: Src, b: Src) {
    let (a, b) = (f.get(a), f.get(b));
    let bits = sign_bits(ty);
    f.put(d, mask, |i| (b[i] & !bits) | (a[i] & bits));
}

/// `testp`.
pub(super) fn test(f: &mut Frame, mask: u32, property: Property, ty: Type, p: u32, a: Src) {
    let a = f.get(a);
    let out = ballot(|i| {
        if ty == Type::F64 {
            let x = f64::from_bits(a[i]);
            has(property, x.is_nan(), x.is_infinite(), x.is_subnormal())
        } else {
            let x = single(a[i]);
            has(property, x.is_nan(), x.is_infinite(), x.is_subnormal())
        }
    });
    f.put_pred(p, mask, out);
}

fn has(property: Property, nan: bool, infinite: bool, subnormal: bool) -> bool {
    match property {
        Property::Finite => !nan && !infinite,
        Property::Infinite => infinite,
        Property::Number => !nan,
        Property::NotANumber => nan,
        // Zeros count as normal.
        Property::Normal => !nan && !infinite && !subnormal,
        Property::Subnormal => subnormal,
    }
}

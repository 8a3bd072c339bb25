//! Conversions.

use crate::decode::cvt::{Cvt, CvtKind};
use crate::decode::op::Src;
use crate::num::convert::{self, mask as ones, sign_extend};
use crate::num::format::Format;
use crate::num::{Mode, Round, arith};
use crate::parse::ast::Type;

use super::float::format;
use super::frame::Frame;

/// `cvt`.
pub(super) fn convert(f: &mut Frame, mask: u32, cvt: Cvt, d: u32, a: Src, b: Option<Src>) {
    let a = f.get(a);
    match cvt.kind {
        CvtKind::Scalar { from: Type::F32, to: Type::F64 }
            if !(cvt.ftz || cvt.sat || cvt.integral) =>
        {
            f.put(d, mask, |i| f64::from(f32::from_bits(a[i] as u32)).to_bits());
        }
        CvtKind::Scalar { from, to } if !from.float() && !to.float() && !cvt.sat => {
            let (from_bits, to_bits) = (from.bits().min(64), to.bits().min(64));
            let width = ones(u32::from(cvt.width));
            match (from.signed(), to.signed()) {
                (false, false) => f.put(d, mask, |i| a[i] & ones(from_bits) & ones(to_bits)),
                (true, false) => {
                    f.put(d, mask, |i| sign_extend(a[i], from_bits) as u64 & ones(to_bits))
                }
                (false, true) => {
                    f.put(d, mask, |i| sign_extend(a[i] & ones(from_bits), to_bits) as u64 & width)
                }
                (true, true) => {
                    f.put(d, mask, |i| {
                        sign_extend(sign_extend(a[i], from_bits) as u64, to_bits) as u64 & width
                    });
                }
            }
        }
        CvtKind::Scalar { from, to } => f.put(d, mask, |i| scalar(cvt, from, to, a[i])),
        CvtKind::Pack(to) => {
            let b = b.map_or(a, |src| f.get(src));
            let bits = if to == Format::F16 || to == Format::BF16 { 16 } else { 8 };
            f.put(d, mask, |i| pack(cvt, to, bits, a[i], b[i]));
        }
        CvtKind::HalvesToFp8(to) => f.put(d, mask, |i| {
            let one = |bits: u64| narrow_packed(cvt, to, Format::F16.widen(bits as u32 & 0xffff));
            one(a[i] >> 16) << 8 | one(a[i])
        }),
        CvtKind::Fp8ToHalves(from) => f.put(d, mask, |i| {
            let one = |bits: u64| narrow_packed(cvt, Format::F16, from.widen(bits as u32 & 0xff));
            one(a[i] >> 8) << 16 | one(a[i])
        }),
    }
}

fn narrow_packed(cvt: Cvt, to: Format, value: f64) -> u64 {
    let value = if cvt.relu && value <= 0.0 { 0.0 } else { value };
    u64::from(to.narrow(value, cvt.round, cvt.finite))
}

fn pack(cvt: Cvt, to: Format, bits: u32, upper: u64, lower: u64) -> u64 {
    let one = |cell: u64| narrow_packed(cvt, to, f64::from(f32::from_bits(cell as u32)));
    one(upper) << bits | one(lower)
}

fn scalar(cvt: Cvt, from: Type, to: Type, cell: u64) -> u64 {
    match (from.float(), to.float()) {
        (true, true) => float_to_float(cvt, from, to, cell),
        (true, false) => {
            let value = widen(cvt, from, cell);
            let out = if value.is_nan() && (from == Type::F64 || to.bits() == 64) {
                // The ISA says 0; the hardware's double-precision and 64-bit paths give the most negative number.
                1 << (to.bits() - 1)
            } else {
                convert::to_integer(value, cvt.round, to.bits(), to.signed())
            };
            extend(cvt, to, out)
        }
        (false, true) => integer_to_float(cvt, from, to, cell),
        (false, false) => {
            let value = integer(from, cell);
            let limit = to.bits();
            let (low, high) = if to.signed() {
                (-(1i128 << (limit - 1)), (1i128 << (limit - 1)) - 1)
            } else {
                (0, (1i128 << limit) - 1)
            };
            extend(cvt, to, value.clamp(low, high) as u64 & ones(limit))
        }
    }
}

fn integer(from: Type, cell: u64) -> i128 {
    if from.signed() {
        i128::from(sign_extend(cell, from.bits()))
    } else {
        i128::from(cell & ones(from.bits()))
    }
}

/// A signed result fills the destination register with its sign.
fn extend(cvt: Cvt, to: Type, value: u64) -> u64 {
    if to.signed() {
        sign_extend(value, to.bits()) as u64 & ones(u32::from(cvt.width))
    } else {
        value
    }
}

fn widen(cvt: Cvt, from: Type, cell: u64) -> f64 {
    if from == Type::F64 {
        return f64::from_bits(cell);
    }
    let (format, _) = format(from);
    let bits = cell as u32 & ones(from.bits()) as u32;
    let value = format.widen(bits);
    if cvt.ftz && from == Type::F32 && format.subnormal(bits) {
        0f64.copysign(value)
    } else {
        value
    }
}

/// What becomes of a NaN: paths in double precision and the widening of bfloat keep its payload, the others give the
/// canonical one. As seen on the hardware; the ISA leaves it open.
fn nan(cvt: Cvt, from: Type, to: Type, cell: u64) -> Option<u64> {
    if (from, to) == (Type::F32, Type::Tf32) && cvt.round == Round::NearAway {
        // With .satfinite the hardware takes one unit off whatever has an exponent of all ones.
        return Some((cell & 0xffff_e000).wrapping_sub(if cvt.finite { 0x2000 } else { 0 }));
    }
    if cvt.sat || cvt.relu || cvt.finite {
        return None;
    }
    let quiet = |sign: u64, fraction: u64, exponent: u64, bits: u32| {
        sign << (bits - 1) | exponent | fraction | (exponent & exponent.wrapping_neg()) >> 1
    };
    match (from, to) {
        (Type::Bf16, Type::F32) => Some((cell & 0xffff) << 16),
        (Type::F32, Type::F64) if cvt.ftz => Some(0x7fff_ffff_e000_0000),
        (Type::F32, Type::F64) => {
            Some(quiet(cell >> 31 & 1, (cell & 0x7f_ffff) << 29, 0x7ff << 52, 64))
        }
        (Type::F16, Type::F64) => {
            Some(quiet(cell >> 15 & 1, (cell & 0x3ff) << 42, 0x7ff << 52, 64))
        }
        (Type::Bf16, Type::F64) => {
            Some(quiet(cell >> 15 & 1, (cell & 0x7f) << 45, 0x7ff << 52, 64))
        }
        (Type::F64, Type::F32) => Some(quiet(cell >> 63, cell >> 29 & 0x7f_ffff, 0xff << 23, 32)),
        (Type::F64, Type::F16) => Some(quiet(cell >> 63, cell >> 42 & 0x3ff, 0x1f << 10, 16)),
        _ => None,
    }
}

fn float_to_float(cvt: Cvt, from: Type, to: Type, cell: u64) -> u64 {
    let mut value = widen(cvt, from, cell);
    if let (true, Some(bits)) = (value.is_nan(), nan(cvt, from, to, cell)) {
        return bits;
    }
    if cvt.integral {
        value = convert::round_integer(value, cvt.round);
    }
    // Integral rounding leaves nothing for a second rounding to do, unless the format shrinks.
    let round = if cvt.integral { Round::Near } else { cvt.round };
    let mode = Mode {
        round,
        ftz: cvt.ftz && (to == Type::F32 || from == Type::F32),
        sat: cvt.sat,
        relu: cvt.relu,
    };
    if to == Type::F64 {
        return arith::op64(
            arith::FloatOp::Mul,
            Mode { round: Round::Near, ..mode },
            value,
            1.0,
            0.0,
        )
        .to_bits();
    }
    let (format, _) = format(to);
    if cvt.finite {
        return narrow_packed(cvt, format, value);
    }
    // Flushing concerns single precision; a subnormal half stays.
    let mode = Mode { ftz: mode.ftz && to == Type::F32, ..mode };
    u64::from(arith::finish(format, value, mode))
}

fn integer_to_float(cvt: Cvt, from: Type, to: Type, cell: u64) -> u64 {
    let value = integer(from, cell);
    let mode = Mode { round: cvt.round, ftz: cvt.ftz, sat: cvt.sat, relu: false };
    if to == Type::F64 {
        let out = convert::from_integer_double(value, cvt.round);
        return arith::op64(
            arith::FloatOp::Mul,
            Mode { round: Round::Near, ..mode },
            out,
            1.0,
            0.0,
        )
        .to_bits();
    }
    let (format, _) = format(to);
    u64::from(arith::finish(format, convert::from_integer_odd(value), mode))
}

//! Decodes conversions.

use crate::num::Round;
use crate::num::format::Format;
use crate::parse::ParseError;
use crate::parse::ast::Type;

use super::function::Builder;
use super::mods::Mods;
use super::op::{Alu, Int2, Op, Src};

/// What is converted to what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CvtKind {
    Scalar {
        from: Type,
        to: Type,
    },
    /// Two singles to two values of a 16-bit or 8-bit format; the first operand is the upper one.
    Pack(Format),
    /// Two halves to two values of an 8-bit format.
    HalvesToFp8(Format),
    /// Two values of an 8-bit format to two halves.
    Fp8ToHalves(Format),
}

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cvt {
    pub(crate) kind: CvtKind,
    pub(crate) round: Round,
    /// Round a float to an integral value first.
    pub(crate) integral: bool,
    pub(crate) ftz: bool,
    /// Clamp: integers to the destination's range, floats to [0, 1].
    pub(crate) sat: bool,
    /// Overflow gives the largest finite value.
    pub(crate) finite: bool,
    pub(crate) relu: bool,
    /// Bits of the destination register, to which a signed result is extended.
    pub(crate) width: u8,
}

/// A type of `cvt`, packed 8-bit ones included.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    One(Type),
    Fp8x2(Format),
}

fn side(word: &str) -> Option<Side> {
    match word {
        "e4m3x2" => Some(Side::Fp8x2(Format::E4M3)),
        "e5m2x2" => Some(Side::Fp8x2(Format::E5M2)),
        _ => Type::from_word(word).map(Side::One),
    }
}

/// `cvt`.
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if m.flag("pack") {
        return pack(b, m);
    }
    let integral = m.choose(&[
        ("rni", Round::Near),
        ("rzi", Round::Zero),
        ("rmi", Round::Down),
        ("rpi", Round::Up),
    ]);
    let round = integral.or_else(|| m.round());
    let (ftz, sat) = (m.flag("ftz"), m.flag("sat"));
    let (finite, relu) = (m.flag("satfinite"), m.flag("relu"));
    let (Some(to), Some(from)) = (m.find(side), m.find(side)) else {
        return Err(m.error("needs two types"));
    };
    m.done()?;
    let kind = match (to, from) {
        (Side::One(Type::F16x2), Side::One(Type::F32)) => CvtKind::Pack(Format::F16),
        (Side::One(Type::Bf16x2), Side::One(Type::F32)) => CvtKind::Pack(Format::BF16),
        (Side::Fp8x2(format), Side::One(Type::F32)) => CvtKind::Pack(format),
        (Side::Fp8x2(format), Side::One(Type::F16x2)) => CvtKind::HalvesToFp8(format),
        (Side::One(Type::F16x2), Side::Fp8x2(format)) => CvtKind::Fp8ToHalves(format),
        (Side::One(to), Side::One(from)) if scalar(to) && scalar(from) => {
            CvtKind::Scalar { from, to }
        }
        _ => return Err(m.unknown()),
    };
    if matches!(to, Side::Fp8x2(_)) && !finite {
        return Err(m.error("a conversion to an 8-bit float needs .satfinite"));
    }
    check_rounding(&m, kind, integral.is_some(), round)?;
    if let (true, CvtKind::Scalar { from, to }) = (sat, kind)
        && !(from.float() || to.float())
        && contains(to, from)
    {
        return Err(m.error(".sat can't stand where every source value fits the destination"));
    }
    let pack = matches!(kind, CvtKind::Pack(_));
    let count = if pack { 3 } else { 2 };
    m.operands(count..=count)?;
    let Some((d, width)) = b.dst_or_sink(&m.inst.operands[0])? else {
        return Err(m.error("needs a destination"));
    };
    let operand_type = match from {
        Side::One(Type::F16x2) => Type::B32,
        Side::One(ty) => ty,
        Side::Fp8x2(_) => Type::B16,
    };
    let a = b.src(&m.inst.operands[1], operand_type)?;
    let second = if pack { Some(b.src(&m.inst.operands[2], operand_type)?) } else { None };
    let cvt = Cvt {
        kind,
        round: round.unwrap_or(Round::Near),
        integral: integral.is_some(),
        ftz,
        sat,
        finite,
        relu,
        width: width.min(64) as u8,
    };
    b.emit(Op::Alu(Alu::Cvt { cvt, d, a, b: second }));
    Ok(())
}

/// `cvt.pack`: two integers, clamped, into the lower bits; what is left comes from a third.
fn pack(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if !m.flag("sat") {
        return Err(m.error("needs .sat"));
    }
    let (bits, signed) = m.need(&[
        ("u16", (16, false)),
        ("s16", (16, true)),
        ("u8", (8, false)),
        ("s8", (8, true)),
        ("u4", (4, false)),
        ("s4", (4, true)),
        ("u2", (2, false)),
        ("s2", (2, true)),
    ])?;
    m.need(&[("s32", ())])?;
    let three = bits < 16;
    if three {
        m.need(&[("b32", ())])?;
    }
    m.done()?;
    let count = if three { 4 } else { 3 };
    m.operands(count..=count)?;
    let operands = &m.inst.operands;
    let d = b.dst(&operands[0])?;
    let values = [b.src(&operands[1], Type::S32)?, b.src(&operands[2], Type::S32)?];
    let rest = if three { b.src(&operands[3], Type::B32)? } else { Src::Imm(0) };
    let (low, high) = match signed {
        true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        false => (0, (1i64 << bits) - 1),
    };
    let [low, high] = [low, high].map(|limit| Src::Imm(u64::from(limit as u32)));
    let clamped = values.map(|value| {
        let t = b.hidden();
        b.emit(Op::Alu(Alu::Int2 { op: Int2::Max, ty: Type::S32, d: t, a: value, b: low }));
        let (a, ty) = (Src::Reg(t), Type::S32);
        b.emit(Op::Alu(Alu::Int2 { op: Int2::Min, ty, d: t, a, b: high }));
        a
    });
    let ty = Type::B32;
    let insert = |b: &mut Builder<'_>, value, into, at: u64, len: u64| {
        let t = b.hidden();
        let list = b.list([value, into, Src::Imm(at), Src::Imm(len)].map(Some));
        b.emit(Op::Alu(Alu::Bfi { ty, d: t, list }));
        Src::Reg(t)
    };
    let bits = bits as u64;
    let lower = insert(b, clamped[1], Src::Imm(0), 0, bits);
    let both = insert(b, clamped[0], lower, bits, bits);
    let all = insert(b, rest, both, 2 * bits, 32 - 2 * bits);
    b.emit(Op::Alu(Alu::Mov { d, a: all }));
    Ok(())
}

fn scalar(ty: Type) -> bool {
    !matches!(
        ty,
        Type::Pred
            | Type::B128
            | Type::F16x2
            | Type::Bf16x2
            | Type::F32x2
            | Type::E4m3
            | Type::E5m2
    )
}

/// A rounding must stand where the result may be inexact, and its kind must fit.
fn check_rounding(
    m: &Mods<'_>,
    kind: CvtKind,
    integral: bool,
    round: Option<Round>,
) -> Result<(), ParseError> {
    let CvtKind::Scalar { from, to } = kind else {
        let fits = round.is_some() && !integral;
        return if fits { Ok(()) } else { Err(m.error("needs a rounding such as .rn")) };
    };
    match (from.float(), to.float()) {
        (true, false) if !integral => {
            Err(m.error("float to integer needs .rni, .rzi, .rmi or .rpi"))
        }
        (false, true) if integral || round.is_none() => {
            Err(m.error("integer to float needs .rn, .rz, .rm or .rp"))
        }
        (false, false) if round.is_some() => Err(m.error("integer to integer takes no rounding")),
        (true, true) if precision(to) < precision(from) && round.is_none() => {
            Err(m.error("a narrowing conversion needs a rounding such as .rn"))
        }
        _ => Ok(()),
    }
}

/// Whether integer type `to` has all values of `from`.
fn contains(to: Type, from: Type) -> bool {
    match (from.signed(), to.signed()) {
        (true, true) | (false, false) => to.bits() >= from.bits(),
        (false, true) => to.bits() > from.bits(),
        (true, false) => false,
    }
}

fn precision(ty: Type) -> u32 {
    match ty {
        Type::F64 => 53,
        Type::F32 => 24,
        Type::F16 | Type::Tf32 => 11,
        _ => 8,
    }
}

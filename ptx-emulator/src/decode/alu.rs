//! Decodes integer arithmetic, bit operations and bit fields.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::function::Builder;
use super::mods::Mods;
use super::op::*;

/// Takes the type, which must be an integer one of 16 to 64 bits.
fn integer(m: &mut Mods<'_>) -> Result<Type, ParseError> {
    let ty = m.ty()?;
    match ty {
        Type::B128 | Type::Pred | Type::B8 | Type::U8 | Type::S8 => {
            Err(m.error("the type does not fit the instruction"))
        }
        _ if ty.float() => Err(m.error("needs an integer type")),
        _ => Ok(ty),
    }
}

/// `add`, `sub`, `mul`, `mad`, `div`, `rem`, `min`, `max`, `abs`, `neg`, `sad`, `mul24`, `mad24` on integers.
pub(super) fn arithmetic(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let name = m.name();
    if m.flag("cc") {
        return carry_chain(b, m, false, true);
    }
    if let Some(packed) = m.choose(&[("u16x2", Type::U16), ("s16x2", Type::S16)]) {
        return packed_arithmetic(b, m, packed);
    }
    let half = m.choose(&[("lo", 0), ("hi", 1), ("wide", 2)]);
    let sat = m.flag("sat");
    let relu = m.flag("relu");
    let ty = integer(&mut m)?;
    m.done()?;
    let two = match (name, half, sat, relu) {
        ("add", None, false, false) => Int2::Add,
        ("add", None, true, false) if ty == Type::S32 => Int2::AddSat,
        ("sub", None, false, false) => Int2::Sub,
        ("sub", None, true, false) if ty == Type::S32 => Int2::SubSat,
        ("mul", Some(0), false, false) => Int2::MulLo,
        ("mul", Some(1), false, false) => Int2::MulHi,
        ("mul", Some(2), false, false) if ty.bits() <= 32 => Int2::MulWide,
        ("mul24", Some(0), false, false) => Int2::Mul24Lo,
        ("mul24", Some(1), false, false) => Int2::Mul24Hi,
        ("div", None, false, false) => Int2::Div,
        ("rem", None, false, false) => Int2::Rem,
        ("min", None, false, false) => Int2::Min,
        ("max", None, false, false) => Int2::Max,
        ("min", None, false, true) if ty == Type::S32 => Int2::MinRelu,
        ("max", None, false, true) if ty == Type::S32 => Int2::MaxRelu,
        ("abs", None, false, false) if ty.signed() => return one(b, m, Int1::Abs, ty),
        ("neg", None, false, false) if ty.signed() => return one(b, m, Int1::Neg, ty),
        _ => {
            let three = match (name, half, sat, relu) {
                ("mad", Some(0), false, false) => Int3::MadLo,
                ("mad", Some(1), false, false) => Int3::MadHi,
                ("mad", Some(1), true, false) if ty == Type::S32 => Int3::MadHiSat,
                ("mad", Some(2), false, false) if ty.bits() <= 32 => Int3::MadWide,
                ("mad24", Some(0), false, false) => Int3::Mad24Lo,
                ("mad24", Some(1), false, false) => Int3::Mad24Hi,
                ("mad24", Some(1), true, false) if ty == Type::S32 => Int3::Mad24HiSat,
                ("sad", None, false, false) => Int3::Sad,
                _ => return Err(m.unknown()),
            };
            return three_operands(b, m, three, ty);
        }
    };
    two_operands(b, m, two, ty, ty)
}

/// `add`, `min` and `max` on two 16-bit halves: two instructions on the halves.
fn packed_arithmetic(b: &mut Builder<'_>, mut m: Mods<'_>, ty: Type) -> Result<(), ParseError> {
    let relu = m.flag("relu");
    let op = match (m.name(), relu) {
        ("add", false) => Int2::Add,
        ("min", false) => Int2::Min,
        ("max", false) => Int2::Max,
        ("min", true) if ty == Type::S16 => Int2::MinRelu,
        ("max", true) if ty == Type::S16 => Int2::MaxRelu,
        _ => return Err(m.unknown()),
    };
    m.done()?;
    m.operands(3..=3)?;
    let d = b.dst(&m.inst.operands[0])?;
    let a = b.src(&m.inst.operands[1], Type::B32)?;
    let c = b.src(&m.inst.operands[2], Type::B32)?;
    let mut halves = [[0; 2]; 2];
    for (half, a) in halves.iter_mut().zip([a, c]) {
        *half = [b.hidden(), b.hidden()];
        let list = b.list(half.map(|r| Some(Src::Reg(r))));
        b.emit(Op::Alu(Alu::Unpack { list, a, bits: 16 }));
    }
    let out = [b.hidden(), b.hidden()];
    for i in 0..2 {
        b.emit(Op::Alu(Alu::Int2 {
            op,
            ty,
            d: out[i],
            a: Src::Reg(halves[0][i]),
            b: Src::Reg(halves[1][i]),
        }));
    }
    let list = b.list(out.map(|r| Some(Src::Reg(r))));
    b.emit(Op::Alu(Alu::Pack { d, list, bits: 16 }));
    Ok(())
}

fn one(b: &mut Builder<'_>, m: Mods<'_>, op: Int1, ty: Type) -> Result<(), ParseError> {
    m.operands(2..=2)?;
    let d = b.dst(&m.inst.operands[0])?;
    let a = b.src(&m.inst.operands[1], ty)?;
    b.emit(Op::Alu(Alu::Int1 { op, ty, d, a }));
    Ok(())
}

fn two_operands(
    b: &mut Builder<'_>,
    m: Mods<'_>,
    op: Int2,
    ty: Type,
    second: Type,
) -> Result<(), ParseError> {
    m.operands(3..=3)?;
    let d = b.dst(&m.inst.operands[0])?;
    let x = b.src(&m.inst.operands[1], ty)?;
    let y = b.src(&m.inst.operands[2], second)?;
    b.emit(Op::Alu(Alu::Int2 { op, ty, d, a: x, b: y }));
    Ok(())
}

fn three_operands(b: &mut Builder<'_>, m: Mods<'_>, op: Int3, ty: Type) -> Result<(), ParseError> {
    m.operands(4..=4)?;
    let d = b.dst(&m.inst.operands[0])?;
    let third = match op {
        Int3::MadWide if ty == Type::U32 => Type::U64,
        Int3::MadWide if ty == Type::S32 => Type::S64,
        Int3::MadWide => Type::B32,
        _ => ty,
    };
    let x = b.src(&m.inst.operands[1], ty)?;
    let y = b.src(&m.inst.operands[2], if op == Int3::Bfe { Type::U32 } else { ty })?;
    let z = b.src(&m.inst.operands[3], if op == Int3::Bfe { Type::U32 } else { third })?;
    b.emit(Op::Alu(Alu::Int3 { op, ty, d, a: x, b: y, c: z }));
    Ok(())
}

/// `addc`, `subc`, `madc`.
pub(super) fn carry(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let writes = m.flag("cc");
    carry_chain(b, m, true, writes)
}

fn carry_chain(
    b: &mut Builder<'_>,
    mut m: Mods<'_>,
    reads: bool,
    writes: bool,
) -> Result<(), ParseError> {
    let op = match m.name() {
        "add" | "addc" => CarryOp::Add,
        "sub" | "subc" => CarryOp::Sub,
        "mad" | "madc" => m.need(&[("lo", CarryOp::MadLo), ("hi", CarryOp::MadHi)])?,
        _ => return Err(m.unknown()),
    };
    let ty = integer(&mut m)?;
    m.done()?;
    let mad = matches!(op, CarryOp::MadLo | CarryOp::MadHi);
    m.operands(if mad { 4..=4 } else { 3..=3 })?;
    let d = b.dst(&m.inst.operands[0])?;
    let x = b.src(&m.inst.operands[1], ty)?;
    let y = b.src(&m.inst.operands[2], ty)?;
    let z = if mad { b.src(&m.inst.operands[3], ty)? } else { Src::Imm(0) };
    b.emit(Op::Alu(Alu::Carry(Carry { op, ty, reads, writes, d, a: x, b: y, c: z })));
    Ok(())
}

/// Logic, shifts and bit counting.
pub(super) fn bits(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let name = m.name();
    let shift_amount = m.flag("shiftamt");
    if m.peek() == Some("pred") {
        return predicate_logic(b, m);
    }
    let ty = integer(&mut m)?;
    m.done()?;
    match name {
        "and" => two_operands(b, m, Int2::And, ty, ty),
        "or" => two_operands(b, m, Int2::Or, ty, ty),
        "xor" => two_operands(b, m, Int2::Xor, ty, ty),
        "shl" => two_operands(b, m, Int2::Shl, ty, Type::U32),
        "shr" => two_operands(b, m, Int2::Shr, ty, Type::U32),
        "not" => one(b, m, Int1::Not, ty),
        "cnot" => one(b, m, Int1::Cnot, ty),
        "popc" => one(b, m, Int1::Popc, ty),
        "clz" => one(b, m, Int1::Clz, ty),
        "brev" => one(b, m, Int1::Brev, ty),
        "bfind" => one(b, m, if shift_amount { Int1::BfindShift } else { Int1::Bfind }, ty),
        _ => Err(m.unknown()),
    }
}

fn predicate_logic(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    m.first();
    m.done()?;
    if m.name() == "not" {
        m.operands(2..=2)?;
        let a = negate(b.pred_src(&m.inst.operands[1])?);
        if let Some(d) = b.pred_dst(&m.inst.operands[0])? {
            b.emit(Op::Alu(Alu::PredMov { d, a }));
        }
        return Ok(());
    }
    let op = match m.name() {
        "and" => BoolOp::And,
        "or" => BoolOp::Or,
        "xor" => BoolOp::Xor,
        _ => return Err(m.unknown()),
    };
    m.operands(3..=3)?;
    let (x, y) = (b.pred_src(&m.inst.operands[1])?, b.pred_src(&m.inst.operands[2])?);
    if let Some(d) = b.pred_dst(&m.inst.operands[0])? {
        b.emit(Op::Alu(Alu::PredLogic { op, d, a: x, b: y }));
    }
    Ok(())
}

fn negate(p: PredSrc) -> PredSrc {
    match p {
        PredSrc::Reg(p, negated) => PredSrc::Reg(p, !negated),
        PredSrc::Const(value) => PredSrc::Const(!value),
    }
}

/// Bit fields, funnel shifts, permutes and dot products.
pub(super) fn fields(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "bfe" => {
            let ty = integer(&mut m)?;
            m.done()?;
            three_operands(b, m, Int3::Bfe, ty)
        }
        "bfi" => bfi(b, m),
        "bmsk" => {
            let op = m.need(&[("clamp", Int2::BmskClamp), ("wrap", Int2::BmskWrap)])?;
            let ty = integer(&mut m)?;
            m.done()?;
            two_operands(b, m, op, ty, ty)
        }
        "szext" => {
            let op = m.need(&[("clamp", Int2::SzextClamp), ("wrap", Int2::SzextWrap)])?;
            let ty = integer(&mut m)?;
            m.done()?;
            two_operands(b, m, op, ty, Type::U32)
        }
        "shf" => {
            let left = m.need(&[("l", true), ("r", false)])?;
            let op = match (left, m.need(&[("clamp", true), ("wrap", false)])?) {
                (true, true) => Int3::ShfLClamp,
                (true, false) => Int3::ShfLWrap,
                (false, true) => Int3::ShfRClamp,
                (false, false) => Int3::ShfRWrap,
            };
            let ty = integer(&mut m)?;
            m.done()?;
            three_operands(b, m, op, ty)
        }
        "prmt" => {
            let ty = integer(&mut m)?;
            let op = m
                .choose(&[
                    ("f4e", Int3::PrmtF4e),
                    ("b4e", Int3::PrmtB4e),
                    ("rc8", Int3::PrmtRc8),
                    ("ecl", Int3::PrmtEcl),
                    ("ecr", Int3::PrmtEcr),
                    ("rc16", Int3::PrmtRc16),
                ])
                .unwrap_or(Int3::Prmt);
            m.done()?;
            three_operands(b, m, op, ty)
        }
        "fns" => {
            let ty = integer(&mut m)?;
            m.done()?;
            three_operands(b, m, Int3::Fns, ty)
        }
        "lop3" => lop3(b, m),
        _ => dot_product(b, m),
    }
}

fn bfi(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let ty = integer(&mut m)?;
    m.done()?;
    m.operands(5..=5)?;
    let d = b.dst(&m.inst.operands[0])?;
    let mut values = Vec::with_capacity(4);
    for (i, operand) in m.inst.operands[1..].iter().enumerate() {
        values.push(Some(b.src(operand, if i < 2 { ty } else { Type::U32 })?));
    }
    let list = b.list(values);
    b.emit(Op::Alu(Alu::Bfi { ty, d, list }));
    Ok(())
}

/// `lop3`, and its form that combines the result's being non-zero with a predicate.
fn lop3(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let combine = m.choose(&[("or", BoolOp::Or), ("and", BoolOp::And)]);
    let ty = integer(&mut m)?;
    m.done()?;
    let count = if combine.is_some() { 6 } else { 5 };
    m.operands(count..=count)?;
    let operands = &m.inst.operands;
    let Operand::Int(table) = operands[4] else {
        return Err(m.error("the truth table must be a constant"));
    };
    let x = b.src(&operands[1], ty)?;
    let y = b.src(&operands[2], ty)?;
    let z = b.src(&operands[3], ty)?;
    let op = Int3::Lop3(table as u8);
    let (Some(combine), Operand::Pair(d, p)) = (combine, &operands[0]) else {
        let d = b.dst(&operands[0])?;
        b.emit(Op::Alu(Alu::Int3 { op, ty, d, a: x, b: y, c: z }));
        return Ok(());
    };
    let d = match b.dst_or_sink(d)? {
        Some((d, _)) => d,
        None => b.hidden(),
    };
    let p = b.pred_dst(p)?;
    let q = b.pred_src(&operands[5])?;
    b.emit(Op::Alu(Alu::Int3 { op, ty, d, a: x, b: y, c: z }));
    let (a, zero) = (Src::Reg(d), Src::Imm(0));
    let compare = Compare {
        cmp: Cmp::Ne,
        ty: Type::B32,
        ftz: false,
        a,
        b: zero,
        combine: Some((combine, q)),
    };
    b.emit(Op::Alu(Alu::SetP { compare, p, q: None }));
    Ok(())
}

fn dot_product(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let four = m.name() == "dp4a";
    let high = if four { 0 } else { m.need(&[("lo", 0), ("hi", 1)])? };
    let (a_type, b_type) = (m.ty()?, m.ty()?);
    m.done()?;
    if a_type.bits() != 32 || b_type.bits() != 32 || a_type.float() || b_type.float() {
        return Err(m.error("needs two of .u32, .s32"));
    }
    let (x, y) = (a_type.signed(), b_type.signed());
    let op = match (four, high) {
        (true, _) => Int3::Dp4a(x, y),
        (false, 0) => Int3::Dp2aLo(x, y),
        (false, _) => Int3::Dp2aHi(x, y),
    };
    three_operands(b, m, op, Type::B32)
}

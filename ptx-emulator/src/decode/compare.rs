//! Decodes comparisons and selections.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::function::Builder;
use super::mods::Mods;
use super::op::*;

/// `setp`, `set`, `selp`, `slct`.
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "setp" => setp(b, m),
        "set" => set(b, m),
        "selp" => {
            let ty = m.ty()?;
            m.done()?;
            m.operands(4..=4)?;
            let p = b.pred_src(&m.inst.operands[3])?;
            if ty == Type::Pred {
                return Err(m.error("selects values, not predicates"));
            }
            let d = b.dst(&m.inst.operands[0])?;
            let x = b.src(&m.inst.operands[1], ty)?;
            let y = b.src(&m.inst.operands[2], ty)?;
            b.emit(Op::Alu(Alu::Selp { d, a: x, b: y, p }));
            Ok(())
        }
        _ => {
            m.flag("ftz");
            let (ty, by) = (m.ty()?, m.ty()?);
            m.done()?;
            m.operands(4..=4)?;
            let d = b.dst(&m.inst.operands[0])?;
            let x = b.src(&m.inst.operands[1], ty)?;
            let y = b.src(&m.inst.operands[2], ty)?;
            let c = b.src(&m.inst.operands[3], by)?;
            b.emit(Op::Alu(Alu::Slct { d, a: x, b: y, c, float: by == Type::F32 }));
            Ok(())
        }
    }
}

/// Comparison and combination, without type.
fn comparison(m: &mut Mods<'_>) -> Result<(Cmp, Option<BoolOp>), ParseError> {
    use Cmp::*;
    let cmp = m.need(&[
        ("eq", Eq),
        ("ne", Ne),
        ("lt", Lt),
        ("le", Le),
        ("gt", Gt),
        ("ge", Ge),
        ("lo", Lt),
        ("ls", Le),
        ("hi", Gt),
        ("hs", Ge),
        ("equ", Equ),
        ("neu", Neu),
        ("ltu", Ltu),
        ("leu", Leu),
        ("gtu", Gtu),
        ("geu", Geu),
        ("num", Num),
        ("nan", Nan),
    ])?;
    let combine = m.choose(&[("and", BoolOp::And), ("or", BoolOp::Or), ("xor", BoolOp::Xor)]);
    Ok((cmp, combine))
}

fn compare(
    b: &mut Builder<'_>,
    m: &Mods<'_>,
    cmp: Cmp,
    combine: Option<BoolOp>,
    ty: Type,
    ftz: bool,
) -> Result<Compare, ParseError> {
    let count = if combine.is_some() { 4 } else { 3 };
    m.operands(count..=count)?;
    let unordered = matches!(
        cmp,
        Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu | Cmp::Num | Cmp::Nan
    );
    if ty == Type::Pred || ty.bits() == 8 || ty == Type::B128 || (unordered && !ty.float()) {
        return Err(m.error("the type does not fit the comparison"));
    }
    let x = b.src(&m.inst.operands[1], ty)?;
    let y = b.src(&m.inst.operands[2], ty)?;
    let combine = match combine {
        Some(op) => Some((op, b.pred_src(&m.inst.operands[3])?)),
        None => None,
    };
    Ok(Compare { cmp, ty, ftz, a: x, b: y, combine })
}

fn setp(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let (cmp, combine) = comparison(&mut m)?;
    let ftz = m.flag("ftz");
    let ty = m.ty()?;
    m.done()?;
    let compare = compare(b, &m, cmp, combine, ty, ftz)?;
    let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
    let (p, q) = match &m.inst.operands[0] {
        Operand::Pair(p, q) => (b.pred_dst(p)?, b.pred_dst(q)?),
        _ if packed => return Err(m.error("a packed comparison has two destinations, `p|q`")),
        other => (b.pred_dst(other)?, None),
    };
    b.emit(Op::Alu(Alu::SetP { compare, p, q }));
    Ok(())
}

fn set(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let (cmp, combine) = comparison(&mut m)?;
    let ftz = m.flag("ftz");
    let (to, ty) = (m.ty()?, m.ty()?);
    m.done()?;
    let fits = match ty {
        Type::F16x2 | Type::Bf16x2 => to.bits() == 32,
        _ => matches!(
            to,
            Type::U16 | Type::S16 | Type::F16 | Type::Bf16 | Type::U32 | Type::S32 | Type::F32
        ),
    };
    if !fits {
        return Err(m.error("the destination type does not fit"));
    }
    let compare = compare(b, &m, cmp, combine, ty, ftz)?;
    let d = b.dst(&m.inst.operands[0])?;
    b.emit(Op::Alu(Alu::Set { compare, to, d }));
    Ok(())
}

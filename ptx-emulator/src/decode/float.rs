//! Decodes floating-point arithmetic and functions.

use crate::num::approx::Approx;
use crate::num::arith::FloatOp;
use crate::num::{Mode, Round};
use crate::parse::ParseError;
use crate::parse::ast::Type;

use super::function::Builder;
use super::mods::Mods;
use super::op::*;

/// Whether the opcode's last type is a floating-point one.
pub(super) fn is_float(m: &Mods<'_>) -> bool {
    m.inst.opcode.rsplit('.').find_map(Type::from_word).is_some_and(Type::float)
}

/// Takes the type; it must be one that arithmetic has.
fn float(m: &mut Mods<'_>) -> Result<Type, ParseError> {
    use Type::*;
    match m.ty()? {
        ty @ (F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64) => Ok(ty),
        _ => Err(m.error("the type does not fit the instruction")),
    }
}

/// `add`, `sub`, `mul`, `mad`, `fma`, `div`, `min`, `max`, `abs`, `neg` on floats.
pub(super) fn arithmetic(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "min" | "max" => return min_max(b, m),
        "abs" | "neg" => return sign(b, m),
        "div" => {
            if m.flag("approx") | m.flag("full") {
                // Correctly rounded: within the error that both state.
                return emit(b, m, FloatOp::Div, Some(Round::Near));
            }
            return emit(b, m, FloatOp::Div, None);
        }
        _ => {}
    }
    let op = match m.name() {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "mul" => FloatOp::Mul,
        _ => FloatOp::Fma,
    };
    let default = if op == FloatOp::Fma { None } else { Some(Round::Near) };
    emit(b, m, op, default)
}

/// An operation with rounding mode; `default` is the rounding where none is written, or none where one must be.
fn emit(
    b: &mut Builder<'_>,
    mut m: Mods<'_>,
    op: FloatOp,
    default: Option<Round>,
) -> Result<(), ParseError> {
    let ftz = m.flag("ftz");
    let mode = Mode { round: Round::Near, ftz, sat: m.flag("sat"), relu: m.flag("relu") };
    let Some(round) = m.round().or(default).filter(|r| *r != Round::NearAway) else {
        return Err(m.error("needs a rounding mode: .rn, .rz, .rm or .rp"));
    };
    let mode = Mode { round, ..mode };
    let ty = float(&mut m)?;
    m.done()?;
    if mode.relu && !(op == FloatOp::Fma && ty.bits() <= 32 && ty != Type::F32) {
        return Err(m.error(".relu fits only fma of half types"));
    }
    if round != Round::Near && !matches!(ty, Type::F32 | Type::F64) {
        return Err(m.error("half types round to nearest only"));
    }
    let count = match op {
        FloatOp::Fma => 3,
        FloatOp::Sqrt | FloatOp::Rcp => 1,
        _ => 2,
    };
    m.operands(count + 1..=count + 1)?;
    let d = b.dst(&m.inst.operands[0])?;
    let mut args = [Src::Imm(0); 3];
    for (arg, operand) in args.iter_mut().zip(&m.inst.operands[1..]) {
        *arg = b.src(operand, ty)?;
    }
    let fast = match op {
        FloatOp::Add => Some(Fast::Add),
        FloatOp::Sub => Some(Fast::Sub),
        FloatOp::Mul => Some(Fast::Mul),
        FloatOp::Fma => Some(Fast::Fma),
        FloatOp::Div => Some(Fast::Div),
        FloatOp::Sqrt => Some(Fast::Sqrt),
        FloatOp::Rcp => None,
    };
    match fast {
        Some(op) if ty == Type::F32 && mode == Mode::PLAIN => {
            let [a, x, c] = args;
            b.emit(Op::Alu(Alu::Fast { op, d, a, b: x, c }));
        }
        _ => {
            let list = b.list(args.map(Some));
            b.emit(Op::Alu(Alu::Float { op, ty, mode, d, list }));
        }
    }
    Ok(())
}

fn min_max(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let max = m.name() == "max";
    let (ftz, nan) = (m.flag("ftz"), m.flag("NaN"));
    let xorsign = m.flag("xorsign");
    let abs = m.flag("abs");
    if xorsign != abs {
        return Err(m.error(".xorsign and .abs stand together"));
    }
    let ty = float(&mut m)?;
    m.done()?;
    m.operands(3..=4)?;
    let d = b.dst(&m.inst.operands[0])?;
    let x = b.src(&m.inst.operands[1], ty)?;
    let y = b.src(&m.inst.operands[2], ty)?;
    let c = match m.inst.operands.get(3) {
        Some(operand) if ty == Type::F32 && !xorsign => Some(b.src(operand, ty)?),
        Some(_) => return Err(m.error("only .f32 has three operands")),
        None => None,
    };
    if ty == Type::F32 && c.is_none() && !(ftz || nan || xorsign) {
        let op = if max { Fast::Max } else { Fast::Min };
        b.emit(Op::Alu(Alu::Fast { op, d, a: x, b: y, c: Src::Imm(0) }));
    } else {
        b.emit(Op::Alu(Alu::MinMax(FloatMinMax { max, nan, ftz, xorsign, ty, d, a: x, b: y, c })));
    }
    Ok(())
}

fn sign(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let op = if m.name() == "abs" { Sign::Abs } else { Sign::Neg };
    let ftz = m.flag("ftz");
    let ty = float(&mut m)?;
    m.done()?;
    m.operands(2..=2)?;
    let d = b.dst(&m.inst.operands[0])?;
    let a = b.src(&m.inst.operands[1], ty)?;
    b.emit(Op::Alu(Alu::Sign { op, ty, ftz, d, a }));
    Ok(())
}

/// Functions of one operand.
pub(super) fn unary(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let approx = m.flag("approx");
    let f = match m.name() {
        "rcp" if approx => Approx::Rcp,
        "sqrt" if approx => Approx::Sqrt,
        "rcp" => return emit(b, m, FloatOp::Rcp, None),
        "sqrt" => return emit(b, m, FloatOp::Sqrt, None),
        "rsqrt" if approx => Approx::Rsqrt,
        "sin" if approx => Approx::Sin,
        "cos" if approx => Approx::Cos,
        "lg2" if approx => Approx::Lg2,
        "ex2" if approx => Approx::Ex2,
        "tanh" if approx => Approx::Tanh,
        _ => return Err(m.error("needs .approx")),
    };
    let ftz = m.flag("ftz");
    let ty = float(&mut m)?;
    m.done()?;
    let fits = match ty {
        Type::F32 => true,
        Type::F64 => matches!(f, Approx::Rcp | Approx::Rsqrt),
        _ => matches!(f, Approx::Ex2 | Approx::Tanh),
    };
    if !fits {
        return Err(m.error("the type does not fit the function"));
    }
    m.operands(2..=2)?;
    let d = b.dst(&m.inst.operands[0])?;
    let a = b.src(&m.inst.operands[1], ty)?;
    b.emit(Op::Alu(Alu::Approx { f, ty, ftz, d, a }));
    Ok(())
}

/// `copysign` and `testp`.
pub(super) fn special(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if m.name() == "copysign" {
        let ty = float(&mut m)?;
        m.done()?;
        m.operands(3..=3)?;
        let d = b.dst(&m.inst.operands[0])?;
        let x = b.src(&m.inst.operands[1], ty)?;
        let y = b.src(&m.inst.operands[2], ty)?;
        b.emit(Op::Alu(Alu::CopySign { ty, d, a: x, b: y }));
        return Ok(());
    }
    let property = m.need(&[
        ("finite", Property::Finite),
        ("infinite", Property::Infinite),
        ("number", Property::Number),
        ("notanumber", Property::NotANumber),
        ("normal", Property::Normal),
        ("subnormal", Property::Subnormal),
    ])?;
    let ty = float(&mut m)?;
    m.done()?;
    m.operands(2..=2)?;
    if !matches!(ty, Type::F32 | Type::F64) {
        return Err(m.error("needs .f32 or .f64"));
    }
    let a = b.src(&m.inst.operands[1], ty)?;
    if let Some(p) = b.pred_dst(&m.inst.operands[0])? {
        b.emit(Op::Alu(Alu::TestP { property, ty, p, a }));
    }
    Ok(())
}

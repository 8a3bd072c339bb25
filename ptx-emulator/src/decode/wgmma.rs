//! Decodes asynchronous warpgroup-wide matrix instructions.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::async_op::AsyncOp;
use super::function::Builder;
use super::matrix::{destinations, shape, sources};
use super::mods::Mods;
use super::op::{List, Op, PredSrc, Src};

/// Operand A: a descriptor, or fragments in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandA {
    Descriptor(Src),
    Registers(List),
}

/// `wgmma.mma_async`
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpgroupMma {
    pub(crate) n: u16,
    pub(crate) k: u8,
    pub(crate) d_type: Type,
    pub(crate) a_type: Type,
    pub(crate) b_type: Type,
    pub(crate) sat: bool,
    pub(crate) d: List,
    pub(crate) a: OperandA,
    pub(crate) b: Src,
    /// False: the accumulator counts as zero.
    pub(crate) scale_d: PredSrc,
    pub(crate) negate: (bool, bool),
    /// Operand lies with M (or N) as the fast dimension.
    pub(crate) trans: (bool, bool),
}

/// `wgmma`
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if !(m.flag("sync") && m.flag("aligned")) {
        return Err(m.error("needs .sync.aligned"));
    }
    if m.flag("fence") || m.flag("commit_group") {
        let fence = m.inst.opcode.contains(".fence");
        m.done()?;
        b.emit(Op::Async(if fence { AsyncOp::WgmmaFence } else { AsyncOp::WgmmaCommit }));
        return Ok(());
    }
    if m.flag("wait_group") {
        m.done()?;
        m.operands(1..=1)?;
        let Operand::Int(n) = m.inst.operands[0] else { return Err(m.error("needs a constant")) };
        b.emit(Op::Async(AsyncOp::WgmmaWait(n.min(1 << 20) as u32)));
        return Ok(());
    }
    if !m.flag("mma_async") {
        return Err(m.unknown());
    }
    multiply(b, m)
}

fn multiply(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let Some((rows, n, k)) = m.find(shape) else {
        return Err(m.error("needs a shape such as .m64n128k16"));
    };
    let sat = m.flag("satfinite");
    let (d_type, a_type, b_type) = (m.ty()?, m.ty()?, m.ty()?);
    m.done()?;
    let eight = |ty| matches!(ty, Type::E4m3 | Type::E5m2);
    let byte = |ty| matches!(ty, Type::S8 | Type::U8);
    let fits = rows == 64
        && (8..=256).contains(&n)
        && n % 8 == 0
        && match (d_type, a_type, b_type) {
            (Type::F32 | Type::F16, Type::F16, Type::F16) | (Type::F32, Type::Bf16, Type::Bf16) => {
                k == 16
            }
            (Type::F32, Type::Tf32, Type::Tf32) => k == 8,
            (Type::F32 | Type::F16, a, b) if eight(a) && eight(b) => k == 32,
            (Type::S32, a, b) if byte(a) && byte(b) => {
                k == 32 && (n % 16 == 0 || n == 8 || n == 24)
            }
            _ => false,
        };
    if !fits {
        return Err(m.error("this emulator does not know the combination of shape and types"));
    }
    let integer = d_type == Type::S32;
    let transposes = matches!(a_type, Type::F16 | Type::Bf16);
    let operands = &m.inst.operands;
    m.operands(4..=8)?;
    let items = b.elements(&operands[0]);
    let expected = (n / if d_type == Type::F16 { 4 } else { 2 }) as usize;
    if items.len() != expected {
        return Err(m.error(format!("has {} accumulators, expected {expected}", items.len())));
    }
    let d = destinations(b, &items)?;
    let in_registers = matches!(operands[1], Operand::Vector(_));
    let a = if in_registers {
        let items = b.elements(&operands[1]);
        if items.len() != 4 {
            return Err(m.error(format!("operand A has {} registers, expected 4", items.len())));
        }
        OperandA::Registers(sources(b, &items, Type::B32)?)
    } else {
        OperandA::Descriptor(b.src(&operands[1], Type::B64)?)
    };
    let second = b.src(&operands[2], Type::B64)?;
    let scale_d = b.pred_src(&operands[3])?;
    let mut rest = operands[4..].iter();
    let mut constant = |what: &str| match rest.next() {
        Some(Operand::Int(v)) => Ok(*v as i64),
        _ => Err(m.error(format!("needs the constant {what}"))),
    };
    let mut negate = (false, false);
    let mut trans = (false, false);
    if !integer {
        negate = (constant("imm-scale-a")? == -1, constant("imm-scale-b")? == -1);
        if transposes {
            if !in_registers {
                trans.0 = constant("imm-trans-a")? == 1;
            }
            trans.1 = constant("imm-trans-b")? == 1;
        }
    }
    if rest.next().is_some() {
        return Err(m.error("has too many operands"));
    }
    let mma = WarpgroupMma {
        n: n as u16,
        k: k as u8,
        d_type,
        a_type,
        b_type,
        sat,
        d,
        a,
        b: second,
        scale_d,
        negate,
        trans,
    };
    b.emit(Op::Async(AsyncOp::Wgmma(mma)));
    Ok(())
}

//! Decodes warp-wide matrix instructions.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::function::Builder;
use super::mods::Mods;
use super::op::{Addr, List, Op, Reg, Space, Src};

/// `mma.sync`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mma {
    pub(crate) m: u8,
    pub(crate) n: u8,
    pub(crate) k: u8,
    pub(crate) d_type: Type,
    pub(crate) a_type: Type,
    pub(crate) b_type: Type,
    pub(crate) c_type: Type,
    /// Integer results clamp instead of wrapping.
    pub(crate) sat: bool,
    pub(crate) d: List,
    pub(crate) a: List,
    pub(crate) b: List,
    pub(crate) c: List,
}

/// A warp-wide matrix instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MatrixOp {
    Load {
        addr: Addr,
        space: Space,
        trans: bool,
        regs: List,
    },
    Store {
        addr: Addr,
        space: Space,
        trans: bool,
        values: List,
    },
    Transpose {
        d: Reg,
        a: Src,
    },
    /// Index into the function's pool of multiplications would save space; the struct is small enough.
    Mma(Mma),
}

/// `ldmatrix`, `stmatrix`, `movmatrix`, `mma`.
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if !(m.flag("sync") && m.flag("aligned")) {
        return Err(m.error("needs .sync.aligned"));
    }
    match m.name() {
        "mma" => mma(b, m),
        "movmatrix" => {
            if !(m.flag("m8n8") && m.flag("trans") && m.flag("b16")) {
                return Err(m.unknown());
            }
            m.done()?;
            m.operands(2..=2)?;
            let d = b.dst(&m.inst.operands[0])?;
            let a = b.src(&m.inst.operands[1], Type::B32)?;
            b.emit(Op::Matrix(MatrixOp::Transpose { d, a }));
            Ok(())
        }
        _ => load_store(b, m),
    }
}

fn load_store(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if !m.flag("m8n8") {
        return Err(m.error("this emulator knows the shape m8n8 only"));
    }
    let count = m.need(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
    let trans = m.flag("trans");
    let space = m
        .choose(&[("shared", Space::Shared), ("shared::cta", Space::Shared)])
        .unwrap_or(Space::Generic);
    m.need(&[("b16", ())])?;
    m.done()?;
    m.operands(2..=2)?;
    let load = m.name() == "ldmatrix";
    let (registers, address) = if load { (0, 1) } else { (1, 0) };
    let items = b.elements(&m.inst.operands[registers]);
    if items.len() != count {
        return Err(m.error(format!("has {} registers, expected {count}", items.len())));
    }
    let (addr, _) = b.addr(&m.inst.operands[address])?;
    let list = if load { destinations(b, &items)? } else { sources(b, &items, Type::B32)? };
    let op = if load {
        MatrixOp::Load { addr, space, trans, regs: list }
    } else {
        MatrixOp::Store { addr, space, trans, values: list }
    };
    b.emit(Op::Matrix(op));
    Ok(())
}

/// Pool list of destination registers.
pub(super) fn destinations(b: &mut Builder<'_>, items: &[Operand]) -> Result<List, ParseError> {
    let regs = items
        .iter()
        .map(|item| Ok(b.dst_or_sink(item)?.map(|(reg, _)| Src::Reg(reg))))
        .collect::<Result<Vec<_>, ParseError>>()?;
    Ok(b.list(regs))
}

/// Pool list of values.
pub(super) fn sources(
    b: &mut Builder<'_>,
    items: &[Operand],
    ty: Type,
) -> Result<List, ParseError> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        values.push(Some(b.src(item, ty)?));
    }
    Ok(b.list(values))
}

/// `m16n8k16` and its like.
pub(super) fn shape(word: &str) -> Option<(u32, u32, u32)> {
    let rest = word.strip_prefix('m')?;
    let (m, rest) = rest.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

fn mma(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let Some(shape) = m.find(shape) else {
        return Err(m.error("needs a shape such as .m16n8k16"));
    };
    if !(m.flag("row") && m.flag("col")) {
        return Err(m.error("this emulator knows .row.col only"));
    }
    let sat = m.flag("satfinite");
    let (d_type, a_type, b_type, c_type) = (m.ty()?, m.ty()?, m.ty()?, m.ty()?);
    m.done()?;
    let bits = match a_type {
        Type::Tf32 => 32,
        other => other.bits(),
    };
    let fits = match (a_type, d_type) {
        (Type::F16, Type::F16 | Type::F32) | (Type::Bf16, Type::F32) => {
            b_type == a_type
                && matches!(shape, (16, 8, 8 | 16))
                && matches!(c_type, Type::F16 | Type::F32)
        }
        (Type::Tf32, Type::F32) => {
            b_type == a_type && matches!(shape, (16, 8, 4 | 8)) && c_type == Type::F32
        }
        (Type::E4m3 | Type::E5m2, Type::F32 | Type::F16) => {
            matches!(b_type, Type::E4m3 | Type::E5m2)
                && matches!(shape, (16, 8, 16 | 32))
                && c_type == d_type
        }
        (Type::F64, Type::F64) => {
            b_type == a_type && c_type == d_type && matches!(shape, (8, 8, 4) | (16, 8, 4 | 8 | 16))
        }
        (Type::U8 | Type::S8, Type::S32) => {
            matches!(b_type, Type::U8 | Type::S8)
                && matches!(shape, (8, 8, 16) | (16, 8, 16 | 32))
                && c_type == Type::S32
        }
        _ => false,
    };
    if !fits {
        return Err(m.error("this emulator does not know the combination of shape and types"));
    }
    m.operands(4..=4)?;
    let lanes = 32;
    let register = |ty: Type| if ty == Type::F64 { 64 } else { 32 };
    let (rows, columns, depth) = shape;
    let count =
        |elements: u32, bits: u32, ty: Type| (elements * bits / lanes / register(ty)) as usize;
    let half = |ty: Type| if ty == Type::F16 { 16 } else { register(ty) };
    let expected = [
        count(rows * columns, half(d_type), d_type),
        count(rows * depth, bits, a_type),
        count(columns * depth, bits, b_type),
        count(rows * columns, half(c_type), c_type),
    ];
    let mut items = Vec::with_capacity(4);
    for (operand, expected) in m.inst.operands.iter().zip(expected) {
        let elements = b.elements(operand);
        if elements.len() != expected {
            return Err(m.error(format!(
                "an operand has {} registers, expected {expected}",
                elements.len()
            )));
        }
        items.push(elements);
    }
    let d = destinations(b, &items[0])?;
    let word = |ty: Type| {
        if ty == Type::F64 {
            Type::F64
        } else if ty == Type::F32 {
            Type::F32
        } else {
            Type::B32
        }
    };
    let a = sources(b, &items[1], word(a_type))?;
    let x = sources(b, &items[2], word(b_type))?;
    let c = sources(b, &items[3], word(c_type))?;
    let (rows, columns, depth) = (rows as u8, columns as u8, depth as u8);
    let mma =
        Mma { m: rows, n: columns, k: depth, d_type, a_type, b_type, c_type, sat, d, a, b: x, c };
    b.emit(Op::Matrix(MatrixOp::Mma(mma)));
    Ok(())
}

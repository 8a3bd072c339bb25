//! Decodes what is only advice to caches, profilers and schedulers: checked as written, then nothing is done.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::function::Builder;
use super::mods::Mods;
use super::op::{Alu, Op, Src};

/// `prefetch`, `prefetchu`, `applypriority`, `discard`, `createpolicy`, `nanosleep`, `pmevent`.
pub(super) fn decode(b: &mut Builder<'_>, m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "createpolicy" => policy(b, m),
        "nanosleep" => {
            let mut m = m;
            m.need(&[("u32", ())])?;
            m.done()?;
            m.operands(1..=1)?;
            b.src(&m.inst.operands[0], Type::U32)?;
            b.emit(Op::Sleep);
            Ok(())
        }
        "pmevent" => {
            let mut m = m;
            m.flag("mask");
            m.done()?;
            m.operands(1..=1)?;
            let Operand::Int(_) = m.inst.operands[0] else {
                return Err(m.error("needs a constant"));
            };
            b.emit(Op::Nothing);
            Ok(())
        }
        _ => line(b, m),
    }
}

/// Advice about one place.
fn line(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let name = m.name();
    let sized = matches!(name, "applypriority" | "discard");
    match name {
        "prefetch" if m.flag("tensormap") => {
            m.choose(&[("const", ()), ("param", ())]);
        }
        "prefetch" => {
            m.choose(&[("global", ()), ("local", ())]);
            m.need(&[("L1", ()), ("L2", ()), ("L2::evict_last", ()), ("L2::evict_normal", ())])?;
        }
        "prefetchu" => m.need(&[("L1", ())])?,
        "applypriority" => {
            m.flag("global");
            m.need(&[("L2::evict_normal", ())])?;
        }
        _ => {
            m.flag("global");
            m.need(&[("L2", ())])?;
        }
    }
    m.done()?;
    m.operands(1 + usize::from(sized)..=1 + usize::from(sized))?;
    b.addr(&m.inst.operands[0])?;
    if sized && m.inst.operands[1] != Operand::Int(128) {
        return Err(m.error("the size is 128"));
    }
    b.emit(Op::Nothing);
    Ok(())
}

/// A cache policy is a number that says nothing here.
fn policy(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let kind = m.need(&[("fractional", 0), ("range", 1), ("cvt", 2)])?;
    let priority = [
        ("L2::evict_last", ()),
        ("L2::evict_normal", ()),
        ("L2::evict_first", ()),
        ("L2::evict_unchanged", ()),
    ];
    let operands = match kind {
        0 => 1..=2,
        1 => {
            m.flag("global");
            4..=4
        }
        _ => 2..=2,
    };
    if kind == 2 {
        m.need(&[("L2", ())])?;
    } else {
        m.need(&priority)?;
        m.choose(&priority);
    }
    m.need(&[("b64", ())])?;
    m.done()?;
    m.operands(operands)?;
    let d = b.dst(&m.inst.operands[0])?;
    match (kind, &m.inst.operands[1..]) {
        (1, [address, sizes @ ..]) => {
            b.addr(address)?;
            for size in sizes {
                b.src(size, Type::U32)?;
            }
        }
        (2, [property]) => _ = b.src(property, Type::B64)?,
        (_, [fraction]) => _ = b.src(fraction, Type::F32)?,
        _ => {}
    }
    b.emit(Op::Alu(Alu::Mov { d, a: Src::Imm(0) }));
    Ok(())
}

/// `cp.async.bulk.prefetch`, `cp`, `async`, `bulk` and `prefetch` being taken already.
pub(super) fn bulk_prefetch(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let rank = if m.flag("tensor") {
        Some(m.need(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)])?)
    } else {
        None
    };
    if !(m.flag("L2") && m.flag("global")) {
        return Err(m.error("needs .L2.global"));
    }
    if rank.is_some() {
        m.flag("tile");
    }
    let policy = usize::from(m.flag("L2::cache_hint"));
    m.done()?;
    let operands = &m.inst.operands;
    let count = if rank.is_some() { 1 } else { 2 } + policy;
    m.operands(count..=count)?;
    b.addr(&operands[0])?;
    match (rank, &operands[0]) {
        (Some(rank), Operand::Address { more, .. }) => {
            let found = more.first().map_or(0, |coordinates| b.elements(coordinates).len());
            if found != rank {
                return Err(m.error(format!("has {found} coordinates, expected {rank}")));
            }
        }
        _ => _ = b.src(&operands[1], Type::U32)?,
    }
    b.emit(Op::Nothing);
    Ok(())
}

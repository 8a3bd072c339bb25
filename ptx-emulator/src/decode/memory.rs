//! Decodes moves, loads, stores, atomics and address arithmetic.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Space as VarSpace, Type};

use super::function::Builder;
use super::mods::Mods;
use super::op::*;
use super::scope::Symbol;

/// `mov`: registers, constants, addresses, packing and unpacking.
pub(super) fn mov(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let ty = m.ty()?;
    m.done()?;
    m.operands(2..=2)?;
    let (to, from) = (&m.inst.operands[0], &m.inst.operands[1]);
    if ty == Type::Pred {
        let a = b.pred_src(from)?;
        if let Some(d) = b.pred_dst(to)? {
            b.emit(Op::Alu(Alu::PredMov { d, a }));
        }
        return Ok(());
    }
    match (to, from) {
        (Operand::Vector(items), _) => {
            let bits = part_bits(&m, ty, items.len())?;
            let mut regs = Vec::with_capacity(items.len());
            for item in items {
                regs.push(b.dst_or_sink(item)?.map(|(reg, _)| Src::Reg(reg)));
            }
            let a = b.src(from, ty)?;
            let list = b.list(regs);
            b.emit(Op::Alu(Alu::Unpack { list, a, bits }));
        }
        (_, Operand::Vector(items)) => {
            let bits = part_bits(&m, ty, items.len())?;
            let part = match bits {
                8 => Type::B8,
                16 => Type::B16,
                32 => Type::B32,
                _ => Type::B64,
            };
            let d = b.dst(to)?;
            let mut parts = Vec::with_capacity(items.len());
            for item in items {
                parts.push(Some(b.src(item, part)?));
            }
            let list = b.list(parts);
            b.emit(Op::Alu(Alu::Pack { d, list, bits }));
        }
        _ => {
            let d = b.dst(to)?;
            let a = b.src(from, ty)?;
            b.emit(Op::Alu(Alu::Mov { d, a }));
            if let (Type::B128, Src::Reg(reg)) = (ty, a) {
                b.emit(Op::Alu(Alu::Mov { d: d + 1, a: Src::Reg(reg + 1) }));
            }
        }
    }
    Ok(())
}

fn part_bits(m: &Mods<'_>, ty: Type, parts: usize) -> Result<u8, ParseError> {
    let bits = ty.bits() as usize;
    if !matches!(parts, 2 | 4) || bits / parts < 8 {
        return Err(m.error(format!("{bits} bits don't split into {parts} parts")));
    }
    Ok((bits / parts) as u8)
}

/// The state space an opcode names.
fn space(m: &mut Mods<'_>) -> Space {
    m.choose(&[
        ("global", Space::Global),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
        ("local", Space::Local),
        ("const", Space::Const),
        ("param", Space::Param),
        ("param::entry", Space::Param),
        ("param::func", Space::Param),
    ])
    .unwrap_or(Space::Generic)
}

/// Memory order and scope. The scope is taken and not kept: the checks treat every scope as wide enough.
fn order(m: &mut Mods<'_>, default: Order) -> Order {
    let mmio = m.flag("mmio");
    let order = m.choose(&[
        ("weak", Order::Weak),
        ("volatile", Order::Relaxed),
        ("relaxed", Order::Relaxed),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
        ("acq_rel", Order::AcqRel),
        ("sc", Order::AcqRel),
    ]);
    m.choose(&[("cta", ()), ("cluster", ()), ("gpu", ()), ("sys", ()), ("gl", ())]);
    order.unwrap_or(if mmio { Order::Relaxed } else { default })
}

/// Takes cache operators, eviction priorities and prefetch sizes; true if a cache-policy operand follows.
fn cache_hints(m: &mut Mods<'_>) -> bool {
    while m
        .choose(&[
            ("ca", ()),
            ("cg", ()),
            ("cs", ()),
            ("lu", ()),
            ("cv", ()),
            ("wb", ()),
            ("wt", ()),
        ])
        .is_some()
    {}
    let policy = m.flag("L2::cache_hint");
    while m.find(|p| (p.starts_with("L1::") || p.starts_with("L2::")).then_some(())).is_some() {}
    policy
}

/// Corrects the space by the symbol that the address names.
fn resolve(b: &Builder<'_>, space: Space, symbol: Option<&Symbol>) -> Space {
    match (space, symbol) {
        // A parameter of a call or of a function lies in the frame.
        (_, Some(Symbol::Frame { .. })) => Space::Local,
        (Space::Param, None) if !b.out.entry => Space::Local,
        (Space::Generic, Some(Symbol::Shared(_))) => Space::Shared,
        (Space::Generic, Some(Symbol::Param { .. })) => Space::Param,
        (Space::Generic, Some(Symbol::Module { space, .. })) => {
            if *space == VarSpace::Const {
                Space::Const
            } else {
                Space::Global
            }
        }
        _ => space,
    }
}

fn vector(m: &mut Mods<'_>) -> usize {
    m.choose(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
}

/// `ld`.
pub(super) fn load(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let order = order(&mut m, Order::Weak);
    let space = space(&mut m);
    m.flag("nc");
    let policy = cache_hints(&mut m);
    m.flag("unified");
    let elements = vector(&mut m);
    let ty = m.ty()?;
    m.done()?;
    let count = if policy { 3 } else { 2 };
    m.operands(count..=count)?;
    let (addr, symbol) = b.addr(&m.inst.operands[1])?;
    let items = b.elements(&m.inst.operands[0]);
    if items.len() != elements {
        return Err(m.error(format!("has {} destinations, expected {elements}", items.len())));
    }
    check_vector(&m, elements, ty)?;
    let mut regs = Vec::with_capacity(elements);
    let mut extend = 0;
    for item in &items {
        let found = b.dst_or_sink(item)?;
        if let Some((reg, bits)) = found {
            if bits < ty.bits() {
                return Err(m.error(format!("a register of {bits} bits can't hold {}", ty.bits())));
            }
            if ty.signed() {
                extend = bits as u8;
            }
            if ty == Type::B128 {
                regs.extend([Some(Src::Reg(reg)), Some(Src::Reg(reg + 1))]);
                continue;
            }
        } else if ty == Type::B128 {
            regs.push(None);
        }
        regs.push(found.map(|(reg, _)| Src::Reg(reg)));
    }
    let list = b.list(regs);
    let bytes = ty.bytes().min(8) as u8;
    let space = resolve(b, space, symbol.as_ref());
    b.emit(Op::Load(Access { space, addr, bytes, extend, order, list }));
    Ok(())
}

fn check_vector(m: &Mods<'_>, elements: usize, ty: Type) -> Result<(), ParseError> {
    if ty == Type::Pred || elements * ty.bytes() as usize > 32 {
        return Err(m.error("the access is wider than 32 bytes"));
    }
    Ok(())
}

/// `st`.
pub(super) fn store(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if m.peek() == Some("async") {
        return super::bulk::async_value(b, m);
    }
    let order = order(&mut m, Order::Weak);
    let space = space(&mut m);
    let policy = cache_hints(&mut m);
    let elements = vector(&mut m);
    let ty = m.ty()?;
    m.done()?;
    let count = if policy { 3 } else { 2 };
    m.operands(count..=count)?;
    let (addr, symbol) = b.addr(&m.inst.operands[0])?;
    let items = b.elements(&m.inst.operands[1]);
    if items.len() != elements {
        return Err(m.error(format!("has {} values, expected {elements}", items.len())));
    }
    check_vector(&m, elements, ty)?;
    let mut values = Vec::with_capacity(elements);
    for item in &items {
        let value = b.src(item, ty)?;
        values.push(Some(value));
        if let (Type::B128, Src::Reg(reg)) = (ty, value) {
            values.push(Some(Src::Reg(reg + 1)));
        }
    }
    let list = b.list(values);
    let bytes = ty.bytes().min(8) as u8;
    let space = resolve(b, space, symbol.as_ref());
    b.emit(Op::Store(Access { space, addr, bytes, extend: 0, order, list }));
    Ok(())
}

/// `atom` and `red`.
pub(super) fn atomic(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let returns = m.name() == "atom";
    if m.peek() == Some("async") {
        return super::bulk::async_value(b, m);
    }
    let order = order(&mut m, Order::Relaxed);
    let space = space(&mut m);
    let policy = cache_hints(&mut m);
    m.flag("noftz");
    let op = m.need(&[
        ("and", AtomOp::And),
        ("or", AtomOp::Or),
        ("xor", AtomOp::Xor),
        ("exch", AtomOp::Exch),
        ("cas", AtomOp::Cas),
        ("add", AtomOp::Add),
        ("inc", AtomOp::Inc),
        ("dec", AtomOp::Dec),
        ("min", AtomOp::Min),
        ("max", AtomOp::Max),
    ])?;
    let elements = vector(&mut m);
    let ty = m.ty()?;
    m.done()?;
    check_atomic(&m, op, ty, elements)?;
    let mut operands = m.inst.operands.iter();
    let count = usize::from(returns) + 2 + usize::from(op == AtomOp::Cas) + usize::from(policy);
    m.operands(count..=count)?;
    let mut dst = Vec::new();
    if returns {
        for item in operands.next().map(|o| b.elements(o)).unwrap_or_default() {
            let d = b.dst_or_sink(&item)?.map(|(reg, _)| reg);
            dst.push(d.map(Src::Reg));
            if ty == Type::B128 {
                dst.push(d.map(|reg| Src::Reg(reg + 1)));
            }
        }
    }
    let Some(address) = operands.next() else { return Err(m.error("needs an address")) };
    let (addr, symbol) = b.addr(address)?;
    if ty == Type::B128 {
        let space = resolve(b, space, symbol.as_ref());
        return wide_atomic(b, &m, (op, space, addr, order), dst, operands.as_slice());
    }
    let mut src = Vec::new();
    for item in operands.next().map(|o| b.elements(o)).unwrap_or_default() {
        src.push(Some(b.src(&item, ty)?));
    }
    if src.len() != elements || (returns && dst.len() != elements) {
        return Err(m.error(format!("needs {elements} values and as many destinations")));
    }
    let compare = match (op, operands.next()) {
        // `cas d, [a], compare, new`: what was taken as the value is the comparand.
        (AtomOp::Cas, Some(new)) => {
            let new = b.src(new, ty)?;
            src.pop().flatten().inspect(|_| src.push(Some(new)))
        }
        _ => None,
    };
    let (dst, src) = (b.list(dst), b.list(src));
    let space = resolve(b, space, symbol.as_ref());
    if matches!(space, Space::Param | Space::Const) {
        return Err(m.error("the state space is read-only"));
    }
    b.emit(Op::Atomic(Atomic { op, ty, space, addr, order, dst, src, compare }));
    Ok(())
}

/// `atom.exch` and `atom.cas` of 128 bits: pairs of registers, the comparand behind the new value.
fn wide_atomic(
    b: &mut Builder<'_>,
    m: &Mods<'_>,
    (op, space, addr, order): (AtomOp, Space, Addr, Order),
    dst: Vec<Option<Src>>,
    values: &[Operand],
) -> Result<(), ParseError> {
    let mut src = Vec::new();
    // `cas d, [a], compare, new`
    let count = if op == AtomOp::Cas { 2 } else { 1 };
    for value in values.iter().take(count).rev() {
        let Src::Reg(reg) = b.src(value, Type::B128)? else {
            return Err(m.error("needs registers of 128 bits"));
        };
        src.extend([Some(Src::Reg(reg)), Some(Src::Reg(reg + 1))]);
    }
    if dst.is_empty() || matches!(space, Space::Param | Space::Const | Space::Local) {
        return Err(m.error("the state space or the form does not fit 128 bits"));
    }
    let (dst, src) = (b.list(dst), b.list(src));
    let ty = Type::B128;
    b.emit(Op::Atomic(Atomic { op, ty, space, addr, order, dst, src, compare: None }));
    Ok(())
}

fn check_atomic(m: &Mods<'_>, op: AtomOp, ty: Type, elements: usize) -> Result<(), ParseError> {
    use AtomOp::*;
    let fits = match op {
        And | Or | Xor => {
            matches!(ty, Type::B32 | Type::B64 | Type::U32 | Type::U64 | Type::S32 | Type::S64)
        }
        Exch => matches!(ty, Type::B32 | Type::B64 | Type::B128),
        Cas => matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128),
        Inc | Dec => ty == Type::U32,
        Min | Max if ty.float() => elements > 1 || matches!(ty, Type::F16x2 | Type::Bf16x2),
        Min | Max => matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64),
        Add => !matches!(ty.bits(), 8 | 128) && ty != Type::Tf32 && (ty.float() || ty.bits() >= 32),
    };
    if !fits || (elements > 1 && !ty.float()) || elements as u32 * ty.bytes() > 16 {
        return Err(m.error("the type does not fit the operation"));
    }
    Ok(())
}

/// `cvta`, `isspacep`, `mapa`, `getctarank`.
pub(super) fn address(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "cvta" => {
            let to_generic = !m.flag("to");
            let space = space(&mut m);
            let ty = m.ty()?;
            m.done()?;
            m.operands(2..=2)?;
            let d = b.dst(&m.inst.operands[0])?;
            let symbol = match &m.inst.operands[1] {
                Operand::Name(name) | Operand::Offset(name, _) => b.scopes.find(name),
                _ => None,
            };
            let a = b.src(&m.inst.operands[1], ty)?;
            let frame = matches!(symbol, Some(Symbol::Frame { .. }))
                || (space == Space::Param && !b.out.entry);
            let space = if frame { Space::Local } else { space };
            b.emit(Op::Alu(Alu::Cvta { to_generic, space, d, a }));
        }
        "isspacep" => {
            let cluster = m.peek() == Some("shared::cluster");
            let space = space(&mut m);
            m.done()?;
            m.operands(2..=2)?;
            let a = b.src(&m.inst.operands[1], Type::U64)?;
            if let Some(p) = b.pred_dst(&m.inst.operands[0])? {
                b.emit(Op::Alu(Alu::IsSpace { p, space, a, cluster }));
            }
        }
        name => {
            let generic = space(&mut m) == Space::Generic;
            let ty = m.ty()?;
            m.done()?;
            let mapa = name == "mapa";
            let count = if mapa { 3 } else { 2 };
            m.operands(count..=count)?;
            let d = b.dst(&m.inst.operands[0])?;
            let a = b.src(&m.inst.operands[1], ty)?;
            if mapa {
                let rank = b.src(&m.inst.operands[2], Type::U32)?;
                b.emit(Op::Alu(Alu::Mapa { d, a, rank, generic }));
            } else {
                b.emit(Op::Alu(Alu::GetCtaRank { d, a }));
            }
        }
    }
    Ok(())
}

//! Decodes bulk copies and tensor copies.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::async_op::AsyncOp;
use super::function::Builder;
use super::mods::Mods;
use super::op::{Addr, AtomOp, List, Op, Space, Src};

/// How completion is made known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completion {
    /// Bytes are counted on the object at this address.
    Mbarrier(Addr),
    /// The copy belongs to the thread's open group.
    Group,
}

/// What happens at the destination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effect {
    Copy,
    Reduce(AtomOp, Type),
}

/// A one-dimensional bulk copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to_space: Space,
    pub(crate) to: Addr,
    pub(crate) from_space: Space,
    pub(crate) from: Addr,
    pub(crate) bytes: Src,
    pub(crate) effect: Effect,
    pub(crate) completion: Completion,
    pub(crate) multicast: Option<Src>,
}

/// A tensor copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorCopy {
    pub(crate) load: bool,
    /// Address of the tensor map, generic.
    pub(crate) map: Addr,
    /// Address of the map is an offset in parameter space.
    pub(crate) map_in_params: bool,
    pub(crate) coordinates: List,
    pub(crate) shared: Addr,
    /// Operation at the destination; `None` copies. The type is the map's.
    pub(crate) reduce: Option<AtomOp>,
    pub(crate) completion: Completion,
    pub(crate) multicast: Option<Src>,
}

/// `st.async` and `red.async`: values that arrive at shared memory of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncValue {
    pub(crate) to: Addr,
    pub(crate) values: List,
    pub(crate) ty: Type,
    pub(crate) reduce: Option<AtomOp>,
    pub(crate) mbarrier: Addr,
}

/// `st.async` and `red.async`
pub(super) fn async_value(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    m.flag("async");
    let reduce = if m.name() == "red" { Some(m.need(REDUCTIONS)?) } else { None };
    m.choose(&[("weak", ()), ("relaxed", ())]);
    m.choose(&[("cluster", ())]);
    if !(m.flag("shared::cluster") && m.flag("mbarrier::complete_tx::bytes")) {
        return Err(m.error("needs .shared::cluster.mbarrier::complete_tx::bytes"));
    }
    let elements = m.choose(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let ty = m.ty()?;
    m.done()?;
    m.operands(3..=3)?;
    if !matches!(ty.bits(), 32 | 64)
        || elements * ty.bytes() > 16
        || (ty.float() && reduce.is_some())
    {
        return Err(m.error("the type does not fit the instruction"));
    }
    let (to, _) = b.addr(&m.inst.operands[0])?;
    let items = b.elements(&m.inst.operands[1]);
    if items.len() != elements as usize {
        return Err(m.error(format!("has {} values, expected {elements}", items.len())));
    }
    let values = super::matrix::sources(b, &items, ty)?;
    let (mbarrier, _) = b.addr(&m.inst.operands[2])?;
    b.emit(Op::Async(AsyncOp::Value(AsyncValue { to, values, ty, reduce, mbarrier })));
    Ok(())
}

/// `cp.async.bulk...` and `cp.reduce.async.bulk...`, `async` being taken already.
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>, reduce: bool) -> Result<(), ParseError> {
    m.flag("bulk");
    if m.flag("commit_group") {
        m.done()?;
        b.emit(Op::Async(AsyncOp::CommitBulk));
        return Ok(());
    }
    if m.flag("wait_group") {
        let read = m.flag("read");
        m.done()?;
        m.operands(1..=1)?;
        let Operand::Int(n) = m.inst.operands[0] else { return Err(m.error("needs a constant")) };
        b.emit(Op::Async(AsyncOp::WaitBulk { left: n.min(1 << 20) as u32, read }));
        return Ok(());
    }
    if m.flag("prefetch") {
        return super::hint::bulk_prefetch(b, m);
    }
    let tensor = m.flag("tensor");
    let group = m.flag("bulk_group");
    let barrier = m.flag("mbarrier::complete_tx::bytes");
    if group == barrier {
        return Err(m.error("needs one of .bulk_group and .mbarrier::complete_tx::bytes"));
    }
    let multicast = m.flag("multicast::cluster");
    let policy = m.flag("L2::cache_hint");
    let op = if reduce { Some(m.need(REDUCTIONS)?) } else { None };
    if tensor {
        tensor_copy(b, m, (op, multicast, policy))
    } else {
        bulk_copy(b, m, (op, multicast, policy))
    }
}

const REDUCTIONS: &[(&str, AtomOp)] = &[
    ("and", AtomOp::And),
    ("or", AtomOp::Or),
    ("xor", AtomOp::Xor),
    ("add", AtomOp::Add),
    ("inc", AtomOp::Inc),
    ("dec", AtomOp::Dec),
    ("min", AtomOp::Min),
    ("max", AtomOp::Max),
];

const SPACES: &[(&str, Space)] = &[
    ("shared::cluster", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared", Space::Shared),
    ("global", Space::Global),
];

type Options = (Option<AtomOp>, bool, bool);

/// Operands that follow the completion: the multicast mask and the cache policy, which does nothing.
fn tail(
    b: &mut Builder<'_>,
    m: &Mods<'_>,
    at: usize,
    (_, multicast, policy): Options,
) -> Result<Option<Src>, ParseError> {
    let expected = at + usize::from(multicast) + usize::from(policy);
    m.operands(expected..=expected)?;
    if multicast { b.src(&m.inst.operands[at], Type::U16).map(Some) } else { Ok(None) }
}

fn bulk_copy(b: &mut Builder<'_>, mut m: Mods<'_>, options: Options) -> Result<(), ParseError> {
    let (to_space, from_space) = (m.need(SPACES)?, m.need(SPACES)?);
    m.flag("noftz");
    let effect = match options.0 {
        Some(op) => Effect::Reduce(op, m.ty()?),
        None => Effect::Copy,
    };
    m.done()?;
    let operands = &m.inst.operands;
    m.operands(3..=6)?;
    let (to, _) = b.addr(&operands[0])?;
    let (from, _) = b.addr(&operands[1])?;
    let bytes = b.src(&operands[2], Type::U32)?;
    let (completion, next) = match operands.get(3) {
        Some(address @ Operand::Address { .. }) => (Completion::Mbarrier(b.addr(address)?.0), 4),
        _ => (Completion::Group, 3),
    };
    let multicast = tail(b, &m, next, options)?;
    if to_space == Space::Global && from_space == Space::Global {
        return Err(m.unknown());
    }
    let copy = BulkCopy { to_space, to, from_space, from, bytes, effect, completion, multicast };
    b.emit(Op::Async(AsyncOp::Bulk(copy)));
    Ok(())
}

fn tensor_copy(b: &mut Builder<'_>, mut m: Mods<'_>, options: Options) -> Result<(), ParseError> {
    let rank = m.need(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)])?;
    let (to, from) = (m.need(SPACES)?, m.need(SPACES)?);
    m.flag("tile");
    m.done()?;
    let load = match (to, from) {
        (Space::Shared, Space::Global) => true,
        (Space::Global, Space::Shared) => false,
        _ => return Err(m.unknown()),
    };
    m.operands(2..=5)?;
    let operands = &m.inst.operands;
    let (shared, tensor) =
        if load { (&operands[0], &operands[1]) } else { (&operands[1], &operands[0]) };
    let (shared, _) = b.addr(shared)?;
    let (map, symbol) = b.addr(tensor)?;
    let Operand::Address { more, .. } = tensor else { return Err(m.error("needs a tensor map")) };
    let items = match more.as_slice() {
        [coordinates] => b.elements(coordinates),
        _ => return Err(m.error("needs coordinates")),
    };
    if items.len() != rank {
        return Err(m.error(format!("has {} coordinates, expected {rank}", items.len())));
    }
    let coordinates = super::matrix::sources(b, &items, Type::S32)?;
    let (completion, next) = match operands.get(2) {
        Some(address @ Operand::Address { .. }) => (Completion::Mbarrier(b.addr(address)?.0), 3),
        _ => (Completion::Group, 2),
    };
    let multicast = tail(b, &m, next, options)?;
    let map_in_params = matches!(symbol, Some(super::scope::Symbol::Param { .. }));
    let copy = TensorCopy {
        load,
        map,
        map_in_params,
        coordinates,
        shared,
        reduce: options.0,
        completion,
        multicast,
    };
    b.emit(Op::Async(AsyncOp::Tensor(copy)));
    Ok(())
}

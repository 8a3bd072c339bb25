//! Decodes barriers, fences and instructions in which lanes exchange values.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::async_op::{AsyncOp, ClusterBarrier};
use super::function::Builder;
use super::mods::Mods;
use super::op::*;

/// `bar` and `barrier`, block-wide, warp-wide and cluster-wide.
pub(super) fn barrier(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if m.flag("warp") {
        if !m.flag("sync") {
            return Err(m.unknown());
        }
        m.done()?;
        m.operands(1..=1)?;
        let mask = b.src(&m.inst.operands[0], Type::B32)?;
        b.emit(Op::Warp(WarpOp::Sync { mask }));
        return Ok(());
    }
    if m.flag("cluster") {
        return cluster(b, m);
    }
    m.flag("cta");
    let aligned = m.name() == "bar" || m.flag("aligned");
    m.flag("aligned");
    let operands = &m.inst.operands;
    let (kind, rest) = if m.flag("sync") {
        (BarrierKind::Sync, &operands[..])
    } else if m.flag("arrive") {
        (BarrierKind::Arrive, &operands[..])
    } else if m.flag("red") {
        let op = m.need(&[("popc", 0), ("and", 1), ("or", 2)])?;
        m.choose(&[("u32", ()), ("pred", ())]);
        m.operands(3..=4)?;
        let p = b.pred_src(&operands[operands.len() - 1])?;
        let kind = if op == 0 {
            BarrierKind::Popc(b.dst(&operands[0])?, p)
        } else {
            let Some(d) = b.pred_dst(&operands[0])? else {
                return Err(m.error("needs a destination"));
            };
            if op == 1 { BarrierKind::And(d, p) } else { BarrierKind::Or(d, p) }
        };
        (kind, &operands[1..operands.len() - 1])
    } else {
        return Err(m.unknown());
    };
    m.done()?;
    let (id, count) = match rest {
        [id] if kind != BarrierKind::Arrive => (id, None),
        [id, count] => (id, Some(count)),
        _ => return Err(m.error("needs a barrier and, for an arrival, a thread count")),
    };
    let id = b.src(id, Type::U32)?;
    let count = match count {
        Some(count) => Some(b.src(count, Type::U32)?),
        None => None,
    };
    b.emit(Op::Barrier(Barrier { kind, aligned, id, count }));
    Ok(())
}

fn cluster(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let wait = if m.flag("wait") {
        true
    } else if m.flag("arrive") {
        false
    } else {
        return Err(m.unknown());
    };
    let relaxed = m.flag("relaxed");
    m.choose(&[("release", ()), ("acquire", ())]);
    let aligned = m.flag("aligned");
    m.done()?;
    m.operands(0..=0)?;
    b.emit(Op::Async(AsyncOp::Cluster(ClusterBarrier { wait, relaxed, aligned })));
    Ok(())
}

/// `membar` and `fence`.
pub(super) fn fence(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if m.flag("proxy") {
        return proxy_fence(b, m);
    }
    if m.flag("mbarrier_init") {
        m.choose(&[("release", ())]);
        m.choose(&[("cluster", ())]);
        m.done()?;
        b.emit(Op::Fence { order: Order::Release });
        return Ok(());
    }
    let order = m
        .choose(&[
            ("sc", Order::Sc),
            ("acq_rel", Order::AcqRel),
            ("acquire", Order::Acquire),
            ("release", Order::Release),
        ])
        // The old `membar` is sequentially consistent, a `fence` of no kind is not.
        .unwrap_or(if m.name() == "membar" { Order::Sc } else { Order::AcqRel });
    while m.find(|p| p.starts_with("sync_restrict").then_some(())).is_some() {}
    let scope = m.choose(&[("cta", ()), ("cluster", ()), ("gpu", ()), ("sys", ()), ("gl", ())]);
    if scope.is_none() {
        return Err(m.error("needs a scope"));
    }
    m.done()?;
    m.operands(0..=0)?;
    b.emit(Op::Fence { order });
    Ok(())
}

fn proxy_fence(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let kind = m.find(|p| match p {
        "async" | "async.global" => Some(true),
        "alias" => Some(false),
        _ if p.starts_with("async") => Some(true),
        _ if p.starts_with("tensormap") => Some(false),
        _ => None,
    });
    let Some(is_async) = kind else { return Err(m.unknown()) };
    m.choose(&[("global", ()), ("shared::cta", ()), ("shared::cluster", ()), ("shared", ())]);
    while m
        .choose(&[
            ("acquire", ()),
            ("release", ()),
            ("cta", ()),
            ("cluster", ()),
            ("gpu", ()),
            ("sys", ()),
        ])
        .is_some()
    {}
    while m.find(|p| p.starts_with("sync_restrict").then_some(())).is_some() {}
    m.done()?;
    // The acquiring form for tensor maps names a place and its size.
    let count = if m.inst.opcode.contains("tensormap::generic.acquire") { 2 } else { 0 };
    m.operands(count..=count)?;
    b.emit(if is_async {
        Op::Async(AsyncOp::ProxyFence)
    } else {
        Op::Fence { order: Order::AcqRel }
    });
    Ok(())
}

/// `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
pub(super) fn warp(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let name = m.name();
    if !m.flag("sync") && name != "activemask" {
        return Err(m.error("only the .sync form is run"));
    }
    let op = match name {
        "shfl" => shfl(b, m)?,
        "vote" => vote(b, m)?,
        "match" => matching(b, m)?,
        "redux" => redux(b, m)?,
        "activemask" => {
            m.flag("b32");
            m.done()?;
            m.operands(1..=1)?;
            WarpOp::ActiveMask { d: b.dst(&m.inst.operands[0])? }
        }
        _ => {
            m.done()?;
            m.operands(2..=2)?;
            let (d, p) = pair(b, &m.inst.operands[0])?;
            WarpOp::Elect { d, p, mask: b.src(&m.inst.operands[1], Type::B32)? }
        }
    };
    b.emit(Op::Warp(op));
    Ok(())
}

/// `d|p` or `d`.
fn pair(b: &Builder<'_>, operand: &Operand) -> Result<(Option<Reg>, Option<Pred>), ParseError> {
    match operand {
        Operand::Pair(d, p) => Ok((b.dst_or_sink(d)?.map(|(reg, _)| reg), b.pred_dst(p)?)),
        other => Ok((b.dst_or_sink(other)?.map(|(reg, _)| reg), None)),
    }
}

fn shfl(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<WarpOp, ParseError> {
    let mode = m.need(&[
        ("up", Shfl::Up),
        ("down", Shfl::Down),
        ("bfly", Shfl::Bfly),
        ("idx", Shfl::Idx),
    ])?;
    m.need(&[("b32", ())])?;
    m.done()?;
    m.operands(5..=5)?;
    let (d, p) = pair(b, &m.inst.operands[0])?;
    let d = match d {
        Some(d) => d,
        None => b.hidden(),
    };
    let a = b.src(&m.inst.operands[1], Type::B32)?;
    let lane = b.src(&m.inst.operands[2], Type::B32)?;
    let c = b.src(&m.inst.operands[3], Type::B32)?;
    let mask = b.src(&m.inst.operands[4], Type::B32)?;
    Ok(WarpOp::Shfl { mode, d, p, a, b: lane, c, mask })
}

fn vote(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<WarpOp, ParseError> {
    let mode = m.choose(&[("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uni)]);
    let ballot = m.flag("ballot");
    m.need(&[("pred", ()), ("b32", ())])?;
    m.done()?;
    m.operands(3..=3)?;
    let p = b.pred_src(&m.inst.operands[1])?;
    let mask = b.src(&m.inst.operands[2], Type::B32)?;
    match (mode, ballot) {
        (Some(mode), false) => match b.pred_dst(&m.inst.operands[0])? {
            Some(d) => Ok(WarpOp::Vote { mode, d, p, mask }),
            None => Err(m.error("needs a destination")),
        },
        (None, true) => Ok(WarpOp::Ballot { d: b.dst(&m.inst.operands[0])?, p, mask }),
        _ => Err(m.unknown()),
    }
}

fn matching(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<WarpOp, ParseError> {
    let all = m.need(&[("all", true), ("any", false)])?;
    let ty = m.need(&[("b32", Type::B32), ("b64", Type::B64)])?;
    m.done()?;
    m.operands(3..=3)?;
    let (d, p) = pair(b, &m.inst.operands[0])?;
    let Some(d) = d else { return Err(m.error("needs a destination")) };
    let a = b.src(&m.inst.operands[1], ty)?;
    let mask = b.src(&m.inst.operands[2], Type::B32)?;
    Ok(if all { WarpOp::MatchAll { d, p, a, mask } } else { WarpOp::MatchAny { d, a, mask } })
}

fn redux(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<WarpOp, ParseError> {
    let op = m.need(&[
        ("add", Redux::Add),
        ("min", Redux::Min),
        ("max", Redux::Max),
        ("and", Redux::And),
        ("or", Redux::Or),
        ("xor", Redux::Xor),
    ])?;
    let (abs, nan) = (m.flag("abs"), m.flag("NaN"));
    let ty = m.ty()?;
    m.done()?;
    m.operands(3..=3)?;
    let op = match (op, ty) {
        (Redux::Min, Type::F32) => Redux::FMin(abs, nan),
        (Redux::Max, Type::F32) => Redux::FMax(abs, nan),
        (Redux::Add | Redux::Min | Redux::Max, Type::U32 | Type::S32) if !(abs || nan) => op,
        (Redux::And | Redux::Or | Redux::Xor, Type::B32) if !(abs || nan) => op,
        _ => return Err(m.error("the type does not fit the operation")),
    };
    let d = b.dst(&m.inst.operands[0])?;
    let a = b.src(&m.inst.operands[1], ty)?;
    let mask = b.src(&m.inst.operands[2], Type::B32)?;
    Ok(WarpOp::Redux { op, ty, d, a, mask })
}

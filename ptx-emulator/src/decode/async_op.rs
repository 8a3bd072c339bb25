//! Decodes asynchronous copies, what waits for them, and dependent launches.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::bulk::{AsyncValue, BulkCopy, TensorCopy};
use super::function::Builder;
use super::mbarrier::{MbarrierOp, Object};
use super::mods::Mods;
use super::op::{Addr, Op, PredSrc, Reg, Space, Src};
use super::wgmma::WarpgroupMma;
use super::{bulk, mbarrier, wgmma};

/// `barrier.cluster`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterBarrier {
    pub(crate) wait: bool,
    pub(crate) relaxed: bool,
    pub(crate) aligned: bool,
}

/// `cp.async`: global to shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpAsync {
    pub(crate) to: Addr,
    pub(crate) from: Addr,
    pub(crate) bytes: u8,
    /// Bytes that are really read; the rest becomes zero.
    pub(crate) source_bytes: Option<Src>,
    /// Lanes for which it holds read nothing.
    pub(crate) ignore: Option<PredSrc>,
}

/// An asynchronous instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AsyncOp {
    Copy(CpAsync),
    CommitCopies,
    /// All but the latest `n` groups of copies are complete.
    WaitCopies(u32),
    Cluster(ClusterBarrier),
    ProxyFence,
    /// `griddepcontrol.wait`
    DependencyWait,
    /// `griddepcontrol.launch_dependents`
    LaunchDependents,
    Mbarrier(Object, MbarrierOp),
    /// Pending arrivals in a state.
    PendingCount {
        d: Reg,
        a: Src,
    },
    Bulk(BulkCopy),
    Tensor(TensorCopy),
    Value(AsyncValue),
    CommitBulk,
    /// All but the latest groups of bulk copies are complete, or (`read`) have read their sources.
    WaitBulk {
        left: u32,
        read: bool,
    },
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait(u32),
    Wgmma(WarpgroupMma),
    SetMaxRegisters,
}

/// `cp`, `griddepcontrol` and what else is asynchronous.
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "griddepcontrol" => {
            let op = m.need(&[
                ("wait", AsyncOp::DependencyWait),
                ("launch_dependents", AsyncOp::LaunchDependents),
            ])?;
            m.done()?;
            b.emit(Op::Async(op));
            Ok(())
        }
        "mbarrier" => mbarrier::decode(b, m),
        "wgmma" => wgmma::decode(b, m),
        "setmaxnreg" => {
            m.choose(&[("inc", ()), ("dec", ())]);
            if !(m.flag("sync") && m.flag("aligned") && m.flag("u32")) {
                return Err(m.unknown());
            }
            m.done()?;
            m.operands(1..=1)?;
            let Operand::Int(count @ 24..=256) = m.inst.operands[0] else {
                return Err(m.error("needs a constant from 24 to 256"));
            };
            if count % 8 != 0 {
                return Err(m.error("the register count must be a multiple of 8"));
            }
            b.emit(Op::Async(AsyncOp::SetMaxRegisters));
            Ok(())
        }
        "cp" if m.flag("async") => copy(b, m),
        _ => Err(m.unknown()),
    }
}

fn copy(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let reduce = m.flag("reduce");
    if m.peek() == Some("bulk") {
        return bulk::decode(b, m, reduce);
    }
    if m.peek() == Some("mbarrier") {
        return mbarrier::arrive_on_copies(b, m);
    }
    if m.flag("commit_group") {
        m.done()?;
        b.emit(Op::Async(AsyncOp::CommitCopies));
        return Ok(());
    }
    if m.flag("wait_all") {
        m.done()?;
        b.emit(Op::Async(AsyncOp::CommitCopies));
        b.emit(Op::Async(AsyncOp::WaitCopies(0)));
        return Ok(());
    }
    if m.flag("wait_group") {
        m.done()?;
        m.operands(1..=1)?;
        let Operand::Int(n) = m.inst.operands[0] else { return Err(m.error("needs a constant")) };
        b.emit(Op::Async(AsyncOp::WaitCopies(n.min(1 << 20) as u32)));
        return Ok(());
    }
    let global_only = m.need(&[("ca", false), ("cg", true)])?;
    if m.choose(&[("shared", Space::Shared), ("shared::cta", Space::Shared)]).is_none()
        || !m.flag("global")
    {
        return Err(m.error("needs .shared.global"));
    }
    let policy = m.flag("L2::cache_hint");
    while m.find(|p| p.starts_with("L2::").then_some(())).is_some() {}
    m.done()?;
    m.operands(3..=5)?;
    let operands = &m.inst.operands;
    let (to, _) = b.addr(&operands[0])?;
    let (from, _) = b.addr(&operands[1])?;
    let Operand::Int(bytes) = operands[2] else {
        return Err(m.error("the size must be a constant"));
    };
    if !(bytes == 16 || (!global_only && (bytes == 4 || bytes == 8))) {
        return Err(m.error("copies 4, 8 or 16 bytes; .cg copies 16"));
    }
    let rest = &operands[3..operands.len() - usize::from(policy && operands.len() > 3)];
    let (source_bytes, ignore) = match rest {
        [] => (None, None),
        [Operand::Not(_)] => (None, Some(b.pred_src(&rest[0])?)),
        [Operand::Name(name)] if b.register(name).is_none() => (None, Some(b.pred_src(&rest[0])?)),
        [size] => (Some(b.src(size, Type::U32)?), None),
        _ => return Err(m.error("has too many operands")),
    };
    let copy = CpAsync { to, from, bytes: bytes as u8, source_bytes, ignore };
    b.emit(Op::Async(AsyncOp::Copy(copy)));
    Ok(())
}

//! Decodes memory barrier objects.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::async_op::AsyncOp;
use super::function::Builder;
use super::mods::Mods;
use super::op::{Addr, Op, Pred, Reg, Space, Src};

/// Which memory barrier object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) space: Space,
    pub(crate) addr: Addr,
}

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PhaseSrc {
    /// A state that an arrival gave.
    State(Src),
    Parity(Src),
}

/// An operation on a memory barrier object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MbarrierOp {
    Init {
        count: Src,
    },
    Invalidate,
    ExpectTx {
        bytes: Src,
    },
    CompleteTx {
        bytes: Src,
    },
    /// `drop` also lowers the count of later phases; `no_complete` promises that the phase does not end here.
    Arrive {
        state: Option<Reg>,
        count: Src,
        tx: Option<Src>,
        drop: bool,
        no_complete: bool,
    },
    /// `blocking`: `try_wait`, which may suspend the thread.
    Wait {
        p: Option<Pred>,
        phase: PhaseSrc,
        blocking: bool,
        acquire: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives once the thread's copies so far are complete.
    ArriveOnCopies {
        no_increment: bool,
    },
}

fn space(m: &mut Mods<'_>) -> Space {
    m.choose(&[
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
    ])
    .unwrap_or(Space::Generic)
}

/// `mbarrier`
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let Some(name) = m.first() else { return Err(m.unknown()) };
    let operands = &m.inst.operands;
    let space = space(&mut m);
    let no_complete = m.flag("noComplete");
    let expect = m.flag("expect_tx");
    let parity = m.flag("parity");
    let relaxed = m.flag("relaxed");
    m.choose(&[("release", ()), ("acquire", ())]);
    m.choose(&[("cta", ()), ("cluster", ())]);
    m.need(&[("b64", ())])?;
    m.done()?;
    if name == "pending_count" {
        m.operands(2..=2)?;
        let d = b.dst(&operands[0])?;
        let a = b.src(&operands[1], Type::B64)?;
        b.emit(Op::Async(AsyncOp::PendingCount { d, a }));
        return Ok(());
    }
    let (address, op) = match name {
        "init" => {
            m.operands(2..=2)?;
            (&operands[0], MbarrierOp::Init { count: b.src(&operands[1], Type::U32)? })
        }
        "inval" => {
            m.operands(1..=1)?;
            (&operands[0], MbarrierOp::Invalidate)
        }
        "expect_tx" | "complete_tx" => {
            m.operands(2..=2)?;
            let bytes = b.src(&operands[1], Type::U32)?;
            let op = if name == "expect_tx" {
                MbarrierOp::ExpectTx { bytes }
            } else {
                MbarrierOp::CompleteTx { bytes }
            };
            (&operands[0], op)
        }
        "arrive" | "arrive_drop" => {
            m.operands(1..=3)?;
            // The state may be left out together with its comma only in the form without destination.
            let skip = usize::from(!matches!(operands[0], Operand::Address { .. }));
            let state = match operands.first() {
                Some(operand) if skip == 1 => b.dst_or_sink(operand)?.map(|(reg, _)| reg),
                _ => None,
            };
            let Some(address) = operands.get(skip) else { return Err(m.error("needs an address")) };
            let last = match operands.get(skip + 1) {
                Some(operand) => Some(b.src(operand, Type::U32)?),
                None => None,
            };
            let (count, tx) =
                if expect { (Src::Imm(1), last) } else { (last.unwrap_or(Src::Imm(1)), None) };
            if expect && tx.is_none() {
                return Err(m.error("needs a transaction count"));
            }
            (
                address,
                MbarrierOp::Arrive { state, count, tx, drop: name == "arrive_drop", no_complete },
            )
        }
        "test_wait" | "try_wait" => {
            m.operands(3..=if name == "try_wait" { 4 } else { 3 })?;
            let p = b.pred_dst(&operands[0])?;
            let phase = if parity {
                PhaseSrc::Parity(b.src(&operands[2], Type::U32)?)
            } else {
                PhaseSrc::State(b.src(&operands[2], Type::B64)?)
            };
            (
                &operands[1],
                MbarrierOp::Wait { p, phase, blocking: name == "try_wait", acquire: !relaxed },
            )
        }
        _ => return Err(m.unknown()),
    };
    let (addr, _) = b.addr(address)?;
    b.emit(Op::Async(AsyncOp::Mbarrier(Object { space, addr }, op)));
    Ok(())
}

/// `cp.async.mbarrier.arrive`
pub(super) fn arrive_on_copies(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    let no_increment = m.flag("noinc");
    let space = space(&mut m);
    if !(m.flag("mbarrier") && m.flag("arrive") && m.flag("b64")) {
        return Err(m.unknown());
    }
    m.done()?;
    m.operands(1..=1)?;
    let (addr, _) = b.addr(&m.inst.operands[0])?;
    b.emit(Op::Async(AsyncOp::Mbarrier(
        Object { space, addr },
        MbarrierOp::ArriveOnCopies { no_increment },
    )));
    Ok(())
}

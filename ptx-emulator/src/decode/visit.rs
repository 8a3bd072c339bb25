//! Which registers an operation reads and writes. Only the check of asynchronous matrix instructions asks.

use super::async_op::AsyncOp;
use super::bulk::Completion;
use super::matrix::MatrixOp;
use super::mbarrier::{MbarrierOp, PhaseSrc};
use super::op::*;

/// Calls `f` with each register and whether it is written. The operands of `wgmma.mma_async` itself are left out: it may
/// follow another one on the same accumulators.
pub(crate) fn registers(op: &Op, function: &Function, f: &mut impl FnMut(Reg, bool)) {
    match op {
        Op::Alu(alu) => arithmetic(alu, function, f),
        Op::Load(access) => {
            address(access.addr, f);
            list(access.list, function, true, f);
        }
        Op::Store(access) => {
            address(access.addr, f);
            list(access.list, function, false, f);
        }
        Op::Atomic(atomic) => {
            address(atomic.addr, f);
            list(atomic.dst, function, true, f);
            list(atomic.src, function, false, f);
            sources(atomic.compare.as_slice(), f);
        }
        Op::Barrier(barrier) => {
            source(barrier.id, f);
            sources(barrier.count.as_slice(), f);
            if let BarrierKind::Popc(d, _) = barrier.kind {
                f(d, true);
            }
        }
        Op::Warp(op) => exchange(op, f),
        Op::Matrix(op) => matrix(op, function, f),
        Op::Async(op) => asynchronous(op, function, f),
        Op::BranchIndexed { index, .. } => source(*index, f),
        Op::Call(index) => {
            if let Callee::Indirect(s) = function.calls[*index as usize].callee {
                source(s, f);
            }
        }
        Op::Branch { .. }
        | Op::Ret
        | Op::Exit
        | Op::Trap
        | Op::Fence { .. }
        | Op::Sleep
        | Op::Nothing => {}
    }
}

fn source(src: Src, f: &mut impl FnMut(Reg, bool)) {
    if let Src::Reg(reg) = src {
        f(reg, false);
    }
}

fn sources(items: &[Src], f: &mut impl FnMut(Reg, bool)) {
    items.iter().for_each(|s| source(*s, f));
}

fn address(addr: Addr, f: &mut impl FnMut(Reg, bool)) {
    if let Base::Reg(reg) = addr.base {
        f(reg, false);
    }
}

fn list(list: List, function: &Function, writes: bool, f: &mut impl FnMut(Reg, bool)) {
    for item in &function.pool[list.at as usize..(list.at + list.len) as usize] {
        if let Some(Src::Reg(reg)) = item {
            f(*reg, writes);
        }
    }
}

fn arithmetic(alu: &Alu, function: &Function, f: &mut impl FnMut(Reg, bool)) {
    match *alu {
        Alu::Mov { d, a }
        | Alu::Int1 { d, a, .. }
        | Alu::Approx { d, a, .. }
        | Alu::Sign { d, a, .. }
        | Alu::Cvta { d, a, .. }
        | Alu::GetCtaRank { d, a } => {
            source(a, f);
            f(d, true);
        }
        Alu::Int2 { d, a, b, .. } | Alu::CopySign { d, a, b, .. } | Alu::Selp { d, a, b, .. } => {
            sources(&[a, b], f);
            f(d, true);
        }
        Alu::Int3 { d, a, b, c, .. }
        | Alu::Fast { d, a, b, c, .. }
        | Alu::Slct { d, a, b, c, .. } => {
            sources(&[a, b, c], f);
            f(d, true);
        }
        Alu::Mapa { d, a, rank, .. } => {
            sources(&[a, rank], f);
            f(d, true);
        }
        Alu::Carry(Carry { d, a, b, c, .. }) => {
            sources(&[a, b, c], f);
            f(d, true);
        }
        Alu::MinMax(FloatMinMax { d, a, b, c, .. }) => {
            sources(&[a, b], f);
            sources(c.as_slice(), f);
            f(d, true);
        }
        Alu::Cvt { d, a, b, .. } => {
            source(a, f);
            sources(b.as_slice(), f);
            f(d, true);
        }
        Alu::Pack { d, list: items, .. }
        | Alu::Bfi { d, list: items, .. }
        | Alu::Float { d, list: items, .. } => {
            list(items, function, false, f);
            f(d, true);
        }
        Alu::Unpack { list: items, a, .. } => {
            source(a, f);
            list(items, function, true, f);
        }
        Alu::Special { d, .. }
        | Alu::VariableAddress { d, .. }
        | Alu::SharedAddress { d, .. }
        | Alu::FrameAddress { d, .. } => f(d, true),
        Alu::SetP { compare, .. } => sources(&[compare.a, compare.b], f),
        Alu::Set { compare, d, .. } => {
            sources(&[compare.a, compare.b], f);
            f(d, true);
        }
        Alu::TestP { a, .. } | Alu::IsSpace { a, .. } => source(a, f),
        Alu::PredMov { .. } | Alu::PredLogic { .. } => {}
    }
}

fn exchange(op: &WarpOp, f: &mut impl FnMut(Reg, bool)) {
    match *op {
        WarpOp::Shfl { d, a, b, c, mask, .. } => {
            sources(&[a, b, c, mask], f);
            f(d, true);
        }
        WarpOp::MatchAny { d, a, mask }
        | WarpOp::MatchAll { d, a, mask, .. }
        | WarpOp::Redux { d, a, mask, .. } => {
            sources(&[a, mask], f);
            f(d, true);
        }
        WarpOp::Ballot { d, mask, .. } => {
            source(mask, f);
            f(d, true);
        }
        WarpOp::Elect { d, mask, .. } => {
            source(mask, f);
            if let Some(d) = d {
                f(d, true);
            }
        }
        WarpOp::Vote { mask, .. } | WarpOp::Sync { mask } => source(mask, f),
        WarpOp::ActiveMask { d } => f(d, true),
    }
}

fn matrix(op: &MatrixOp, function: &Function, f: &mut impl FnMut(Reg, bool)) {
    match *op {
        MatrixOp::Load { addr, regs, .. } => {
            address(addr, f);
            list(regs, function, true, f);
        }
        MatrixOp::Store { addr, values, .. } => {
            address(addr, f);
            list(values, function, false, f);
        }
        MatrixOp::Transpose { d, a } => {
            source(a, f);
            f(d, true);
        }
        MatrixOp::Mma(mma) => {
            [mma.a, mma.b, mma.c].into_iter().for_each(|l| list(l, function, false, f));
            list(mma.d, function, true, f);
        }
    }
}

fn asynchronous(op: &AsyncOp, function: &Function, f: &mut impl FnMut(Reg, bool)) {
    match *op {
        AsyncOp::Copy(copy) => {
            [copy.to, copy.from].into_iter().for_each(|a| address(a, f));
            sources(copy.source_bytes.as_slice(), f);
        }
        AsyncOp::Mbarrier(object, op) => {
            address(object.addr, f);
            match op {
                MbarrierOp::Init { count } => source(count, f),
                MbarrierOp::ExpectTx { bytes } | MbarrierOp::CompleteTx { bytes } => {
                    source(bytes, f)
                }
                MbarrierOp::Arrive { state, count, tx, .. } => {
                    source(count, f);
                    sources(tx.as_slice(), f);
                    if let Some(d) = state {
                        f(d, true);
                    }
                }
                MbarrierOp::Wait { phase: PhaseSrc::State(s) | PhaseSrc::Parity(s), .. } => {
                    source(s, f)
                }
                MbarrierOp::Invalidate | MbarrierOp::ArriveOnCopies { .. } => {}
            }
        }
        AsyncOp::PendingCount { d, a } => {
            source(a, f);
            f(d, true);
        }
        AsyncOp::Bulk(copy) => {
            [copy.to, copy.from].into_iter().for_each(|a| address(a, f));
            source(copy.bytes, f);
            completion(copy.completion, copy.multicast, f);
        }
        AsyncOp::Tensor(copy) => {
            [copy.map, copy.shared].into_iter().for_each(|a| address(a, f));
            list(copy.coordinates, function, false, f);
            completion(copy.completion, copy.multicast, f);
        }
        AsyncOp::Value(value) => {
            [value.to, value.mbarrier].into_iter().for_each(|a| address(a, f));
            list(value.values, function, false, f);
        }
        AsyncOp::CommitCopies
        | AsyncOp::WaitCopies(_)
        | AsyncOp::Cluster(_)
        | AsyncOp::ProxyFence
        | AsyncOp::DependencyWait
        | AsyncOp::LaunchDependents
        | AsyncOp::CommitBulk
        | AsyncOp::WaitBulk { .. }
        | AsyncOp::WgmmaFence
        | AsyncOp::WgmmaCommit
        | AsyncOp::WgmmaWait(_)
        | AsyncOp::Wgmma(_)
        | AsyncOp::SetMaxRegisters => {}
    }
}

fn completion(completion: Completion, multicast: Option<Src>, f: &mut impl FnMut(Reg, bool)) {
    if let Completion::Mbarrier(addr) = completion {
        address(addr, f);
    }
    sources(multicast.as_slice(), f);
}

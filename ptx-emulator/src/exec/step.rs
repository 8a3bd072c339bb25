//! Runs a warp: picks a path, executes its instructions until it ends, splits, waits, or has had its turn.

use crate::decode::op::{Function, Inst, NO_PC, Op, Pc};
use crate::report::{Fault, FaultKind};

use super::frame::{Frame, lanes};
use super::state::Cluster;
use super::warp::{NONE, State, Wait, Warp};
use super::{alu, async_copy, atomic, barrier, bulk, call, matrix, memory, race, warp_op};

/// What became of a warp's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Finished,
    /// Every path waits.
    Blocked,
    Ran,
}

/// Why a path stopped running.
enum Stop {
    /// It ended, split, called or waits: look for another path.
    Switch,
    /// The turn is over.
    Quantum,
}

/// What an instruction does to the flow of its path.
pub(super) enum Flow {
    Next,
    /// The path waits and goes on at the next instruction.
    Wait(Wait),
    /// The path waits and executes the instruction a second time.
    WaitAgain(Wait),
    /// The path gives the others a chance.
    Yield,
}

/// Gives a warp a turn of at most `quantum` warp-instructions.
pub(super) fn run(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    quantum: u32,
) -> Result<Turn, Box<Fault>> {
    let before = warp.counts.1;
    let mut left = quantum;
    let turn = loop {
        let Some(p) = next_path(cluster, warp) else {
            break if warp.done() { Turn::Finished } else { Turn::Blocked };
        };
        match run_path(cluster, warp, p, &mut left)? {
            Stop::Switch => {}
            Stop::Quantum => {
                warp.rotate();
                break Turn::Ran;
            }
        }
    };
    let ran = warp.counts.1 - before;
    if let Err(mut fault) = cluster.spend(ran) {
        let path = warp.paths.get(warp.current as usize);
        fault.lane = path.filter(|p| p.mask != 0).map(|p| p.mask.trailing_zeros());
        return Err(fault);
    }
    if turn == Turn::Blocked && ran > 0 { Ok(Turn::Ran) } else { Ok(turn) }
}

/// The path to run: the current one if it can, else any that can.
fn next_path(cluster: &mut Cluster<'_>, warp: &mut Warp) -> Option<u32> {
    let count = warp.paths.len() as u32;
    for step in 0..count {
        let at = (warp.current + step) % count;
        let state = warp.paths[at as usize].state;
        match state {
            State::Ready => {}
            State::Waits(wait)
                if barrier::over(cluster, warp, wait, warp.paths[at as usize].mask) =>
            {
                warp.paths[at as usize].state = State::Ready
            }
            _ => continue,
        }
        warp.current = at;
        return Some(at);
    }
    None
}

fn run_path(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    p: u32,
    left: &mut u32,
) -> Result<Stop, Box<Fault>> {
    let index = warp.paths[p as usize].frame as usize;
    let mut frame = std::mem::take(&mut warp.frames[index]);
    let function = &cluster.grid.code.functions[frame.function as usize];
    let out = run_frame(cluster, warp, &mut frame, function, p, left);
    // A callee that returned may have left its slot to nobody else meanwhile: slots are reused by calls only.
    warp.frames[index] = frame;
    out
}

fn run_frame(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    frame: &mut Frame,
    function: &Function,
    p: u32,
    left: &mut u32,
) -> Result<Stop, Box<Fault>> {
    let path = warp.paths[p as usize];
    let (mut pc, mask, meet) = (path.pc, path.mask, path.meet);
    let width = u64::from(mask.count_ones());
    loop {
        if pc == meet {
            warp.arrive(p);
            return Ok(Stop::Switch);
        }
        if *left == 0 {
            warp.paths[p as usize].pc = pc;
            return Ok(Stop::Quantum);
        }
        *left -= 1;
        warp.counts.0 += 1;
        warp.counts.1 += width;
        let inst = &function.code[pc as usize];
        let active = match inst.guard {
            None => mask,
            Some((guard, negated)) => {
                mask & (frame.preds[guard as usize] ^ if negated { u32::MAX } else { 0 })
            }
        };
        if warp.wgmma.any() {
            warp.paths[p as usize].pc = pc;
            warp.wgmma.check(&inst.op, function, path.frame)?;
        }
        match &inst.op {
            Op::Alu(op) => {
                if active != 0 {
                    alu::execute(cluster, warp, frame, function, op, active);
                }
                pc += 1;
            }
            Op::Branch { target, reconverge } => {
                if active == 0 {
                    pc += 1;
                } else if active == mask {
                    pc = *target;
                } else {
                    warp.paths[p as usize].pc = pc;
                    warp.diverge(p, active, *target, pc + 1, *reconverge);
                    return Ok(Stop::Switch);
                }
            }
            Op::Load(access) => {
                if active != 0 {
                    warp.paths[p as usize].pc = pc;
                    warp.line = inst.line;
                    memory::load(cluster, warp, frame, function, access, active)?;
                }
                pc += 1;
            }
            Op::Store(access) => {
                if active != 0 {
                    warp.paths[p as usize].pc = pc;
                    warp.line = inst.line;
                    cluster.events += 1;
                    memory::store(cluster, warp, frame, function, access, active)?;
                }
                pc += 1;
            }
            _ => {
                warp.paths[p as usize].pc = pc;
                warp.line = inst.line;
                match slow(cluster, warp, frame, function, inst, p, active)? {
                    None => return Ok(Stop::Switch),
                    Some(next) => pc = next,
                }
            }
        }
    }
}

/// The instructions that are rarer. Gives where the path goes on, or nothing if it stops.
fn slow(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    frame: &mut Frame,
    function: &Function,
    inst: &Inst,
    p: u32,
    active: u32,
) -> Result<Option<Pc>, Box<Fault>> {
    let pc = warp.paths[p as usize].pc;
    if active == 0 {
        return Ok(Some(pc + 1));
    }
    let flow = match &inst.op {
        Op::Ret if warp.callers[warp.paths[p as usize].frame as usize].0 != NONE => {
            call::ret(warp, frame, function, cluster.grid.code, p, active);
            return Ok(remaining(warp, p, pc));
        }
        Op::Ret | Op::Exit => {
            bulk::exit(warp, active)?;
            warp.exit(p, active);
            cluster.live_threads -= active.count_ones();
            cluster.events += 1;
            if warp.done() {
                barrier::warp_finished(cluster, warp.block)?;
            }
            return Ok(remaining(warp, p, pc));
        }
        Op::Trap => return Err(Fault::at(FaultKind::Trap, active.trailing_zeros() as usize)),
        Op::Call(index) => return call::call(cluster, warp, frame, function, *index, p, active),
        Op::BranchIndexed { index, targets, reconverge } => {
            let index = frame.get(*index);
            let mut rest = active;
            let lane = rest.trailing_zeros() as usize;
            // Lanes of one target go there, the others meet the instruction again.
            rest &= super::frame::ballot(|i| index[i] as u32 == index[lane] as u32);
            let choice = index[lane] as u32;
            if choice >= targets.len {
                let message =
                    format!("branch index {choice} is not below the {} targets", targets.len);
                return Err(Fault::at(FaultKind::Illegal(message), lane));
            }
            let entry = function.pool[(targets.at + choice) as usize];
            let target = if let Some(crate::decode::op::Src::Imm(target)) = entry {
                target as Pc
            } else {
                NO_PC
            };
            if rest == warp.paths[p as usize].mask {
                return Ok(Some(target));
            }
            warp.diverge(p, rest, target, pc, *reconverge);
            return Ok(None);
        }
        Op::Atomic(op) => {
            cluster.events += 1;
            atomic::execute(cluster, warp, frame, function, op, active)?;
            Flow::Next
        }
        Op::Fence { order } => {
            race::fence(cluster, warp, *order, active);
            Flow::Next
        }
        Op::Nothing => Flow::Next,
        Op::Barrier(op) => barrier::execute(cluster, warp, frame, op, p, active)?,
        Op::Warp(op) => {
            warp_op::execute(cluster, warp, frame, op, active)?;
            Flow::Next
        }
        Op::Matrix(op) => {
            matrix::execute(cluster, warp, frame, function, op, active)?;
            Flow::Next
        }
        Op::Async(op) => async_copy::execute(cluster, warp, frame, function, op, (p, active))?,
        Op::Sleep => Flow::Yield,
        Op::Alu(_) | Op::Branch { .. } | Op::Load(_) | Op::Store(_) => Flow::Next,
    };
    match flow {
        Flow::Next => Ok(Some(pc + 1)),
        Flow::Wait(wait) => {
            let path = &mut warp.paths[p as usize];
            path.pc = pc + 1;
            path.state = State::Waits(wait);
            Ok(None)
        }
        Flow::WaitAgain(wait) => {
            warp.paths[p as usize].state = State::Waits(wait);
            Ok(None)
        }
        Flow::Yield => {
            warp.paths[p as usize].pc = pc + 1;
            warp.rotate();
            Ok(None)
        }
    }
}

/// After lanes of path `p` left at `pc`: the rest goes on behind it.
fn remaining(warp: &mut Warp, p: u32, pc: Pc) -> Option<Pc> {
    let path = &mut warp.paths[p as usize];
    if path.state == State::Ready && path.mask != 0 && path.pc == pc {
        path.pc = pc + 1;
    }
    None
}

/// The lowest of the lanes in a mask.
pub(super) fn first_lane(mask: u32) -> usize {
    lanes(mask).next().unwrap_or(0)
}

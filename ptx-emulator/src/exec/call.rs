//! Calls of functions and of what the driver provides.

use crate::decode::Code;
use crate::decode::op::{Call, Callee, Function, Pc, Space, System};
use crate::memory::address;
use crate::report::{Fault, FaultKind};

use super::frame::{Frame, LANES, ballot, lanes};
use super::memory;
use super::state::Cluster;
use super::step::first_lane;
use super::warp::Warp;

/// Bytes of local memory that a thread may use in all.
const MAX_LOCAL: u32 = 512 << 10;
/// Characters that a device-side text may have.
const MAX_TEXT: u64 = 4096;

/// A function's fresh registers.
pub(super) fn frame(function: &Function, index: u32, local_base: u32) -> Frame {
    Frame {
        function: index,
        regs: vec![[0; LANES]; function.registers as usize],
        preds: vec![0; function.predicates as usize],
        carry: 0,
        local_base,
    }
}

/// Executes a call. Gives where the path goes on, or nothing if the callee runs first.
pub(super) fn call(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    index: u32,
    p: u32,
    active: u32,
) -> Result<Option<Pc>, Box<Fault>> {
    let call = &function.calls[index as usize];
    let pc = warp.paths[p as usize].pc;
    let code = cluster.grid.code;
    match call.callee {
        Callee::System(system) => {
            for lane in lanes(active) {
                system_call(cluster, warp, f, call, system, lane)?;
            }
            return Ok(Some(pc + 1));
        }
        Callee::Function(target) => {
            enter(warp, f, code, (index, call), target, (p, active, pc + 1))?
        }
        Callee::Indirect(src) => {
            let target = f.get(src);
            let mut rest = active;
            while rest != 0 {
                let lane = first_lane(rest);
                let Some(to) = address::function_index(target[lane])
                    .filter(|i| (*i as usize) < code.functions.len())
                else {
                    let message =
                        format!("call of address {:#x}, which is not a function", target[lane]);
                    return Err(Fault::at(FaultKind::Illegal(message), lane));
                };
                let same = rest & ballot(|i| target[i] == target[lane]);
                enter(warp, f, code, (index, call), to, (p, same, pc + 1))?;
                rest &= !same;
            }
        }
    }
    Ok(None)
}

/// Starts a function in the lanes of `active`.
fn enter(
    warp: &mut Warp,
    f: &Frame,
    code: &Code,
    (index, call): (u32, &Call),
    target: u32,
    (p, active, pc): (u32, u32, Pc),
) -> Result<(), Box<Fault>> {
    let callee = &code.functions[target as usize];
    let caller = &code.functions[f.function as usize];
    let lane = first_lane(active);
    let mismatch = |what: &str, passed: usize, wanted: usize| {
        let message = format!("`{}` is called with {passed} {what}, it has {wanted}", callee.name);
        Fault::at(FaultKind::Illegal(message), lane)
    };
    if callee.entry {
        return Err(Fault::at(
            FaultKind::Illegal(format!("`{}` is an entry: it can't be called", callee.name)),
            lane,
        ));
    }
    if call.params.len() != callee.params.len() {
        return Err(mismatch("parameters", call.params.len(), callee.params.len()));
    }
    if call.returns.len() != callee.returns.len() {
        return Err(mismatch("returned values", call.returns.len(), callee.returns.len()));
    }
    let base = (f.local_base + caller.frame_bytes).next_multiple_of(16);
    let end = base + callee.frame_bytes;
    if end > MAX_LOCAL {
        let message = format!(
            "stack overflow: calls need more than {MAX_LOCAL} bytes of local memory a thread"
        );
        return Err(Fault::at(FaultKind::Illegal(message), lane));
    }
    warp.reserve_local(end);
    for (&(from, bytes), &(to, want)) in call.params.iter().zip(&callee.params) {
        copy_local(warp, active, f.local_base + from, base + to, bytes.min(want));
    }
    let frame = frame(callee, target, base);
    if !warp.call(p, active, index, frame, pc) {
        return Err(Fault::at(
            FaultKind::Illegal("stack overflow: calls are nested too deep".to_owned()),
            lane,
        ));
    }
    Ok(())
}

fn copy_local(warp: &mut Warp, active: u32, from: u32, to: u32, bytes: u32) {
    for lane in lanes(active) {
        let start = from as usize;
        warp.local[lane].copy_within(start..start + bytes as usize, to as usize);
    }
}

/// `ret` in a function: hands its values over and lets the lanes go.
pub(super) fn ret(
    warp: &mut Warp,
    f: &Frame,
    function: &Function,
    code: &Code,
    p: u32,
    active: u32,
) {
    let frame = warp.paths[p as usize].frame;
    let (caller_path, call) = warp.callers[frame as usize];
    let caller_frame = warp.paths[caller_path as usize].frame as usize;
    let caller = &warp.frames[caller_frame];
    let (caller_base, caller_function) = (caller.local_base, caller.function);
    let call = &code.functions[caller_function as usize].calls[call as usize];
    for (&(to, want), &(from, bytes)) in call.returns.iter().zip(&function.returns) {
        copy_local(warp, active, f.local_base + from, caller_base + to, bytes.min(want));
    }
    warp.ret(p, active, frame);
}

/// Reads a parameter of a call of one lane.
fn argument(warp: &Warp, f: &Frame, call: &Call, index: usize, lane: usize) -> u64 {
    let Some(&(offset, bytes)) = call.params.get(index) else { return 0 };
    let start = (f.local_base + offset) as usize;
    let mut out = [0; 8];
    let count = bytes.min(8) as usize;
    out[..count].copy_from_slice(&warp.local[lane][start..start + count]);
    u64::from_le_bytes(out)
}

/// Bytes at a generic address up to a zero.
fn text(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    lane: usize,
) -> Result<String, Box<Fault>> {
    let mut out = Vec::new();
    for offset in 0..MAX_TEXT {
        let place = memory::locate(
            cluster,
            warp,
            Space::Generic,
            at.wrapping_add(offset),
            1,
            memory::READ,
            lane,
        )?;
        match memory::read(cluster, warp, place, 0, 1, lane)? as u8 {
            0 => break,
            byte => out.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn system_call(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    call: &Call,
    system: System,
    lane: usize,
) -> Result<(), Box<Fault>> {
    let argument = |warp: &Warp, index| argument(warp, f, call, index, lane);
    let result = match system {
        System::Vprintf => {
            let format = text(cluster, warp, argument(warp, 0), lane)?;
            let values = argument(warp, 1);
            super::print::vprintf(cluster, warp, &format, values, lane)?
        }
        System::AssertFail => {
            let message = text(cluster, warp, argument(warp, 0), lane)?;
            let file = text(cluster, warp, argument(warp, 1), lane)?;
            let line = argument(warp, 2) as u32;
            return Err(Fault::at(
                FaultKind::Assertion(format!("{message} at {file}:{line}")),
                lane,
            ));
        }
        System::Malloc => {
            let bytes = argument(warp, 0);
            // A heap that is used up gives null, as on the device.
            if bytes > 8 << 20 { 0 } else { cluster.grid.memory.alloc(bytes).unwrap_or(0) }
        }
        System::Free => {
            let at = argument(warp, 0);
            if at != 0
                && let Err(error) = cluster.grid.memory.free(at)
            {
                return Err(Fault::at(FaultKind::Illegal(error.to_string()), lane));
            }
            0
        }
    };
    if let Some(&(offset, bytes)) = call.returns.first() {
        let start = (f.local_base + offset) as usize;
        let count = bytes.min(8) as usize;
        warp.local[lane][start..start + count].copy_from_slice(&result.to_le_bytes()[..count]);
    }
    Ok(())
}

/// The text of a fault inside device-side text, for `print`.
pub(super) fn string_argument(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    lane: usize,
) -> Result<String, Box<Fault>> {
    text(cluster, warp, at, lane)
}

//! `atom` and `red`.

use std::sync::{Mutex, PoisonError};

use crate::decode::op::{AtomOp, Atomic, Function, Src};
use crate::num::arith::{self, FloatOp};
use crate::num::convert::{mask as ones, sign_extend};
use crate::num::format::Format;
use crate::num::{Mode, Round};
use crate::parse::ast::Type;
use crate::report::Fault;

use super::frame::{Frame, lanes};
use super::memory::{ATOMIC, Place, addresses, locate, places, read, write};
use super::race;
use super::state::Cluster;
use super::warp::Warp;

/// `atom` and `red`
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    atomic: &Atomic,
    mask: u32,
) -> Result<(), Box<Fault>> {
    if atomic.ty == Type::B128 {
        return wide(cluster, warp, f, function, atomic, mask);
    }
    let bytes = atomic.ty.bytes();
    let at = addresses(cluster, f, atomic.addr);
    let count = atomic.src.len;
    race::release(cluster, warp, atomic.order, mask);
    let places = places(cluster, warp, atomic.space, &at, bytes * count, mask);
    race::offer(cluster, warp, &places);
    for lane in lanes(mask) {
        let place = locate(cluster, warp, atomic.space, at[lane], bytes * count, ATOMIC, lane)?;
        race::access(cluster, warp, place, bytes * count, ATOMIC, atomic.order, lane)?;
        for i in 0..count {
            let operand =
                function.pool[(atomic.src.at + i) as usize].map_or(0, |s| f.lane(s, lane));
            let compare = atomic.compare.map_or(0, |s| f.lane(s, lane));
            // The global memory unit flushes subnormals of single precision, shared memory does not (as the ISA says).
            let flush = atomic.ty == Type::F32 && matches!(place, Place::Global(..));
            let new = |old: u64| match flush {
                true => flushing_add(old, operand),
                false => combine(atomic.op, atomic.ty, old, operand, compare),
            };
            let old = update(cluster, warp, place, i * bytes, bytes, lane, new)?;
            let d =
                (i < atomic.dst.len).then(|| function.pool[(atomic.dst.at + i) as usize]).flatten();
            if let Some(Src::Reg(d)) = d {
                f.set(d, lane, old);
            }
        }
    }
    race::hear(cluster, warp, &places);
    race::acquire(cluster, warp, atomic.order, mask);
    Ok(())
}

/// 128 bits at once. All such accesses to global memory go one after the other.
fn wide(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    atomic: &Atomic,
    mask: u32,
) -> Result<(), Box<Fault>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let at = addresses(cluster, f, atomic.addr);
    let operand = |f: &Frame, index: u32, lane| {
        function.pool[(atomic.src.at + index) as usize].map_or(0, |s| f.lane(s, lane))
    };
    race::release(cluster, warp, atomic.order, mask);
    let places = places(cluster, warp, atomic.space, &at, 16, mask);
    race::offer(cluster, warp, &places);
    for lane in lanes(mask) {
        let place = locate(cluster, warp, atomic.space, at[lane], 16, ATOMIC, lane)?;
        race::access(cluster, warp, place, 16, ATOMIC, atomic.order, lane)?;
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let halves =
            [read(cluster, warp, place, 0, 8, lane)?, read(cluster, warp, place, 8, 8, lane)?];
        let equal = |f: &Frame| halves == [operand(f, 2, lane), operand(f, 3, lane)];
        if atomic.op != AtomOp::Cas || equal(f) {
            for half in 0..2 {
                let value = operand(f, half, lane);
                write(cluster, warp, place, 8 * half, 8, value, lane)?;
            }
        }
        drop(alone);
        for (half, old) in (0..).zip(halves) {
            if let Some(Src::Reg(d)) = function.pool[(atomic.dst.at + half) as usize] {
                f.set(d, lane, old);
            }
        }
    }
    race::hear(cluster, warp, &places);
    race::acquire(cluster, warp, atomic.order, mask);
    Ok(())
}

fn update(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    place: Place,
    step: u32,
    bytes: u32,
    lane: usize,
    new: impl Fn(u64) -> u64,
) -> Result<u64, Box<Fault>> {
    let old = read(cluster, warp, place, step, bytes, lane)?;
    match place {
        Place::Global(index, offset) => {
            Ok(cluster.snapshot.allocations[index].update(offset + u64::from(step), bytes, new))
        }
        _ => {
            write(cluster, warp, place, step, bytes, new(old), lane)?;
            Ok(old)
        }
    }
}

/// The value that an atomic operation leaves.
pub(super) fn combine(op: AtomOp, ty: Type, old: u64, operand: u64, compare: u64) -> u64 {
    let keep = ones(ty.bits());
    if ty.float() && matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max) {
        return float_combine(op, ty, old, operand);
    }
    let (x, y) = (sign_extend(old, ty.bits()), sign_extend(operand, ty.bits()));
    match op {
        AtomOp::And => old & operand,
        AtomOp::Or => old | operand,
        AtomOp::Xor => old ^ operand,
        AtomOp::Exch => operand & keep,
        AtomOp::Cas => {
            if old == compare & keep {
                operand & keep
            } else {
                old
            }
        }
        AtomOp::Add => old.wrapping_add(operand) & keep,
        AtomOp::Inc => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        AtomOp::Min if ty.signed() => x.min(y) as u64 & keep,
        AtomOp::Max if ty.signed() => x.max(y) as u64 & keep,
        AtomOp::Min => old.min(operand & keep),
        AtomOp::Max => old.max(operand & keep),
    }
}

fn flushing_add(old: u64, operand: u64) -> u64 {
    let mode = Mode { ftz: true, ..Mode::PLAIN };
    u64::from(arith::narrow_op(Format::F32, FloatOp::Add, mode, [old as u32, operand as u32, 0]))
}

fn float_combine(op: AtomOp, ty: Type, old: u64, operand: u64) -> u64 {
    if ty == Type::F64 {
        return (f64::from_bits(old) + f64::from_bits(operand)).to_bits();
    }
    let (format, pair) = super::float::format(ty);
    let one = |a: u32, b: u32| match op {
        AtomOp::Add => arith::narrow_op(format, FloatOp::Add, Mode::PLAIN, [a, b, 0]),
        _ => {
            let value = arith::min_max(op == AtomOp::Max, false, format.widen(a), format.widen(b));
            format.narrow(value, Round::Near, false)
        }
    };
    if pair {
        let low = one(old as u32 & 0xffff, operand as u32 & 0xffff);
        let high = one((old >> 16) as u32, (operand >> 16) as u32 & 0xffff);
        u64::from(high << 16 | low)
    } else {
        u64::from(one(old as u32, operand as u32))
    }
}

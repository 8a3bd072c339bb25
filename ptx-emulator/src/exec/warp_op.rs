//! Instructions in which the lanes of a warp exchange values.

use crate::decode::op::{Redux, Shfl, Src, Vote, WarpOp};
use crate::num::arith;
use crate::num::convert::mask as ones;
use crate::num::{Round, format::Format};
use crate::parse::ast::Type;
use crate::report::{Fault, FaultKind};

use super::barrier::{converged, uniform};
use super::frame::{Frame, LANES, ballot, lanes};
use super::race;
use super::state::Cluster;
use super::step::first_lane;
use super::warp::Warp;

/// Checks that all lanes of the member mask are here, and that those here are members.
fn members(warp: &Warp, f: &Frame, mask: Src, active: u32) -> Result<u32, Box<Fault>> {
    let member = uniform(f, mask, active, "the member mask")? as u32;
    if active & !member != 0 {
        let message = format!("the executing lane is not in the member mask {member:#010x}");
        return Err(Fault::at(FaultKind::Illegal(message), first_lane(active & !member)));
    }
    converged(active, member & warp.live())?;
    Ok(member)
}

/// Executes an exchange among the lanes of `active`.
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    op: &WarpOp,
    active: u32,
) -> Result<(), Box<Fault>> {
    match *op {
        WarpOp::Shfl { mode, d, p, a, b, c, mask } => {
            members(warp, f, mask, active)?;
            shuffle(f, mode, d, p, [a, b, c], active)?;
        }
        WarpOp::Vote { mode, d, p, mask } => {
            members(warp, f, mask, active)?;
            let votes = f.pred(p) & active;
            let value = match mode {
                Vote::All => votes == active,
                Vote::Any => votes != 0,
                Vote::Uni => votes == 0 || votes == active,
            };
            f.put_pred(d, active, if value { u32::MAX } else { 0 });
        }
        WarpOp::Ballot { d, p, mask } => {
            members(warp, f, mask, active)?;
            let votes = f.pred(p) & active;
            f.put(d, active, |_| u64::from(votes));
        }
        WarpOp::MatchAny { d, a, mask } => {
            members(warp, f, mask, active)?;
            let a = f.get(a);
            f.put(d, active, |i| u64::from(ballot(|j| a[i] == a[j]) & active));
        }
        WarpOp::MatchAll { d, p, a, mask } => {
            let member = members(warp, f, mask, active)?;
            let a = f.get(a);
            let first = a[first_lane(active)];
            let all = lanes(active).all(|i| a[i] == first);
            f.put(d, active, |_| if all { u64::from(member) } else { 0 });
            if let Some(p) = p {
                f.put_pred(p, active, if all { u32::MAX } else { 0 });
            }
        }
        WarpOp::Redux { op, ty, d, a, mask } => {
            members(warp, f, mask, active)?;
            let a = f.get(a);
            let values = lanes(active).map(|i| a[i]);
            let value = reduce(op, ty, values);
            f.put(d, active, |_| value);
        }
        WarpOp::Sync { mask } => {
            let member = members(warp, f, mask, active)?;
            race::warp_sync(cluster, warp, member & active);
        }
        WarpOp::Elect { d, p, mask } => {
            let member = members(warp, f, mask, active)?;
            let leader = first_lane(member & active);
            if let Some(d) = d {
                f.put(d, active, |_| leader as u64);
            }
            if let Some(p) = p {
                f.put_pred(p, active, 1 << leader);
            }
        }
        WarpOp::ActiveMask { d } => f.put(d, active, |_| u64::from(active)),
    }
    Ok(())
}

/// `shfl.sync`: the rules of the PTX ISA's pseudo-code.
fn shuffle(
    f: &mut Frame,
    mode: Shfl,
    d: u32,
    p: Option<u32>,
    [a, b, c]: [Src; 3],
    active: u32,
) -> Result<(), Box<Fault>> {
    let (a, b, c) = (f.get(a), f.get(b), f.get(c));
    let mut out = [0; LANES];
    let mut inside = 0u32;
    for lane in lanes(active) {
        let offset = (b[lane] & 31) as i32;
        let clamp = (c[lane] & 31) as i32;
        let segment = (c[lane] >> 8 & 31) as i32;
        let at = lane as i32;
        let max = (at & segment) | (clamp & !segment);
        let min = at & segment;
        let (source, valid) = match mode {
            Shfl::Up => (at - offset, at - offset >= max),
            Shfl::Down => (at + offset, at + offset <= max),
            Shfl::Bfly => (at ^ offset, at ^ offset <= max),
            Shfl::Idx => {
                let j = min | (offset & !segment);
                (j, j <= max)
            }
        };
        let source = if valid { source as usize } else { lane };
        if active >> source & 1 == 0 {
            let message = format!("shfl reads lane {source}, which does not execute it");
            return Err(Fault::at(FaultKind::Illegal(message), lane));
        }
        out[lane] = a[source];
        inside |= u32::from(valid) << lane;
    }
    f.put(d, active, |i| out[i] & ones(32));
    if let Some(p) = p {
        f.put_pred(p, active, inside);
    }
    Ok(())
}

fn reduce(op: Redux, ty: Type, values: impl Iterator<Item = u64>) -> u64 {
    let signed = ty.signed();
    let value = match op {
        Redux::Add => values.fold(0, u64::wrapping_add),
        Redux::And => values.fold(u64::MAX, |x, y| x & y),
        Redux::Or => values.fold(0, |x, y| x | y),
        Redux::Xor => values.fold(0, |x, y| x ^ y),
        Redux::Min if signed => values.map(|x| x as i32).min().unwrap_or(0) as u64,
        Redux::Max if signed => values.map(|x| x as i32).max().unwrap_or(0) as u64,
        Redux::Min => values.min().unwrap_or(0),
        Redux::Max => values.max().unwrap_or(0),
        Redux::FMin(abs, nan) | Redux::FMax(abs, nan) => {
            let max = matches!(op, Redux::FMax(..));
            let of = |x: u64| {
                let x = f64::from(f32::from_bits(x as u32));
                if abs { x.abs() } else { x }
            };
            let out = values.map(of).reduce(|x, y| arith::min_max(max, nan, x, y)).unwrap_or(0.0);
            u64::from(Format::F32.narrow(out, Round::Near, false))
        }
    };
    value & ones(32)
}

//! Dispatch of register-only instructions.

use crate::decode::op::{Alu, Function, List, Special, Src};
use crate::memory::address;
use crate::num::convert::mask as ones;

use super::frame::{Frame, LANES, Row};
use super::state::Cluster;
use super::warp::Warp;
use super::{compare, cvt, float, int};

/// Operands of a pool list that must all be present.
fn operands<const N: usize>(function: &Function, list: List) -> [Src; N] {
    let items = &function.pool[list.at as usize..];
    std::array::from_fn(|i| items.get(i).copied().flatten().unwrap_or(Src::Imm(0)))
}

/// Executes a register-only instruction in the lanes of `mask`.
pub(super) fn execute(
    cluster: &Cluster<'_>,
    warp: &Warp,
    f: &mut Frame,
    function: &Function,
    op: &Alu,
    mask: u32,
) {
    match *op {
        Alu::Mov { d, a } => {
            let a = f.get(a);
            f.put(d, mask, |i| a[i]);
        }
        Alu::Int1 { op, ty, d, a } => int::one(f, mask, op, ty, d, a),
        Alu::Int2 { op, ty, d, a, b } => int::two(f, mask, op, ty, d, a, b),
        Alu::Int3 { op, ty, d, a, b, c } => int::three(f, mask, op, ty, d, [a, b, c]),
        Alu::Bfi { ty, d, list } => int::insert(f, mask, ty, d, operands(function, list)),
        Alu::Carry(inst) => int::carry(f, mask, inst),
        Alu::Fast { op, d, a, b, c } => float::fast(f, mask, op, d, [a, b, c]),
        Alu::Float { op, ty, mode, d, list } => {
            float::arithmetic(f, mask, op, ty, mode, d, operands(function, list));
        }
        Alu::MinMax(inst) => float::min_max(f, mask, inst),
        Alu::Approx { f: fun, ty, ftz, d, a } => float::function(f, mask, fun, ty, ftz, d, a),
        Alu::Sign { op, ty, ftz, d, a } => float::sign(f, mask, op, ty, ftz, d, a),
        Alu::CopySign { ty, d, a, b } => float::copy_sign(f, mask, ty, d, a, b),
        Alu::Cvt { cvt, d, a, b } => cvt::convert(f, mask, cvt, d, a, b),
        Alu::SetP { ref compare, p, q } => compare::setp(f, mask, compare, p, q),
        Alu::Set { ref compare, to, d } => compare::set(f, mask, compare, to, d),
        Alu::TestP { property, ty, p, a } => float::test(f, mask, property, ty, p, a),
        Alu::Selp { d, a, b, p } => {
            let p = f.pred(p);
            compare::select(f, mask, d, a, b, p);
        }
        Alu::Slct { d, a, b, c, float } => compare::slct(f, mask, d, [a, b, c], float),
        Alu::PredMov { d, a } => {
            let value = f.pred(a);
            f.put_pred(d, mask, value);
        }
        Alu::PredLogic { op, d, a, b } => {
            let value = compare::logic(op, f.pred(a), f.pred(b));
            f.put_pred(d, mask, value);
        }
        Alu::Pack { d, list, bits } => pack(f, function, mask, d, list, u32::from(bits)),
        Alu::Unpack { list, a, bits } => unpack(f, function, mask, list, a, u32::from(bits)),
        Alu::Special { d, what } => {
            let row = special(cluster, warp, what);
            f.put(d, mask, |i| row[i]);
        }
        Alu::VariableAddress { d, variable, offset } => {
            let at = cluster.grid.variables[variable as usize].wrapping_add(offset as u64);
            f.put(d, mask, |_| at);
        }
        Alu::SharedAddress { d, variable, offset } => {
            let start = u64::from(cluster.grid.shared_at[variable as usize]);
            f.put(d, mask, |_| start.wrapping_add(offset as u64));
        }
        Alu::FrameAddress { d, offset } => {
            let at = u64::from(f.local_base).wrapping_add(offset as u64);
            f.put(d, mask, |_| at);
        }
        Alu::Cvta { to_generic, space, d, a } => {
            let a = f.get(a);
            if to_generic {
                f.put(d, mask, |i| address::to_generic(space, a[i]));
            } else {
                f.put(d, mask, |i| address::from_generic(space, a[i]));
            }
        }
        Alu::IsSpace { p, space, a, cluster } => {
            let a = f.get(a);
            let own = warp.block;
            let value = super::frame::ballot(|i| {
                let (found, at) = address::split(a[i]);
                let near = || address::shared_owner(at as u32).0.is_none_or(|block| block == own);
                found == space && (space != crate::decode::op::Space::Shared || cluster || near())
            });
            f.put_pred(p, mask, value);
        }
        Alu::Mapa { d, a, rank, generic } => {
            let (a, rank) = (f.get(a), f.get(rank));
            f.put(d, mask, |i| {
                let mapped = u64::from(address::shared_of(rank[i] as u32, a[i] as u32));
                if generic {
                    address::to_generic(crate::decode::op::Space::Shared, mapped)
                } else {
                    mapped
                }
            });
        }
        Alu::GetCtaRank { d, a } => {
            let a = f.get(a);
            let own = warp.block;
            f.put(d, mask, |i| u64::from(address::shared_owner(a[i] as u32).0.unwrap_or(own)));
        }
    }
}

fn pack(f: &mut Frame, function: &Function, mask: u32, d: u32, list: List, bits: u32) {
    let parts = &function.pool[list.at as usize..(list.at + list.len) as usize];
    if bits == 64 {
        for (row, part) in (0..).zip(parts) {
            let part = f.get(part.unwrap_or(Src::Imm(0)));
            f.put(d + row, mask, |i| part[i]);
        }
        return;
    }
    let keep = ones(bits);
    let mut out: Row = [0; LANES];
    for (at, part) in (0..).zip(parts) {
        let part = f.get(part.unwrap_or(Src::Imm(0)));
        for (cell, part) in out.iter_mut().zip(part) {
            *cell |= (part & keep) << (at * bits);
        }
    }
    f.put(d, mask, |i| out[i]);
}

fn unpack(f: &mut Frame, function: &Function, mask: u32, list: List, a: Src, bits: u32) {
    let parts = &function.pool[list.at as usize..(list.at + list.len) as usize];
    let word = f.get(a);
    let upper = match (bits, a) {
        (64, Src::Reg(reg)) => f.get(Src::Reg(reg + 1)),
        _ => [0; LANES],
    };
    let keep = ones(bits);
    for (at, part) in (0u32..).zip(parts) {
        let Some(Src::Reg(d)) = *part else { continue };
        match (bits, at) {
            (64, 1) => f.put(d, mask, |i| upper[i]),
            _ => f.put(d, mask, |i| word[i] >> (at * bits).min(63) & keep),
        }
    }
}

/// The value of a special register in each lane.
fn special(cluster: &Cluster<'_>, warp: &Warp, what: Special) -> Row {
    let grid = cluster.grid;
    let block = &cluster.blocks[warp.block as usize];
    let launch = &grid.launch;
    let pick = |values: [u32; 3], axis: u8| [u64::from(values[axis as usize]); LANES];
    let clusters = |axis: u8| launch.grid[axis as usize] / grid.cluster[axis as usize];
    let one = |value: u64| [value; LANES];
    let per_lane = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|i| u64::from(f(i as u32)));
    let time = || grid.start.elapsed().as_nanos() as u64;
    match what {
        Special::Tid(axis) => std::array::from_fn(|i| u64::from(warp.tid[axis as usize][i])),
        Special::Ntid(axis) => pick(launch.block, axis),
        Special::Ctaid(axis) => pick(block.index, axis),
        Special::Nctaid(axis) => pick(launch.grid, axis),
        Special::ClusterId(axis) => {
            one(u64::from(block.index[axis as usize] / grid.cluster[axis as usize]))
        }
        Special::NClusterId(axis) => one(u64::from(clusters(axis))),
        Special::ClusterCtaId(axis) => {
            one(u64::from(block.index[axis as usize] % grid.cluster[axis as usize]))
        }
        Special::ClusterNctaId(axis) => pick(grid.cluster, axis),
        Special::ClusterCtaRank => one(u64::from(warp.block)),
        Special::ClusterNctaRank => one(cluster.blocks.len() as u64),
        Special::IsExplicitCluster => one(u64::from(cluster.blocks.len() > 1)),
        Special::LaneId => per_lane(&|i| i),
        Special::WarpId => one(u64::from(warp.index)),
        Special::NWarpId => one(64),
        Special::SmId | Special::GridId | Special::Zero => one(0),
        Special::NSmId => one(1),
        Special::MaskEq => per_lane(&|i| 1 << i),
        Special::MaskLe => per_lane(&|i| u32::MAX >> (31 - i)),
        Special::MaskLt => per_lane(&|i| (1 << i) - 1),
        Special::MaskGe => per_lane(&|i| u32::MAX << i),
        Special::MaskGt => per_lane(&|i| (u32::MAX << i) & !(1 << i)),
        Special::Clock => one(warp.counts.0 & ones(32)),
        Special::ClockHi => one(warp.counts.0 >> 32),
        Special::Clock64 => one(warp.counts.0),
        Special::GlobalTimer => one(time()),
        Special::GlobalTimerLo => one(time() & ones(32)),
        Special::GlobalTimerHi => one(time() >> 32),
        Special::DynamicSharedSize => one(u64::from(launch.dynamic_shared)),
        Special::TotalSharedSize => one(u64::from(grid.shared_bytes - address::SHARED_START)),
    }
}

//! Warp-wide matrix instructions. Which lane holds which element follows the fragment layouts of the PTX ISA; they are
//! one family of formulas, see [`a_element`], [`b_element`] and [`c_element`].

use crate::decode::matrix::{MatrixOp, Mma};
use crate::decode::op::{Function, List, Order, Src};
use crate::num::Round;
use crate::num::convert::mask as ones;
use crate::num::format::Format;
use crate::parse::ast::Type;
use crate::report::Fault;

use super::barrier::converged;
use super::float::format;
use super::frame::{Frame, LANES, Row};
use super::memory::{self, READ, WRITE};
use super::race;
use super::state::Cluster;
use super::warp::Warp;

/// Largest operand: 16 x 64 elements.
const MAX_ELEMENTS: usize = 16 * 64;

/// Executes a matrix instruction; all lanes of the warp must be here.
pub(super) fn execute(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &mut Frame,
    function: &Function,
    op: &MatrixOp,
    active: u32,
) -> Result<(), Box<Fault>> {
    converged(active, u32::MAX)?;
    match *op {
        MatrixOp::Load { addr, space, trans, regs } => {
            let at = memory::addresses(cluster, f, addr);
            for matrix in 0..regs.len as usize {
                let mut rows = [[0u16; 8]; 8];
                for (r, row) in rows.iter_mut().enumerate() {
                    let lane = matrix * 8 + r;
                    let place = memory::locate(cluster, warp, space, at[lane], 16, READ, lane)?;
                    race::access(cluster, warp, place, 16, READ, Order::Weak, lane)?;
                    for (c, element) in row.iter_mut().enumerate() {
                        *element =
                            memory::read(cluster, warp, place, 2 * c as u32, 2, lane)? as u16;
                    }
                }
                if let Some(Src::Reg(d)) = function.pool[regs.at as usize + matrix] {
                    f.put(d, u32::MAX, |lane| fragment(&rows, lane, trans));
                }
            }
        }
        MatrixOp::Store { addr, space, trans, values } => {
            let at = memory::addresses(cluster, f, addr);
            for matrix in 0..values.len as usize {
                let value = operand(f, function, values, matrix);
                let rows = gather(&value, trans);
                for (r, row) in rows.iter().enumerate() {
                    let lane = matrix * 8 + r;
                    let place = memory::locate(cluster, warp, space, at[lane], 16, WRITE, lane)?;
                    race::access(cluster, warp, place, 16, WRITE, Order::Weak, lane)?;
                    for (c, element) in row.iter().enumerate() {
                        memory::write(
                            cluster,
                            warp,
                            place,
                            2 * c as u32,
                            2,
                            u64::from(*element),
                            lane,
                        )?;
                    }
                }
            }
        }
        MatrixOp::Transpose { d, a } => {
            let rows = gather(&f.get(a), false);
            f.put(d, u32::MAX, |lane| fragment(&rows, lane, true));
        }
        MatrixOp::Mma(mma) => multiply(f, function, &mma),
    }
    Ok(())
}

fn operand(f: &Frame, function: &Function, list: List, index: usize) -> Row {
    f.get(function.pool[list.at as usize + index].unwrap_or(Src::Imm(0)))
}

/// What lane `lane` holds of an 8 x 8 matrix of 16-bit elements: two neighbours of row `lane / 4`.
fn fragment(rows: &[[u16; 8]; 8], lane: usize, trans: bool) -> u64 {
    let (r, c) = (lane / 4, lane % 4 * 2);
    let (low, high) =
        if trans { (rows[c][r], rows[c + 1][r]) } else { (rows[r][c], rows[r][c + 1]) };
    u64::from(high) << 16 | u64::from(low)
}

fn gather(value: &Row, trans: bool) -> [[u16; 8]; 8] {
    let mut rows = [[0; 8]; 8];
    for (lane, cell) in value.iter().enumerate() {
        let (r, c) = (lane / 4, lane % 4 * 2);
        for (step, element) in [(0, *cell as u16), (1, (*cell >> 16) as u16)] {
            if trans {
                rows[c + step][r] = element;
            } else {
                rows[r][c + step] = element;
            }
        }
    }
    rows
}

/// Row and depth of element `e` of register `r` of lane `lane` in operand A, `per` elements a register.
pub(super) fn a_element(
    rows: usize,
    lane: usize,
    r: usize,
    e: usize,
    per: usize,
) -> (usize, usize) {
    let (group, member) = (lane / 4, lane % 4);
    let halves = rows / 8;
    (group + 8 * (r % halves), member * per + r / halves * 4 * per + e)
}

/// Depth and column in operand B.
fn b_element(lane: usize, r: usize, e: usize, per: usize) -> (usize, usize) {
    (lane % 4 * per + r * 4 * per + e, lane / 4)
}

/// Row and column of the `i`-th accumulator of a lane.
fn c_element(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2)
}

/// Bits of an element as it lies in a register.
pub(super) fn width(ty: Type) -> usize {
    if ty == Type::Tf32 { 32 } else { ty.bits() as usize }
}

/// An element's value. Integers are exact in `f64`.
pub(super) fn value(ty: Type, bits: u64) -> f64 {
    match ty {
        Type::F64 => f64::from_bits(bits),
        Type::S8 => f64::from(bits as i8),
        Type::U8 => f64::from(bits as u8),
        Type::S32 => f64::from(bits as i32),
        Type::Tf32 => Format::TF32.widen(bits as u32),
        _ => format(ty).0.widen(bits as u32),
    }
}

fn multiply(f: &mut Frame, function: &Function, mma: &Mma) {
    let (rows, columns, depth) = (mma.m as usize, mma.n as usize, mma.k as usize);
    let mut a = [0f64; MAX_ELEMENTS];
    let mut b = [0f64; MAX_ELEMENTS];
    let mut c = [0f64; 16 * 8];
    let register = if mma.a_type == Type::F64 { 64 } else { 32 };
    let per = register / width(mma.a_type);
    let element =
        |cell: u64, e: usize, ty: Type| value(ty, cell >> (e * width(ty)) & ones(width(ty) as u32));
    for r in 0..mma.a.len as usize {
        let cells = operand(f, function, mma.a, r);
        for (lane, cell) in cells.iter().enumerate() {
            for e in 0..per {
                let (i, k) = a_element(rows, lane, r, e, per);
                a[i * depth + k] = element(*cell, e, mma.a_type);
            }
        }
    }
    for r in 0..mma.b.len as usize {
        let cells = operand(f, function, mma.b, r);
        for (lane, cell) in cells.iter().enumerate() {
            for e in 0..per {
                let (k, j) = b_element(lane, r, e, per);
                b[j * depth + k] = element(*cell, e, mma.b_type);
            }
        }
    }
    let c_per = if mma.c_type == Type::F16 { 2 } else { 1 };
    for r in 0..mma.c.len as usize {
        let cells = operand(f, function, mma.c, r);
        for (lane, cell) in cells.iter().enumerate() {
            for e in 0..c_per {
                let (i, j) = c_element(lane, r * c_per + e);
                let bits = if c_per == 2 { cell >> (16 * e) & 0xffff } else { *cell };
                c[i * columns + j] = value(mma.c_type, bits);
            }
        }
    }
    for i in 0..rows {
        for j in 0..columns {
            let (x, y) = (&a[i * depth..(i + 1) * depth], &b[j * depth..(j + 1) * depth]);
            let start = c[i * columns + j];
            c[i * columns + j] = if mma.d_type == Type::F64 {
                x.iter().zip(y).fold(start, |sum, (x, y)| x.mul_add(*y, sum))
            } else {
                start + x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>()
            };
        }
    }
    scatter(f, function, mma, &c);
}

fn scatter(f: &mut Frame, function: &Function, mma: &Mma, c: &[f64; 128]) {
    let columns = mma.n as usize;
    let per = if mma.d_type == Type::F16 { 2 } else { 1 };
    let encode = |value: f64| -> u64 {
        match mma.d_type {
            Type::F64 => value.to_bits(),
            Type::S32 if mma.sat => u64::from((value as i32) as u32),
            Type::S32 => u64::from((value as i64) as u32),
            ty => u64::from(format(ty).0.narrow(value, Round::Near, false)),
        }
    };
    for r in 0..mma.d.len as usize {
        let mut out: Row = [0; LANES];
        for (lane, cell) in out.iter_mut().enumerate() {
            for e in 0..per {
                let (i, j) = c_element(lane, r * per + e);
                *cell |= encode(c[i * columns + j]) << (16 * e);
            }
        }
        if let Some(Src::Reg(d)) = function.pool[mma.d.at as usize + r] {
            f.put(d, u32::MAX, |lane| out[lane]);
        }
    }
}

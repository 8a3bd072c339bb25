//! Loops over lanes. A kernel works on rows of consecutive lanes; each source has such rows too, or
//! one element for all lanes of a row. Here is the loop, the operations stand in `arith`.

use super::block::{BLOCK, Read, Write};
use super::lane::Lane;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// An operation over rows of lanes. Gives [`DONE`], or the first lane that faults, counted over all
/// rows; then nothing is written.
///
/// # Safety
/// `dst` is valid for writes of the destination's lanes, each source that the operation has for
/// reads of its own; all are initialised, aligned to their elements, and `dst` overlaps no source.
pub(crate) type Kernel = unsafe fn(dst: Dst, src: &[Src; 3], lanes: Lanes) -> usize;

/// What a kernel gives when no lane faults.
pub(crate) const DONE: usize = usize::MAX;

/// How many lanes: rows of `n`.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub(crate) n: usize,
    pub(crate) rows: usize,
}

impl Lanes {
    /// One row.
    pub(crate) fn run(n: usize) -> Lanes {
        Lanes { n, rows: 1 }
    }
}

/// Where a kernel writes.
#[derive(Clone, Copy)]
pub(crate) struct Dst {
    /// The first lane.
    pub(crate) ptr: *mut u8,
    /// Bytes from row to row.
    pub(crate) row: isize,
}

impl Dst {
    /// Of one row.
    pub(crate) fn run(ptr: *mut u8) -> Dst {
        Dst { ptr, row: 0 }
    }

    /// The lanes of a row.
    ///
    /// # Safety
    /// The destination has that row of `n` elements, used by nobody else while the slice lives.
    #[inline(always)]
    pub(crate) unsafe fn lanes<'a, T: Lane>(self, row: usize, n: usize) -> &'a mut [T] {
        // SAFETY: the caller's contract.
        unsafe { from_raw_parts_mut(self.ptr.offset(row as isize * self.row).cast(), n) }
    }
}

/// Where a kernel reads an operand.
#[derive(Clone, Copy)]
pub(crate) struct Src {
    /// The first element.
    pub(crate) ptr: *const u8,
    /// The first element of a row stands for all its lanes.
    pub(crate) uniform: bool,
    /// Bytes from row to row.
    pub(crate) row: isize,
}

impl Src {
    pub(crate) const NONE: Src = Src { ptr: std::ptr::null(), uniform: true, row: 0 };

    /// Of one row.
    pub(crate) fn run(ptr: *const u8) -> Src {
        Src { ptr, uniform: false, row: 0 }
    }

    /// One element for all lanes.
    pub(crate) fn one(ptr: *const u8) -> Src {
        Src { ptr, uniform: true, row: 0 }
    }
}

/// Makes a kernel: the portable code, and on x86-64 the same code for AVX2 and FMA, one of which is
/// chosen when a program is prepared.
macro_rules! kernel {
    (|$dst:ident, $src:ident, $lanes:ident| $body:expr) => {{
        use $crate::kernels::map::{Dst, Kernel, Lanes, Src};
        unsafe fn portable($dst: Dst, $src: &[Src; 3], $lanes: Lanes) -> usize {
            // SAFETY: the caller keeps `Kernel`'s contract.
            unsafe { $body }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($dst: Dst, $src: &[Src; 3], $lanes: Lanes) -> usize {
            // SAFETY: the caller keeps `Kernel`'s contract.
            unsafe { $body }
        }
        #[cfg(target_arch = "x86_64")]
        let chosen: Kernel = if $crate::kernels::map::has_avx2() { avx2 } else { portable };
        #[cfg(not(target_arch = "x86_64"))]
        let chosen: Kernel = portable;
        chosen
    }};
}
pub(crate) use kernel;

/// Whether the processor has what the second form of a kernel needs.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// One source of a loop.
struct Operand<R: Read> {
    src: Src,
    /// Where the row begins.
    at: *const R::Stored,
    room: R::Room,
}

impl<R: Read> Operand<R> {
    #[inline(always)]
    fn new(src: Src) -> Self {
        Operand { src, at: src.ptr.cast(), room: R::room() }
    }

    /// Goes to a row of `n` lanes; rows are visited from 0 on.
    ///
    /// # Safety
    /// The source has that row.
    #[inline(always)]
    unsafe fn start(&mut self, row: usize, n: usize) {
        // SAFETY: the caller's contract; of a uniform source a row holds one element.
        unsafe {
            self.at = self.src.ptr.offset(row as isize * self.src.row).cast();
            if self.src.uniform && (row == 0 || self.src.row != 0) {
                R::fill(&mut self.room, R::one(*self.at), n.min(BLOCK));
            }
        }
    }

    /// # Safety
    /// `at + n` is within the row, `n` at most a block.
    #[inline(always)]
    unsafe fn block(&mut self, at: usize, n: usize) -> &[R::Value] {
        // SAFETY: the row holds `at + n` elements, or was filled for as many.
        unsafe {
            if self.src.uniform {
                R::filled(&self.room, n)
            } else {
                R::block(from_raw_parts(self.at.add(at), n), &mut self.room)
            }
        }
    }
}

/// The ranges that a row of `n` falls into.
#[inline(always)]
fn blocks(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(BLOCK).map(move |at| (at, BLOCK.min(n - at)))
}

/// # Safety
/// [`Kernel`]'s contract with one source.
#[inline(always)]
pub(crate) unsafe fn map1<A: Read, D: Write>(
    dst: Dst,
    src: &[Src; 3],
    Lanes { n, rows }: Lanes,
    f: impl Fn(A::Value) -> D::Value,
) -> usize {
    let mut a = Operand::<A>::new(src[0]);
    for row in 0..rows {
        // SAFETY: the caller's contract, passed on.
        unsafe {
            let dst = dst.lanes(row, n);
            a.start(row, n);
            for (at, n) in blocks(n) {
                let a = a.block(at, n);
                D::block(dst.get_unchecked_mut(at..at + n), |i| f(*a.get_unchecked(i)));
            }
        }
    }
    DONE
}

/// # Safety
/// [`Kernel`]'s contract with two sources.
#[inline(always)]
pub(crate) unsafe fn map2<A: Read, B: Read, D: Write>(
    dst: Dst,
    src: &[Src; 3],
    Lanes { n, rows }: Lanes,
    f: impl Fn(A::Value, B::Value) -> D::Value,
) -> usize {
    let mut a = Operand::<A>::new(src[0]);
    let mut b = Operand::<B>::new(src[1]);
    for row in 0..rows {
        // SAFETY: the caller's contract, passed on.
        unsafe {
            let dst = dst.lanes(row, n);
            a.start(row, n);
            b.start(row, n);
            for (at, n) in blocks(n) {
                // Every block has `n` values: a check for each would keep the loop from vectors.
                let (a, b) = (a.block(at, n), b.block(at, n));
                D::block(dst.get_unchecked_mut(at..at + n), |i| {
                    f(*a.get_unchecked(i), *b.get_unchecked(i))
                });
            }
        }
    }
    DONE
}

/// # Safety
/// [`Kernel`]'s contract with three sources.
#[inline(always)]
pub(crate) unsafe fn map3<A: Read, B: Read, C: Read, D: Write>(
    dst: Dst,
    src: &[Src; 3],
    Lanes { n, rows }: Lanes,
    f: impl Fn(A::Value, B::Value, C::Value) -> D::Value,
) -> usize {
    let mut a = Operand::<A>::new(src[0]);
    let mut b = Operand::<B>::new(src[1]);
    let mut c = Operand::<C>::new(src[2]);
    for row in 0..rows {
        // SAFETY: the caller's contract, passed on.
        unsafe {
            let dst = dst.lanes(row, n);
            a.start(row, n);
            b.start(row, n);
            c.start(row, n);
            for (at, n) in blocks(n) {
                let (a, b, c) = (a.block(at, n), b.block(at, n), c.block(at, n));
                D::block(dst.get_unchecked_mut(at..at + n), |i| {
                    f(*a.get_unchecked(i), *b.get_unchecked(i), *c.get_unchecked(i))
                });
            }
        }
    }
    DONE
}

/// As [`map2`], but first looks whether any lane faults.
///
/// # Safety
/// [`Kernel`]'s contract with two sources.
#[inline(always)]
pub(crate) unsafe fn map2_checked<A: Read, D: Write>(
    dst: Dst,
    src: &[Src; 3],
    lanes: Lanes,
    faults: impl Fn(A::Value, A::Value) -> bool,
    f: impl Fn(A::Value, A::Value) -> D::Value,
) -> usize {
    let mut a = Operand::<A>::new(src[0]);
    let mut b = Operand::<A>::new(src[1]);
    for row in 0..lanes.rows {
        // SAFETY: the caller's contract, passed on.
        unsafe {
            a.start(row, lanes.n);
            b.start(row, lanes.n);
            for (at, n) in blocks(lanes.n) {
                let (a, b) = (a.block(at, n), b.block(at, n));
                let any = a.iter().zip(b).fold(false, |any, (a, b)| any | faults(*a, *b));
                if any {
                    let lane = a.iter().zip(b).position(|(a, b)| faults(*a, *b));
                    return row * lanes.n + at + lane.unwrap_or(0);
                }
            }
        }
    }
    // SAFETY: the caller's contract, passed on.
    unsafe { map2::<A, A, D>(dst, src, lanes, f) }
}

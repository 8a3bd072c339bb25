//! Loops over runs of elements. A kernel works on `n` consecutive elements; each source is either
//! consecutive as well or one element for all lanes. Here is the loop, the operations stand in
//! `unary`, `binary` and so on.

use super::lane::Lane;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// An operation over a run: writes `n` elements at `dst`. Gives [`DONE`], or the first lane that
/// faults; then nothing of the run is written.
///
/// # Safety
/// `dst` is valid for writes of `n` destination elements, each source that the operation has for
/// reads of `n` source elements (of one, if uniform); all are initialised, aligned to their
/// elements, and `dst` overlaps no source.
pub(crate) type Kernel = unsafe fn(dst: *mut u8, src: &[Src; 3], n: usize) -> usize;

/// What a kernel gives when no lane faults.
pub(crate) const DONE: usize = usize::MAX;

/// Where a kernel reads an operand.
#[derive(Clone, Copy)]
pub(crate) struct Src {
    /// The first element.
    pub(crate) ptr: *const u8,
    /// The first element stands for all lanes.
    pub(crate) uniform: bool,
}

impl Src {
    pub(crate) const NONE: Src = Src { ptr: std::ptr::null(), uniform: true };
}

/// Lanes that one turn of a loop takes: sources that need preparation (uniform ones, narrow floats)
/// are prepared in arrays of this size on the stack.
const BLOCK: usize = 128;

/// Makes a kernel: the portable code, and on x86-64 the same code for AVX2 and FMA, one of which is
/// chosen when a program is prepared.
macro_rules! kernel {
    (|$dst:ident, $src:ident, $n:ident| $body:expr) => {{
        unsafe fn portable(
            $dst: *mut u8,
            $src: &[$crate::kernels::map::Src; 3],
            $n: usize,
        ) -> usize {
            // SAFETY: the caller keeps `Kernel`'s contract.
            unsafe { $body }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($dst: *mut u8, $src: &[$crate::kernels::map::Src; 3], $n: usize) -> usize {
            // SAFETY: the caller keeps `Kernel`'s contract.
            unsafe { $body }
        }
        #[cfg(target_arch = "x86_64")]
        let chosen: $crate::kernels::map::Kernel =
            if $crate::kernels::map::has_avx2() { avx2 } else { portable };
        #[cfg(not(target_arch = "x86_64"))]
        let chosen: $crate::kernels::map::Kernel = portable;
        chosen
    }};
}
pub(crate) use kernel;

/// Whether the processor has what the second form of a kernel needs.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// How a loop reads elements in blocks: as they are, or widened to f32.
pub(crate) trait Read {
    type Stored: Lane;
    type Value: Copy;
    fn zero() -> Self::Value;
    fn one(v: Self::Stored) -> Self::Value;
    /// The values of consecutive elements, in place or in `room`.
    fn block<'a>(from: &'a [Self::Stored], room: &'a mut [Self::Value; BLOCK])
    -> &'a [Self::Value];
}

/// Elements read as they are.
pub(crate) struct Plain<T>(std::marker::PhantomData<T>);

/// Elements of f16 or bf16, read as f32.
pub(crate) struct Half<T>(std::marker::PhantomData<T>);

impl<T: Lane> Read for Plain<T> {
    type Stored = T;
    type Value = T;
    #[inline(always)]
    fn zero() -> T {
        // SAFETY: every lane type is plain old data for which zero bits are a value.
        unsafe { std::mem::zeroed() }
    }
    #[inline(always)]
    fn one(v: T) -> T {
        v
    }
    #[inline(always)]
    fn block<'a>(from: &'a [T], _: &'a mut [T; BLOCK]) -> &'a [T] {
        from
    }
}

/// f16 and bf16: their conversion from and to f32, many at once.
pub(crate) trait HalfLane: Lane {
    fn widen_all(from: &[Self], to: &mut [f32]);
    fn narrow_all(from: &[f32], to: &mut [Self]);
}

impl HalfLane for f16 {
    #[inline(always)]
    fn widen_all(from: &[f16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }
    #[inline(always)]
    fn narrow_all(from: &[f32], to: &mut [f16]) {
        to.convert_from_f32_slice(from);
    }
}

impl HalfLane for bf16 {
    #[inline(always)]
    fn widen_all(from: &[bf16], to: &mut [f32]) {
        for (x, y) in from.iter().zip(to) {
            *y = f32::from_bits(u32::from(x.to_bits()) << 16);
        }
    }
    #[inline(always)]
    fn narrow_all(from: &[f32], to: &mut [bf16]) {
        for (x, y) in from.iter().zip(to) {
            let bits = x.to_bits();
            // Half of what goes, less one, plus the lowest bit kept: to nearest, ties to even.
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
            let nan = (bits >> 16) | 0x40;
            *y = bf16::from_bits(if x.is_nan() { nan } else { rounded } as u16);
        }
    }
}

impl<T: HalfLane> Read for Half<T> {
    type Stored = T;
    type Value = f32;
    #[inline(always)]
    fn zero() -> f32 {
        0.0
    }
    #[inline(always)]
    fn one(v: T) -> f32 {
        let mut wide = [0.0];
        T::widen_all(&[v], &mut wide);
        wide[0]
    }
    #[inline(always)]
    fn block<'a>(from: &'a [T], room: &'a mut [f32; BLOCK]) -> &'a [f32] {
        T::widen_all(from, &mut room[..from.len()]);
        &room[..from.len()]
    }
}

/// How a loop writes values in blocks.
pub(crate) trait Write {
    type Stored: Lane;
    type Value: Copy;
    /// Writes what `each` gives for the lanes of a block.
    fn block(to: &mut [Self::Stored], each: impl FnMut(usize) -> Self::Value);
}

impl<T: Lane> Write for Plain<T> {
    type Stored = T;
    type Value = T;
    #[inline(always)]
    fn block(to: &mut [T], mut each: impl FnMut(usize) -> T) {
        for (i, y) in to.iter_mut().enumerate() {
            *y = each(i);
        }
    }
}

impl<T: HalfLane> Write for Half<T> {
    type Stored = T;
    type Value = f32;
    #[inline(always)]
    fn block(to: &mut [T], mut each: impl FnMut(usize) -> f32) {
        let mut room = [0.0; BLOCK];
        let room = &mut room[..to.len()];
        for (i, y) in room.iter_mut().enumerate() {
            *y = each(i);
        }
        T::narrow_all(room, to);
    }
}

/// One source of a loop, prepared.
struct Operand<R: Read> {
    ptr: *const R::Stored,
    uniform: bool,
    room: [R::Value; BLOCK],
}

impl<R: Read> Operand<R> {
    /// # Safety
    /// As for a source of a [`Kernel`].
    #[inline(always)]
    unsafe fn new(src: Src, n: usize) -> Self {
        let ptr: *const R::Stored = src.ptr.cast();
        let mut room = [R::zero(); BLOCK];
        if src.uniform {
            // SAFETY: a uniform source holds one element.
            room[..n.min(BLOCK)].fill(R::one(unsafe { *ptr }));
        }
        Operand { ptr, uniform: src.uniform, room }
    }

    /// # Safety
    /// `at + n` is within the run.
    #[inline(always)]
    unsafe fn block(&mut self, at: usize, n: usize) -> &[R::Value] {
        if self.uniform {
            return &self.room[..n];
        }
        // SAFETY: the run holds `at + n` elements.
        R::block(unsafe { from_raw_parts(self.ptr.add(at), n) }, &mut self.room)
    }
}

/// The ranges that a run of `n` falls into.
#[inline(always)]
fn blocks(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(BLOCK).map(move |at| (at, BLOCK.min(n - at)))
}

/// # Safety
/// [`Kernel`]'s contract with one source.
#[inline(always)]
pub(crate) unsafe fn map1<A: Read, D: Write>(
    dst: *mut u8,
    src: &[Src; 3],
    n: usize,
    f: impl Fn(A::Value) -> D::Value,
) -> usize {
    let dst: *mut D::Stored = dst.cast();
    // SAFETY: the caller's contract, passed on.
    unsafe {
        let mut a = Operand::<A>::new(src[0], n);
        for (at, n) in blocks(n) {
            let a = a.block(at, n);
            D::block(from_raw_parts_mut(dst.add(at), n), |i| f(a[i]));
        }
    }
    DONE
}

/// # Safety
/// [`Kernel`]'s contract with two sources.
#[inline(always)]
pub(crate) unsafe fn map2<A: Read, B: Read, D: Write>(
    dst: *mut u8,
    src: &[Src; 3],
    n: usize,
    f: impl Fn(A::Value, B::Value) -> D::Value,
) -> usize {
    let dst: *mut D::Stored = dst.cast();
    // SAFETY: the caller's contract, passed on.
    unsafe {
        let mut a = Operand::<A>::new(src[0], n);
        let mut b = Operand::<B>::new(src[1], n);
        for (at, n) in blocks(n) {
            let (a, b) = (a.block(at, n), b.block(at, n));
            // Equal lengths, said once, so that the loop has no bounds checks.
            let (a, b) = (&a[..n], &b[..n]);
            D::block(from_raw_parts_mut(dst.add(at), n), |i| f(a[i], b[i]));
        }
    }
    DONE
}

/// # Safety
/// [`Kernel`]'s contract with three sources.
#[inline(always)]
pub(crate) unsafe fn map3<A: Read, B: Read, C: Read, D: Write>(
    dst: *mut u8,
    src: &[Src; 3],
    n: usize,
    f: impl Fn(A::Value, B::Value, C::Value) -> D::Value,
) -> usize {
    let dst: *mut D::Stored = dst.cast();
    // SAFETY: the caller's contract, passed on.
    unsafe {
        let mut a = Operand::<A>::new(src[0], n);
        let mut b = Operand::<B>::new(src[1], n);
        let mut c = Operand::<C>::new(src[2], n);
        for (at, n) in blocks(n) {
            let (a, b, c) = (a.block(at, n), b.block(at, n), c.block(at, n));
            let (a, b, c) = (&a[..n], &b[..n], &c[..n]);
            D::block(from_raw_parts_mut(dst.add(at), n), |i| f(a[i], b[i], c[i]));
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
    dst: *mut u8,
    src: &[Src; 3],
    n: usize,
    faults: impl Fn(A::Value, A::Value) -> bool,
    f: impl Fn(A::Value, A::Value) -> D::Value,
) -> usize {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        let mut a = Operand::<A>::new(src[0], n);
        let mut b = Operand::<A>::new(src[1], n);
        for (at, n) in blocks(n) {
            let (a, b) = (a.block(at, n), b.block(at, n));
            let any = a.iter().zip(b).fold(false, |any, (a, b)| any | faults(*a, *b));
            if any {
                let lane = a.iter().zip(b).position(|(a, b)| faults(*a, *b));
                return at + lane.unwrap_or(0);
            }
        }
        map2::<A, A, D>(dst, src, n, f)
    }
}

//! How loops read and write elements in blocks: as they are, or, of f16 and bf16, as f32.

use super::lane::Lane;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use std::mem::MaybeUninit;
use std::slice::from_raw_parts;

/// Lanes that one turn of a loop takes: sources that need preparation (uniform ones, narrow floats)
/// are prepared in arrays of this size on the stack.
pub(crate) const BLOCK: usize = 128;

/// How a loop reads elements in blocks: as they are, or widened to f32.
pub(crate) trait Read {
    type Stored: Lane;
    type Value: Copy;
    /// A block on the stack, for values that are not read in place.
    type Room;
    fn room() -> Self::Room;
    fn zero() -> Self::Value;
    fn one(v: Self::Stored) -> Self::Value;
    /// Fills the first `n` values of the room.
    fn fill(room: &mut Self::Room, v: Self::Value, n: usize);
    /// The first `n` values of the room, which `fill` has filled.
    ///
    /// # Safety
    /// `fill` was called with at least `n`.
    unsafe fn filled(room: &Self::Room, n: usize) -> &[Self::Value];
    /// The values of consecutive elements, in place or in the room.
    fn block<'a>(from: &'a [Self::Stored], room: &'a mut Self::Room) -> &'a [Self::Value];
}

/// Elements read as they are.
pub(crate) struct Plain<T>(std::marker::PhantomData<T>);

/// Elements of f16 or bf16, read as f32.
pub(crate) struct Half<T>(std::marker::PhantomData<T>);

impl<T: Lane> Read for Plain<T> {
    type Stored = T;
    type Value = T;
    // Not initialised: elements are read in place unless one stands for all.
    type Room = [MaybeUninit<T>; BLOCK];
    #[inline(always)]
    fn room() -> Self::Room {
        [const { MaybeUninit::uninit() }; BLOCK]
    }
    #[inline(always)]
    fn fill(room: &mut Self::Room, v: T, n: usize) {
        room[..n].fill(MaybeUninit::new(v));
    }
    #[inline(always)]
    unsafe fn filled(room: &Self::Room, n: usize) -> &[T] {
        // SAFETY: the caller's contract.
        unsafe { from_raw_parts(room[..n].as_ptr().cast(), n) }
    }
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
    fn block<'a>(from: &'a [T], _: &'a mut Self::Room) -> &'a [T] {
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
    type Room = [f32; BLOCK];
    #[inline(always)]
    fn room() -> Self::Room {
        [0.0; BLOCK]
    }
    #[inline(always)]
    fn fill(room: &mut Self::Room, v: f32, n: usize) {
        room[..n].fill(v);
    }
    #[inline(always)]
    unsafe fn filled(room: &Self::Room, n: usize) -> &[f32] {
        &room[..n]
    }
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
    fn block<'a>(from: &'a [T], room: &'a mut Self::Room) -> &'a [f32] {
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

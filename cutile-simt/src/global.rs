//! Global memory, element by element and in vectors of up to 16 bytes.
//!
//! A vector is an array of `N` elements whose size is 1, 2, 4, 8 or 16 bytes; addresses are aligned to it.

use super::intrinsics;
use core::mem::{size_of, transmute_copy};

/// Arrays that are made without a loop.
pub trait Vector<T> {
    /// `f(0)`, `f(1)`, ...
    fn from_each(f: impl FnMut(usize) -> T) -> Self;
}

macro_rules! vector {
    ($($n:literal: $($i:literal)*;)*) => {$(
        impl<T> Vector<T> for [T; $n] {
            #[inline(always)]
            fn from_each(mut f: impl FnMut(usize) -> T) -> Self {
                [$(f($i)),*]
            }
        }
    )*};
}
vector! {
    1: 0;
    2: 0 1;
    4: 0 1 2 3;
    8: 0 1 2 3 4 5 6 7;
    16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
}

#[repr(C, align(2))]
#[derive(Clone, Copy)]
struct Aligned2<T>(T);
#[repr(C, align(4))]
#[derive(Clone, Copy)]
struct Aligned4<T>(T);
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Aligned8<T>(T);
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned16<T>(T);

/// Reads a vector.
///
/// # Safety
/// The address is readable and aligned to the vector.
#[inline(always)]
pub unsafe fn load<T: Copy, const N: usize>(p: *const T) -> [T; N] {
    // SAFETY: the caller's promise.
    unsafe {
        match N * size_of::<T>() {
            16 => (*(p as *const Aligned16<[T; N]>)).0,
            8 => (*(p as *const Aligned8<[T; N]>)).0,
            4 => (*(p as *const Aligned4<[T; N]>)).0,
            2 => (*(p as *const Aligned2<[T; N]>)).0,
            _ => *(p as *const [T; N]),
        }
    }
}

/// Writes a vector.
///
/// # Safety
/// The address is writable and aligned to the vector.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(p: *mut T, v: [T; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        match N * size_of::<T>() {
            16 => *(p as *mut Aligned16<[T; N]>) = Aligned16(v),
            8 => *(p as *mut Aligned8<[T; N]>) = Aligned8(v),
            4 => *(p as *mut Aligned4<[T; N]>) = Aligned4(v),
            2 => *(p as *mut Aligned2<[T; N]>) = Aligned2(v),
            _ => *(p as *mut [T; N]) = v,
        }
    }
}

/// Reads a vector where `present`; `other` elsewhere.
///
/// # Safety
/// Where `present`, the address is readable and aligned to the vector.
#[inline(always)]
pub unsafe fn load_if<T: Copy, const N: usize>(
    p: *const T,
    present: bool,
    other: [T; N],
) -> [T; N] {
    let a = p as u64;
    // SAFETY: the caller's promise; each copy is between types of one size.
    unsafe {
        match N * size_of::<T>() {
            16 => {
                transmute_copy(&intrinsics::load_global_v4_if(a, present, transmute_copy(&other)))
            }
            8 => {
                transmute_copy(&intrinsics::load_global_b64_if(a, present, transmute_copy(&other)))
            }
            4 => {
                transmute_copy(&intrinsics::load_global_b32_if(a, present, transmute_copy(&other)))
            }
            2 => {
                transmute_copy(&intrinsics::load_global_b16_if(a, present, transmute_copy(&other)))
            }
            _ => {
                let other = transmute_copy::<[T; N], u8>(&other) as u32;
                transmute_copy(&(intrinsics::load_global_b8_if(a, present, other) as u8))
            }
        }
    }
}

/// Writes a vector where `present`.
///
/// # Safety
/// Where `present`, the address is writable and aligned to the vector.
#[inline(always)]
pub unsafe fn store_if<T: Copy, const N: usize>(p: *mut T, present: bool, v: [T; N]) {
    let a = p as u64;
    // SAFETY: the caller's promise; each copy is between types of one size.
    unsafe {
        match N * size_of::<T>() {
            16 => intrinsics::store_global_v4_if(a, present, transmute_copy(&v)),
            8 => intrinsics::store_global_b64_if(a, present, transmute_copy(&v)),
            4 => intrinsics::store_global_b32_if(a, present, transmute_copy(&v)),
            2 => intrinsics::store_global_b16_if(a, present, transmute_copy(&v)),
            _ => {
                intrinsics::store_global_b8_if(a, present, transmute_copy::<[T; N], u8>(&v) as u32)
            }
        }
    }
}

/// Reads the first `count` elements of a vector (none if negative), `other` in place of the rest.
///
/// # Safety
/// The first `count` elements are readable; the address is aligned to the vector.
#[inline(always)]
pub unsafe fn load_first<T: Copy, const N: usize>(p: *const T, count: i32, other: T) -> [T; N]
where
    [T; N]: Vector<T>,
{
    let whole = count >= N as i32;
    // SAFETY: the caller's promise.
    unsafe {
        let v = load_if(p, whole, [other; N]);
        if N == 1 {
            return v;
        }
        Vector::from_each(|i| {
            let [e] = load_if(p.wrapping_add(i), !whole && (i as i32) < count, [v[i]]);
            e
        })
    }
}

/// Writes the first `count` elements of a vector (none if negative).
///
/// # Safety
/// The first `count` elements are writable; the address is aligned to the vector.
#[inline(always)]
pub unsafe fn store_first<T: Copy, const N: usize>(p: *mut T, count: i32, v: [T; N])
where
    [(); N]: Vector<()>,
{
    let whole = count >= N as i32;
    // SAFETY: the caller's promise.
    unsafe {
        store_if(p, whole, v);
        if N > 1 {
            <[(); N]>::from_each(|i| {
                store_if(p.wrapping_add(i), !whole && (i as i32) < count, [v[i]]);
            });
        }
    }
}

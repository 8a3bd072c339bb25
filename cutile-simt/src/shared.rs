//! Shared memory, by 32-bit address: elements and vectors of up to 16 bytes, aligned to their size.

use super::intrinsics;
use core::mem::{size_of, transmute_copy};

/// Reads a vector.
///
/// # Safety
/// The address is inside the block's shared memory and aligned to the vector.
#[inline(always)]
pub unsafe fn load<T: Copy, const N: usize>(address: u32) -> [T; N] {
    // SAFETY: the caller's promise; each copy is between types of one size.
    unsafe {
        match N * size_of::<T>() {
            16 => transmute_copy(&intrinsics::load_shared_v4(address)),
            8 => transmute_copy(&intrinsics::load_shared_b64(address)),
            4 => transmute_copy(&intrinsics::load_shared_b32(address)),
            2 => transmute_copy(&intrinsics::load_shared_b16(address)),
            _ => transmute_copy(&(intrinsics::load_shared_b8(address) as u8)),
        }
    }
}

/// Writes a vector.
///
/// # Safety
/// The address is inside the block's shared memory and aligned to the vector.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(address: u32, v: [T; N]) {
    // SAFETY: the caller's promise; each copy is between types of one size.
    unsafe {
        match N * size_of::<T>() {
            16 => intrinsics::store_shared_v4(address, transmute_copy(&v)),
            8 => intrinsics::store_shared_b64(address, transmute_copy(&v)),
            4 => intrinsics::store_shared_b32(address, transmute_copy(&v)),
            2 => intrinsics::store_shared_b16(address, transmute_copy(&v)),
            _ => intrinsics::store_shared_b8(address, transmute_copy::<[T; N], u8>(&v) as u32),
        }
    }
}

/// Writes a vector where `present`.
///
/// # Safety
/// Where `present`, the address is inside the block's shared memory and aligned to the vector.
#[inline(always)]
pub unsafe fn store_if<T: Copy, const N: usize>(address: u32, present: bool, v: [T; N]) {
    // SAFETY: the caller's promise; the copy is between types of one size.
    unsafe {
        if N * size_of::<T>() == 4 {
            intrinsics::store_shared_b32_if(address, present, transmute_copy(&v));
        } else if present {
            store(address, v);
        }
    }
}

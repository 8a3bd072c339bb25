//! What the lanes of a warp and the warps of a block do together. Every lane takes part.

use super::intrinsics;
use core::mem::{size_of, transmute_copy};

pub use intrinsics::{barrier, warp_sync};

/// The value of the lane whose number differs by `mask`.
///
/// # Safety
/// Every lane of the warp arrives.
#[inline(always)]
pub unsafe fn shuffle_xor<T: Copy>(value: T, mask: u32) -> T {
    // SAFETY: the caller's promise; each copy is between types of one size.
    unsafe {
        match size_of::<T>() {
            16 => {
                let [a, b, c, d]: [u32; 4] = transmute_copy(&value);
                transmute_copy(&[
                    intrinsics::shuffle_xor(a, mask),
                    intrinsics::shuffle_xor(b, mask),
                    intrinsics::shuffle_xor(c, mask),
                    intrinsics::shuffle_xor(d, mask),
                ])
            }
            8 => {
                let [low, high]: [u32; 2] = transmute_copy(&value);
                let moved =
                    [intrinsics::shuffle_xor(low, mask), intrinsics::shuffle_xor(high, mask)];
                transmute_copy(&moved)
            }
            4 => transmute_copy(&intrinsics::shuffle_xor(transmute_copy(&value), mask)),
            2 => {
                let bits = transmute_copy::<T, u16>(&value) as u32;
                transmute_copy(&(intrinsics::shuffle_xor(bits, mask) as u16))
            }
            _ => {
                let bits = transmute_copy::<T, u8>(&value) as u32;
                transmute_copy(&(intrinsics::shuffle_xor(bits, mask) as u8))
            }
        }
    }
}

//! Asynchronous copies from global to shared memory.

use super::intrinsics;

pub use intrinsics::{copy_commit as commit, copy_wait as wait};

/// Starts a copy of 16 bytes, of which the first `bytes` (none if negative) are read and the others are zero.
///
/// # Safety
/// Both addresses are aligned to 16; the first `bytes` are readable.
#[inline(always)]
pub unsafe fn start<T>(to: u32, from: *const T, bytes: i32) {
    let bytes = if bytes < 0 {
        0
    } else if bytes > 16 {
        16
    } else {
        bytes
    };
    // SAFETY: the caller's promise.
    unsafe { intrinsics::copy_async_16(to, from as u64, bytes as u32) }
}

//! How a failing check ends the launch: the first thread to fail writes the device's fault record, then it traps.

use super::intrinsics;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The record, in memory that the host reads after the launch has failed. Offsets are part of the interface.
#[repr(C, align(64))]
pub struct FaultRecord {
    /// 0, or which check of which kernel failed first: kernel number + 1 above, site below. Election and identity are one
    /// exchange, so that they survive even if another thread's trap comes before the rest is written.
    claim: AtomicU64,
    /// 1 when what follows is written.
    complete: AtomicU32,
    reserved: u32,
    /// Linear number of the tile program.
    program: u64,
    /// What the check looked at.
    operands: [i64; 2],
}

/// Writes the record if nobody has, and ends the launch.
///
/// # Safety
/// `record` is the device's fault record.
#[inline(always)]
pub unsafe fn fault(
    record: *mut FaultRecord,
    kernel: u32,
    site: u32,
    program: u32,
    a: i64,
    b: i64,
) {
    let claim = ((kernel as u64 + 1) << 32) | site as u64;
    // SAFETY: the caller's promise; the exchange elects one writer.
    unsafe {
        let first = &raw const (*record).claim;
        if (*first).compare_exchange(0, claim, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            (&raw mut (*record).program).write_volatile(program as u64);
            (&raw mut (*record).operands[0]).write_volatile(a);
            (&raw mut (*record).operands[1]).write_volatile(b);
            (*(&raw const (*record).complete)).store(1, Ordering::Release);
        } else {
            // A trap ends every thread at once: give the writer the time to finish, but not for ever.
            let complete = &raw const (*record).complete;
            let mut patience = 4096;
            while patience > 0 && (*complete).load(Ordering::Acquire) == 0 {
                patience -= 1;
            }
        }
    }
    intrinsics::trap();
}

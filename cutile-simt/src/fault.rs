//! How a failing check ends the launch: the first thread to fail writes the device's fault record, then it traps.

use super::intrinsics;
use core::sync::atomic::{AtomicU32, Ordering};

/// The record, in memory that the host reads after the launch has failed. Offsets are part of the interface.
#[repr(C, align(64))]
pub struct FaultRecord {
    /// 0: none, 1: being written, 2: complete.
    state: AtomicU32,
    /// Which kernel.
    kernel: u32,
    /// Which check of it.
    site: u32,
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
    // SAFETY: the caller's promise; the exchange elects one writer.
    unsafe {
        let state = &raw const (*record).state;
        if (*state).compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            (&raw mut (*record).kernel).write_volatile(kernel);
            (&raw mut (*record).site).write_volatile(site);
            (&raw mut (*record).program).write_volatile(program as u64);
            (&raw mut (*record).operands[0]).write_volatile(a);
            (&raw mut (*record).operands[1]).write_volatile(b);
            (*state).store(2, Ordering::Release);
        }
    }
    intrinsics::trap();
}

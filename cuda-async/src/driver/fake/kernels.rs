//! The kernels of the fake driver, as functions over packed parameters.

use std::sync::atomic::{AtomicU32, Ordering};

use super::machine::{FakeDevice, wait_until};
use crate::driver::sys::{CUDA_ERROR_LAUNCH_FAILED, CUresult};
use crate::driver::{FaultDetails, FaultRecord, FaultSite};

/// What a launch runs.
pub(super) type Kernel = fn(&FakeDevice, &[u8]) -> Result<(), CUresult>;

pub(super) fn find(name: &str) -> Option<Kernel> {
    Some(match name {
        "add_one" => add_one,
        "store" => store,
        "hold" => hold,
        "trap" => trap,
        _ => return None,
    })
}

fn u64_at(params: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(params[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(params: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(params[at..at + 4].try_into().expect("four bytes"))
}

/// Adds one to `count` 32-bit words.
fn add_one(device: &FakeDevice, params: &[u8]) -> Result<(), CUresult> {
    let (data, count) = (u64_at(params, 0), u32_at(params, 8) as usize);
    device.valid(data, 4 * count)?;
    for i in 0..count {
        // SAFETY: in a live block of the fake; the streams order conflicting work.
        unsafe { *(data as *mut u32).add(i) += 1 };
    }
    Ok(())
}

/// Stores one 32-bit word.
fn store(device: &FakeDevice, params: &[u8]) -> Result<(), CUresult> {
    let to = u64_at(params, 0);
    device.valid(to, 4)?;
    // SAFETY: as above.
    unsafe { *(to as *mut u32) = u32_at(params, 8) };
    Ok(())
}

/// Runs until the host stores something at `flag`.
fn hold(device: &FakeDevice, params: &[u8]) -> Result<(), CUresult> {
    // SAFETY: the test's flag outlives the launch.
    let flag = unsafe { &*(u64_at(params, 0) as *const AtomicU32) };
    wait_until(device, || flag.load(Ordering::SeqCst) != 0)
}

/// Fails a check, as generated code does.
fn trap(_: &FakeDevice, params: &[u8]) -> Result<(), CUresult> {
    // SAFETY: the context's fault record.
    if let Some(record) = unsafe { (u64_at(params, 0) as *const FaultRecord).as_ref() } {
        let details = Some(FaultDetails { program: 5, operands: [64, 63] });
        record.write(FaultSite { kernel: 2, site: 9, details });
    }
    Err(CUDA_ERROR_LAUNCH_FAILED)
}

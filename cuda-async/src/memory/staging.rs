//! Pinned host memory for copies, pooled by size on each device.
//!
//! Copies to and from pinned memory run without stopping the host; making such memory is slow, so
//! pieces are kept. Sizes are powers of two; at most `POOLED` bytes wait for the next use.

use std::ptr::NonNull;

use crate::device::Device;
use crate::error::Result;
use crate::sync::{Mutex, lock};

const SMALLEST: usize = 4 << 10;
const CLASSES: usize = 20;
const POOLED: usize = 256 << 20;

/// A piece of pinned host memory; returns to its pool when dropped.
pub(crate) struct Staging {
    device: Device,
    ptr: NonNull<u8>,
    capacity: usize,
}

// SAFETY: plain memory; who may touch it when is the business of those who hold it.
unsafe impl Send for Staging {}
// SAFETY: as above; shared access goes through raw pointers only.
unsafe impl Sync for Staging {}

impl Staging {
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.device.staging().put(self.device, self.ptr, self.capacity);
    }
}

/// The free pieces of one device.
#[derive(Default)]
pub(crate) struct StagingPool(Mutex<Pool>);

#[derive(Default)]
struct Pool {
    classes: [Vec<Free>; CLASSES],
    bytes: usize,
}

struct Free(NonNull<u8>);

// SAFETY: an unused piece of memory.
unsafe impl Send for Free {}

fn class(bytes: usize) -> usize {
    bytes.next_power_of_two().max(SMALLEST).trailing_zeros() as usize
        - SMALLEST.trailing_zeros() as usize
}

impl StagingPool {
    pub(crate) fn take(&self, device: Device, bytes: usize) -> Result<Staging> {
        let class = class(bytes);
        let capacity = if class < CLASSES { SMALLEST << class } else { bytes };
        if class < CLASSES {
            let mut pool = lock(&self.0);
            if let Some(Free(ptr)) = pool.classes[class].pop() {
                pool.bytes -= capacity;
                return Ok(Staging { device, ptr, capacity });
            }
        }
        let ptr = device.backend()?.alloc_staging(capacity)?;
        Ok(Staging { device, ptr, capacity })
    }

    fn put(&self, device: Device, ptr: NonNull<u8>, capacity: usize) {
        let class = class(capacity);
        {
            let mut pool = lock(&self.0);
            if class < CLASSES && pool.bytes + capacity <= POOLED {
                pool.bytes += capacity;
                pool.classes[class].push(Free(ptr));
                return;
            }
        }
        if let Ok(backend) = device.backend() {
            // SAFETY: it came from this device with this capacity and its last holder is gone.
            unsafe { backend.free_staging(ptr, capacity) };
        }
    }
}

//! Page-locked host memory that devices reach directly, pooled: allocating it costs the driver
//! microseconds to milliseconds, and freeing it waits for the device. So a dropped block is set
//! aside, and the next one of its size takes it.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::context::Context;
use super::error::DriverError;
use super::sys::{self, CUdeviceptr};

/// The smallest block: a page.
const SMALLEST: usize = 4096;
/// Blocks set aside beyond this many bytes are given back to the system by the next allocation.
const KEEP_BYTES: usize = 256 << 20;

/// A block of page-locked host memory, mapped into every device's address space.
#[derive(Debug)]
pub struct PinnedMemory {
    context: Context,
    block: Block,
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    host: NonNull<c_void>,
    device: CUdeviceptr,
    capacity: usize,
}

// SAFETY: plain memory; who may touch its bytes when is decided by the methods' contracts.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Blocks that were dropped and can be used again.
#[derive(Debug, Default)]
pub(super) struct Retired {
    blocks: Vec<Block>,
    bytes: usize,
}

impl Retired {
    fn take(&mut self, capacity: usize) -> Option<Block> {
        let at = self.blocks.iter().rposition(|block| block.capacity == capacity)?;
        self.bytes -= capacity;
        Some(self.blocks.swap_remove(at))
    }

    fn put(&mut self, block: Block) {
        self.bytes += block.capacity;
        self.blocks.push(block);
    }

    /// Blocks beyond what is kept, the oldest first.
    fn excess(&mut self) -> Vec<Block> {
        let mut count = 0;
        while self.bytes > KEEP_BYTES {
            self.bytes -= self.blocks[count].capacity;
            count += 1;
        }
        self.blocks.drain(..count).collect()
    }
}

fn capacity(bytes: usize) -> usize {
    bytes.max(SMALLEST).checked_next_power_of_two().unwrap_or(bytes)
}

impl PinnedMemory {
    /// A block of at least `bytes` bytes. Its contents are whatever was there.
    ///
    /// # Errors
    /// What the driver answers (`CUDA_ERROR_OUT_OF_MEMORY` when the host can't lock that many
    /// pages).
    pub fn allocate(context: Context, bytes: usize) -> Result<Self, DriverError> {
        context.bind()?;
        let capacity = capacity(bytes);
        let reused = context.retired_host().take(capacity);
        let block = match reused {
            Some(block) => block,
            None => Self::new_block(context, capacity)?,
        };
        Ok(Self { context, block, bytes })
    }

    fn new_block(context: Context, capacity: usize) -> Result<Block, DriverError> {
        let driver = context.driver();
        let excess = context.retired_host().excess();
        for block in excess {
            // SAFETY: allocated below, set aside by its owner's drop, and taken out of the list.
            let _ = unsafe { driver.free_host(block.host.as_ptr()) };
        }
        let host = context.check(driver.allocate_host(
            capacity,
            sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP,
        ))?;
        // SAFETY: `host` was just allocated as mapped memory.
        let device = context.check(unsafe { driver.host_device_address(host) })?;
        let host = NonNull::new(host).ok_or_else(|| {
            DriverError::Call(driver.error("cuMemHostAlloc", sys::CUDA_ERROR_OUT_OF_MEMORY))
        })?;
        Ok(Block { host, device, capacity })
    }

    /// Gives the block to the caller, who hands it back through [`from_raw`](Self::from_raw).
    pub fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).block.host
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `host` must be from [`into_raw`](Self::into_raw) of a block allocated in `context` with
    /// `bytes` bytes, and not be taken back twice.
    pub unsafe fn from_raw(context: Context, host: NonNull<c_void>, bytes: usize) -> Self {
        // A lost context has no answer, and nobody who could use the address.
        let device = context.bind().ok().and_then(|()| {
            // SAFETY: mapped memory, by contract.
            unsafe { context.driver().host_device_address(host.as_ptr()) }.ok()
        });
        let device = device.unwrap_or(0);
        Self { context, block: Block { host, device, capacity: capacity(bytes) }, bytes }
    }

    /// The block's address on the host.
    pub fn host_address(&self) -> NonNull<c_void> {
        self.block.host
    }

    /// The block's address on the devices.
    pub fn device_address(&self) -> CUdeviceptr {
        self.block.device
    }

    /// Its size in bytes, as asked for.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it was asked for with no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its bytes.
    ///
    /// # Safety
    /// No device work may write the block while the slice is used, and its bytes must have been
    /// written once.
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: a live block of at least that size; this function's contract.
        unsafe { std::slice::from_raw_parts(self.block.host.as_ptr().cast(), self.bytes) }
    }

    /// Copies `data` into the block.
    ///
    /// # Safety
    /// `data` must not be longer than the block, and no device work may use the block meanwhile.
    pub unsafe fn fill_from(&mut self, data: &[u8]) {
        debug_assert!(data.len() <= self.bytes);
        // SAFETY: it fits, by contract; only `self` reaches the block, so the two don't overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(
                data.as_ptr(),
                self.block.host.as_ptr().cast(),
                data.len(),
            )
        };
    }
}

impl Drop for PinnedMemory {
    /// Sets the block aside: right only when no device work uses it any more.
    fn drop(&mut self) {
        self.context.retired_host().put(self.block);
    }
}

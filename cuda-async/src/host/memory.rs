//! Stream-ordered memory with a limit.
//!
//! Freed blocks keep their place in time: the stream that freed one may use it again at once (its
//! work is in order), others once the worker has passed that place. So a chain of operations needs
//! the memory of its live tensors, not of all that it ever made. Memory counts as used from `alloc`
//! to `free`, in the order of these calls.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::backend::{DevicePtr, MemoryInfo};
use crate::device::DeviceId;
use crate::error::{DeviceError, ErrorKind, Result};
use crate::host::queue::Queue;
use crate::host::{ALIGNMENT, HostOptions, allocate, release};
use crate::sync::{Mutex, lock};

/// Bytes of free blocks that are kept for the next use.
const CACHE: usize = 1 << 30;

pub(super) struct Memory {
    device: DeviceId,
    options: HostOptions,
    blocks: Mutex<Blocks>,
    /// Set when work has trapped: nothing runs on this device any more.
    lost: OnceLock<DeviceError>,
}

#[derive(Default)]
struct Blocks {
    used: usize,
    cached: usize,
    /// Free blocks by size.
    free: BTreeMap<usize, Vec<Block>>,
}

struct Block {
    ptr: NonNull<u8>,
    stream: &'static Queue,
    /// The stream's place after which the block is free.
    place: u64,
}

// SAFETY: a block is memory that nobody uses.
unsafe impl Send for Block {}

impl Memory {
    pub(super) fn new(device: DeviceId, options: HostOptions) -> Self {
        let (blocks, lost) = (Mutex::default(), OnceLock::new());
        Memory { device, options, blocks, lost }
    }

    pub(super) fn options(&self) -> HostOptions {
        self.options
    }

    /// Work has trapped: nothing runs any more.
    pub(super) fn lose(&self, error: &DeviceError) {
        let _ = self.lost.set(error.clone());
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Fails if work has trapped.
    pub(super) fn check_alive(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    pub(super) fn info(&self) -> MemoryInfo {
        MemoryInfo { used: lock(&self.blocks).used, total: self.options.memory }
    }

    pub(super) fn alloc(&self, bytes: usize, stream: &'static Queue) -> Result<DevicePtr> {
        let mut blocks = lock(&self.blocks);
        let out_of_memory = |used| ErrorKind::OutOfMemory {
            device: self.device,
            requested: bytes,
            used,
            total: self.options.memory,
        };
        let used = blocks.used;
        let size = match bytes.checked_next_multiple_of(ALIGNMENT) {
            Some(size) if size <= self.options.memory.saturating_sub(used) => size,
            _ => return Err(out_of_memory(used).into()),
        };
        let usable =
            |block: &Block| std::ptr::eq(block.stream, stream) || block.stream.passed(block.place);
        let reused = blocks.free.get_mut(&size).and_then(|free| {
            free.iter().rposition(usable).map(|index| free.swap_remove(index).ptr)
        });
        let ptr = match reused {
            Some(ptr) => {
                blocks.cached -= size;
                ptr
            }
            None => allocate(size).ok_or_else(|| out_of_memory(used))?,
        };
        blocks.used += size;
        Ok(DevicePtr(ptr.as_ptr() as u64))
    }

    /// Frees a block after everything queued on `stream` so far.
    ///
    /// # Safety
    /// `ptr` came from `alloc(bytes)`, once, and its uses are done or queued on `stream`.
    pub(super) unsafe fn free(&self, ptr: DevicePtr, bytes: usize, stream: &'static Queue) {
        let size = bytes.next_multiple_of(ALIGNMENT);
        let Some(ptr) = NonNull::new(ptr.as_mut_ptr()) else { return };
        let mut blocks = lock(&self.blocks);
        blocks.used -= size;
        blocks.cached += size;
        let block = Block { ptr, stream, place: stream.place() };
        blocks.free.entry(size).or_default().push(block);
        if blocks.cached > CACHE {
            blocks.trim();
        }
    }
}

impl Blocks {
    /// Gives blocks whose stream has passed back to the system, largest first, down to half the cache.
    fn trim(&mut self) {
        for (size, free) in self.free.iter_mut().rev() {
            free.retain(|block| {
                if self.cached <= CACHE / 2 || !block.stream.passed(block.place) {
                    return true;
                }
                self.cached -= size;
                // SAFETY: allocated with this size; all its uses are done.
                unsafe { release(block.ptr, *size) };
                false
            });
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceKind;

    #[test]
    fn free_memory_beyond_the_cache_goes_back_to_the_system() {
        let device = DeviceId::new(DeviceKind::Host, 900);
        let memory: &'static Memory =
            Box::leak(Box::new(Memory::new(device, HostOptions::default())));
        let queue = Queue::start(device, memory).unwrap();
        // Never touched, so these are addresses more than memory.
        let size = CACHE / 4;
        let pieces: Vec<_> = (0..6).map(|_| memory.alloc(size, queue).unwrap()).collect();
        assert_eq!(memory.info().used, 6 * size);
        for piece in pieces {
            // SAFETY: allocated with this size; nothing uses it.
            unsafe { memory.free(piece, size, queue) };
            assert!(lock(&memory.blocks).cached <= CACHE);
        }
        assert_eq!(memory.info().used, 0);
        let blocks = lock(&memory.blocks);
        assert!(blocks.cached > 0, "some are kept");
        assert_eq!(blocks.cached, blocks.free.values().map(Vec::len).sum::<usize>() * size);
    }
}

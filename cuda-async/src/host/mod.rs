//! The host device: streams, memory, timelines and failures of a CUDA device, on the CPU.
//!
//! A stream is a FIFO queue with a worker thread. Ordering, overlap, cancellation, running out of
//! memory and faults are real here, so they are tested for real on any machine. Kernels are closures
//! ([`ExecutionContext::run_on_host`](crate::ExecutionContext::run_on_host)); which ones is not this
//! crate's business.
//!
//! - `block`: aligned memory of the system.
//! - `memory`: stream-ordered allocation with a limit.
//! - `queue`: the queue and its worker.
//! - `task`: closures that are queued without allocating.
//! - `stream`, `work`: what the runtime asks for, as items of the queue.

use std::any::Any;
use std::ptr::NonNull;

use crate::backend::{Backend, BackendStream, MemoryInfo};
use crate::device::{DeviceId, DeviceKind};
use crate::error::{ErrorKind, Result};

mod block;
mod memory;
mod queue;
mod stream;
mod task;
mod work;

pub(crate) use queue::current_worker;
pub use task::HostTask;

use block::{ALIGNMENT, allocate, release};
use memory::Memory;
use stream::HostStream;

/// What a private host device is like; see [`Device::private_host`](crate::Device::private_host).
#[derive(Debug, Clone, Copy)]
pub struct HostOptions {
    /// Bytes of memory that it pretends to have.
    pub memory: usize,
    /// Whether freed memory is overwritten, in stream order, so that a use after free shows.
    pub scribble: bool,
    /// Whether the runtime has to look for completions itself, as on a GPU, instead of being told.
    pub silent: bool,
    /// `Host`, or `Emulator` for a device whose kernels are PTX.
    pub kind: DeviceKind,
}

impl Default for HostOptions {
    fn default() -> Self {
        HostOptions { memory: usize::MAX, scribble: false, silent: false, kind: DeviceKind::Host }
    }
}

/// A host device.
#[derive(Debug)]
pub(crate) struct HostBackend {
    id: DeviceId,
    memory: &'static Memory,
}

impl HostBackend {
    pub(crate) fn new(id: DeviceId, options: HostOptions) -> Self {
        HostBackend { id, memory: Box::leak(Box::new(Memory::new(id, options))) }
    }
}

impl Backend for HostBackend {
    fn name(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        format!("host ({cores} threads)")
    }

    fn open_stream(&self) -> Result<Box<dyn BackendStream>> {
        Ok(Box::new(HostStream::open(self.id, self.memory)?))
    }

    fn memory(&self) -> Result<MemoryInfo> {
        Ok(self.memory.info())
    }

    fn alloc_staging(&self, bytes: usize) -> Result<NonNull<u8>> {
        allocate(bytes).ok_or_else(|| {
            let MemoryInfo { used, total } = self.memory.info();
            ErrorKind::OutOfMemory { device: self.id, requested: bytes, used, total }.into()
        })
    }

    unsafe fn free_staging(&self, ptr: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller says, it came from `alloc_staging` with this size.
        unsafe { release(ptr, bytes) };
    }

    fn id(&self) -> DeviceId {
        self.id
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

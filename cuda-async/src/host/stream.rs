//! A host stream, as the runtime drives it: commands become items of its queue.

use std::any::Any;
use std::sync::atomic::AtomicU64;

use crate::backend::{BackendStream, Command, DevicePtr, Work};
use crate::device::DeviceId;
use crate::error::{ErrorKind, Result};
use crate::host::memory::Memory;
use crate::host::queue::{Item, Queue};
use crate::host::work::HostWork;
use crate::stream::StreamCore;

/// What freed memory is overwritten with, where that is asked for.
const SCRIBBLE: u32 = 0xdb;

pub(super) struct HostStream {
    device: DeviceId,
    memory: &'static Memory,
    queue: &'static Queue,
}

impl HostStream {
    pub(super) fn open(device: DeviceId, memory: &'static Memory) -> Result<HostStream> {
        Ok(HostStream { device, memory, queue: Queue::start(device, memory)? })
    }
}

impl BackendStream for HostStream {
    fn timeline(&self) -> &AtomicU64 {
        &self.queue.timeline
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        self.memory.check_alive()?;
        self.memory.alloc(bytes, self.queue)
    }

    unsafe fn free(&self, ptr: DevicePtr, bytes: usize) -> Result<()> {
        if self.memory.options().scribble {
            let (dst, work) = (ptr.as_mut_ptr(), HostWork::none());
            self.queue.push(Item::Fill { dst, pattern: SCRIBBLE, width: 1, count: bytes, work });
        }
        // SAFETY: as the caller says.
        unsafe { self.memory.free(ptr, bytes, self.queue) };
        Ok(())
    }

    unsafe fn enqueue(&self, command: Command<'_>, work: &mut Work) -> Result<()> {
        self.memory.check_alive()?;
        if let Command::Launch { .. } = command {
            let what = "launch device code";
            return Err(ErrorKind::Unsupported { device: self.device, what }.into());
        }
        let work = HostWork::new(work);
        self.queue.push(match command {
            Command::Run(task) => Item::Run { task, work },
            Command::Upload { dst, src, bytes } => {
                Item::Copy { dst: dst.as_mut_ptr(), src, bytes, work }
            }
            Command::Download { dst, src, bytes } => {
                Item::Copy { dst, src: src.as_mut_ptr(), bytes, work }
            }
            Command::Copy { dst, src, bytes } | Command::CopyFromPeer { dst, src, bytes, .. } => {
                Item::Copy { dst: dst.as_mut_ptr(), src: src.as_mut_ptr(), bytes, work }
            }
            Command::Fill { dst, pattern, width, count } => {
                Item::Fill { dst: dst.as_mut_ptr(), pattern, width, count, work }
            }
            Command::Launch { .. } => return Ok(()),
        });
        Ok(())
    }

    fn write_timeline(&self, number: u64) -> Result<()> {
        self.memory.check_alive()?;
        self.queue.push(Item::Write(number));
        Ok(())
    }

    fn wait_timeline(&self, other: &dyn BackendStream, number: u64) -> Result<()> {
        self.memory.check_alive()?;
        let Some(other) = other.as_any().downcast_ref::<HostStream>() else {
            let what = "wait for a stream of another kind of device";
            return Err(ErrorKind::Unsupported { device: self.device, what }.into());
        };
        self.queue.push(Item::Wait(other.queue, number));
        Ok(())
    }

    fn query(&self) -> Result<bool> {
        self.memory.check_alive()?;
        Ok(self.queue.passed(self.queue.place()))
    }

    fn reports_progress(&self) -> bool {
        !self.memory.options().silent
    }

    fn opened(&self, core: &'static StreamCore) {
        if self.reports_progress() {
            // Called once.
            let _ = self.queue.core.set(core);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

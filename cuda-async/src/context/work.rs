//! Enqueueing work: kernels, host closures, foreign calls.

use std::ffi::c_void;

use crate::DeviceKind;
use crate::backend::{Command, Launch};
use crate::context::ExecutionContext;
use crate::error::{ErrorKind, Result};
use crate::host::HostTask;
use crate::stream::Mark;

/// A stream's native handle, for calls into other libraries.
///
/// It is valid for the process's lifetime; work put on it belongs to the operation that took it only
/// until `advance` returns or the next piece of work is enqueued.
#[derive(Debug, Clone, Copy)]
pub struct RawStream(*mut c_void);

impl RawStream {
    /// The handle: a `CUstream` on CUDA, null on the host device.
    pub fn as_ptr(self) -> *mut c_void {
        self.0
    }
}

impl ExecutionContext<'_> {
    /// Launches a loaded kernel, with the accesses declared since the last piece of work.
    ///
    /// # Errors
    /// If the device refuses the launch, or is lost.
    ///
    /// # Safety
    /// The parameters are what the kernel takes; all memory that it touches has been declared, as
    /// written if it may be written; it stays inside.
    pub unsafe fn launch(&mut self, launch: &Launch<'_>) -> Result<()> {
        if launch.grid.contains(&0) {
            self.work.accesses.clear();
            return Ok(());
        }
        // SAFETY: the caller has declared every buffer that the kernel touches.
        unsafe { self.submit(Command::Launch { launch, overlap: false }) }.map(|_| ())
    }

    /// Runs `task` on the stream's worker thread, in stream order (host and emulator devices).
    ///
    /// The task gets the memory through the addresses that [`read`](Self::read) and
    /// [`write`](Self::write) gave, which stay valid until it has run. If it returns an error or
    /// panics, this operation fails, and the buffers declared as written are poisoned. It does not run
    /// (and the operation fails) if a declared buffer has been poisoned by then.
    ///
    /// ```
    /// use cuda_async::prelude::*;
    ///
    /// # fn main() -> Result<(), DeviceError> {
    /// let op = with_context(|ctx| {
    ///     let buffer = ctx.alloc(4)?;
    ///     let ptr = ctx.write(&buffer)?;
    ///     // SAFETY: the buffer has 4 bytes, aligned to 256, and is declared as written.
    ///     ctx.run_on_host("set to 7", move || {
    ///         unsafe { ptr.as_mut_ptr::<u32>().write(7) };
    ///         Ok(())
    ///     })?;
    ///     Ok(buffer)
    /// });
    /// let bytes = op.then(download).sync_on(&Device::host(0).new_stream()?)?;
    /// assert_eq!(bytes, 7u32.to_ne_bytes());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on CUDA; the device is lost.
    pub fn run_on_host(
        &mut self,
        site: &'static str,
        task: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        if self.device().kind() == DeviceKind::Cuda {
            self.work.accesses.clear();
            let device = self.device().id();
            return Err(ErrorKind::Unsupported { device, what: "run host closures" }.into());
        }
        // SAFETY: the task's own unsafe code answers for what it does with the addresses.
        unsafe { self.submit(Command::Run(HostTask::new(site, task))) }.map(|_| ())
    }

    /// The native stream, for calls of other libraries (cuFFT, cuBLAS, any FFI).
    ///
    /// Work that the accesses declared so far conflict with is ordered before what is put on the
    /// stream from now on; accesses declared later are ordered at once. All of it counts as one piece
    /// of work that ends when `advance` (the closure of `with_context`) returns.
    ///
    /// # Errors
    /// The device is lost.
    pub fn raw_stream(&mut self) -> Result<RawStream> {
        self.stream.device.check_alive()?;
        self.stream.order(&self.work)?;
        self.raw_taken = true;
        Ok(RawStream(self.stream.backend.raw()))
    }

    /// Ends work put on the raw stream, if there is any.
    pub(crate) fn finish_raw(&mut self) -> Result<()> {
        if self.raw_taken {
            self.raw_taken = false;
            let number = self.stream.submit_foreign(&mut self.work)?;
            self.noted(number);
        }
        self.work.accesses.clear();
        Ok(())
    }

    /// Forgets accesses that no work followed.
    pub(crate) fn discard_declarations(&mut self) {
        self.work.accesses.clear();
    }

    /// Enqueues one command with the declared accesses; its number.
    ///
    /// # Safety
    /// As for [`BackendStream::enqueue`](crate::backend::BackendStream::enqueue).
    pub(crate) unsafe fn submit(&mut self, command: Command<'_>) -> Result<u64> {
        if self.raw_taken {
            self.raw_taken = false;
            let number = self.stream.submit_foreign(&mut self.work)?;
            self.noted(number);
        }
        if self.stream.survives_faults {
            self.work.fault = Some(self.record.fault_cell(self.stream));
        }
        // SAFETY: as the caller says.
        let result = unsafe { self.stream.submit(command, &mut self.work) };
        self.work.accesses.clear();
        let number = result?;
        self.noted(number);
        Ok(number)
    }

    fn noted(&mut self, number: u64) {
        self.record.note(Mark { stream: self.stream, number });
    }
}

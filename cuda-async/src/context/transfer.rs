//! Copies: between host and device, within a device, between devices, and fills.

use std::sync::Arc;
use std::task::Poll;

use crate::DeviceKind;
use crate::backend::Command;
use crate::context::ExecutionContext;
use crate::error::{ErrorKind, Result};
use crate::memory::{AccessKind, Buffer, Staging};
use crate::stream::{Mark, Owner};

/// A copy from device to host that has been enqueued.
///
/// The bytes are there once [`poll`](ReadBack::poll) is `Ready`. Dropping it early is fine: the copy's
/// memory is kept until the device has finished with it.
pub struct ReadBack {
    staging: Option<Arc<Staging>>,
    bytes: usize,
    mark: Mark,
}

impl ReadBack {
    /// The bytes, when the copy is complete; `Pending` wakes the task then.
    ///
    /// # Errors
    /// If the copy or other work of this operation has failed, or the device is lost.
    pub fn poll(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<&[u8]>> {
        match ctx.wait_mark(self.mark) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => Poll::Ready(Ok(match &self.staging {
                None => &[],
                // SAFETY: the copy is complete, so all bytes are written and nobody writes them
                // any more; the staging memory is held by `self`.
                Some(staging) => unsafe { std::slice::from_raw_parts(staging.ptr(), self.bytes) },
            })),
        }
    }
}

impl ExecutionContext<'_> {
    /// Enqueues a copy of `bytes` at `offset` of `buffer` to the host.
    ///
    /// # Errors
    /// Range outside the buffer, poisoned buffer, wrong device, no staging memory.
    pub fn copy_to_host(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        bytes: usize,
    ) -> Result<ReadBack> {
        buffer.check_range(offset, bytes)?;
        let src = self.read(buffer)?.add(offset);
        if bytes == 0 {
            self.discard_declarations();
            let mark = Mark { stream: self.core(), number: 0 };
            return Ok(ReadBack { staging: None, bytes, mark });
        }
        let staging = Arc::new(self.device().staging().take(self.device(), bytes)?);
        let command = Command::Download { dst: staging.ptr(), src, bytes };
        // SAFETY: source in a declared buffer, destination owned by the stream until it has passed.
        let number = unsafe { self.submit(command) }?;
        self.core().keep(number, Owner::Staging(Arc::clone(&staging)));
        let mark = Mark { stream: self.core(), number };
        Ok(ReadBack { staging: Some(staging), bytes, mark })
    }

    /// Enqueues a copy of `data` into `buffer` at `offset`; `data` is copied before this returns.
    ///
    /// # Errors
    /// Range outside the buffer, poisoned buffer, wrong device, no staging memory.
    pub fn upload(&mut self, buffer: &Buffer, offset: usize, data: &[u8]) -> Result<()> {
        // SAFETY: the slice is valid for its length.
        unsafe { self.upload_staged(buffer, offset, data.as_ptr(), data.len()) }
    }

    /// Copies host memory to a pinned piece now, and from there to the device in stream order.
    ///
    /// # Safety
    /// `data` is valid for reads of `bytes`.
    unsafe fn upload_staged(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        data: *const u8,
        bytes: usize,
    ) -> Result<()> {
        buffer.check_range(offset, bytes)?;
        let dst = self.write(buffer)?.add(offset);
        if bytes == 0 {
            self.discard_declarations();
            return Ok(());
        }
        let staging = self.device().staging().take(self.device(), bytes)?;
        // SAFETY: valid as the caller says, and a fresh staging piece of at least that size.
        unsafe { staging.ptr().copy_from_nonoverlapping(data, bytes) };
        let command = Command::Upload { dst, src: staging.ptr(), bytes };
        // SAFETY: destination in a declared buffer, source owned by the stream until it has passed.
        let number = unsafe { self.submit(command) }?;
        self.core().keep(number, Owner::Staging(Arc::new(staging)));
        Ok(())
    }

    /// Enqueues a copy of a whole vector into `buffer` at `offset` (in bytes).
    ///
    /// The vector is kept until the device has read it; only on CUDA it is copied to pinned memory
    /// first, since the driver makes the caller wait for copies from any other.
    ///
    /// # Errors
    /// Range outside the buffer, poisoned buffer, wrong device.
    pub fn upload_vec<T: Copy + Send + 'static>(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        data: Vec<T>,
    ) -> Result<()> {
        let bytes = std::mem::size_of_val(data.as_slice());
        if self.device().kind() == DeviceKind::Cuda {
            // SAFETY: the vector is valid for its length.
            return unsafe { self.upload_staged(buffer, offset, data.as_ptr().cast(), bytes) };
        }
        buffer.check_range(offset, bytes)?;
        let dst = self.write(buffer)?.add(offset);
        if bytes == 0 {
            self.discard_declarations();
            return Ok(());
        }
        let command = Command::Upload { dst, src: data.as_ptr().cast(), bytes };
        // SAFETY: destination in a declared buffer; the vector's heap block is owned by the stream
        // until it has passed.
        let number = unsafe { self.submit(command) }?;
        self.core().keep(number, Owner::Boxed(Box::new(data)));
        Ok(())
    }

    /// Enqueues a copy of `bytes` from `src` at `src_offset` to `dst` at `dst_offset`, both on this
    /// device.
    ///
    /// # Errors
    /// Ranges outside the buffers, poisoned buffers, wrong device, ranges that overlap.
    pub fn copy(
        &mut self,
        src: &Buffer,
        src_offset: usize,
        dst: &Buffer,
        dst_offset: usize,
        bytes: usize,
    ) -> Result<()> {
        src.check_range(src_offset, bytes)?;
        dst.check_range(dst_offset, bytes)?;
        if src.same(dst) && src_offset.abs_diff(dst_offset) < bytes {
            let device = self.device().id();
            return Err(ErrorKind::Unsupported { device, what: "copy overlapping ranges" }.into());
        }
        let from = self.read(src)?.add(src_offset);
        let to = self.write(dst)?.add(dst_offset);
        if bytes == 0 {
            self.discard_declarations();
            return Ok(());
        }
        // SAFETY: both ranges lie in declared buffers and do not overlap.
        unsafe { self.submit(Command::Copy { dst: to, src: from, bytes }) }.map(|_| ())
    }

    /// Enqueues a copy of `bytes` at the start of `src`, on another device of the same kind, into
    /// `dst` on this one.
    ///
    /// # Errors
    /// Sizes, poisoned buffers, devices of different kinds (copy through the host then).
    pub fn copy_from_peer(&mut self, src: &Buffer, dst: &Buffer, bytes: usize) -> Result<()> {
        src.check_range(0, bytes)?;
        dst.check_range(0, bytes)?;
        if src.device().kind() != self.device().kind() {
            let device = self.device().id();
            let what = "copy from a device of another kind directly";
            return Err(ErrorKind::Unsupported { device, what }.into());
        }
        src.check_poison()?;
        let to = self.write(dst)?;
        let from = self.declare(src, AccessKind::Read)?;
        self.depend_on(src);
        if bytes == 0 {
            self.discard_declarations();
            return Ok(());
        }
        let command = Command::CopyFromPeer { dst: to, src: from, peer: src.device().id(), bytes };
        // SAFETY: both ranges lie in declared buffers of the devices named.
        unsafe { self.submit(command) }.map(|_| ())
    }

    /// Enqueues a fill of `buffer` from `offset` with `count` copies of the `width` (1, 2 or 4) low
    /// bytes of `pattern`.
    ///
    /// # Errors
    /// Range outside the buffer, poisoned buffer, wrong device, a width or alignment that is not
    /// possible.
    pub fn fill(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        pattern: u32,
        width: usize,
        count: usize,
    ) -> Result<()> {
        if !matches!(width, 1 | 2 | 4) || !offset.is_multiple_of(width) {
            let device = self.device().id();
            let what = "fill with a pattern that is not 1, 2 or 4 bytes wide and aligned to that";
            return Err(ErrorKind::Unsupported { device, what }.into());
        }
        buffer.check_range(offset, count.saturating_mul(width))?;
        let dst = self.write(buffer)?.add(offset);
        if count == 0 {
            self.discard_declarations();
            return Ok(());
        }
        // SAFETY: the range lies in a declared buffer and is aligned.
        unsafe { self.submit(Command::Fill { dst, pattern, width, count }) }.map(|_| ())
    }
}

//! Device memory from the context's pool, and the transfers that move bytes. Everything here is
//! enqueued; nothing waits.

use std::ffi::c_void;
use std::mem::ManuallyDrop;

use super::context::Context;
use super::error::DriverError;
use super::stream::Stream;
use super::sys::CUdeviceptr;

/// A block of device memory. Ordered by streams: it may be used on the stream it was allocated on,
/// and on others after waiting for it.
#[derive(Debug)]
pub struct DeviceMemory {
    context: Context,
    address: CUdeviceptr,
    bytes: usize,
}

impl DeviceMemory {
    /// Allocates `bytes` in the order of `stream`. Zero bytes take no memory and have address 0.
    ///
    /// # Errors
    /// [`DriverError::OutOfMemory`] with the bytes asked for, used and there; otherwise what the
    /// driver answers.
    pub fn allocate(stream: &Stream, bytes: usize) -> Result<Self, DriverError> {
        let context = stream.context();
        context.bind()?;
        if bytes == 0 {
            return Ok(Self { context, address: 0, bytes });
        }
        // SAFETY: pool and stream are live.
        let address = unsafe { context.driver().allocate(bytes, context.pool(), stream.raw()) };
        let address = address.map_err(|error| context.explain_allocation(bytes, error))?;
        Ok(Self { context, address, bytes })
    }

    /// Takes over a block that somebody else allocated with `cuMemAlloc` or a stream-ordered
    /// variant.
    ///
    /// # Safety
    /// `address` must be such a block of `context`, of that size, that nobody else frees.
    pub unsafe fn from_raw(context: Context, address: CUdeviceptr, bytes: usize) -> Self {
        Self { context, address, bytes }
    }

    /// Gives the block to the caller, who frees it.
    pub fn into_raw(self) -> (CUdeviceptr, usize) {
        let this = ManuallyDrop::new(self);
        (this.address, this.bytes)
    }

    /// Its device address.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The context that it belongs to.
    pub fn context(&self) -> Context {
        self.context
    }

    /// Frees the block in the order of `stream`: after all work enqueued there so far.
    ///
    /// # Errors
    /// What the driver answers; the block is then given up (a lost context frees it with everything
    /// else).
    pub fn free(self, stream: &Stream) -> Result<(), DriverError> {
        let this = ManuallyDrop::new(self);
        if this.address == 0 {
            return Ok(());
        }
        this.context.bind()?;
        // SAFETY: ours, and not used after this.
        this.context.check(unsafe { this.context.driver().free(this.address, stream.raw()) })
    }
}

impl Drop for DeviceMemory {
    /// Frees the block for reuse at once: right only when all work on it is complete.
    /// [`free`](DeviceMemory::free) orders it after work.
    fn drop(&mut self) {
        if self.address == 0 || self.context.bind().is_err() {
            return;
        }
        let stream = self.context.reclaim_stream();
        // SAFETY: ours, and not used after this. The call does not wait; an error has no reader.
        let _ = unsafe { self.context.driver().free(self.address, stream) };
    }
}

impl Stream {
    /// Enqueues a copy of `bytes` bytes from host memory to the device.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// Both ranges must be valid until the copy is done. From pageable memory the call may block,
    /// and has read `from` when it returns.
    pub unsafe fn copy_to_device(
        &self,
        to: CUdeviceptr,
        from: *const c_void,
        bytes: usize,
    ) -> Result<(), DriverError> {
        // SAFETY: this function's contract.
        self.transfer(bytes, || unsafe {
            self.context().driver().copy_to_device(to, from, bytes, self.raw())
        })
    }

    /// Enqueues a copy of `bytes` bytes from the device to host memory.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// Both ranges must be valid until the copy is done, and nobody may read `to` before.
    pub unsafe fn copy_to_host(
        &self,
        to: *mut c_void,
        from: CUdeviceptr,
        bytes: usize,
    ) -> Result<(), DriverError> {
        // SAFETY: this function's contract.
        self.transfer(bytes, || unsafe {
            self.context().driver().copy_to_host(to, from, bytes, self.raw())
        })
    }

    /// Enqueues a copy of `bytes` bytes within the device.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// Both ranges must be valid until the copy is done, and must not overlap.
    pub unsafe fn copy_on_device(
        &self,
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
    ) -> Result<(), DriverError> {
        // SAFETY: this function's contract.
        self.transfer(bytes, || unsafe {
            self.context().driver().copy_on_device(to, from, bytes, self.raw())
        })
    }

    /// Enqueues a copy of `bytes` bytes between devices. With [`Context::enable_peer`] it goes
    /// directly, otherwise the driver goes through the host.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// Both ranges must be valid until the copy is done.
    pub unsafe fn copy_peer(
        &self,
        to: (CUdeviceptr, Context),
        from: (CUdeviceptr, Context),
        bytes: usize,
    ) -> Result<(), DriverError> {
        let (to, from) = ((to.0, to.1.raw()), (from.0, from.1.raw()));
        // SAFETY: this function's contract.
        self.transfer(bytes, || unsafe {
            self.context().driver().copy_peer(to, from, bytes, self.raw())
        })
    }

    /// Enqueues filling `count` elements at `to` with `value`.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// The range must be valid until the fill is done, and `to` aligned to the element.
    pub unsafe fn fill(
        &self,
        to: CUdeviceptr,
        value: FillValue,
        count: usize,
    ) -> Result<(), DriverError> {
        let driver = self.context().driver();
        // SAFETY: this function's contract.
        self.transfer(count, || unsafe {
            match value {
                FillValue::U8(value) => driver.set_8(to, value, count, self.raw()),
                FillValue::U16(value) => driver.set_16(to, value, count, self.raw()),
                FillValue::U32(value) => driver.set_32(to, value, count, self.raw()),
            }
        })
    }

    /// Nothing to move is success without a call.
    fn transfer(
        &self,
        count: usize,
        enqueue: impl FnOnce() -> super::result::Answer<()>,
    ) -> Result<(), DriverError> {
        self.context().bind()?;
        if count == 0 {
            return Ok(());
        }
        self.context().check(enqueue())
    }
}

/// The bits of an element to fill memory with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillValue {
    /// One byte.
    U8(u8),
    /// Two bytes.
    U16(u16),
    /// Four bytes.
    U32(u32),
}

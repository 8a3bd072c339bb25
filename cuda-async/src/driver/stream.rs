//! Streams and events that we own. Their destructors return at once: the driver frees the objects
//! when their work is done.

use super::context::Context;
use super::error::DriverError;
use super::sys::{self, CUdeviceptr, CUevent, CUstream};

/// An in-order queue of work on one device.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    raw: CUstream,
    owned: bool,
}

impl Stream {
    /// A new stream that does not synchronise with the legacy default stream. Lower `priority` runs
    /// earlier; 0 is the default.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: Context, priority: i32) -> Result<Self, DriverError> {
        context.bind()?;
        let raw =
            context.check(context.driver().stream_create(sys::CU_STREAM_NON_BLOCKING, priority))?;
        Ok(Self { context, raw, owned: true })
    }

    /// Somebody else's stream, which stays theirs.
    ///
    /// # Errors
    /// What the driver answers; an error if the stream is not of `context`.
    ///
    /// # Safety
    /// `raw` must be a live stream and must stay so while the answer is used.
    pub unsafe fn borrow(context: Context, raw: CUstream) -> Result<Self, DriverError> {
        context.bind()?;
        // SAFETY: the stream is live by this function's contract.
        let actual = context.check(unsafe { context.driver().stream_context(raw) })?;
        if actual != context.raw() {
            return Err(DriverError::Call(
                context.driver().error("cuStreamGetCtx", sys::CUDA_ERROR_INVALID_CONTEXT),
            ));
        }
        Ok(Self { context, raw, owned: false })
    }

    /// The context that the stream belongs to.
    pub fn context(&self) -> Context {
        self.context
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUstream {
        self.raw
    }

    /// Whether everything enqueued so far is complete. Never blocks.
    ///
    /// # Errors
    /// [`DriverError::Fault`] once the context is lost or a kernel has recorded a failed check, after
    /// which it will be; otherwise what the driver answers.
    pub fn query(&self) -> Result<bool, DriverError> {
        self.context.bind()?;
        self.context.check_record()?;
        // SAFETY: the stream is live.
        self.context.check(unsafe { self.context.driver().stream_query(self.raw) })
    }

    /// Blocks the calling thread until everything enqueued so far is complete.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: the stream is live.
        self.context.check(unsafe { self.context.driver().stream_synchronize(self.raw) })
    }

    /// Whether the stream is being captured into a graph, when queries and waits are not allowed on
    /// it.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn is_capturing(&self) -> Result<bool, DriverError> {
        self.context.bind()?;
        // SAFETY: the stream is live.
        self.context.check(unsafe { self.context.driver().stream_is_capturing(self.raw) })
    }

    /// Later work on this stream waits for what `event` was recorded after.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn wait(&self, event: &Event) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: stream and event are live; the driver keeps what it needs of the event.
        self.context.check(unsafe { self.context.driver().stream_wait_event(self.raw, event.raw) })
    }

    /// After all earlier work, and visibly after all that it wrote, stores `value` at `address`.
    /// `Ok(false)` where the driver has no 64-bit stream writes: then nothing was enqueued.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// `address` must be the device address of an 8-byte word that lives until the write is done.
    pub unsafe fn write_value(
        &self,
        address: CUdeviceptr,
        value: u64,
    ) -> Result<bool, DriverError> {
        self.context.bind()?;
        // SAFETY: the stream is live; the address is the caller's promise.
        let answer = unsafe { self.context.driver().stream_write_value(self.raw, address, value) };
        answer.map_or(Ok(false), |answer| self.context.check(answer).map(|()| true))
    }

    /// Later work on this stream waits until the word at `address` is at least `value`.
    /// `Ok(false)` where the driver has no 64-bit stream waits: then nothing was enqueued.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// As [`write_value`](Self::write_value); and the write that ends the wait must be enqueued
    /// already, or the stream may hang.
    pub unsafe fn wait_value(&self, address: CUdeviceptr, value: u64) -> Result<bool, DriverError> {
        self.context.bind()?;
        // SAFETY: the stream is live; the address is the caller's promise.
        let answer = unsafe { self.context.driver().stream_wait_value(self.raw, address, value) };
        answer.map_or(Ok(false), |answer| self.context.check(answer).map(|()| true))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned && self.context.bind().is_ok() {
            // SAFETY: ours, and not used after this. Work still in it completes: the call does not
            // wait. An error has no reader.
            let _ = unsafe { self.context.driver().stream_destroy(self.raw) };
        }
    }
}

/// A marker that is recorded in a stream.
#[derive(Debug)]
pub struct Event {
    context: Context,
    raw: CUevent,
}

impl Event {
    /// An event for ordering: recording it costs 0.2 us, a sixth of one that keeps the time.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: Context) -> Result<Self, DriverError> {
        Self::with_flags(context, sys::CU_EVENT_DISABLE_TIMING)
    }

    /// An event that also keeps the time at which it was reached.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn timing(context: Context) -> Result<Self, DriverError> {
        Self::with_flags(context, sys::CU_EVENT_DEFAULT)
    }

    fn with_flags(context: Context, flags: u32) -> Result<Self, DriverError> {
        context.bind()?;
        let raw = context.check(context.driver().event_create(flags))?;
        Ok(Self { context, raw })
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// Marks everything enqueued in `stream` so far.
    ///
    /// # Errors
    /// What the driver answers; event and stream must be of one device.
    pub fn record(&self, stream: &Stream) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: event and stream are live.
        self.context.check(unsafe { self.context.driver().event_record(self.raw, stream.raw) })
    }

    /// Whether the work that it was recorded after is complete (also if it was never recorded).
    /// Never blocks.
    ///
    /// # Errors
    /// [`DriverError::Fault`] once the context is lost; otherwise what the driver answers.
    pub fn query(&self) -> Result<bool, DriverError> {
        self.context.bind()?;
        // SAFETY: the event is live.
        self.context.check(unsafe { self.context.driver().event_query(self.raw) })
    }

    /// Blocks the calling thread until the work that it was recorded after is complete.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: the event is live.
        self.context.check(unsafe { self.context.driver().event_synchronize(self.raw) })
    }

    /// Microseconds of device time from `start` to this event; both must keep the time and be
    /// complete.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn microseconds_since(&self, start: &Self) -> Result<f64, DriverError> {
        self.context.bind()?;
        // SAFETY: both events are live.
        let milliseconds = self
            .context
            .check(unsafe { self.context.driver().event_elapsed(start.raw, self.raw) })?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: ours, and not used after this; a pending event is freed by the driver when it
            // is reached.
            let _ = unsafe { self.context.driver().event_destroy(self.raw) };
        }
    }
}

//! A CUDA stream as the runtime's interface wants it: commands become driver calls, one each.

use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::backend::{BackendStream, Command, DevicePtr, Launch, RawFunction, Work};
use crate::cuda::error::translate;
use crate::cuda::timeline::{Timeline, Words};
use crate::device::DeviceId;
use crate::driver::sys::{CUfunction, CUstream};
use crate::driver::{Context, DeviceMemory, DriverError, Event, FillValue, LaunchConfig, Stream};
use crate::error::{ErrorKind, Result};

/// One stream of a CUDA device.
#[derive(Debug)]
pub struct CudaStream {
    device: DeviceId,
    stream: Stream,
    timeline: Timeline,
    /// Recorded whenever another stream has to wait for this one. One is enough: a wait keeps what
    /// the event marked when it was enqueued.
    marker: Event,
    /// The number of the last timeline write that was enqueued, and whether anything was after it.
    written: AtomicU64,
    ahead: AtomicBool,
}

impl CudaStream {
    pub(super) fn open(device: DeviceId, context: Context, words: &Words) -> Result<Self> {
        let open = || -> std::result::Result<Self, DriverError> {
            let stream = Stream::new(context, 0)?;
            let timeline = Timeline::new(words, &stream)?;
            let marker = Event::new(context)?;
            Ok(Self {
                device,
                stream,
                timeline,
                marker,
                written: AtomicU64::new(0),
                ahead: AtomicBool::new(false),
            })
        };
        open().map_err(|error| translate(device, error))
    }

    /// The driver's handle.
    pub fn handle(&self) -> CUstream {
        self.stream.raw()
    }

    fn explain<T>(&self, result: std::result::Result<T, DriverError>) -> Result<T> {
        result.map_err(|error| translate(self.device, error))
    }

    /// # Safety
    /// As [`BackendStream::enqueue`].
    #[inline]
    unsafe fn launch(&self, launch: &Launch<'_>, overlap: bool) -> Result<()> {
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.shared_bytes,
            cluster: launch.cluster,
            programmatic: overlap,
        };
        // SAFETY: the caller's promise; overlap is claimed between dependent kernels only.
        self.explain(unsafe {
            self.stream.launch(function(launch.function), &config, launch.params)
        })
    }

    /// # Safety
    /// As [`BackendStream::enqueue`].
    unsafe fn transfer(&self, command: Command<'_>) -> Result<()> {
        let stream = &self.stream;
        // SAFETY: ranges are the caller's promise.
        let done = unsafe {
            match command {
                Command::Upload { dst, src, bytes } => {
                    stream.copy_to_device(dst.0, src.cast(), bytes)
                }
                Command::Download { dst, src, bytes } => {
                    stream.copy_to_host(dst.cast(), src.0, bytes)
                }
                Command::Copy { dst, src, bytes } => stream.copy_on_device(dst.0, src.0, bytes),
                Command::CopyFromPeer { dst, src, peer, bytes } => {
                    self.copy_from_peer(dst, src, peer, bytes)
                }
                Command::Fill { dst, pattern, width, count } => {
                    stream.fill(dst.0, fill_value(pattern, width), count)
                }
                Command::Launch { launch, overlap } => return self.launch(launch, overlap),
                Command::Run(_) => {
                    return Err(ErrorKind::Unsupported {
                        device: self.device,
                        what: "run host closures",
                    }
                    .into());
                }
            }
        };
        self.explain(done)
    }

    /// # Safety
    /// As [`BackendStream::enqueue`].
    unsafe fn copy_from_peer(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        peer: DeviceId,
        bytes: usize,
    ) -> std::result::Result<(), DriverError> {
        let here = self.stream.context();
        let there = Context::primary(here.driver(), peer.index())?;
        // Where the hardware has no direct path the driver copies through the host by itself.
        here.enable_peer(there)?;
        // SAFETY: ranges are the caller's promise.
        unsafe { self.stream.copy_peer((dst.0, here), (src.0, there), bytes) }
    }
}

fn function(raw: RawFunction) -> CUfunction {
    CUfunction(raw.0 as *mut c_void)
}

/// The `width` low bytes of `pattern`.
fn fill_value(pattern: u32, width: usize) -> FillValue {
    match width {
        1 => FillValue::U8(pattern as u8),
        2 => FillValue::U16(pattern as u16),
        _ => FillValue::U32(pattern),
    }
}

impl BackendStream for CudaStream {
    fn timeline(&self) -> &AtomicU64 {
        self.timeline.word()
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        let memory = self.explain(DeviceMemory::allocate(&self.stream, bytes))?;
        Ok(DevicePtr(memory.into_raw().0))
    }

    unsafe fn free(&self, ptr: DevicePtr, bytes: usize) -> Result<()> {
        self.ahead.store(true, Ordering::Relaxed);
        // SAFETY: from `alloc` of this device, freed once, by this method's contract.
        let memory = unsafe { DeviceMemory::from_raw(self.stream.context(), ptr.0, bytes) };
        self.explain(memory.free(&self.stream))
    }

    #[inline]
    unsafe fn enqueue(&self, command: Command<'_>, _work: &mut Work) -> Result<()> {
        self.ahead.store(true, Ordering::Relaxed);
        // SAFETY: this method's contract.
        unsafe {
            match command {
                Command::Launch { launch, overlap } => self.launch(launch, overlap),
                other => self.transfer(other),
            }
        }
    }

    fn write_timeline(&self, number: u64) -> Result<()> {
        self.written.store(number, Ordering::Relaxed);
        self.ahead.store(false, Ordering::Relaxed);
        self.explain(self.timeline.write(&self.stream, number))
    }

    fn waits_for_writes(&self) -> bool {
        false
    }

    /// An event costs the host 0.4 us (recorded there, waited for here) where a wait for the word
    /// costs over 1 us and makes the device look at host memory; but an event is behind all that
    /// the other stream has enqueued by now. So the word is waited for exactly where that would be
    /// later than `number`.
    fn wait_timeline(&self, other: &dyn BackendStream, number: u64) -> Result<()> {
        self.ahead.store(true, Ordering::Relaxed);
        let Some(other) = other.as_any().downcast_ref::<Self>() else {
            let what = "wait for a stream of another kind of device";
            return Err(ErrorKind::Unsupported { device: self.device, what }.into());
        };
        let written = other.written.load(Ordering::Relaxed);
        let gone_on = written > number || other.ahead.load(Ordering::Relaxed);
        // A wait for a write that is not enqueued could hang the stream.
        let exact = written >= number && gone_on;
        if exact && self.explain(other.timeline.wait_in(&self.stream, number))? {
            return Ok(());
        }
        self.explain(other.marker.record(&other.stream))?;
        self.explain(self.stream.wait(&other.marker))
    }

    fn query(&self) -> Result<bool> {
        self.explain(self.stream.query())
    }

    /// The stream; its context is made current on the calling thread, which foreign calls need.
    fn raw(&self) -> *mut c_void {
        self.ahead.store(true, Ordering::Relaxed);
        // A lost device is reported by the next call that can say so.
        let _ = self.stream.context().bind();
        self.stream.raw().0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! What a kind of device must be able to do: the one interface between the runtime and a device.
//!
//! The host device (`host/`) and CUDA (`cuda/`) implement these two traits and nothing else of the
//! runtime knows which of them it talks to. No policy, no tracking and no waking belongs here.
//!
//! Rules that an implementation can rely on:
//!
//! - Calls on one [`BackendStream`] that enqueue come one at a time, in stream order: the caller
//!   holds the stream's lock. [`query`](BackendStream::query) and
//!   [`timeline`](BackendStream::timeline) may come at any moment, from any thread.
//! - Calls come from any thread; an implementation binds its context itself.
//! - Nothing is unloaded or destroyed while the process runs: streams are pooled for ever.
//!
//! And what it has to see to:
//!
//! - A failure after which the device can't be used any more is [`ErrorKind::DeviceLost`]; the
//!   runtime then fails everything on that device. Every other error concerns one call. From then on
//!   every call that enqueues fails in the same way.

use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use smallvec::SmallVec;

use crate::device::DeviceId;
use crate::error::{ErrorKind, Result};
use crate::host::HostTask;
use crate::memory::Access;
use crate::stream::{FaultCell, StreamCore};

/// An address in a device's memory. On the host device it can be dereferenced by host kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, bytes: usize) -> DevicePtr {
        DevicePtr(self.0 + bytes as u64)
    }

    /// The address as a host pointer; meaningful on the host device alone.
    pub fn as_mut_ptr<T>(self) -> *mut T {
        self.0 as usize as *mut T
    }
}

impl fmt::Debug for DevicePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// How much memory a device has and how much of it is in use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes in use, by this process as far as the device can tell.
    pub used: usize,
    /// Bytes that there are.
    pub total: usize,
}

/// A loaded module of device code, as the backend names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawModule(pub usize);

/// A kernel of a loaded module, as the backend names it (on CUDA, a `CUfunction`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawFunction(pub usize);

/// One launch of a loaded kernel.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The kernel.
    pub function: RawFunction,
    /// Blocks along x, y, z; a launch with a zero among them does nothing.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster along x, y, z; `[1, 1, 1]` is no cluster.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether the kernel is compiled for programmatic dependent launch.
    pub dependent: bool,
    /// All parameters, packed at their natural alignment as the kernel declares them.
    pub params: &'a [u8],
}

/// One thing to do on a stream. Byte counts are never 0.
#[derive(Debug)]
pub enum Command<'a> {
    /// Launch a kernel. `overlap`: the previous enqueue on this stream and this one are dependent
    /// kernels, so programmatic stream serialisation may be used.
    Launch {
        /// The launch.
        launch: &'a Launch<'a>,
        /// See above.
        overlap: bool,
    },
    /// Host memory to device memory. `src` stays valid and unchanged until the stream has passed.
    Upload {
        /// Destination on this device.
        dst: DevicePtr,
        /// Source on the host.
        src: *const u8,
        /// How many bytes.
        bytes: usize,
    },
    /// Device memory to host memory. `dst` stays valid and untouched until the stream has passed.
    Download {
        /// Destination on the host.
        dst: *mut u8,
        /// Source on this device.
        src: DevicePtr,
        /// How many bytes.
        bytes: usize,
    },
    /// Within this device's memory. The ranges do not overlap.
    Copy {
        /// Destination.
        dst: DevicePtr,
        /// Source.
        src: DevicePtr,
        /// How many bytes.
        bytes: usize,
    },
    /// From another device of the same kind into this one.
    CopyFromPeer {
        /// Destination on this device.
        dst: DevicePtr,
        /// Source on `peer`.
        src: DevicePtr,
        /// The device that `src` belongs to.
        peer: DeviceId,
        /// How many bytes.
        bytes: usize,
    },
    /// Repeats a pattern of `width` bytes (1, 2 or 4, low bytes of `pattern`) `count` times.
    Fill {
        /// Destination, aligned to `width`.
        dst: DevicePtr,
        /// The pattern.
        pattern: u32,
        /// Its width in bytes.
        width: usize,
        /// How often.
        count: usize,
    },
    /// Run a closure on the stream's worker (host device alone).
    Run(HostTask),
}

/// What an enqueue belongs to: the buffers it touches and where its failure is reported.
///
/// The host device remembers both until the work has run (it checks for poison then); CUDA, where a
/// fault ends the context, leaves them alone.
#[derive(Debug, Default)]
pub struct Work {
    /// Declared accesses.
    pub(crate) accesses: SmallVec<[Access; 8]>,
    /// The operation's place for a failure.
    pub(crate) fault: Option<Arc<FaultCell>>,
}

/// One device.
pub trait Backend: Send + Sync + fmt::Debug + 'static {
    /// The device's name, such as `NVIDIA H200`.
    fn name(&self) -> String;

    /// Opens a stream; it lives as long as the process.
    fn open_stream(&self) -> Result<Box<dyn BackendStream>>;

    /// Memory in use and in total.
    fn memory(&self) -> Result<MemoryInfo>;

    /// Pinned host memory, aligned to 256, for copies.
    fn alloc_staging(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Gives back what [`alloc_staging`](Backend::alloc_staging) gave.
    ///
    /// # Safety
    /// `ptr` came from `alloc_staging(bytes)` of this device and nothing uses it any more.
    unsafe fn free_staging(&self, ptr: NonNull<u8>, bytes: usize);

    /// Loads a module of device code (PTX text with a final NUL, or a cubin).
    fn load_module(&self, image: &[u8]) -> Result<RawModule> {
        let _ = image;
        Err(ErrorKind::Unsupported { device: self.id(), what: "load device code" }.into())
    }

    /// Finds a kernel in a module and readies it for `shared_bytes` of dynamic shared memory.
    fn function(&self, module: RawModule, name: &CStr, shared_bytes: u32) -> Result<RawFunction> {
        let _ = (module, name, shared_bytes);
        Err(ErrorKind::Unsupported { device: self.id(), what: "load device code" }.into())
    }

    /// Which device this is.
    fn id(&self) -> DeviceId;

    /// The implementation itself, for its own layer's extensions.
    fn as_any(&self) -> &dyn Any;
}

/// One stream of a device: a queue of commands that run in order.
pub trait BackendStream: Send + Sync + 'static {
    /// The timeline: the highest number known complete, written by
    /// [`write_timeline`](BackendStream::write_timeline) commands as they run.
    fn timeline(&self) -> &AtomicU64;

    /// Allocates `bytes` (never 0), aligned to 256, usable by later work on this stream.
    /// Out of memory is [`ErrorKind::OutOfMemory`].
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Frees in stream order: after everything enqueued so far.
    ///
    /// # Safety
    /// `ptr` came from `alloc(bytes)` of a stream of this device, is freed once, and all work that
    /// uses it is ordered before this call on this stream.
    unsafe fn free(&self, ptr: DevicePtr, bytes: usize) -> Result<()>;

    /// Enqueues one command. It has failed exactly if nothing was enqueued.
    ///
    /// # Safety
    /// Addresses and sizes in `command` are valid until the stream has passed it, and work on
    /// other streams that conflicts is ordered by waits that are already enqueued.
    unsafe fn enqueue(&self, command: Command<'_>, work: &mut Work) -> Result<()>;

    /// Enqueues a write of `number` to the timeline, after everything enqueued so far. Numbers grow.
    fn write_timeline(&self, number: u64) -> Result<()>;

    /// Whether [`wait_timeline`](BackendStream::wait_timeline) needs a write of the number (or a
    /// higher one) to be enqueued, not just the work.
    fn waits_for_writes(&self) -> bool {
        true
    }

    /// Makes later work on this stream wait until `other` has passed `number`, which is enqueued
    /// there. `other` is of a device of the same kind.
    fn wait_timeline(&self, other: &dyn BackendStream, number: u64) -> Result<()>;

    /// Whether everything enqueued has completed; an error says that the device is lost.
    fn query(&self) -> Result<bool>;

    /// Called once, when the stream has its place in the runtime.
    fn opened(&self, core: &'static StreamCore) {
        let _ = core;
    }

    /// Whether the implementation tells the runtime ([`StreamCore::advanced`]) after a timeline write
    /// has run, so that nobody has to look at the timeline in the meantime.
    fn reports_progress(&self) -> bool {
        false
    }

    /// The native handle for FFI (on CUDA, the `CUstream`), null where there is none.
    fn raw(&self) -> *mut std::ffi::c_void {
        std::ptr::null_mut()
    }

    /// The implementation itself.
    fn as_any(&self) -> &dyn Any;
}

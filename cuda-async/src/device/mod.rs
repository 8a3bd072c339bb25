//! Devices: what runs operations.
//!
//! A [`Device`] is a copyable handle on something that lives as long as the process. One that does
//! not exist can be named: its operations then fail with an error that says what there is.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::backend::{Backend, MemoryInfo};
use crate::config::config;
use crate::error::{DeviceError, ErrorKind, Result};
use crate::host::{HostBackend, HostOptions};
use crate::memory::StagingPool;
use crate::schedule::{SchedulingPolicy, StreamPoolRoundRobin};
use crate::stream::{Stream, StreamCore};

mod registry;

/// What kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// An NVIDIA GPU.
    Cuda,
    /// Streams and memory on the CPU; kernels run as host code.
    Host,
    /// A host device whose kernels are PTX, run by an emulator.
    Emulator,
}

/// Names a device: its kind and its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceId {
    kind: DeviceKind,
    index: usize,
}

impl DeviceId {
    /// The device of that kind with that number.
    pub fn new(kind: DeviceKind, index: usize) -> Self {
        DeviceId { kind, index }
    }

    /// The kind.
    pub fn kind(self) -> DeviceKind {
        self.kind
    }

    /// The number among devices of that kind, from 0.
    pub fn index(self) -> usize {
        self.index
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DeviceKind::Cuda => "cuda",
            DeviceKind::Host => "host",
            DeviceKind::Emulator => "emulator",
        };
        write!(f, "{kind}:{}", self.index)
    }
}

impl fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A device: a GPU, or the host with streams and memory of its own.
///
/// ```
/// use cuda_async::prelude::*;
///
/// let device = Device::host(0);
/// assert_eq!(device.to_string(), "host:0");
/// assert!(device.memory().is_ok());
///
/// // Naming a device that does not exist is no error; using it is one.
/// let error = Device::host(1000).memory().unwrap_err();
/// assert!(error.to_string().contains("host:1000"));
/// ```
#[derive(Clone, Copy)]
pub struct Device(&'static DeviceInner);

/// What stands behind a [`Device`].
struct DeviceInner {
    id: DeviceId,
    backend: Result<Box<dyn Backend>>,
    pool: OnceLock<Result<Vec<Stream>>>,
    streams: Mutex<Streams>,
    lost: OnceLock<DeviceError>,
    leaked: AtomicUsize,
    staging: StagingPool,
    policy: OnceLock<Arc<dyn SchedulingPolicy>>,
}

#[derive(Default)]
struct Streams {
    /// How many have been opened or are being opened.
    opened: usize,
    all: Vec<&'static StreamCore>,
    spare: Vec<&'static StreamCore>,
}

/// The first stream of each device that has streams.
pub(crate) fn first_streams() -> Vec<&'static StreamCore> {
    FIRST_STREAMS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

static FIRST_STREAMS: Mutex<Vec<&'static StreamCore>> = Mutex::new(Vec::new());

impl Device {
    /// CUDA device number `index`.
    pub fn cuda(index: usize) -> Device {
        registry::named(DeviceId::new(DeviceKind::Cuda, index))
    }

    /// Host device number `index`; `CUTILE_HOST_DEVICES` says how many there are (default 1).
    pub fn host(index: usize) -> Device {
        registry::named(DeviceId::new(DeviceKind::Host, index))
    }

    /// Device number `index` of the kind that this process uses by default.
    pub fn nth(index: usize) -> Device {
        registry::chosen(index)
    }

    /// The default device: number 0 of the kind that `CUTILE_DEVICE` chooses; without it, CUDA
    /// where a driver and a device are present, else the host.
    ///
    /// A driver that is present but does not work is not passed over: the first operation reports it.
    #[allow(clippy::should_implement_trait)]
    pub fn default() -> Device {
        registry::chosen(0)
    }

    /// How many devices of the default kind there are.
    pub fn count() -> usize {
        registry::count()
    }

    /// All devices of the default kind.
    pub fn all() -> Vec<Device> {
        (0..Device::count()).map(Device::nth).collect()
    }

    /// A host device of its own, with memory and faults as `options` say: for tests of what happens
    /// when things go wrong. It lives as long as the process.
    ///
    /// ```
    /// use cuda_async::prelude::*;
    ///
    /// let device = Device::private_host(HostOptions { memory: 4096, ..Default::default() });
    /// let error = with_context(|ctx| ctx.alloc(8192)).sync_on(&device.new_stream()?).unwrap_err();
    /// assert!(error.is_out_of_memory());
    /// # Ok::<(), DeviceError>(())
    /// ```
    pub fn private_host(options: HostOptions) -> Device {
        static NEXT: AtomicUsize = AtomicUsize::new(1000);
        let id = DeviceId::new(options.kind, NEXT.fetch_add(1, Ordering::Relaxed));
        Device::with_backend(id, Ok(Box::new(HostBackend::new(id, options))))
    }

    /// Makes a device; it is never freed.
    pub(crate) fn with_backend(id: DeviceId, backend: Result<Box<dyn Backend>>) -> Device {
        Device(Box::leak(Box::new(DeviceInner {
            id,
            backend,
            pool: OnceLock::new(),
            streams: Mutex::default(),
            lost: OnceLock::new(),
            leaked: AtomicUsize::new(0),
            staging: StagingPool::default(),
            policy: OnceLock::new(),
        })))
    }

    /// Kind and number.
    pub fn id(self) -> DeviceId {
        self.0.id
    }

    /// The kind of device.
    pub fn kind(self) -> DeviceKind {
        self.0.id.kind
    }

    /// The number among devices of its kind.
    pub fn index(self) -> usize {
        self.0.id.index
    }

    /// What the device calls itself.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn name(self) -> Result<String> {
        Ok(self.backend()?.name())
    }

    /// Memory in use and in total.
    ///
    /// # Errors
    /// If there is no such device, or it is lost.
    pub fn memory(self) -> Result<MemoryInfo> {
        self.backend()?.memory()
    }

    /// Bytes that could not be given back because the device was lost.
    pub fn leaked_bytes(self) -> usize {
        self.0.leaked.load(Ordering::Relaxed)
    }

    /// A stream of one's own; it goes back to the device when the last handle is dropped.
    ///
    /// # Errors
    /// If there is no such device, it is lost, or it can't make more streams.
    pub fn new_stream(self) -> Result<Stream> {
        self.check_alive()?;
        let spare = self.streams_list().spare.pop();
        match spare {
            Some(core) => Ok(Stream::leased(core)),
            None => self.open_stream().map(Stream::leased),
        }
    }

    /// The streams that the device's policies share (`CUTILE_STREAMS`, default 4).
    ///
    /// # Errors
    /// If there is no such device or its streams can't be made.
    pub fn pool(self) -> Result<&'static [Stream]> {
        let inner: &'static DeviceInner = self.0;
        let pool = inner.pool.get_or_init(|| {
            let count = config()?.streams;
            (0..count).map(|_| self.open_stream().map(Stream::pooled)).collect()
        });
        pool.as_deref().map_err(DeviceError::clone)
    }

    /// The device's backend, for layers that extend one kind of device.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn backend(self) -> Result<&'static dyn Backend> {
        let inner: &'static DeviceInner = self.0;
        inner.backend.as_deref().map_err(DeviceError::clone)
    }

    /// Fails if the device is lost.
    ///
    /// # Errors
    /// [`ErrorKind::DeviceLost`], naming the first failure.
    pub fn check_alive(self) -> Result<()> {
        match self.0.lost.get() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    pub(crate) fn policy(self) -> &'static Arc<dyn SchedulingPolicy> {
        let inner: &'static DeviceInner = self.0;
        inner.policy.get_or_init(|| Arc::new(StreamPoolRoundRobin::new(self)))
    }

    /// Sets the device's policy; false if it has one.
    pub(crate) fn set_policy(self, policy: Arc<dyn SchedulingPolicy>) -> bool {
        self.0.policy.set(policy).is_ok()
    }

    pub(crate) fn staging(self) -> &'static StagingPool {
        let inner: &'static DeviceInner = self.0;
        &inner.staging
    }

    /// Remembers that the device is gone and wakes everybody who waits for it.
    pub(crate) fn lose(self, error: DeviceError) {
        let lost = match error.kind() {
            ErrorKind::DeviceLost { .. } => error,
            _ => ErrorKind::DeviceLost { device: self.id(), origin: error }.into(),
        };
        if self.0.lost.set(lost).is_ok() {
            let streams = self.streams_list().all.clone();
            streams.iter().for_each(|stream| stream.abandon());
        }
    }

    pub(crate) fn count_leak(self, bytes: usize) {
        self.0.leaked.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn give_back(self, stream: &'static StreamCore) {
        self.streams_list().spare.push(stream);
    }

    fn open_stream(self) -> Result<&'static StreamCore> {
        let index = {
            let mut streams = self.streams_list();
            streams.opened += 1;
            streams.opened - 1
        };
        let core = StreamCore::open(self, index)?;
        self.streams_list().all.push(core);
        if index == 0 {
            FIRST_STREAMS.lock().unwrap_or_else(PoisonError::into_inner).push(core);
        }
        Ok(core)
    }

    fn streams_list(&self) -> std::sync::MutexGuard<'_, Streams> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

//! A device's primary context: the one that every library in the process shares, kept for the life
//! of the process.
//!
//! It is retained once a device and never released: the last release waits for the device and frees
//! what others still hold, and no destructor of ours may wait. Here too: the context's memory pool,
//! its fault record, and what is reclaimed later.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::device::DeviceProperties;
use super::error::{CallError, DriverError, loses_the_context};
use super::fault::{Fault, FaultRecord};
use super::load::Driver;
use super::pinned::Retired;
use super::result::Answer;
use super::sys::{
    self, CUcontext, CUdevice, CUdeviceptr, CUmemLocation, CUmemPoolProps, CUmemoryPool, CUmodule,
    CUstream,
};

/// A device's primary context. Copying it copies a reference: there is one a device and process.
#[derive(Clone, Copy)]
pub struct Context(&'static Shared);

struct Shared {
    driver: Driver,
    ordinal: usize,
    device: CUdevice,
    raw: CUcontext,
    properties: DeviceProperties,
    pool: CUmemoryPool,
    reclaim: CUstream,
    record: &'static FaultRecord,
    record_address: CUdeviceptr,
    fault: OnceLock<Fault>,
    retired_modules: Mutex<Vec<CUmodule>>,
    retired_host: Mutex<Retired>,
    peers: Mutex<Vec<usize>>,
}

/// Contexts made so far. A few entries at most, so a list.
static CONTEXTS: Mutex<Vec<Context>> = Mutex::new(Vec::new());

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these mutexes guard is whole after any panic: single pushes and pops.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    /// The primary context of device `ordinal`, made by the first call.
    ///
    /// # Errors
    /// [`DriverError::NoSuchDevice`] past the last device; [`DriverError::Unsupported`] for a
    /// device without memory pools; otherwise what the driver answers.
    pub fn primary(driver: Driver, ordinal: usize) -> Result<Self, DriverError> {
        let mut contexts = lock(&CONTEXTS);
        if let Some(known) = contexts.iter().find(|known| {
            known.0.ordinal == ordinal && std::ptr::eq(known.driver().table(), driver.table())
        }) {
            return Ok(*known);
        }
        let context = Self::retain(driver, ordinal)?;
        contexts.push(context);
        Ok(context)
    }

    fn retain(driver: Driver, ordinal: usize) -> Result<Self, DriverError> {
        let count = driver.count()?;
        if count == 0 {
            return Err(DriverError::NoDevice);
        }
        let index = i32::try_from(ordinal)
            .ok()
            .filter(|_| ordinal < count)
            .ok_or(DriverError::NoSuchDevice { ordinal, count })?;
        let plain = DriverError::Call;
        let device = driver.device(index).map_err(plain)?;
        let properties = DeviceProperties::read(driver, device).map_err(plain)?;
        properties.require(ordinal)?;
        let raw = driver.primary_context_retain(device).map_err(plain)?;
        // SAFETY: the context was just retained and is never released.
        unsafe { driver.set_current_context(raw) }.map_err(plain)?;
        let pool = make_pool(driver, index).map_err(plain)?;
        let reclaim = driver.stream_create(sys::CU_STREAM_NON_BLOCKING, 0).map_err(plain)?;
        let (record, record_address) = make_record(driver).map_err(plain)?;
        let shared = Shared {
            driver,
            ordinal,
            device,
            raw,
            properties,
            pool,
            reclaim,
            record,
            record_address,
            fault: OnceLock::new(),
            retired_modules: Mutex::default(),
            retired_host: Mutex::default(),
            peers: Mutex::default(),
        };
        Ok(Self(Box::leak(Box::new(shared))))
    }

    /// The driver that this context belongs to.
    pub fn driver(self) -> Driver {
        self.0.driver
    }

    /// The device's ordinal.
    pub fn ordinal(self) -> usize {
        self.0.ordinal
    }

    /// Facts about the device.
    pub fn properties(self) -> &'static DeviceProperties {
        &self.0.properties
    }

    /// The driver's handle.
    pub fn raw(self) -> CUcontext {
        self.0.raw
    }

    /// The driver's handle of the device.
    pub fn device(self) -> CUdevice {
        self.0.device
    }

    pub(super) fn pool(self) -> CUmemoryPool {
        self.0.pool
    }

    /// The stream in which blocks are freed that nothing uses any more.
    pub(super) fn reclaim_stream(self) -> CUstream {
        self.0.reclaim
    }

    /// The device address of the fault record: the hidden parameter of kernels with checks.
    pub fn fault_record_address(self) -> CUdeviceptr {
        self.0.record_address
    }

    /// The fault record itself, in host memory.
    pub fn fault_record(self) -> &'static FaultRecord {
        self.0.record
    }

    /// Why this context is lost, if it is.
    pub fn fault(self) -> Option<&'static Fault> {
        self.0.fault.get()
    }

    /// Makes this context current on the calling thread.
    ///
    /// Every entry does this, from any thread. Asking the driver which context is current costs
    /// about 15 ns, less than half of setting it; a copy of our own in a thread-local would be
    /// wrong as soon as another library in the process sets one.
    ///
    /// # Errors
    /// [`DriverError::Fault`] after a fault; otherwise what the driver answers.
    #[inline]
    pub fn bind(self) -> Result<(), DriverError> {
        if let Some(fault) = self.fault() {
            return Err(DriverError::Fault(Box::new(fault.clone())));
        }
        self.bind_even_if_lost().map_err(|error| self.explain(error))
    }

    #[inline]
    pub(super) fn bind_even_if_lost(self) -> Answer<()> {
        if self.0.driver.current_context()? == self.0.raw {
            return Ok(());
        }
        // SAFETY: a primary context that is never released.
        unsafe { self.0.driver.set_current_context(self.0.raw) }
    }

    /// An answer of a call in this context, its error explained: an error that shows the context's
    /// loss is kept, and read with the fault record.
    #[inline]
    pub(crate) fn check<T>(self, answer: Answer<T>) -> Result<T, DriverError> {
        answer.map_err(|error| self.explain(error))
    }

    /// Fails as soon as a kernel has recorded a failed check: it traps then, but the driver may take
    /// half a second to say so.
    pub(super) fn check_record(self) -> Result<(), DriverError> {
        if self.0.record.is_complete() {
            let code = sys::CUDA_ERROR_LAUNCH_FAILED;
            return Err(self.explain(self.0.driver.error("a check in a kernel", code)));
        }
        Ok(())
    }

    #[cold]
    fn explain(self, error: CallError) -> DriverError {
        if !loses_the_context(error.code) {
            return DriverError::Call(error);
        }
        let fault = self.0.fault.get_or_init(|| Fault::new(self.0.ordinal, error, self.0.record));
        DriverError::Fault(Box::new(fault.clone()))
    }

    /// The error for an allocation of `requested` bytes that the driver refused with `error`.
    #[cold]
    pub(super) fn explain_allocation(self, requested: usize, error: CallError) -> DriverError {
        if error.code != sys::CUDA_ERROR_OUT_OF_MEMORY {
            return self.explain(error);
        }
        let (free, total) =
            self.0.driver.memory_info().unwrap_or((0, self.0.properties.total_memory));
        // SAFETY: the pool lives as long as the context.
        let used = unsafe {
            self.0.driver.pool_attribute(self.0.pool, sys::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        }
        .unwrap_or(0);
        DriverError::OutOfMemory { ordinal: self.0.ordinal, requested, used, free, total }
    }

    /// Bytes that live allocations of this context's pool hold, and bytes that the pool has taken
    /// from the device.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn pool_usage(self) -> Result<(u64, u64), DriverError> {
        self.bind()?;
        // SAFETY: the pool lives as long as the context.
        let read =
            |attribute| self.check(unsafe { self.0.driver.pool_attribute(self.0.pool, attribute) });
        Ok((
            read(sys::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            read(sys::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
        ))
    }

    /// Gives memory that the pool holds and nobody uses back to the device, down to `keep` bytes.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn trim_pool(self, keep: usize) -> Result<(), DriverError> {
        self.bind()?;
        // SAFETY: the pool lives as long as the context.
        self.check(unsafe { self.0.driver.pool_trim(self.0.pool, keep) })
    }

    /// Lets both devices reach each other's memory, once a pair. `false` where the hardware can't:
    /// copies then go through the host.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn enable_peer(self, peer: Self) -> Result<bool, DriverError> {
        if peer.ordinal() == self.ordinal() {
            return Ok(true);
        }
        Ok(self.enable_access_to(peer)? && peer.enable_access_to(self)?)
    }

    fn enable_access_to(self, peer: Self) -> Result<bool, DriverError> {
        let mut peers = lock(&self.0.peers);
        if peers.contains(&peer.ordinal()) {
            return Ok(true);
        }
        self.bind()?;
        if !self.check(self.0.driver.device_can_access_peer(self.0.device, peer.0.device))? {
            return Ok(false);
        }
        let here = sys::CUmemAccessDesc {
            location: CUmemLocation { kind: sys::CU_MEM_LOCATION_TYPE_DEVICE, id: self.0.device },
            flags: sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: both contexts are live. Enabling peer access does not reach pool memory: the
        // peer's pool says so itself.
        unsafe {
            self.check(self.0.driver.enable_peer_access(peer.0.raw))?;
            self.check(self.0.driver.set_pool_access(peer.0.pool, &[here]))?;
        }
        peers.push(peer.ordinal());
        Ok(true)
    }

    /// The answer to a function, or a module, that is not there.
    #[cold]
    pub(crate) fn no_function(self) -> DriverError {
        DriverError::Call(self.0.driver.error("cuModuleGetFunction", sys::CUDA_ERROR_NOT_FOUND))
    }

    pub(super) fn retired_modules(self) -> MutexGuard<'static, Vec<CUmodule>> {
        lock(&self.0.retired_modules)
    }

    pub(super) fn retired_host(self) -> MutexGuard<'static, Retired> {
        lock(&self.0.retired_host)
    }
}

/// A pool that keeps what it has: memory goes back to the device on [`Context::trim_pool`] only.
fn make_pool(driver: Driver, ordinal: i32) -> Answer<CUmemoryPool> {
    let pool = driver.pool_create(&CUmemPoolProps {
        alloc_type: sys::CU_MEM_ALLOCATION_TYPE_PINNED,
        handle_types: sys::CU_MEM_HANDLE_TYPE_NONE,
        location: CUmemLocation { kind: sys::CU_MEM_LOCATION_TYPE_DEVICE, id: ordinal },
        win32_security_attributes: std::ptr::null_mut(),
        max_size: 0,
        reserved: [0; 56],
    })?;
    // SAFETY: the pool was just made.
    unsafe { driver.set_pool_attribute(pool, sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX) }?;
    Ok(pool)
}

/// The fault record of the current context, and its device address.
fn make_record(driver: Driver) -> Answer<(&'static FaultRecord, CUdeviceptr)> {
    let bytes = size_of::<FaultRecord>();
    let host: *mut c_void = driver
        .allocate_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP)?;
    // SAFETY: page-locked memory of that size, aligned to a page, never freed; zeros are an empty
    // record of atomics.
    let record: &'static FaultRecord = unsafe {
        host.write_bytes(0, bytes);
        NonNull::new_unchecked(host).cast().as_ref()
    };
    // SAFETY: `host` was just allocated as mapped memory.
    let address = unsafe { driver.host_device_address(host) }?;
    Ok((record, address))
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("ordinal", &self.0.ordinal)
            .field("name", &self.0.properties.name)
            .finish_non_exhaustive()
    }
}

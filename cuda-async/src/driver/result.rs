//! The middle floor: one thin function a driver call, code in, typed error out, the driver's own
//! name and text in the error.
//!
//! Handles are raw here and nothing is owned, so nearly everything is `unsafe`: the handles must be
//! live and of the context that the call belongs to. No policy, no retry, no state.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use super::error::{CallError, CudaVersion, DriverError};
use super::load::Driver;
use super::sys::*;

/// A call's answer with its error still raw: owners decide what the code means for their context.
pub(crate) type Answer<T> = Result<T, CallError>;

/// `call!(driver.cuName(args))`: calls through the table and turns the code into an [`Answer`].
macro_rules! call {
    ($driver:ident.$name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: out-pointers are locals that live across the call; handles and addresses are the
        // caller's promise.
        let code = unsafe { ($driver.table().$name)($($arg),*) };
        if code == CUDA_SUCCESS { Ok(()) } else { Err($driver.error(stringify!($name), code)) }
    }};
}

/// `ready!(driver.cuName(args))`: a query whose "not ready" is an answer, not an error (and costs
/// no error text).
macro_rules! ready {
    ($driver:ident.$name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: the handle is the caller's promise.
        match unsafe { ($driver.table().$name)($($arg),*) } {
            CUDA_SUCCESS => Ok(true),
            CUDA_ERROR_NOT_READY => Ok(false),
            code => Err($driver.error(stringify!($name), code)),
        }
    }};
}

/// `get!(driver.cuName(_, args): initial)`: a call whose first argument is an out-pointer; answers
/// the value written there.
macro_rules! get {
    ($driver:ident.$name:ident(_ $(, $arg:expr)* $(,)?): $initial:expr) => {{
        let mut value = $initial;
        call!($driver.$name(&raw mut value $(, $arg)*)).map(|()| value)
    }};
}

impl Driver {
    /// What `code` means, in the driver's words.
    #[cold]
    pub(crate) fn error(self, call: &'static str, code: CUresult) -> CallError {
        type Describe = unsafe extern "system" fn(CUresult, *mut *const c_char) -> CUresult;
        let describe = |function: Describe, fallback: &'static str| -> &'static str {
            let mut text = ptr::null();
            // SAFETY: the driver writes a pointer to a constant string of the library, which is
            // never unloaded, or null.
            unsafe {
                if function(code, &raw mut text) == CUDA_SUCCESS && !text.is_null() {
                    CStr::from_ptr::<'static>(text).to_str().unwrap_or(fallback)
                } else {
                    fallback
                }
            }
        };
        CallError {
            call,
            code,
            name: describe(self.table().cuGetErrorName, "unknown error"),
            text: describe(
                self.table().cuGetErrorString,
                "the driver has no description of this code",
            ),
        }
    }

    pub(crate) fn init(self) -> Result<(), DriverError> {
        call!(self.cuInit(0)).map_err(|error| match error.code {
            CUDA_ERROR_NO_DEVICE => DriverError::NoDevice,
            _ => DriverError::Call(error),
        })
    }

    pub(crate) fn driver_version(self) -> Result<CudaVersion, DriverError> {
        let version = get!(self.cuDriverGetVersion(_): 0).map_err(DriverError::Call)?;
        Ok(CudaVersion(u32::try_from(version).unwrap_or(0)))
    }

    pub(crate) fn device_count(self) -> Answer<usize> {
        get!(self.cuDeviceGetCount(_): 0).map(|count| usize::try_from(count).unwrap_or(0))
    }

    pub(crate) fn device(self, ordinal: c_int) -> Answer<CUdevice> {
        get!(self.cuDeviceGet(_, ordinal): 0)
    }

    pub(crate) fn device_name(self, device: CUdevice) -> Answer<String> {
        self.device_text(|text, len| call!(self.cuDeviceGetName(text, len, device)))
    }

    pub(crate) fn device_pci_bus_id(self, device: CUdevice) -> Answer<String> {
        self.device_text(|text, len| call!(self.cuDeviceGetPCIBusId(text, len, device)))
    }

    fn device_text(self, fill: impl FnOnce(*mut c_char, c_int) -> Answer<()>) -> Answer<String> {
        let mut text = [0u8; 128];
        fill(text.as_mut_ptr().cast(), text.len() as c_int)?;
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    pub(crate) fn device_total_memory(self, device: CUdevice) -> Answer<usize> {
        get!(self.cuDeviceTotalMem(_, device): 0)
    }

    pub(crate) fn device_attribute(self, device: CUdevice, attribute: c_int) -> Answer<c_int> {
        get!(self.cuDeviceGetAttribute(_, attribute, device): 0)
    }

    pub(crate) fn device_can_access_peer(self, device: CUdevice, peer: CUdevice) -> Answer<bool> {
        get!(self.cuDeviceCanAccessPeer(_, device, peer): 0).map(|can| can != 0)
    }

    pub(crate) fn primary_context_retain(self, device: CUdevice) -> Answer<CUcontext> {
        get!(self.cuDevicePrimaryCtxRetain(_, device): CUcontext::NULL)
    }

    #[inline]
    pub(crate) fn current_context(self) -> Answer<CUcontext> {
        get!(self.cuCtxGetCurrent(_): CUcontext::NULL)
    }

    #[inline]
    pub(crate) unsafe fn set_current_context(self, context: CUcontext) -> Answer<()> {
        call!(self.cuCtxSetCurrent(context))
    }

    /// Lets the current context reach `peer`'s memory; "already enabled" is success.
    pub(crate) unsafe fn enable_peer_access(self, peer: CUcontext) -> Answer<()> {
        match call!(self.cuCtxEnablePeerAccess(peer, 0)) {
            Err(error) if error.code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            answer => answer,
        }
    }

    /// Loads `image` with the given option and value lists, which must be of one length.
    pub(crate) unsafe fn module_load(
        self,
        image: *const c_void,
        options: &mut [c_uint],
        values: &mut [*mut c_void],
    ) -> Answer<CUmodule> {
        debug_assert_eq!(options.len(), values.len());
        get!(self.cuModuleLoadDataEx(_, image, options.len() as c_uint, options.as_mut_ptr(), values.as_mut_ptr()): CUmodule::NULL)
    }

    pub(crate) unsafe fn module_unload(self, module: CUmodule) -> Answer<()> {
        call!(self.cuModuleUnload(module))
    }

    pub(crate) unsafe fn module_function(
        self,
        module: CUmodule,
        name: &CStr,
    ) -> Answer<CUfunction> {
        get!(self.cuModuleGetFunction(_, module, name.as_ptr()): CUfunction::NULL)
    }

    /// Address and size in bytes of a global variable.
    pub(crate) unsafe fn module_global(
        self,
        module: CUmodule,
        name: &CStr,
    ) -> Answer<(CUdeviceptr, usize)> {
        let (mut address, mut bytes) = (0, 0);
        call!(self.cuModuleGetGlobal(&raw mut address, &raw mut bytes, module, name.as_ptr()))
            .map(|()| (address, bytes))
    }

    pub(crate) unsafe fn function_attribute(
        self,
        function: CUfunction,
        attribute: c_int,
    ) -> Answer<c_int> {
        get!(self.cuFuncGetAttribute(_, attribute, function): 0)
    }

    pub(crate) unsafe fn set_function_attribute(
        self,
        function: CUfunction,
        attribute: c_int,
        value: c_int,
    ) -> Answer<()> {
        call!(self.cuFuncSetAttribute(function, attribute, value))
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the driver's own list")]
    pub(crate) unsafe fn launch_kernel(
        self,
        function: CUfunction,
        [gx, gy, gz]: [u32; 3],
        [bx, by, bz]: [u32; 3],
        shared: u32,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Answer<()> {
        call!(self.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
    }

    /// `None` where the driver is older than CUDA 11.8.
    #[inline]
    pub(crate) unsafe fn launch_kernel_ex(
        self,
        config: &CUlaunchConfig,
        function: CUfunction,
        extra: *mut *mut c_void,
    ) -> Option<Answer<()>> {
        let launch = self.table().cuLaunchKernelEx?;
        // SAFETY: the config and its attributes live across the call; the handles are the caller's
        // promise.
        let code = unsafe { launch(config, function, ptr::null_mut(), extra) };
        Some(if code == CUDA_SUCCESS { Ok(()) } else { Err(self.error("cuLaunchKernelEx", code)) })
    }

    pub(crate) fn stream_create(self, flags: c_uint, priority: c_int) -> Answer<CUstream> {
        get!(self.cuStreamCreateWithPriority(_, flags, priority): CUstream::NULL)
    }

    pub(crate) unsafe fn stream_destroy(self, stream: CUstream) -> Answer<()> {
        call!(self.cuStreamDestroy(stream))
    }

    pub(crate) unsafe fn stream_context(self, stream: CUstream) -> Answer<CUcontext> {
        let mut context = CUcontext::NULL;
        call!(self.cuStreamGetCtx(stream, &raw mut context)).map(|()| context)
    }

    /// Whether all work in the stream is complete.
    pub(crate) unsafe fn stream_query(self, stream: CUstream) -> Answer<bool> {
        ready!(self.cuStreamQuery(stream))
    }

    pub(crate) unsafe fn stream_synchronize(self, stream: CUstream) -> Answer<()> {
        call!(self.cuStreamSynchronize(stream))
    }

    #[inline]
    pub(crate) unsafe fn stream_wait_event(self, stream: CUstream, event: CUevent) -> Answer<()> {
        call!(self.cuStreamWaitEvent(stream, event, 0))
    }

    pub(crate) unsafe fn stream_is_capturing(self, stream: CUstream) -> Answer<bool> {
        let mut status = CU_STREAM_CAPTURE_STATUS_NONE;
        call!(self.cuStreamIsCapturing(stream, &raw mut status))
            .map(|()| status != CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// `None` where the driver has no 64-bit stream writes.
    #[inline]
    pub(crate) unsafe fn stream_write_value(
        self,
        stream: CUstream,
        address: CUdeviceptr,
        value: u64,
    ) -> Option<Answer<()>> {
        let write = self.table().cuStreamWriteValue64?;
        // The default flag keeps the memory barrier before the write: without it work before it
        // need not be visible.
        // SAFETY: stream and address are the caller's promise.
        let code = unsafe { write(stream, address, value, CU_STREAM_WRITE_VALUE_DEFAULT) };
        Some(if code == CUDA_SUCCESS {
            Ok(())
        } else {
            Err(self.error("cuStreamWriteValue64", code))
        })
    }

    /// The stream waits until the word at `address` is at least `value`; `None` where the driver
    /// has no 64-bit stream waits.
    #[inline]
    pub(crate) unsafe fn stream_wait_value(
        self,
        stream: CUstream,
        address: CUdeviceptr,
        value: u64,
    ) -> Option<Answer<()>> {
        let wait = self.table().cuStreamWaitValue64?;
        // SAFETY: stream and address are the caller's promise.
        let code = unsafe { wait(stream, address, value, CU_STREAM_WAIT_VALUE_GEQ) };
        Some(if code == CUDA_SUCCESS {
            Ok(())
        } else {
            Err(self.error("cuStreamWaitValue64", code))
        })
    }

    pub(crate) fn event_create(self, flags: c_uint) -> Answer<CUevent> {
        get!(self.cuEventCreate(_, flags): CUevent::NULL)
    }

    pub(crate) unsafe fn event_destroy(self, event: CUevent) -> Answer<()> {
        call!(self.cuEventDestroy(event))
    }

    #[inline]
    pub(crate) unsafe fn event_record(self, event: CUevent, stream: CUstream) -> Answer<()> {
        call!(self.cuEventRecord(event, stream))
    }

    /// Whether the work that the event was recorded after is complete.
    pub(crate) unsafe fn event_query(self, event: CUevent) -> Answer<bool> {
        ready!(self.cuEventQuery(event))
    }

    pub(crate) unsafe fn event_synchronize(self, event: CUevent) -> Answer<()> {
        call!(self.cuEventSynchronize(event))
    }

    /// Milliseconds between two completed timing events.
    pub(crate) unsafe fn event_elapsed(self, start: CUevent, end: CUevent) -> Answer<f32> {
        get!(self.cuEventElapsedTime(_, start, end): 0.0)
    }

    /// Free and total bytes of the current context's device.
    pub(crate) fn memory_info(self) -> Answer<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        call!(self.cuMemGetInfo(&raw mut free, &raw mut total)).map(|()| (free, total))
    }

    pub(crate) fn pool_create(self, properties: &CUmemPoolProps) -> Answer<CUmemoryPool> {
        get!(self.cuMemPoolCreate(_, properties): CUmemoryPool::NULL)
    }

    /// Sets an attribute whose value is a `cuuint64_t`.
    pub(crate) unsafe fn set_pool_attribute(
        self,
        pool: CUmemoryPool,
        attribute: c_uint,
        mut value: u64,
    ) -> Answer<()> {
        call!(self.cuMemPoolSetAttribute(pool, attribute, (&raw mut value).cast()))
    }

    /// Reads an attribute whose value is a `cuuint64_t`.
    pub(crate) unsafe fn pool_attribute(
        self,
        pool: CUmemoryPool,
        attribute: c_uint,
    ) -> Answer<u64> {
        let mut value = 0u64;
        call!(self.cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast())).map(|()| value)
    }

    pub(crate) unsafe fn set_pool_access(
        self,
        pool: CUmemoryPool,
        access: &[CUmemAccessDesc],
    ) -> Answer<()> {
        call!(self.cuMemPoolSetAccess(pool, access.as_ptr(), access.len()))
    }

    pub(crate) unsafe fn pool_trim(self, pool: CUmemoryPool, keep: usize) -> Answer<()> {
        call!(self.cuMemPoolTrimTo(pool, keep))
    }

    pub(crate) unsafe fn allocate(
        self,
        bytes: usize,
        pool: CUmemoryPool,
        stream: CUstream,
    ) -> Answer<CUdeviceptr> {
        get!(self.cuMemAllocFromPoolAsync(_, bytes, pool, stream): 0)
    }

    pub(crate) unsafe fn free(self, address: CUdeviceptr, stream: CUstream) -> Answer<()> {
        call!(self.cuMemFreeAsync(address, stream))
    }

    pub(crate) fn allocate_host(self, bytes: usize, flags: c_uint) -> Answer<*mut c_void> {
        get!(self.cuMemHostAlloc(_, bytes, flags): ptr::null_mut())
    }

    pub(crate) unsafe fn free_host(self, address: *mut c_void) -> Answer<()> {
        call!(self.cuMemFreeHost(address))
    }

    pub(crate) unsafe fn host_device_address(self, host: *mut c_void) -> Answer<CUdeviceptr> {
        get!(self.cuMemHostGetDevicePointer(_, host, 0): 0)
    }

    pub(crate) unsafe fn copy_to_device(
        self,
        to: CUdeviceptr,
        from: *const c_void,
        bytes: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemcpyHtoDAsync(to, from, bytes, stream))
    }

    pub(crate) unsafe fn copy_to_host(
        self,
        to: *mut c_void,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemcpyDtoHAsync(to, from, bytes, stream))
    }

    pub(crate) unsafe fn copy_on_device(
        self,
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemcpyDtoDAsync(to, from, bytes, stream))
    }

    pub(crate) unsafe fn copy_peer(
        self,
        (to, to_context): (CUdeviceptr, CUcontext),
        (from, from_context): (CUdeviceptr, CUcontext),
        bytes: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream))
    }

    pub(crate) unsafe fn set_8(
        self,
        to: CUdeviceptr,
        value: u8,
        count: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemsetD8Async(to, value, count, stream))
    }

    pub(crate) unsafe fn set_16(
        self,
        to: CUdeviceptr,
        value: u16,
        count: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemsetD16Async(to, value, count, stream))
    }

    pub(crate) unsafe fn set_32(
        self,
        to: CUdeviceptr,
        value: u32,
        count: usize,
        stream: CUstream,
    ) -> Answer<()> {
        call!(self.cuMemsetD32Async(to, value, count, stream))
    }
}

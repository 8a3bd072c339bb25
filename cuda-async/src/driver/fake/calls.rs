//! The fake driver's functions, with the signatures of the real ones.
//!
//! Safety of the raw pointers here is the table's: callers are our own floors under test, which
//! pass live out-pointers and handles that this file made.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::MEMORY;
use super::kernels::{self, Kernel};
use super::machine::{DEVICES, FakeDevice, FakeEvent, FakeStream, device, lock, wait_until};
use crate::driver::sys::*;

thread_local! {
    static CURRENT: Cell<CUcontext> = const { Cell::new(CUcontext::NULL) };
}

struct FakeModule {
    device: &'static FakeDevice,
    text: String,
}

struct FakeFunction {
    device: &'static FakeDevice,
    kernel: Kernel,
}

fn leak<T>(value: T) -> *mut c_void {
    std::ptr::from_mut(Box::leak(Box::new(value))).cast()
}

/// Handles are never freed, so a use after destruction is seen as a use, not as undefined
/// behaviour.
fn handle<T>(raw: *mut c_void) -> &'static T {
    // SAFETY: made by `leak` for this type.
    unsafe { &*raw.cast::<T>() }
}

fn stream(raw: CUstream) -> &'static FakeStream {
    handle(raw.0)
}

fn code(result: Result<(), CUresult>) -> CUresult {
    result.err().unwrap_or(CUDA_SUCCESS)
}

/// The device whose context is current, with the call noted.
fn current(call: &'static str) -> Result<&'static FakeDevice, CUresult> {
    let device = FakeDevice::of(CURRENT.get()).ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    device.enter(call).map(|()| device)
}

/// As [`current`], and it must be the one that a handle belongs to.
fn owner(call: &'static str, of: &'static FakeDevice) -> Result<(), CUresult> {
    let device = current(call)?;
    if std::ptr::eq(device, of) { Ok(()) } else { Err(CUDA_ERROR_INVALID_CONTEXT) }
}

fn ordinal(device: CUdevice) -> Result<usize, CUresult> {
    usize::try_from(device).ok().filter(|&device| device < DEVICES).ok_or(CUDA_ERROR_INVALID_DEVICE)
}

/// `fake!(fn name(args) { body })`: a function of the table whose body answers `Result<(),
/// CUresult>`.
macro_rules! fake {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[allow(
            clippy::undocumented_unsafe_blocks,
            clippy::redundant_closure_call,
            reason = "the closure lets a body use `?`; for the rest see the module's comment"
        )]
        unsafe extern "system" fn $name($($arg: $ty),*) -> CUresult {
            code((|| -> Result<(), CUresult> { $body })())
        }
    )*};
}

fn put<T>(to: *mut T, value: T) -> Result<(), CUresult> {
    // SAFETY: see the module's comment.
    unsafe { *to = value };
    Ok(())
}

fn put_text(to: *mut c_char, len: c_int, text: &str) -> Result<(), CUresult> {
    let bytes = text.as_bytes();
    assert!(bytes.len() < len as usize);
    // SAFETY: see the module's comment; it fits.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        *to.add(bytes.len()) = 0;
    }
    Ok(())
}

fn attribute(attribute: c_int) -> Result<c_int, CUresult> {
    Ok(match attribute {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
        CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 4,
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => 1 << 20,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 0,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 227 << 10,
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
        | CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS => 1,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    })
}

fn name_of(code: CUresult) -> &'static CStr {
    match code {
        CUDA_ERROR_INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
        CUDA_ERROR_OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
        CUDA_ERROR_INVALID_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION => c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        CUDA_ERROR_NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        CUDA_ERROR_ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        CUDA_ERROR_LAUNCH_FAILED => c"CUDA_ERROR_LAUNCH_FAILED",
        _ => c"CUDA_ERROR_OF_THE_FAKE",
    }
}

/// The parameters of a launch, out of `extra`.
fn packed(extra: *mut *mut c_void) -> Vec<u8> {
    if extra.is_null() {
        return Vec::new();
    }
    // SAFETY: `extra` is a list as the driver defines it.
    unsafe {
        let list = std::slice::from_raw_parts(extra, 5);
        assert_eq!(
            [list[0], list[2], list[4]],
            [CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END]
        );
        std::slice::from_raw_parts(list[1].cast::<u8>(), *list[3].cast::<usize>()).to_vec()
    }
}

fn launch(
    call: &'static str,
    function: CUfunction,
    queue: CUstream,
    extra: *mut *mut c_void,
) -> Result<(), CUresult> {
    let (queue, function) = (stream(queue), handle::<FakeFunction>(function.0));
    owner(call, queue.device)?;
    assert!(std::ptr::eq(queue.device, function.device), "a kernel of another device");
    let (kernel, params) = (function.kernel, packed(extra));
    queue.push(Box::new(move |device| kernel(device, &params)));
    Ok(())
}

/// Enqueues a copy; device ranges must be live when it runs.
fn copy(
    call: &'static str,
    queue: CUstream,
    to: (u64, Option<&'static FakeDevice>),
    from: (u64, Option<&'static FakeDevice>),
    bytes: usize,
) -> Result<(), CUresult> {
    let queue = stream(queue);
    owner(call, queue.device)?;
    queue.push(Box::new(move |_| {
        for (address, device) in [to, from] {
            device.map_or(Ok(()), |device| device.valid(address, bytes))?;
        }
        // SAFETY: live device blocks of the fake, and host ranges that the caller vouches for.
        unsafe { std::ptr::copy(from.0 as *const u8, to.0 as *mut u8, bytes) };
        Ok(())
    }));
    Ok(())
}

fn fill<T: Copy + Send + 'static>(
    call: &'static str,
    queue: CUstream,
    to: u64,
    value: T,
    count: usize,
) -> Result<(), CUresult> {
    let queue = stream(queue);
    owner(call, queue.device)?;
    queue.push(Box::new(move |device| {
        device.valid(to, count * size_of::<T>())?;
        // SAFETY: a live block of the fake.
        unsafe { std::slice::from_raw_parts_mut(to as *mut T, count) }.fill(value);
        Ok(())
    }));
    Ok(())
}

fn word(address: u64) -> &'static AtomicU64 {
    // SAFETY: a timeline word, which lives for ever.
    unsafe { &*(address as *const AtomicU64) }
}

fake! {
    fn init(_flags: c_uint) { Ok(()) }
    fn version(version: *mut c_int) { put(version, 12040) }
    fn error_name(error: CUresult, name: *mut *const c_char) { put(name, name_of(error).as_ptr()) }
    fn error_string(_error: CUresult, text: *mut *const c_char) { put(text, c"text of the fake driver".as_ptr()) }
    fn device_get(device: *mut CUdevice, at: c_int) { put(device, ordinal(at).map(|_| at)?) }
    fn device_count(count: *mut c_int) { put(count, DEVICES as c_int) }
    fn device_name(name: *mut c_char, len: c_int, device: CUdevice) { ordinal(device).and_then(|_| put_text(name, len, "Fake GPU")) }
    fn device_pci(id: *mut c_char, len: c_int, device: CUdevice) { put_text(id, len, &format!("0000:{:02x}:00.0", ordinal(device)?)) }
    fn device_memory(bytes: *mut usize, device: CUdevice) { ordinal(device).and_then(|_| put(bytes, MEMORY)) }
    fn device_attribute(value: *mut c_int, which: c_int, device: CUdevice) { ordinal(device).and_then(|_| put(value, attribute(which)?)) }
    fn can_access_peer(can: *mut c_int, device: CUdevice, peer: CUdevice) { put(can, c_int::from(device != peer)) }
    fn primary_retain(context: *mut CUcontext, at: CUdevice) { put(context, device(ordinal(at)?).context()) }
    fn set_current(context: CUcontext) { CURRENT.set(context); Ok(()) }
    fn get_current(context: *mut CUcontext) { put(context, CURRENT.get()) }
    fn enable_peer(peer: CUcontext, _flags: c_uint) {
        current("cuCtxEnablePeerAccess")?.enable_peer(FakeDevice::of(peer).ok_or(CUDA_ERROR_INVALID_CONTEXT)?.ordinal)
    }

    fn module_load(module: *mut CUmodule, image: *const c_void, count: c_uint, _options: *mut c_uint, values: *mut *mut c_void) {
        let device = current("cuModuleLoadDataEx")?;
        let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy().into_owned();
        if text.contains(".version 9") {
            assert_eq!(count, 2);
            let (log, len) = unsafe { (*values, (*values.add(1)).addr()) };
            put_text(log.cast(), len as c_int, "ptxas fatal: unsupported .version")?;
            return Err(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        }
        device.count_module(true);
        put(module, CUmodule(leak(FakeModule { device, text })))
    }
    fn module_unload(module: CUmodule) {
        let module = handle::<FakeModule>(module.0);
        owner("cuModuleUnload", module.device)?;
        module.device.count_module(false);
        Ok(())
    }
    fn module_function(function: *mut CUfunction, module: CUmodule, name: *const c_char) {
        let module = handle::<FakeModule>(module.0);
        owner("cuModuleGetFunction", module.device)?;
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| CUDA_ERROR_NOT_FOUND)?;
        let declared = module.text.contains(&format!(".entry {name}("));
        let kernel = kernels::find(name).filter(|_| declared).ok_or(CUDA_ERROR_NOT_FOUND)?;
        put(function, CUfunction(leak(FakeFunction { device: module.device, kernel })))
    }
    fn module_global(_address: *mut CUdeviceptr, _bytes: *mut usize, _module: CUmodule, _name: *const c_char) { Err(CUDA_ERROR_NOT_FOUND) }
    fn function_get(value: *mut c_int, which: c_int, function: CUfunction) {
        owner("cuFuncGetAttribute", handle::<FakeFunction>(function.0).device)?;
        put(value, if which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES { 1024 } else { 16 })
    }
    fn function_set(function: CUfunction, _which: c_int, _value: c_int) { owner("cuFuncSetAttribute", handle::<FakeFunction>(function.0).device) }
    fn launch_kernel(
        function: CUfunction, _gx: c_uint, _gy: c_uint, _gz: c_uint, _bx: c_uint, _by: c_uint, _bz: c_uint, _shared: c_uint,
        queue: CUstream, _params: *mut *mut c_void, extra: *mut *mut c_void,
    ) { launch("cuLaunchKernel", function, queue, extra) }
    fn launch_kernel_ex(config: *const CUlaunchConfig, function: CUfunction, _params: *mut *mut c_void, extra: *mut *mut c_void) {
        let config = unsafe { &*config };
        let attributes = unsafe { std::slice::from_raw_parts(config.attrs, config.num_attrs as usize) };
        let programmatic = attributes.iter().any(|attribute| attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        launch(if programmatic { "cuLaunchKernelEx, programmatic" } else { "cuLaunchKernelEx" }, function, config.stream, extra)
    }

    fn stream_create(to: *mut CUstream, flags: c_uint, _priority: c_int) {
        assert_eq!(flags, CU_STREAM_NON_BLOCKING);
        let device = current("cuStreamCreateWithPriority")?;
        put(to, CUstream(std::ptr::from_ref(FakeStream::open(device)).cast_mut().cast()))
    }
    fn stream_destroy(queue: CUstream) { owner("cuStreamDestroy", stream(queue).device) }
    fn stream_context(queue: CUstream, context: *mut CUcontext) { put(context, stream(queue).device.context()) }
    fn stream_query(queue: CUstream) {
        owner("cuStreamQuery", stream(queue).device)?;
        if stream(queue).passed(stream(queue).pushed()) { Ok(()) } else { Err(CUDA_ERROR_NOT_READY) }
    }
    fn stream_synchronize(queue: CUstream) {
        owner("cuStreamSynchronize", stream(queue).device)?;
        let target = stream(queue).pushed();
        wait_until(stream(queue).device, || stream(queue).passed(target))
    }
    fn stream_wait_event(queue: CUstream, event: CUevent, _flags: c_uint) {
        owner("cuStreamWaitEvent", stream(queue).device)?;
        let mark = *lock(&handle::<FakeEvent>(event.0).mark);
        stream(queue).push(Box::new(move |device| wait_until(device, || FakeEvent::reached(mark))));
        Ok(())
    }
    fn stream_capturing(queue: CUstream, status: *mut c_uint) {
        owner("cuStreamIsCapturing", stream(queue).device)?;
        put(status, CU_STREAM_CAPTURE_STATUS_NONE)
    }
    fn event_create(event: *mut CUevent, _flags: c_uint) {
        current("cuEventCreate")?;
        put(event, CUevent(leak(FakeEvent::default())))
    }
    fn event_destroy(_event: CUevent) { current("cuEventDestroy").map(|_| ()) }
    fn event_record(event: CUevent, queue: CUstream) {
        owner("cuEventRecord", stream(queue).device)?;
        *lock(&handle::<FakeEvent>(event.0).mark) = Some((stream(queue), stream(queue).pushed()));
        Ok(())
    }
    fn event_query(event: CUevent) {
        current("cuEventQuery")?;
        if FakeEvent::reached(*lock(&handle::<FakeEvent>(event.0).mark)) { Ok(()) } else { Err(CUDA_ERROR_NOT_READY) }
    }
    fn event_synchronize(event: CUevent) {
        let device = current("cuEventSynchronize")?;
        let mark = *lock(&handle::<FakeEvent>(event.0).mark);
        wait_until(device, || FakeEvent::reached(mark))
    }
    fn event_elapsed(milliseconds: *mut f32, _start: CUevent, _end: CUevent) { put(milliseconds, 0.5) }

    fn memory_info(free: *mut usize, total: *mut usize) {
        let device = current("cuMemGetInfo")?;
        put(free, MEMORY - device.used())?;
        put(total, MEMORY)
    }
    fn pool_create(pool: *mut CUmemoryPool, _properties: *const CUmemPoolProps) {
        let device = current("cuMemPoolCreate")?;
        put(pool, CUmemoryPool(device.context().0))
    }
    fn pool_set(_pool: CUmemoryPool, _attribute: c_uint, _value: *mut c_void) { current("cuMemPoolSetAttribute").map(|_| ()) }
    fn pool_get(pool: CUmemoryPool, _attribute: c_uint, value: *mut c_void) {
        current("cuMemPoolGetAttribute")?;
        put(value.cast::<u64>(), handle::<FakeDevice>(pool.0).used() as u64)
    }
    fn pool_access(_pool: CUmemoryPool, _access: *const CUmemAccessDesc, _count: usize) { current("cuMemPoolSetAccess").map(|_| ()) }
    fn pool_trim(_pool: CUmemoryPool, _keep: usize) { current("cuMemPoolTrimTo").map(|_| ()) }
    fn allocate(address: *mut CUdeviceptr, bytes: usize, _pool: CUmemoryPool, queue: CUstream) {
        owner("cuMemAllocFromPoolAsync", stream(queue).device)?;
        put(address, stream(queue).device.allocate(bytes)?)
    }
    fn free(address: CUdeviceptr, queue: CUstream) {
        owner("cuMemFreeAsync", stream(queue).device)?;
        stream(queue).push(Box::new(move |device| device.free(address)));
        Ok(())
    }
    fn host_allocate(address: *mut *mut c_void, bytes: usize, flags: c_uint) {
        assert_eq!(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        current("cuMemHostAlloc")?.count_host_block(true);
        let block = Box::leak(vec![0u8; bytes + 4096].into_boxed_slice()).as_mut_ptr();
        put(address, block.wrapping_add(block.align_offset(4096)).cast())
    }
    fn host_free(_address: *mut c_void) { current("cuMemFreeHost")?.count_host_block(false); Ok(()) }
    fn host_device(address: *mut CUdeviceptr, host: *mut c_void, _flags: c_uint) { put(address, host as u64) }

    fn upload(to: CUdeviceptr, from: *const c_void, bytes: usize, queue: CUstream) {
        copy("cuMemcpyHtoDAsync", queue, (to, Some(stream(queue).device)), (from as u64, None), bytes)
    }
    fn download(to: *mut c_void, from: CUdeviceptr, bytes: usize, queue: CUstream) {
        copy("cuMemcpyDtoHAsync", queue, (to as u64, None), (from, Some(stream(queue).device)), bytes)
    }
    fn within(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, queue: CUstream) {
        let device = Some(stream(queue).device);
        copy("cuMemcpyDtoDAsync", queue, (to, device), (from, device), bytes)
    }
    fn peer(to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, queue: CUstream) {
        copy("cuMemcpyPeerAsync", queue, (to, FakeDevice::of(to_context)), (from, FakeDevice::of(from_context)), bytes)
    }
    fn fill_8(to: CUdeviceptr, value: u8, count: usize, queue: CUstream) { fill("cuMemsetD8Async", queue, to, value, count) }
    fn fill_16(to: CUdeviceptr, value: u16, count: usize, queue: CUstream) { fill("cuMemsetD16Async", queue, to, value, count) }
    fn fill_32(to: CUdeviceptr, value: c_uint, count: usize, queue: CUstream) { fill("cuMemsetD32Async", queue, to, value, count) }
    fn write_value(queue: CUstream, address: CUdeviceptr, value: u64, _flags: c_uint) {
        owner("cuStreamWriteValue64", stream(queue).device)?;
        stream(queue).push(Box::new(move |_| { word(address).store(value, Ordering::SeqCst); Ok(()) }));
        Ok(())
    }
    fn wait_value(queue: CUstream, address: CUdeviceptr, value: u64, _flags: c_uint) {
        owner("cuStreamWaitValue64", stream(queue).device)?;
        stream(queue).push(Box::new(move |device| wait_until(device, || word(address).load(Ordering::SeqCst) >= value)));
        Ok(())
    }
}

/// The fake driver's table.
pub(crate) static TABLE: Table = TABLE_OF_NOW;

pub(super) const TABLE_OF_NOW: Table = Table {
    cuInit: init,
    cuDriverGetVersion: version,
    cuGetErrorName: error_name,
    cuGetErrorString: error_string,
    cuDeviceGet: device_get,
    cuDeviceGetCount: device_count,
    cuDeviceGetName: device_name,
    cuDeviceGetPCIBusId: device_pci,
    cuDeviceTotalMem: device_memory,
    cuDeviceGetAttribute: device_attribute,
    cuDeviceCanAccessPeer: can_access_peer,
    cuDevicePrimaryCtxRetain: primary_retain,
    cuCtxSetCurrent: set_current,
    cuCtxGetCurrent: get_current,
    cuCtxEnablePeerAccess: enable_peer,
    cuModuleLoadDataEx: module_load,
    cuModuleUnload: module_unload,
    cuModuleGetFunction: module_function,
    cuModuleGetGlobal: module_global,
    cuFuncGetAttribute: function_get,
    cuFuncSetAttribute: function_set,
    cuLaunchKernel: launch_kernel,
    cuStreamCreateWithPriority: stream_create,
    cuStreamDestroy: stream_destroy,
    cuStreamGetCtx: stream_context,
    cuStreamQuery: stream_query,
    cuStreamSynchronize: stream_synchronize,
    cuStreamWaitEvent: stream_wait_event,
    cuStreamIsCapturing: stream_capturing,
    cuEventCreate: event_create,
    cuEventDestroy: event_destroy,
    cuEventRecord: event_record,
    cuEventQuery: event_query,
    cuEventSynchronize: event_synchronize,
    cuEventElapsedTime: event_elapsed,
    cuMemGetInfo: memory_info,
    cuMemPoolCreate: pool_create,
    cuMemPoolSetAttribute: pool_set,
    cuMemPoolGetAttribute: pool_get,
    cuMemPoolSetAccess: pool_access,
    cuMemPoolTrimTo: pool_trim,
    cuMemAllocFromPoolAsync: allocate,
    cuMemFreeAsync: free,
    cuMemHostAlloc: host_allocate,
    cuMemFreeHost: host_free,
    cuMemHostGetDevicePointer: host_device,
    cuMemcpyHtoDAsync: upload,
    cuMemcpyDtoHAsync: download,
    cuMemcpyDtoDAsync: within,
    cuMemcpyPeerAsync: peer,
    cuMemsetD8Async: fill_8,
    cuMemsetD16Async: fill_16,
    cuMemsetD32Async: fill_32,
    cuLaunchKernelEx: Some(launch_kernel_ex),
    cuStreamWriteValue64: Some(write_value),
    cuStreamWaitValue64: Some(wait_value),
    cuTensorMapEncodeTiled: None,
};

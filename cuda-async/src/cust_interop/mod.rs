//! Conversions between this crate's driver objects and those of [`cust`], for programs that use
//! both.
//!
//! Both work on the device's primary context, so they see the same memory, modules and streams. A
//! borrowed object stays the owner's: the wrappers here never destroy anything. Inside an
//! operation, put `cust` launches on the operation's stream ([`stream`] of
//! [`ExecutionContext::raw_stream`](crate::ExecutionContext::raw_stream)), with the memory that
//! they touch declared by [`read`](crate::ExecutionContext::read) and
//! [`write`](crate::ExecutionContext::write); then the runtime orders and keeps them like its own
//! work.
//!
//! Feature `cust`, Linux on x86-64 alone. `cust` wants `libcuda.so` when it is linked; this
//! workspace gives it an empty one (`CUDA_LIBRARY_PATH` in `.cargo/config.toml`) and defines the
//! symbols itself (`trampolines`), so that the same binary builds and starts without CUDA. A
//! program outside the workspace has to set that variable by itself, or have CUDA installed.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("feature `cust` of cuda-async works on Linux on x86-64 alone: build without it");

mod trampolines;

use std::mem::ManuallyDrop;
use std::ops::Deref;

use cust::context::Context as CustContext;
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};
use cust::module::Module as CustModule;
use cust::stream::Stream as CustStream;

use crate::backend::{DevicePtr, RawFunction};
use crate::driver::sys::{CUmodule, CUstream};
use crate::driver::{Context, DeviceMemory, Driver, DriverError, Module, Stream};

/// Somebody's object, borrowed: it is not destroyed when this is dropped.
#[derive(Debug)]
pub struct Borrowed<T>(ManuallyDrop<T>);

impl<T> Deref for Borrowed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Our context of the same device as a `cust` context.
///
/// # Errors
/// [`DriverError::NoSuchDevice`] if it is no primary context of a device; otherwise what the driver
/// answers.
pub fn context(context: &CustContext) -> Result<Context, DriverError> {
    let driver = Driver::get()?;
    let count = driver.count()?;
    for ordinal in 0..count {
        let ours = Context::primary(driver, ordinal)?;
        if ours.raw().0 == context.as_raw().cast() {
            return Ok(ours);
        }
    }
    Err(DriverError::NoSuchDevice { ordinal: count, count })
}

/// A `cust` context of the same device as ours; made current on the calling thread.
///
/// # Errors
/// What the driver answers.
pub fn cust_context(context: Context) -> cust::error::CudaResult<CustContext> {
    let ordinal = u32::try_from(context.ordinal()).unwrap_or(u32::MAX);
    CustContext::new(cust::device::Device::get_device(ordinal)?)
}

/// A native stream of ours as a `cust` stream.
///
/// # Safety
/// `stream` must be a live stream of the context that is current, and outlive the answer.
pub unsafe fn cust_stream(stream: CUstream) -> Borrowed<CustStream> {
    const { assert!(size_of::<CustStream>() == size_of::<CUstream>()) };
    // SAFETY: `cust::stream::Stream` (of the exact version that we depend on) has one field, the
    // handle, which fills it; and it is never dropped.
    let stream_of_cust = unsafe { std::mem::transmute::<CUstream, CustStream>(stream) };
    debug_assert!(stream_of_cust.as_inner().cast() == stream.0);
    Borrowed(ManuallyDrop::new(stream_of_cust))
}

/// A `cust` stream as ours.
///
/// # Errors
/// If it is not of `context`; otherwise what the driver answers.
///
/// # Safety
/// `stream` must outlive the answer.
pub unsafe fn stream(context: Context, stream: &CustStream) -> Result<Stream, DriverError> {
    // SAFETY: live by this function's contract.
    unsafe { Stream::borrow(context, CUstream(stream.as_inner().cast())) }
}

/// A module of ours as a `cust` module.
///
/// # Safety
/// `module` must outlive the answer.
pub unsafe fn cust_module(module: &Module) -> Borrowed<CustModule> {
    const { assert!(size_of::<CustModule>() == size_of::<CUmodule>()) };
    // SAFETY: as for `cust_stream`: one field, the handle; never dropped.
    Borrowed(ManuallyDrop::new(unsafe {
        std::mem::transmute::<CUmodule, CustModule>(module.raw())
    }))
}

/// A module of `cust` as ours; from then on it stays loaded for the life of the process.
///
/// # Safety
/// It must be loaded in `context`.
pub unsafe fn module(context: Context, module: CustModule) -> std::sync::Arc<Module> {
    // SAFETY: as for `cust_module`. The handle is moved out: its owner does not unload it.
    let raw = unsafe { std::mem::transmute::<CustModule, CUmodule>(module) };
    // SAFETY: never unloaded by anybody.
    unsafe { Module::borrow(context, raw) }
}

/// A kernel of `cust`, to be launched through
/// [`ExecutionContext::launch`](crate::ExecutionContext::launch). Its module must stay loaded.
pub fn function(function: &cust::function::Function<'_>) -> RawFunction {
    RawFunction(function.to_raw() as usize)
}

/// Device memory of ours as a `cust` buffer of `T`s, which frees it. A rest that is smaller than a
/// `T` stays unused.
///
/// # Safety
/// The memory must hold valid `T`s before it is read, and all work on it must be ordered before
/// what `cust` does.
pub unsafe fn cust_buffer<T: DeviceCopy>(memory: DeviceMemory) -> DeviceBuffer<T> {
    let (address, bytes) = memory.into_raw();
    let capacity = bytes.checked_div(size_of::<T>()).unwrap_or(0);
    // SAFETY: a block of at least that many `T`s that nobody else frees; the driver's plain free
    // takes blocks from pools too.
    unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(address), capacity) }
}

/// A `cust` buffer as device memory of ours, which frees it in stream order.
///
/// # Safety
/// The buffer must be of `context`, and all work of `cust` on it must be complete, or on streams
/// that later work is ordered after.
pub unsafe fn memory<T: DeviceCopy>(context: Context, buffer: DeviceBuffer<T>) -> DeviceMemory {
    let buffer = ManuallyDrop::new(buffer);
    let (address, bytes) = (buffer.as_device_ptr().as_raw(), size_of::<T>() * buffer.len());
    // SAFETY: a block of `context` that its owner does not free any more.
    unsafe { DeviceMemory::from_raw(context, address, bytes) }
}

/// An address that an operation has declared, as a `cust` pointer.
pub fn cust_pointer<T: DeviceCopy>(address: DevicePtr) -> DevicePointer<T> {
    DevicePointer::from_raw(address.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::fake::{Fake, PTX};

    #[test]
    fn cust_answers_and_prints_its_error_without_a_driver() {
        match (Driver::get(), cust::init(cust::CudaFlags::empty())) {
            (Ok(_), answer) => answer.unwrap(),
            (Err(_), answer) => {
                let error = answer.unwrap_err();
                assert_eq!(error, cust::error::CudaError::NoDevice);
                assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn streams_and_modules_keep_their_handles_and_are_not_destroyed() {
        let fake = Fake::new();
        let ours = Stream::new(fake.context, 0).unwrap();
        let module = Module::from_ptx(fake.context, PTX).unwrap();
        fake.calls();
        // SAFETY: both outlive the borrowed forms.
        let (stream, borrowed) = unsafe { (cust_stream(ours.raw()), cust_module(&module)) };
        assert_eq!(stream.as_inner().cast(), ours.raw().0);
        // SAFETY: `stream` lives.
        let again = unsafe { super::stream(fake.context, &stream) }.unwrap();
        assert_eq!(again.raw(), ours.raw());
        drop((again, stream, borrowed));
        assert!(
            fake.calls().iter().all(|call| !call.contains("Destroy") && !call.contains("Unload"))
        );
    }

    #[test]
    fn a_module_goes_there_and_back() {
        let fake = Fake::new();
        let ours = Module::from_ptx(fake.context, PTX).unwrap();
        // SAFETY: `ours` lives; the copy of its handle is given away once and never unloaded.
        let back = unsafe {
            let theirs = std::ptr::read(&*cust_module(&ours));
            module(fake.context, theirs)
        };
        assert_eq!(back.raw(), ours.raw());
        back.function("add_one", 0).unwrap();
    }

    #[test]
    fn device_memory_keeps_its_place_and_is_freed_once() {
        let fake = Fake::new();
        let stream = Stream::new(fake.context, 0).unwrap();
        let ours = DeviceMemory::allocate(&stream, 70).unwrap();
        let address = ours.address();
        // SAFETY: nothing works on it, and it is taken back before `cust` would free it.
        let back = unsafe {
            let buffer = cust_buffer::<u32>(ours);
            assert_eq!((buffer.as_device_ptr().as_raw(), buffer.len()), (address, 17));
            memory(fake.context, buffer)
        };
        assert_eq!((back.address(), back.len()), (address, 68));
        back.free(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(fake.live().0, 0);
        assert_eq!(cust_pointer::<u8>(DevicePtr(address)).as_raw(), address);
    }
}

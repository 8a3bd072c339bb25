//! The lowest floor: the driver's functions as a table of pointers, resolved by name when the
//! library is first used.
//!
//! Nothing is linked: a program starts, and its tests run, where no driver is installed. Only
//! functions that we call stand here, under the symbol names that the header's macros choose
//! (`_v2`). Errors are codes; the floor above gives them names.
#![allow(
    non_snake_case,
    missing_docs,
    reason = "the driver's own names; its reference manual describes them"
)]

mod types;

use std::ffi::{c_char, c_int, c_uint, c_void};

pub use types::*;

/// Declares the table, how it is filled from a library, and its size in symbols.
macro_rules! driver_table {
    (
        required { $(fn $name:ident = $symbol:literal ($($arg:ident: $ty:ty),* $(,)?);)* }
        optional { $(fn $opt:ident = $opt_symbol:literal ($($opt_arg:ident: $opt_ty:ty),* $(,)?);)* }
    ) => {
        /// The driver's entry points. Required ones exist since CUDA 11.2; optional ones came later
        /// and are `None` in an older driver.
        #[derive(Clone, Copy)]
        pub struct Table {
            $(pub $name: unsafe extern "system" fn($($arg: $ty),*) -> CUresult,)*
            $(pub $opt: Option<unsafe extern "system" fn($($opt_arg: $opt_ty),*) -> CUresult>,)*
        }

        impl Table {
            /// Resolves every symbol through `symbol`, which answers null for one that the library
            /// lacks. The error names the first required symbol that is missing.
            ///
            /// # Safety
            /// `symbol` must answer addresses of the driver's functions of those names, valid for
            /// the life of the process.
            pub unsafe fn resolve(mut symbol: impl FnMut(&'static str) -> *mut c_void) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        let address = symbol($symbol);
                        if address.is_null() {
                            return Err($symbol);
                        }
                        // SAFETY: non-null, and by this function's contract the function of that
                        // name, whose signature this is.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "system" fn($($ty),*) -> CUresult>(address) }
                    },)*
                    $($opt: {
                        let address = symbol($opt_symbol);
                        // SAFETY: null is `None`; otherwise as above.
                        unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "system" fn($($opt_ty),*) -> CUresult>>(address) }
                    },)*
                })
            }
        }
    };
}

driver_table! {
    required {
        fn cuInit = "cuInit"(flags: c_uint);
        fn cuDriverGetVersion = "cuDriverGetVersion"(version: *mut c_int);
        fn cuGetErrorName = "cuGetErrorName"(error: CUresult, name: *mut *const c_char);
        fn cuGetErrorString = "cuGetErrorString"(error: CUresult, text: *mut *const c_char);

        fn cuDeviceGet = "cuDeviceGet"(device: *mut CUdevice, ordinal: c_int);
        fn cuDeviceGetCount = "cuDeviceGetCount"(count: *mut c_int);
        fn cuDeviceGetName = "cuDeviceGetName"(name: *mut c_char, len: c_int, device: CUdevice);
        fn cuDeviceGetPCIBusId = "cuDeviceGetPCIBusId"(id: *mut c_char, len: c_int, device: CUdevice);
        fn cuDeviceTotalMem = "cuDeviceTotalMem_v2"(bytes: *mut usize, device: CUdevice);
        fn cuDeviceGetAttribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_int, device: CUdevice);
        fn cuDeviceCanAccessPeer = "cuDeviceCanAccessPeer"(can: *mut c_int, device: CUdevice, peer: CUdevice);

        fn cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain"(context: *mut CUcontext, device: CUdevice);
        fn cuCtxSetCurrent = "cuCtxSetCurrent"(context: CUcontext);
        fn cuCtxGetCurrent = "cuCtxGetCurrent"(context: *mut CUcontext);
        fn cuCtxEnablePeerAccess = "cuCtxEnablePeerAccess"(peer: CUcontext, flags: c_uint);

        fn cuModuleLoadDataEx = "cuModuleLoadDataEx"(
            module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void
        );
        fn cuModuleUnload = "cuModuleUnload"(module: CUmodule);
        fn cuModuleGetFunction = "cuModuleGetFunction"(function: *mut CUfunction, module: CUmodule, name: *const c_char);
        fn cuModuleGetGlobal = "cuModuleGetGlobal_v2"(address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char);
        fn cuFuncGetAttribute = "cuFuncGetAttribute"(value: *mut c_int, attribute: c_int, function: CUfunction);
        fn cuFuncSetAttribute = "cuFuncSetAttribute"(function: CUfunction, attribute: c_int, value: c_int);
        fn cuLaunchKernel = "cuLaunchKernel"(
            function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared_mem_bytes: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void
        );

        fn cuStreamCreateWithPriority = "cuStreamCreateWithPriority"(stream: *mut CUstream, flags: c_uint, priority: c_int);
        fn cuStreamDestroy = "cuStreamDestroy_v2"(stream: CUstream);
        fn cuStreamGetCtx = "cuStreamGetCtx"(stream: CUstream, context: *mut CUcontext);
        fn cuStreamQuery = "cuStreamQuery"(stream: CUstream);
        fn cuStreamSynchronize = "cuStreamSynchronize"(stream: CUstream);
        fn cuStreamWaitEvent = "cuStreamWaitEvent"(stream: CUstream, event: CUevent, flags: c_uint);
        fn cuStreamIsCapturing = "cuStreamIsCapturing"(stream: CUstream, status: *mut c_uint);
        fn cuEventCreate = "cuEventCreate"(event: *mut CUevent, flags: c_uint);
        fn cuEventDestroy = "cuEventDestroy_v2"(event: CUevent);
        fn cuEventRecord = "cuEventRecord"(event: CUevent, stream: CUstream);
        fn cuEventQuery = "cuEventQuery"(event: CUevent);
        fn cuEventSynchronize = "cuEventSynchronize"(event: CUevent);
        fn cuEventElapsedTime = "cuEventElapsedTime"(milliseconds: *mut f32, start: CUevent, end: CUevent);

        fn cuMemGetInfo = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
        fn cuMemPoolCreate = "cuMemPoolCreate"(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
        fn cuMemPoolSetAttribute = "cuMemPoolSetAttribute"(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void);
        fn cuMemPoolGetAttribute = "cuMemPoolGetAttribute"(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void);
        fn cuMemPoolSetAccess = "cuMemPoolSetAccess"(pool: CUmemoryPool, access: *const CUmemAccessDesc, count: usize);
        fn cuMemPoolTrimTo = "cuMemPoolTrimTo"(pool: CUmemoryPool, keep: usize);
        fn cuMemAllocFromPoolAsync = "cuMemAllocFromPoolAsync"(
            address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream
        );
        fn cuMemFreeAsync = "cuMemFreeAsync"(address: CUdeviceptr, stream: CUstream);
        fn cuMemHostAlloc = "cuMemHostAlloc"(address: *mut *mut c_void, bytes: usize, flags: c_uint);
        fn cuMemFreeHost = "cuMemFreeHost"(address: *mut c_void);
        fn cuMemHostGetDevicePointer = "cuMemHostGetDevicePointer_v2"(address: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);

        fn cuMemcpyHtoDAsync = "cuMemcpyHtoDAsync_v2"(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
        fn cuMemcpyDtoHAsync = "cuMemcpyDtoHAsync_v2"(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
        fn cuMemcpyDtoDAsync = "cuMemcpyDtoDAsync_v2"(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
        fn cuMemcpyPeerAsync = "cuMemcpyPeerAsync"(
            to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream
        );
        fn cuMemsetD8Async = "cuMemsetD8Async"(to: CUdeviceptr, value: u8, count: usize, stream: CUstream);
        fn cuMemsetD16Async = "cuMemsetD16Async"(to: CUdeviceptr, value: u16, count: usize, stream: CUstream);
        fn cuMemsetD32Async = "cuMemsetD32Async"(to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    }
    optional {
        fn cuLaunchKernelEx = "cuLaunchKernelEx"(
            config: *const CUlaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void
        );
        fn cuStreamWriteValue64 = "cuStreamWriteValue64_v2"(stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint);
        fn cuStreamWaitValue64 = "cuStreamWaitValue64_v2"(stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint);
        fn cuTensorMapEncodeTiled = "cuTensorMapEncodeTiled"(
            map: *mut CUtensorMap, element: c_uint, rank: c_uint, address: *mut c_void, extents: *const u64, strides: *const u64,
            tile: *const u32, steps: *const u32, interleave: c_uint, swizzle: c_uint, l2_promotion: c_uint, out_of_bounds: c_uint
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_required_symbol_is_named() {
        // SAFETY: nothing is called through the table.
        let missing = unsafe {
            Table::resolve(|name| {
                if name == "cuStreamQuery" { std::ptr::null_mut() } else { 8 as *mut c_void }
            })
        };
        assert_eq!(missing.err(), Some("cuStreamQuery"));
    }

    #[test]
    fn a_missing_optional_symbol_is_none() {
        // SAFETY: nothing is called through the table.
        let table = unsafe {
            Table::resolve(|name| {
                if name.ends_with("Value64_v2") { std::ptr::null_mut() } else { 8 as *mut c_void }
            })
        };
        let table = table.expect("only optional symbols are missing");
        assert!(
            table.cuStreamWriteValue64.is_none()
                && table.cuStreamWaitValue64.is_none()
                && table.cuLaunchKernelEx.is_some()
        );
    }
}

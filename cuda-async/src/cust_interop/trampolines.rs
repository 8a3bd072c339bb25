//! The driver symbols that `cust` links against, defined here so that nothing is linked.
//!
//! `cust` declares the driver's functions as externs and wants them at link time. Each symbol is a
//! trampoline: it jumps through a slot that starts out empty; an empty slot is filled by looking
//! the function up in the driver that [`Driver`](crate::driver::Driver) opens. Arguments are passed
//! on untouched: the trampolines know no signatures. Without a driver a call answers
//! `CUDA_ERROR_NO_DEVICE`, without the one function `CUDA_ERROR_NOT_SUPPORTED`; a program with this
//! feature still starts everywhere.

use std::arch::naked_asm;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::driver::sys::{CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS, CUresult};
use crate::driver::{Driver, DriverError};

/// Defines `SLOTS`, `NAMES` and one trampoline a name.
macro_rules! trampolines {
    ($($name:ident)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Index { $($name,)* Count }

        const NAMES: [&str; Index::Count as usize] = [$(stringify!($name)),*];

        static SLOTS: [AtomicPtr<c_void>; Index::Count as usize] = [const { AtomicPtr::new(std::ptr::null_mut()) }; Index::Count as usize];

        $(
            /// # Safety
            /// That of the driver's function of this name.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "mov rax, qword ptr [rip + {slots} + {offset}]",
                    "test rax, rax",
                    "jz 2f",
                    "jmp rax",
                    "2:",
                    "mov eax, {index}",
                    "jmp {fill}",
                    slots = sym SLOTS,
                    offset = const 8 * Index::$name as usize,
                    index = const Index::$name as usize,
                    fill = sym fill_and_jump,
                )
            }
        )*
    };
}

/// Fills the slot whose index is in `eax` and goes on to what it holds. The six integer argument
/// registers are kept; no driver function takes a floating-point argument by value, and arguments
/// on the stack are not touched.
///
/// # Safety
/// Reached from a trampoline only.
#[unsafe(naked)]
unsafe extern "C" fn fill_and_jump() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        // The return address and six registers: eight more bytes make the stack aligned for a call.
        "sub rsp, 8",
        "mov edi, eax",
        "call {resolve}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        resolve = sym resolve,
    )
}

extern "C" fn resolve(index: u32) -> *const c_void {
    let (name, slot) = (NAMES[index as usize], &SLOTS[index as usize]);
    let address = match (Driver::symbol(name), Driver::get()) {
        (Some(address), _) => address.as_ptr(),
        (None, Err(DriverError::NoLibrary { .. })) if name == "cuGetErrorString" => {
            no_driver_text as *mut c_void
        }
        (None, Err(DriverError::NoLibrary { .. })) => no_driver as *mut c_void,
        (None, _) => not_supported as *mut c_void,
    };
    slot.store(address, Ordering::Relaxed);
    address
}

extern "C" fn no_driver() -> CUresult {
    CUDA_ERROR_NO_DEVICE
}

extern "C" fn not_supported() -> CUresult {
    CUDA_ERROR_NOT_SUPPORTED
}

/// `cust` prints its errors through this function and reads the pointer whatever the answer is.
unsafe extern "C" fn no_driver_text(_error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: the signature of `cuGetErrorString`, whose caller passes an out-pointer.
    unsafe { *text = c"the CUDA driver is not installed, or finds no device".as_ptr() };
    CUDA_SUCCESS
}

trampolines! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2
    cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags
    cuCtxGetLimit cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2
    cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetLimit cuCtxSetSharedMemConfig
    cuCtxSynchronize cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount
    cuDeviceGetName cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion
    cuEventCreate cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord
    cuEventSynchronize cuExternalMemoryGetMappedBuffer cuFuncGetAttribute cuFuncSetCacheConfig
    cuFuncSetSharedMemConfig cuGetErrorString cuGraphAddKernelNode cuGraphCreate
    cuGraphDebugDotPrint cuGraphDestroy cuGraphGetEdges cuGraphGetNodes cuGraphKernelNodeGetParams
    cuGraphNodeGetType cuImportExternalMemory cuInit cuLaunchHostFunc cuLaunchKernel
    cuLinkAddData_v2 cuLinkComplete cuLinkCreate_v2 cuLinkDestroy cuMemAdvise cuMemAllocAsync
    cuMemAllocHost_v2 cuMemAllocManaged cuMemAlloc_v2 cuMemFreeAsync cuMemFreeHost cuMemFree_v2
    cuMemGetInfo_v2 cuMemPrefetchAsync cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoDAsync_v2
    cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoH_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2
    cuMemcpyHtoD_v2 cuMemsetD16Async cuMemsetD16_v2 cuMemsetD32Async cuMemsetD32_v2
    cuMemsetD8Async cuMemsetD8_v2 cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleLoad
    cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize
    cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetFlags cuStreamGetPriority
    cuStreamSynchronize cuStreamWaitEvent cuSurfObjectCreate cuSurfObjectDestroy
    cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn cuInit(flags: u32) -> CUresult;
    }

    /// A function of eleven arguments, as `cuLaunchKernel` has.
    extern "C" fn eleven(
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
        i: u64,
        j: u64,
        k: u64,
    ) -> u64 {
        [a, b, c, d, e, f, g, h, i, j, k].iter().fold(0, |sum, digit| sum * 16 + digit)
    }

    #[test]
    fn arguments_pass_through_registers_and_stack() {
        // The slot is filled by hand, so that no driver is needed; the trampoline is the real one.
        let slot = &SLOTS[Index::cuSurfObjectCreate as usize];
        slot.store(eleven as *mut c_void, Ordering::Relaxed);
        type Eleven =
            unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
        // SAFETY: a trampoline has the signature of what its slot holds.
        let sum = unsafe {
            std::mem::transmute::<*const (), Eleven>(cuSurfObjectCreate as *const ())(
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
            )
        };
        assert_eq!(sum, 0x123_4567_89AB);
    }

    #[test]
    fn the_first_call_through_an_empty_slot_keeps_its_arguments() {
        // `cuGetErrorString` without a driver is a function of ours that writes through its second
        // argument; with a driver it is the driver's.
        let mut text: *const c_char = std::ptr::null();
        type GetErrorString = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;
        // SAFETY: the signature of that function.
        let code = unsafe {
            std::mem::transmute::<*const (), GetErrorString>(cuGetErrorString as *const ())(
                1,
                &raw mut text,
            )
        };
        assert_eq!(code, CUDA_SUCCESS);
        assert!(!text.is_null());
    }

    #[test]
    fn without_a_driver_a_call_answers_and_does_not_crash() {
        // SAFETY: no preconditions.
        let code = unsafe { cuInit(0) };
        match Driver::get() {
            Ok(_) => assert_eq!(code, CUDA_SUCCESS),
            Err(_) => assert_eq!(code, CUDA_ERROR_NO_DEVICE),
        }
    }
}

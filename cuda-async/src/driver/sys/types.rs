//! Handles, constants and structures of the CUDA driver's binary interface, as far as we call it.
//!
//! Names are the driver's own, so that its reference manual applies. Enumerations are plain
//! integers: the driver may answer with a value that is newer than this file. Layouts are checked
//! by the tests at the end. No function is called here.
#![allow(
    non_camel_case_types,
    missing_docs,
    reason = "the driver's own names; its reference manual describes them"
)]

use std::ffi::{c_int, c_uint, c_void};

/// What every driver call answers.
pub type CUresult = c_uint;
/// Ordinal-like handle of a device.
pub type CUdevice = c_int;
/// An address in device memory (or in host memory mapped into the device's address space).
pub type CUdeviceptr = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// The null handle: for a stream the legacy default stream, otherwise no object.
            pub const NULL: Self = Self(std::ptr::null_mut());
        }

        // SAFETY: the driver's handles may be used from any thread; the value itself is an opaque
        // number to us.
        unsafe impl Send for $name {}
        // SAFETY: as above: nothing behind the pointer is read or written on our side.
        unsafe impl Sync for $name {}
    )*};
}

handles! {
    /// A context: an address space with its modules and streams on one device.
    CUcontext;
    /// Loaded code.
    CUmodule;
    /// A kernel of a module.
    CUfunction;
    /// An in-order queue of device work.
    CUstream;
    /// A marker in a stream.
    CUevent;
    /// A stream-ordered memory pool.
    CUmemoryPool;
}

macro_rules! constants {
    ($($group:ident: $ty:ty { $($name:ident = $value:expr;)* })*) => {
        $($(pub const $name: $ty = $value;)*)*
    };
}

constants! {
    results: CUresult {
        CUDA_SUCCESS = 0;
        CUDA_ERROR_INVALID_VALUE = 1;
        CUDA_ERROR_OUT_OF_MEMORY = 2;
        CUDA_ERROR_DEINITIALIZED = 4;
        CUDA_ERROR_NO_DEVICE = 100;
        CUDA_ERROR_INVALID_DEVICE = 101;
        CUDA_ERROR_INVALID_CONTEXT = 201;
        CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
        CUDA_ERROR_ECC_UNCORRECTABLE = 214;
        CUDA_ERROR_INVALID_PTX = 218;
        CUDA_ERROR_NVLINK_UNCORRECTABLE = 220;
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
        CUDA_ERROR_CONTAINED = 226;
        CUDA_ERROR_INVALID_HANDLE = 400;
        CUDA_ERROR_NOT_FOUND = 500;
        CUDA_ERROR_NOT_READY = 600;
        CUDA_ERROR_ILLEGAL_ADDRESS = 700;
        CUDA_ERROR_LAUNCH_TIMEOUT = 702;
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704;
        CUDA_ERROR_ASSERT = 710;
        CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
        CUDA_ERROR_ILLEGAL_INSTRUCTION = 715;
        CUDA_ERROR_MISALIGNED_ADDRESS = 716;
        CUDA_ERROR_INVALID_ADDRESS_SPACE = 717;
        CUDA_ERROR_INVALID_PC = 718;
        CUDA_ERROR_LAUNCH_FAILED = 719;
        CUDA_ERROR_TENSOR_MEMORY_LEAK = 721;
        CUDA_ERROR_NOT_SUPPORTED = 801;
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
    }
    device_attributes: c_int {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1;
        CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10;
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38;
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41;
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;
        CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122;
    }
    function_attributes: c_int {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1;
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3;
        CU_FUNC_ATTRIBUTE_NUM_REGS = 4;
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14;
    }
    launch_attributes: c_uint {
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4;
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;
    }
    flags: c_uint {
        CU_STREAM_NON_BLOCKING = 1;
        CU_EVENT_DEFAULT = 0;
        CU_EVENT_DISABLE_TIMING = 2;
        CU_MEMHOSTALLOC_PORTABLE = 1;
        CU_MEMHOSTALLOC_DEVICEMAP = 2;
        CU_STREAM_WRITE_VALUE_DEFAULT = 0;
        CU_STREAM_WAIT_VALUE_GEQ = 0;
    }
    jit_options: c_uint {
        CU_JIT_INFO_LOG_BUFFER = 3;
        CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4;
        CU_JIT_ERROR_LOG_BUFFER = 5;
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
    }
    memory: c_uint {
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5;
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7;
        CU_MEM_ALLOCATION_TYPE_PINNED = 1;
        CU_MEM_HANDLE_TYPE_NONE = 0;
        CU_MEM_LOCATION_TYPE_DEVICE = 1;
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
    }
    tensor_map: c_uint {
        CU_TENSOR_MAP_INTERLEAVE_NONE = 0;
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3;
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0;
    }
    capture: c_uint {
        CU_STREAM_CAPTURE_STATUS_NONE = 0;
    }
}

/// Ends the `extra` list of a launch.
pub const CU_LAUNCH_PARAM_END: *mut c_void = std::ptr::null_mut();
/// In `extra`: the next entry points at the packed kernel parameters.
pub const CU_LAUNCH_PARAM_BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
/// In `extra`: the next entry points at the parameters' size (`size_t`).
pub const CU_LAUNCH_PARAM_BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);

/// The value of a launch attribute: a union of 64 bytes, kept as words because we fill two of its
/// members only.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CUlaunchAttributeValue(pub [u64; 8]);

impl CUlaunchAttributeValue {
    /// `programmaticStreamSerializationAllowed`, an `int` at the start of the union.
    pub const fn programmatic_stream_serialization() -> Self {
        Self::words(1, 0, 0)
    }

    /// `clusterDim`: three `unsigned int` from the start of the union.
    pub const fn cluster([x, y, z]: [u32; 3]) -> Self {
        Self::words(x, y, z)
    }

    const fn words(a: u32, b: u32, c: u32) -> Self {
        let (low, high) = if cfg!(target_endian = "little") {
            (a as u64 | (b as u64) << 32, c as u64)
        } else {
            ((a as u64) << 32 | b as u64, (c as u64) << 32)
        };
        Self([low, high, 0, 0, 0, 0, 0, 0])
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUlaunchAttribute {
    pub id: c_uint,
    pub pad: [u8; 4],
    pub value: CUlaunchAttributeValue,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    pub grid_dim: [c_uint; 3],
    pub block_dim: [c_uint; 3],
    pub shared_mem_bytes: c_uint,
    pub stream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub num_attrs: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUmemLocation {
    pub kind: c_uint,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUmemPoolProps {
    pub alloc_type: c_uint,
    pub handle_types: c_uint,
    pub location: CUmemLocation,
    pub win32_security_attributes: *mut c_void,
    /// 0 = as much as the device has.
    pub max_size: usize,
    /// Must be zero.
    pub reserved: [u8; 56],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUmemAccessDesc {
    pub location: CUmemLocation,
    pub flags: c_uint,
}

/// An opaque tensor descriptor.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUtensorMap(pub [u8; 128]);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, offset_of, size_of};

    /// Sizes and offsets that a C compiler reports for the driver's header, releases 12.9 and 13.x,
    /// on 64-bit targets.
    #[test]
    fn layouts_are_the_drivers() {
        assert_eq!((size_of::<CUlaunchConfig>(), align_of::<CUlaunchConfig>()), (56, 8));
        assert_eq!(offset_of!(CUlaunchConfig, block_dim), 12);
        assert_eq!(offset_of!(CUlaunchConfig, shared_mem_bytes), 24);
        assert_eq!(offset_of!(CUlaunchConfig, stream), 32);
        assert_eq!(offset_of!(CUlaunchConfig, attrs), 40);
        assert_eq!(offset_of!(CUlaunchConfig, num_attrs), 48);
        assert_eq!((size_of::<CUlaunchAttribute>(), align_of::<CUlaunchAttribute>()), (72, 8));
        assert_eq!(offset_of!(CUlaunchAttribute, value), 8);
        assert_eq!((size_of::<CUmemPoolProps>(), align_of::<CUmemPoolProps>()), (88, 8));
        assert_eq!(offset_of!(CUmemPoolProps, location), 8);
        assert_eq!(offset_of!(CUmemPoolProps, win32_security_attributes), 16);
        assert_eq!(offset_of!(CUmemPoolProps, max_size), 24);
        assert_eq!((size_of::<CUmemAccessDesc>(), align_of::<CUmemAccessDesc>()), (12, 4));
        assert_eq!((size_of::<CUmemLocation>(), align_of::<CUmemLocation>()), (8, 4));
        assert_eq!((size_of::<CUtensorMap>(), align_of::<CUtensorMap>()), (128, 128));
        assert_eq!(size_of::<CUstream>(), size_of::<*mut c_void>());
    }

    #[test]
    fn attribute_values_lie_as_c_lays_the_union_out() {
        let bytes = |value: CUlaunchAttributeValue| -> Vec<u8> {
            value.0.iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        let cluster = bytes(CUlaunchAttributeValue::cluster([2, 3, 4]));
        let expected: Vec<u8> = [2u32, 3, 4].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(&cluster[..12], &expected[..]);
        let programmatic = bytes(CUlaunchAttributeValue::programmatic_stream_serialization());
        assert_eq!(&programmatic[..4], &1i32.to_ne_bytes());
        assert!(programmatic[4..].iter().all(|&byte| byte == 0));
    }
}

//! Descriptors of tiled tensors for the bulk tensor copy engine (sm_90 and up). Encoding one takes
//! 0.1 us and no device work, so it can be done at every launch.

use super::error::DriverError;
use super::load::Driver;
use super::result::Answer;
use super::sys::{self, CUdeviceptr, CUtensorMap};

/// Axes of a tensor map at most.
pub const TENSOR_MAP_MAX_RANK: usize = 5;

/// The type of a tensor map's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TensorMapElement {
    /// Any 8-bit element.
    U8 = 0,
    /// 16-bit unsigned integer.
    U16 = 1,
    /// 32-bit unsigned integer.
    U32 = 2,
    /// 32-bit integer.
    I32 = 3,
    /// 64-bit unsigned integer.
    U64 = 4,
    /// 64-bit integer.
    I64 = 5,
    /// IEEE half precision.
    F16 = 6,
    /// Single precision.
    F32 = 7,
    /// Double precision.
    F64 = 8,
    /// bfloat16.
    Bf16 = 9,
}

/// How 16-byte pieces are permuted in shared memory so that columns don't share banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TensorMapSwizzle {
    /// Not at all.
    None = 0,
    /// Within 32 bytes.
    Bytes32 = 1,
    /// Within 64 bytes.
    Bytes64 = 2,
    /// Within 128 bytes.
    Bytes128 = 3,
}

/// What a tensor map describes. Axes go from the fastest to the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMapSpec<'a> {
    /// The elements.
    pub element: TensorMapElement,
    /// Where the tensor starts: 16-byte aligned.
    pub address: CUdeviceptr,
    /// Elements along each axis.
    pub extents: &'a [u64],
    /// Bytes between neighbours along each axis but the first: multiples of 16.
    pub strides: &'a [u64],
    /// Elements of a box along each axis: at most 256.
    pub tile: &'a [u32],
    /// The permutation in shared memory.
    pub swizzle: TensorMapSwizzle,
}

/// An encoded descriptor: 128 opaque bytes, passed to a kernel by value (`__grid_constant__`,
/// aligned to 64).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap(CUtensorMap);

impl TensorMap {
    /// Encodes `spec`. Out-of-bounds elements are read as zero and not written.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what the hardware can't describe; `CUDA_ERROR_NOT_SUPPORTED`
    /// by a driver older than CUDA 12.0.
    pub fn encode(driver: Driver, spec: &TensorMapSpec<'_>) -> Result<Self, DriverError> {
        let rank = spec.extents.len();
        let fits = (1..=TENSOR_MAP_MAX_RANK).contains(&rank)
            && spec.strides.len() + 1 == rank
            && spec.tile.len() == rank;
        let answer = if fits {
            driver.encode_tiled(spec)
        } else {
            Err(driver.error("cuTensorMapEncodeTiled", sys::CUDA_ERROR_INVALID_VALUE))
        };
        answer.map(Self).map_err(DriverError::Call)
    }

    /// The descriptor's bytes, as a kernel's parameter.
    pub fn as_bytes(&self) -> &[u8; 128] {
        &self.0.0
    }
}

impl Driver {
    /// `spec`'s lists must fit each other.
    fn encode_tiled(self, spec: &TensorMapSpec<'_>) -> Answer<CUtensorMap> {
        let call = "cuTensorMapEncodeTiled";
        let Some(encode) = self.table().cuTensorMapEncodeTiled else {
            return Err(self.error(call, sys::CUDA_ERROR_NOT_SUPPORTED));
        };
        let mut map = CUtensorMap([0; 128]);
        let steps = [1u32; TENSOR_MAP_MAX_RANK];
        // SAFETY: lists are as long as the rank says (strides one less); the address is encoded,
        // not read.
        let code = unsafe {
            encode(
                &raw mut map,
                spec.element as u32,
                spec.extents.len() as u32,
                spec.address as usize as *mut _,
                spec.extents.as_ptr(),
                spec.strides.as_ptr(),
                spec.tile.as_ptr(),
                steps.as_ptr(),
                sys::CU_TENSOR_MAP_INTERLEAVE_NONE,
                spec.swizzle as u32,
                sys::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        if code == sys::CUDA_SUCCESS { Ok(map) } else { Err(self.error(call, code)) }
    }
}

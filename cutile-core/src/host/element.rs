//! Element types as the host stores them: size, name, and the few values that creation needs.
//!
//! What a kernel may do with an element type is said in `dsl/element.rs`; nothing here computes.

use cuda_async::DeviceValue;
use half::{bf16, f16};

use crate::dsl::{self, f8e4m3, f8e5m2, tf32};
use crate::launch::{Arg, KernelArg, SealedArg};

/// The element type of a tensor, as a value: `DType::F32`, displayed as `f32`.
pub use cutile_ir::Element as DType;

mod sealed {
    pub trait Sealed {}
}

/// A type whose values tensors hold: `f64 f32 f16 bf16 tf32 f8e4m3 f8e5m2 i8 i16 i32 i64 u8 u16 u32 u64 bool`.
///
/// The memory of a value on the host is the memory of an element on a device, little-endian; `bool` is one byte, 0 or 1.
/// The trait is sealed: these types and no others.
///
/// ```
/// use cutile_core::{DType, HostElement};
/// assert_eq!(<f32 as HostElement>::DTYPE, DType::F32);
/// assert_eq!(f32::DTYPE.to_string(), "f32");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    label = "expected a number or `bool`: `f32`, `f16`, `i64`, `u8`, .."
)]
pub trait HostElement:
    dsl::Element + DeviceValue + KernelArg + PartialEq + std::fmt::Debug + sealed::Sealed
{
    /// The type as a value.
    const DTYPE: DType;
    /// Zero, or false.
    const ZERO: Self;
    /// One, or true.
    const ONE: Self;

    /// The bits, in the low bytes.
    fn bits(self) -> u64;

    /// The element that these bytes are, as many as the type has; every `bool` but 0 is true.
    fn from_bytes(bytes: &[u8]) -> Self;
}

/// Elements with arithmetic: integers and `f16`, `bf16`, `f32`, `f64`.
pub trait HostNumber: HostElement + dsl::Number {
    /// The number, rounded for floats; `None` where an integer type does not hold it.
    fn from_index(index: usize) -> Option<Self>;
}

/// Floats with arithmetic: `f16`, `bf16`, `f32`, `f64`.
pub trait HostFloat: HostNumber + dsl::Float {
    /// Random words that one uniform number takes, 1 or 2.
    const UNIFORM_WORDS: usize;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The value.
    fn to_f64(self) -> f64;
    /// A number in [0, 1) from [`UNIFORM_WORDS`](HostFloat::UNIFORM_WORDS) random words: the leading bits, as many as the
    /// type's precision, so that no rounding can reach 1.
    fn uniform(words: &[u32]) -> Self;
}

macro_rules! host_elements {
    ($($t:ty, $dtype:ident, $zero:expr, $one:expr, $bits:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl SealedArg for $t {
            fn arg(&self) -> Arg<'_> {
                Arg::Scalar { dtype: DType::$dtype, bits: self.bits() }
            }
        }
        impl HostElement for $t {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            fn bits(self) -> u64 {
                let bits: fn($t) -> u64 = $bits;
                bits(self)
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(bytes);
                let from: fn([u8; size_of::<$t>()]) -> $t = $from;
                from(own)
            }
        }
    )*};
}

host_elements! {
    f64, F64, 0.0, 1.0, |v| v.to_bits(), f64::from_ne_bytes;
    f32, F32, 0.0, 1.0, |v| v.to_bits().into(), f32::from_ne_bytes;
    f16, F16, f16::ZERO, f16::ONE, |v| v.to_bits().into(), f16::from_ne_bytes;
    bf16, BF16, bf16::ZERO, bf16::ONE, |v| v.to_bits().into(), bf16::from_ne_bytes;
    tf32, TF32, tf32::from_f32_bits(0.0), tf32::from_f32_bits(1.0), |v| v.to_f32().to_bits().into(),
        |bytes| tf32::from_f32_bits(f32::from_ne_bytes(bytes));
    f8e4m3, F8E4M3, f8e4m3::from_bits(0), f8e4m3::from_bits(0x38), |v| v.to_bits().into(), |[b]| f8e4m3::from_bits(b);
    f8e5m2, F8E5M2, f8e5m2::from_bits(0), f8e5m2::from_bits(0x3c), |v| v.to_bits().into(), |[b]| f8e5m2::from_bits(b);
    bool, Bool, false, true, |v| v.into(), |[b]| b != 0;
}

macro_rules! host_integers {
    ($($t:ident $unsigned:ident $dtype:ident),*) => {
        host_elements! { $($t, $dtype, 0, 1, |v| (v as $unsigned).into(), $t::from_ne_bytes;)* }
        $(impl HostNumber for $t {
            fn from_index(index: usize) -> Option<Self> {
                index.try_into().ok()
            }
        })*
    };
}
host_integers!(i8 u8 I8, i16 u16 I16, i32 u32 I32, i64 u64 I64, u8 u8 U8, u16 u16 U16, u32 u32 U32, u64 u64 U64);

macro_rules! host_floats {
    ($($t:ident, $words:literal, $from:expr, $uniform:expr;)*) => {$(
        impl HostNumber for $t {
            fn from_index(index: usize) -> Option<Self> {
                Some(Self::from_f64(index as f64))
            }
        }
        impl HostFloat for $t {
            const UNIFORM_WORDS: usize = $words;

            fn from_f64(value: f64) -> Self {
                let from: fn(f64) -> $t = $from;
                from(value)
            }

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn uniform(words: &[u32]) -> Self {
                let uniform: fn(&[u32]) -> f64 = $uniform;
                Self::from_f64(uniform(words))
            }
        }
    )*};
}
host_floats! {
    f64, 2, |v| v, |w| ((u64::from(w[0]) << 32 | u64::from(w[1])) >> 11) as f64 / (1u64 << 53) as f64;
    f32, 1, |v| v as f32, |w| f64::from(w[0] >> 8) / (1 << 24) as f64;
    f16, 1, f16::from_f64, |w| f64::from(w[0] >> 21) / 2048.0;
    bf16, 1, bf16::from_f64, |w| f64::from(w[0] >> 24) / 256.0;
}

impl DeviceValue for tf32 {}
impl DeviceValue for f8e4m3 {}
impl DeviceValue for f8e5m2 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_random_word_stays_below_one() {
        let ones = [u32::MAX; 2];
        assert!(f64::uniform(&ones) < 1.0);
        assert!(f32::uniform(&ones) < 1.0);
        assert!(f16::uniform(&ones) < f16::ONE);
        assert!(bf16::uniform(&ones) < bf16::ONE);
        assert_eq!(f32::uniform(&[1 << 31]), 0.5);
    }

    #[test]
    fn bits_of_negative_integers_stay_in_their_width() {
        assert_eq!((-1i8).bits(), 0xff);
        assert_eq!((-1i32).bits(), 0xffff_ffff);
        assert_eq!(f32::ONE.bits(), 0x3f80_0000);
    }

    #[test]
    fn sizes_on_host_and_device_agree() {
        fn same<T: HostElement>() {
            assert_eq!(size_of::<T>(), T::DTYPE.bytes(), "{}", T::DTYPE);
        }
        same::<f64>();
        same::<f32>();
        same::<f16>();
        same::<bf16>();
        same::<tf32>();
        same::<f8e4m3>();
        same::<f8e5m2>();
        same::<bool>();
        same::<i8>();
        same::<u64>();
    }

    #[test]
    fn an_index_that_does_not_fit_is_refused() {
        assert_eq!(u8::from_index(255), Some(255));
        assert_eq!(u8::from_index(256), None);
        assert_eq!(f16::from_index(2048), Some(f16::from_f32(2048.0)));
    }
}

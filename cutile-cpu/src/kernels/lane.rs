//! One element as memory holds it: the storage type behind each [`Element`], the narrow float
//! formats, and the conversion between any two. Nothing here knows tiles.

use cutile_ir::Element;
use half::{bf16, f16};

/// A float format narrower than f32: how to round to it.
#[derive(Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// The largest finite magnitude's bits.
    largest: u32,
    /// What stands above it: infinity's bits, or `largest` for formats that saturate.
    beyond: u32,
    nan: u32,
}

const F16: Format =
    Format { exponent_bits: 5, mantissa_bits: 10, largest: 0x7bff, beyond: 0x7c00, nan: 0x7e00 };
const BF16: Format =
    Format { exponent_bits: 8, mantissa_bits: 7, largest: 0x7f7f, beyond: 0x7f80, nan: 0x7fc0 };
const TF32: Format =
    Format { exponent_bits: 8, mantissa_bits: 10, largest: 0x3fbff, beyond: 0x3fc00, nan: 0x3fe00 };
const E4M3: Format =
    Format { exponent_bits: 4, mantissa_bits: 3, largest: 0x7e, beyond: 0x7e, nan: 0x7f };
const E5M2: Format =
    Format { exponent_bits: 5, mantissa_bits: 2, largest: 0x7b, beyond: 0x7b, nan: 0x7f };

impl Format {
    /// Rounds to nearest, ties to even.
    fn round(self, x: f64) -> u32 {
        let Format { exponent_bits, mantissa_bits, .. } = self;
        let sign = u32::from(x.is_sign_negative()) << (exponent_bits + mantissa_bits);
        if x.is_nan() {
            return sign | self.nan;
        }
        let bits = x.abs().to_bits();
        let exponent = (bits >> 52) as i32 - 1023;
        let smallest_normal = 2 - (1 << (exponent_bits - 1));
        let below = (smallest_normal - exponent).max(0) as u32;
        // The bits that go: at 54 or more of 53 the value is under half of the smallest subnormal.
        let shift = 52 - mantissa_bits + below;
        if exponent == -1023 || shift > 53 {
            return sign;
        }
        let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
        let kept = significand >> shift;
        let gone = significand & ((1 << shift) - 1);
        let half = 1u64 << (shift - 1);
        let up = gone > half || (gone == half && kept & 1 == 1);
        // A carry out of the mantissa counts the exponent up, as it must.
        let base = ((exponent - smallest_normal).max(0) as u64) << mantissa_bits;
        let magnitude = base + kept + u64::from(up);
        let magnitude =
            if magnitude > self.largest.into() { self.beyond } else { magnitude as u32 };
        sign | magnitude
    }
}

/// f8e4m3 values as the bits of f32, by their own bits.
static E4M3_VALUES: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (exponent, mantissa) = ((i >> 3) & 15, i & 7);
        let magnitude = if i & 0x7f == 0x7f {
            f32::NAN
        } else if exponent == 0 {
            mantissa as f32 / 512.0
        } else {
            // (1 + mantissa / 8) * 2^(exponent - 7)
            f32::from_bits(((exponent as u32 + 120) << 23) | ((mantissa as u32) << 20))
        };
        table[i] = magnitude.to_bits() | ((i as u32 >> 7) << 31);
        i += 1;
    }
    table
};

/// A tf32 number: an f32 of which `mma` sees 10 bits of mantissa.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Tf32(pub(crate) u32);

/// An f8e4m3 number.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E4m3(u8);

/// An f8e5m2 number.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E5m2(u8);

/// A truth value in memory: not a `bool`, since memory may hold any byte. Not zero is true.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bool(pub(crate) u8);

impl Bool {
    pub(crate) fn holds(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(b: bool) -> Bool {
        Bool(b.into())
    }
}

/// A storage type.
pub(crate) trait Lane: Copy + Send + Sync + 'static {
    /// The value, if f64 holds it; else rounded to odd, so that rounding once more is as good as
    /// rounding the value itself (Boldo and Melquiond, 2008).
    fn to_f64_odd(self) -> f64;
}

/// A float format narrower than f32: every value is an f32.
pub(crate) trait Narrow: Lane {
    fn widen(self) -> f32;
    /// To nearest even.
    fn round(x: f64) -> Self;
}

macro_rules! narrow {
    ($($t:ty, |$x:ident| $widen:expr, |$r:ident| $round:expr;)*) => {$(
        impl Narrow for $t {
            #[inline(always)]
            fn widen(self) -> f32 { let $x = self; $widen }
            #[inline(always)]
            fn round($r: f64) -> Self { $round }
        }
        impl Lane for $t {
            #[inline(always)]
            fn to_f64_odd(self) -> f64 { self.widen().into() }
        }
    )*};
}
narrow! {
    f16, |x| x.to_f32(), |r| f16::from_bits(F16.round(r) as u16);
    bf16, |x| f32::from_bits(u32::from(x.to_bits()) << 16), |r| bf16::from_bits(BF16.round(r) as u16);
    Tf32, |x| f32::from_bits(x.0), |r| Tf32(TF32.round(r) << 13);
    E4m3, |x| f32::from_bits(E4M3_VALUES[x.0 as usize]), |r| E4m3(E4M3.round(r) as u8);
    E5m2, |x| f16::from_bits(u16::from(x.0) << 8).to_f32(), |r| E5m2(E5M2.round(r) as u8);
}

macro_rules! exact_lane {
    ($($t:ty)*) => {$(
        impl Lane for $t {
            #[inline(always)]
            fn to_f64_odd(self) -> f64 { self as f64 }
        }
    )*};
}
exact_lane! { f64 f32 i8 i16 i32 u8 u16 u32 }

impl Lane for u64 {
    #[inline(always)]
    fn to_f64_odd(self) -> f64 {
        // 53 bits are exact; of larger numbers the low 11 go, and any that was set sets the lowest
        // one kept.
        if self >> 53 == 0 {
            self as f64
        } else {
            let sticky = u64::from(self & 0x7ff != 0) << 11;
            ((self & !0x7ff) | sticky) as f64
        }
    }
}

impl Lane for i64 {
    #[inline(always)]
    fn to_f64_odd(self) -> f64 {
        let magnitude = self.unsigned_abs().to_f64_odd();
        if self < 0 { -magnitude } else { magnitude }
    }
}

impl Lane for Bool {
    #[inline(always)]
    fn to_f64_odd(self) -> f64 {
        self.holds().into()
    }
}

/// A conversion as the `convert` operation defines it.
pub(crate) trait Convert<D>: Copy {
    fn convert(self) -> D;

    /// Converts elements of as many.
    fn convert_all(from: &[Self], to: &mut [D]) {
        for (x, y) in from.iter().zip(to) {
            *y = x.convert();
        }
    }
}

/// Converts to every storage type.
pub(crate) trait ConvertAll:
    Convert<f64>
    + Convert<f32>
    + Convert<f16>
    + Convert<bf16>
    + Convert<Tf32>
    + Convert<E4m3>
    + Convert<E5m2>
    + Convert<i8>
    + Convert<i16>
    + Convert<i32>
    + Convert<i64>
    + Convert<u8>
    + Convert<u16>
    + Convert<u32>
    + Convert<u64>
    + Convert<Bool>
{
}
impl<T> ConvertAll for T where
    T: Convert<f64>
        + Convert<f32>
        + Convert<f16>
        + Convert<bf16>
        + Convert<Tf32>
        + Convert<E4m3>
        + Convert<E5m2>
        + Convert<i8>
        + Convert<i16>
        + Convert<i32>
        + Convert<i64>
        + Convert<u8>
        + Convert<u16>
        + Convert<u32>
        + Convert<u64>
        + Convert<Bool>
{
}

macro_rules! convert_native {
    ($($s:ty)*) => {$( convert_native!(@from $s => f64 f32 i8 i16 i32 i64 u8 u16 u32 u64); )*};
    (@from $s:ty => $($d:ty)*) => {
        $(impl Convert<$d> for $s {
            #[inline(always)]
            fn convert(self) -> $d { self as $d }
        })*
        convert_narrow!($s => f16 bf16 Tf32 E4m3 E5m2);
        impl Convert<Bool> for $s {
            #[inline(always)]
            fn convert(self) -> Bool { (self != (0 as $s)).into() }
        }
    };
}
macro_rules! convert_narrow {
    ($s:ty => $($d:ty)*) => {$(
        impl Convert<$d> for $s {
            #[inline(always)]
            fn convert(self) -> $d { <$d as Narrow>::round(self.to_f64_odd()) }
        }
    )*};
}
macro_rules! convert_from_narrow {
    ($($s:ty)*) => {$( convert_from_narrow!(@from $s => f64 i8 i16 i32 i64 u8 u16 u32 u64); )*};
    (@from $s:ty => $($d:ty)*) => {
        $(impl Convert<$d> for $s {
            #[inline(always)]
            fn convert(self) -> $d { self.widen() as $d }
        })*
        convert_narrow!($s => f16 bf16 Tf32 E4m3 E5m2);
        impl Convert<Bool> for $s {
            #[inline(always)]
            fn convert(self) -> Bool { (self.widen() != 0.0).into() }
        }
    };
}
macro_rules! convert_from_bool {
    ($($d:ty)*) => {
        $(impl Convert<$d> for Bool {
            #[inline(always)]
            fn convert(self) -> $d { u8::from(self.holds()) as $d }
        })*
        convert_narrow!(Bool => f16 bf16 Tf32 E4m3 E5m2);
        impl Convert<Bool> for Bool {
            #[inline(always)]
            fn convert(self) -> Bool { self.holds().into() }
        }
    };
}
convert_native! { f64 f32 i8 i16 i32 i64 u8 u16 u32 u64 }
convert_from_narrow! { f16 bf16 Tf32 E4m3 E5m2 }

macro_rules! widen_to_f32 {
    ($($s:ty)*) => {$(
        impl Convert<f32> for $s {
            #[inline(always)]
            fn convert(self) -> f32 { self.widen() }
        }
    )*};
}
widen_to_f32! { bf16 Tf32 E4m3 E5m2 }

impl Convert<f32> for f16 {
    #[inline(always)]
    fn convert(self) -> f32 {
        self.widen()
    }

    fn convert_all(from: &[f16], to: &mut [f32]) {
        // With the processor's own instruction where it has one.
        half::slice::HalfFloatSliceExt::convert_to_f32_slice(from, to);
    }
}
convert_from_bool! { f64 f32 i8 i16 i32 i64 u8 u16 u32 u64 }

/// Runs an expression with `$t` standing for the storage type of an element; `$otherwise` for
/// element types that are added to the IR without a storage type here.
macro_rules! with_lane {
    ($element:expr, $t:ident => $e:expr, $otherwise:expr) => {{
        use ::cutile_ir::Element;
        use ::half::{bf16, f16};
        use $crate::kernels::lane::{Bool, E4m3, E5m2, Tf32};
        match $element {
            Element::F64 => {
                type $t = f64;
                $e
            }
            Element::F32 => {
                type $t = f32;
                $e
            }
            Element::F16 => {
                type $t = f16;
                $e
            }
            Element::BF16 => {
                type $t = bf16;
                $e
            }
            Element::TF32 => {
                type $t = Tf32;
                $e
            }
            Element::F8E4M3 => {
                type $t = E4m3;
                $e
            }
            Element::F8E5M2 => {
                type $t = E5m2;
                $e
            }
            Element::I8 => {
                type $t = i8;
                $e
            }
            Element::I16 => {
                type $t = i16;
                $e
            }
            Element::I32 => {
                type $t = i32;
                $e
            }
            Element::I64 => {
                type $t = i64;
                $e
            }
            Element::U8 => {
                type $t = u8;
                $e
            }
            Element::U16 => {
                type $t = u16;
                $e
            }
            Element::U32 => {
                type $t = u32;
                $e
            }
            Element::U64 => {
                type $t = u64;
                $e
            }
            Element::Bool => {
                type $t = Bool;
                $e
            }
            _ => $otherwise,
        }
    }};
}
pub(crate) use with_lane;

/// The bits of a literal as an element of that type, in the low bytes.
pub(crate) fn literal_bits(literal: cutile_ir::op::Literal, element: Element) -> Option<u64> {
    use cutile_ir::op::Literal;
    fn bits<T: Lane>(v: T) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: a lane is plain old data of at most 8 bytes without padding.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const v).cast(), bytes.as_mut_ptr(), size_of::<T>())
        };
        u64::from_le_bytes(bytes)
    }
    with_lane!(element, T => Some(match literal {
        Literal::Bool(b) => bits(Convert::<T>::convert(Bool::from(b))),
        Literal::Int(n) if element.is_integer() => n as u64 & (u64::MAX >> (64 - element.bits())),
        // Beyond 64 bits no float type tells neighbours apart.
        Literal::Int(n) => match u64::try_from(n.unsigned_abs()) {
            Ok(m) if n < 0 => bits(Convert::<T>::convert(-(m as f64))),
            Ok(m) => bits(Convert::<T>::convert(m)),
            Err(_) => bits(Convert::<T>::convert(n as f64)),
        },
        Literal::Float(b) => bits(Convert::<T>::convert(f64::from_bits(b))),
    }), None)
}

//! Conversions between element types: float to integer saturates and NaN gives 0, integers wrap, floats round once to
//! nearest even, truth values are 0 and 1.

use super::float::{Bf16, F8E4M3, F8E5M2, F16, Narrow, Tf32, to_odd_f32};

/// A value as another element type.
pub trait Convert<To> {
    /// The value.
    fn convert(self) -> To;
}

macro_rules! as_rust_does {
    ($($from:ident)*) => {$(
        as_rust_does!(@to $from; f64 f32 i8 i16 i32 i64 u8 u16 u32 u64);
    )*};
    (@to $from:ident; $($to:ident)*) => {$(
        impl Convert<$to> for $from {
            #[inline(always)]
            fn convert(self) -> $to {
                self as $to
            }
        }
    )*};
}
as_rust_does!(f64 f32 i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! narrow {
    ($($narrow:ident)*) => {$(
        narrow!(@out $narrow; f64 f32 i8 i16 i32 i64 u8 u16 u32 u64);
        narrow!(@between $narrow; F16 Bf16 Tf32 F8E4M3 F8E5M2);

        impl Convert<$narrow> for f32 {
            #[inline(always)]
            fn convert(self) -> $narrow {
                $narrow::from_f32(self)
            }
        }
        impl Convert<$narrow> for f64 {
            #[inline(always)]
            fn convert(self) -> $narrow {
                $narrow::from_f32(to_odd_f32(self))
            }
        }
        narrow!(@exact $narrow; i8 i16 u8 u16 => f32);
        narrow!(@exact $narrow; i32 u32 => f64);
        impl Convert<$narrow> for u64 {
            #[inline(always)]
            fn convert(self) -> $narrow {
                // 53 bits that keep, in the last one, whether any below was set.
                let wide = self >> 53 != 0;
                let kept = if wide { (self >> 11) | (self & 0x7ff != 0) as u64 } else { self };
                $narrow::from_f32(to_odd_f32(kept as f64 * if wide { 2048.0 } else { 1.0 }))
            }
        }
        impl Convert<$narrow> for i64 {
            #[inline(always)]
            fn convert(self) -> $narrow {
                let magnitude: $narrow = self.unsigned_abs().convert();
                $narrow::from_f32(if self < 0 { -magnitude.to_f32() } else { magnitude.to_f32() })
            }
        }
        impl Convert<$narrow> for bool {
            #[inline(always)]
            fn convert(self) -> $narrow {
                $narrow::from_f32(self as u8 as f32)
            }
        }
    )*};
    (@out $narrow:ident; $($to:ident)*) => {$(
        impl Convert<$to> for $narrow {
            #[inline(always)]
            fn convert(self) -> $to {
                self.to_f32() as $to
            }
        }
    )*};
    (@between $narrow:ident; $($to:ident)*) => {$(
        impl Convert<$to> for $narrow {
            #[inline(always)]
            fn convert(self) -> $to {
                $to::from_f32(self.to_f32())
            }
        }
    )*};
    (@exact $narrow:ident; $($from:ident)* => $wide:ident) => {$(
        impl Convert<$narrow> for $from {
            #[inline(always)]
            fn convert(self) -> $narrow {
                <$wide as Convert<$narrow>>::convert(self as $wide)
            }
        }
    )*};
}
narrow!(F16 Bf16 Tf32 F8E4M3 F8E5M2);

macro_rules! from_bool {
    ($($to:ident)*) => {$(
        impl Convert<$to> for bool {
            #[inline(always)]
            fn convert(self) -> $to {
                self as u8 as $to
            }
        }
    )*};
}
from_bool!(f64 f32 i8 i16 i32 i64 u8 u16 u32 u64);

impl Convert<bool> for bool {
    #[inline(always)]
    fn convert(self) -> bool {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to<T, U>(x: T) -> U
    where
        T: Convert<U>,
    {
        x.convert()
    }

    #[test]
    fn integers_round_once_to_narrow_floats() {
        // 2^40 + 2^32 is the middle between two bf16 values; one more is above it.
        let middle = (1i64 << 40) + (1 << 32);
        assert_eq!(to::<i64, Bf16>(middle).to_f32() as i64, 1 << 40);
        assert_eq!(to::<i64, Bf16>(middle + 1).to_f32() as i64, (1 << 40) + (1 << 33));
        assert_eq!(to::<i64, Bf16>(-middle - 1).to_f32() as i64, -(1 << 40) - (1 << 33));
        assert_eq!(to::<u64, F16>(u64::MAX).to_f32(), f32::INFINITY);
        assert_eq!(to::<i32, F16>(2049).to_f32(), 2048.0);
    }

    #[test]
    fn floats_saturate_into_integers() {
        assert_eq!(to::<f32, i8>(1e9), 127);
        assert_eq!(to::<f32, u16>(-3.0), 0);
        assert_eq!(to::<f32, i32>(f32::NAN), 0);
        assert_eq!(to::<F16, i64>(F16(0x7c00)), i64::MAX);
        assert_eq!(to::<i32, u8>(300), 44);
        assert_eq!(to::<bool, F8E4M3>(true).to_f32(), 1.0);
    }
}

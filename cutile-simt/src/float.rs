//! Floats narrower than `f32`, as newtypes over their bits, with the arithmetic of the tile language: computed in `f32`,
//! rounded once. `tf32` and the 8-bit floats only convert.

use super::intrinsics;
use core::cmp::Ordering;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// IEEE half precision.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper half of an `f32`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// An `f32` of which matrix instructions read 10 bits of mantissa.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Tf32(pub f32);

/// 4 bits of exponent, 3 of mantissa, no infinity.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

/// 5 bits of exponent, 2 of mantissa.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F8E5M2(pub u8);

/// A float with an exact way to `f32` and a rounded way back.
pub trait Narrow: Copy {
    /// Exact.
    fn to_f32(self) -> f32;
    /// To nearest, ties to even.
    fn from_f32(x: f32) -> Self;
}

impl Narrow for F16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        intrinsics::f32_from_f16(self.0)
    }
    #[inline(always)]
    fn from_f32(x: f32) -> F16 {
        F16(intrinsics::f16_from_f32(x))
    }
}

impl Narrow for Bf16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
    #[inline(always)]
    fn from_f32(x: f32) -> Bf16 {
        Bf16(intrinsics::bf16_from_f32(x))
    }
}

impl Narrow for Tf32 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.0
    }
    /// 10 bits of mantissa stay.
    #[inline(always)]
    fn from_f32(x: f32) -> Tf32 {
        let bits = x.to_bits();
        if x.is_nan() || x.is_infinite() {
            return Tf32(x);
        }
        let odd = (bits >> 13) & 1;
        Tf32(f32::from_bits(bits.wrapping_add(0xfff + odd) & !0x1fff))
    }
}

/// Rounds to a float of `M` bits of mantissa whose smallest normal exponent is `min_exponent`; the magnitude's bits in the
/// narrow encoding, not yet limited to what the format can hold.
#[inline(always)]
fn narrow_magnitude<const M: u32>(x: f32, min_exponent: i32) -> u32 {
    let magnitude = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    let exponent = (magnitude.to_bits() >> 23) as i32 - 127;
    if exponent < min_exponent {
        // Subnormal: an integer count of the smallest step, which an f32 addition rounds to even.
        let step = f32::from_bits(((127 + 23 - M as i32 + min_exponent) as u32) << 23);
        return (magnitude + step).to_bits().wrapping_sub(step.to_bits());
    }
    let shift = 23 - M;
    let odd = (magnitude.to_bits() >> shift) & 1;
    let rounded = magnitude.to_bits().wrapping_add((1 << (shift - 1)) - 1 + odd) >> shift;
    rounded.wrapping_sub(((126 + min_exponent) as u32) << M)
}

impl Narrow for F8E4M3 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        let sign = (self.0 as u32 & 0x80) << 24;
        let magnitude = self.0 as u32 & 0x7f;
        let value = match magnitude {
            0x7f => f32::NAN,
            0..8 => magnitude as f32 * (1.0 / 512.0),
            _ => f32::from_bits((magnitude << 20) + (120 << 23)),
        };
        f32::from_bits(value.to_bits() | sign)
    }
    /// Saturates at 448.
    #[inline(always)]
    fn from_f32(x: f32) -> F8E4M3 {
        let sign = (x.to_bits() >> 24) as u8 & 0x80;
        if x.is_nan() {
            return F8E4M3(sign | 0x7f);
        }
        let magnitude = narrow_magnitude::<3>(x, -6);
        F8E4M3(sign | if magnitude > 0x7e { 0x7e } else { magnitude as u8 })
    }
}

impl Narrow for F8E5M2 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        F16((self.0 as u16) << 8).to_f32()
    }
    /// Saturates at 57344.
    #[inline(always)]
    fn from_f32(x: f32) -> F8E5M2 {
        let sign = (x.to_bits() >> 24) as u8 & 0x80;
        if x.is_nan() {
            return F8E5M2(sign | 0x7f);
        }
        let magnitude = narrow_magnitude::<2>(x, -14);
        F8E5M2(sign | if magnitude > 0x7b { 0x7b } else { magnitude as u8 })
    }
}

macro_rules! half_arithmetic {
    ($ty:ident) => {
        half_arithmetic!($ty, Add::add, Sub::sub, Mul::mul, Div::div);

        impl Neg for $ty {
            type Output = $ty;
            #[inline(always)]
            fn neg(self) -> $ty {
                $ty(self.0 ^ 0x8000)
            }
        }

        impl PartialEq for $ty {
            #[inline(always)]
            fn eq(&self, other: &$ty) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $ty {
            #[inline(always)]
            fn partial_cmp(&self, other: &$ty) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
            #[inline(always)]
            fn lt(&self, other: &$ty) -> bool {
                self.to_f32() < other.to_f32()
            }
            #[inline(always)]
            fn le(&self, other: &$ty) -> bool {
                self.to_f32() <= other.to_f32()
            }
            #[inline(always)]
            fn gt(&self, other: &$ty) -> bool {
                self.to_f32() > other.to_f32()
            }
            #[inline(always)]
            fn ge(&self, other: &$ty) -> bool {
                self.to_f32() >= other.to_f32()
            }
        }
    };
    ($ty:ident, $($op:ident::$method:ident),*) => {$(
        impl $op for $ty {
            type Output = $ty;
            #[inline(always)]
            fn $method(self, other: $ty) -> $ty {
                $ty::from_f32($op::$method(self.to_f32(), other.to_f32()))
            }
        }
    )*};
}
half_arithmetic!(F16);
half_arithmetic!(Bf16);

/// Two numbers as neighbours, by one instruction.
#[inline(always)]
pub fn f16_pair(a: f32, b: f32) -> [F16; 2] {
    let pair = intrinsics::f16_pair_from_f32(a, b);
    [F16(pair as u16), F16((pair >> 16) as u16)]
}

/// Two numbers as neighbours, by one instruction.
#[inline(always)]
pub fn bf16_pair(a: f32, b: f32) -> [Bf16; 2] {
    let pair = intrinsics::bf16_pair_from_f32(a, b);
    [Bf16(pair as u16), Bf16((pair >> 16) as u16)]
}

/// `f64` to `f32` toward zero with the last bit set where bits were lost: rounding the result once more, to 22 bits or
/// fewer, is the same as rounding the `f64` itself.
#[inline(always)]
pub fn to_odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    let back = nearest as f64;
    if back == x || nearest.is_nan() {
        return nearest;
    }
    let magnitude = |v: f64| f64::from_bits(v.to_bits() & !(1 << 63));
    let bits = nearest.to_bits() - (magnitude(back) > magnitude(x)) as u32;
    f32::from_bits(bits | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The nearest of a format's finite values, ties to the even encoding: the definition, by search.
    fn nearest(x: f32, values: &[(u8, f32)]) -> u8 {
        let best =
            values.iter().map(|(_, v)| (x as f64 - *v as f64).abs()).fold(f64::MAX, f64::min);
        let all: Vec<_> =
            values.iter().filter(|(_, v)| (x as f64 - *v as f64).abs() == best).collect();
        all.iter().find(|(b, _)| b & 1 == 0).unwrap_or(&all[0]).0
    }

    fn check<T: Narrow>(make: fn(u8) -> T, bits: fn(T) -> u8, largest: u8) {
        let values: Vec<(u8, f32)> = (0..=largest).map(|b| (b, make(b).to_f32())).collect();
        for (b, v) in &values {
            assert_eq!(bits(T::from_f32(*v)), *b);
            assert_eq!(bits(T::from_f32(-*v)), *b | 0x80);
        }
        let top = values[largest as usize].1;
        for i in 0..20_000u32 {
            let x = top * 1.2 * (i as f32 / 20_000.0) * (i as f32 / 20_000.0).powi(6);
            assert_eq!(bits(T::from_f32(x)), nearest(x, &values), "{x}");
        }
        assert_eq!(bits(T::from_f32(f32::INFINITY)), largest);
        assert!(T::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn eight_bit_floats_round_to_nearest_and_saturate() {
        assert_eq!(F8E4M3(0x7e).to_f32(), 448.0);
        assert_eq!(F8E5M2(0x7b).to_f32(), 57344.0);
        check(F8E4M3, |f| f.0, 0x7e);
        check(F8E5M2, |f| f.0, 0x7b);
    }

    #[test]
    fn halves_compute_in_f32_and_round_once() {
        let (a, b) = (F16::from_f32(1.0), F16::from_f32(f32::powi(2.0, -11)));
        assert_eq!((a + b).to_f32(), 1.0);
        assert_eq!((a + F16::from_f32(f32::powi(2.0, -10))).to_f32(), 1.0 + f32::powi(2.0, -10));
        assert_eq!((Bf16::from_f32(3.0) / Bf16::from_f32(0.0)).to_f32(), f32::INFINITY);
        assert!(F16(0x7e00) != F16(0x7e00) && F16(0x8000) == F16(0));
    }

    #[test]
    fn odd_rounding_avoids_double_rounding() {
        // Just above the middle of two bf16 values: f32 alone would land on the middle and go to even.
        let x = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -40);
        assert_eq!(Bf16::from_f32(to_odd_f32(x)).to_f32(), 1.0 + f32::powi(2.0, -7));
        assert_eq!(Bf16::from_f32(x as f32).to_f32(), 1.0);
        assert_eq!(to_odd_f32(1e300), f32::MAX);
        assert_eq!(to_odd_f32(-0.5), -0.5);
    }

    #[test]
    fn tf32_keeps_ten_bits() {
        assert_eq!(Tf32::from_f32(1.0 + f32::powi(2.0, -11)).0, 1.0);
        assert_eq!(Tf32::from_f32(1.0 + f32::powi(2.0, -10)).0, 1.0 + f32::powi(2.0, -10));
        assert_eq!(Tf32::from_f32(f32::MAX).0, f32::INFINITY);
    }
}

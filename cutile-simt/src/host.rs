//! Stand-ins, off the GPU, for the intrinsics that concern one lane alone: the same results, by other means.

/// 2^x.
pub(crate) fn exp2_approx_f32(x: f32) -> f32 {
    (x as f64).exp2() as f32
}

/// 1 / sqrt(x).
pub(crate) fn rsqrt_approx_f32(x: f32) -> f32 {
    (1.0 / (x as f64).sqrt()) as f32
}

/// 1 / x, off by one in the last place as the hardware's may be.
pub(crate) fn rcp_approx_f32(x: f32) -> f32 {
    f32::from_bits((1.0 / x).to_bits() ^ 1)
}

/// Correctly rounded square root.
pub(crate) fn sqrt_f32(x: f32) -> f32 {
    x.sqrt()
}

/// Correctly rounded square root.
pub(crate) fn sqrt_f64(x: f64) -> f64 {
    x.sqrt()
}

/// a b + c, rounded once.
pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// a b + c, rounded once.
pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

macro_rules! rounding {
    ($($name32:ident $name64:ident $method:ident;)*) => {$(
        #[doc = concat!("`", stringify!($method), "`.")]
        pub(crate) fn $name32(x: f32) -> f32 {
            x.$method()
        }
        #[doc = concat!("`", stringify!($method), "`.")]
        pub(crate) fn $name64(x: f64) -> f64 {
            x.$method()
        }
    )*};
}
rounding! {
    floor_f32 floor_f64 floor;
    ceil_f32 ceil_f64 ceil;
    trunc_f32 trunc_f64 trunc;
    round_even_f32 round_even_f64 round_ties_even;
}

/// The number that is one, and +0.0 is larger than -0.0.
pub(crate) fn max_f32(a: f32, b: f32) -> f32 {
    if a == b { f32::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) }
}

/// The number that is one, and -0.0 is smaller than +0.0.
pub(crate) fn min_f32(a: f32, b: f32) -> f32 {
    if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) }
}

/// The number that is one, and +0.0 is larger than -0.0.
pub(crate) fn max_f64(a: f64, b: f64) -> f64 {
    if a == b { f64::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) }
}

/// The number that is one, and -0.0 is smaller than +0.0.
pub(crate) fn min_f64(a: f64, b: f64) -> f64 {
    if a == b { f64::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) }
}

/// Exact.
pub(crate) fn f32_from_f16(bits: u16) -> f32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let magnitude = bits as u32 & 0x7fff;
    let value = match magnitude >> 10 {
        0 => magnitude as f32 / 16_777_216.0,
        31 => f32::from_bits((magnitude << 13) | 0x7f80_0000),
        _ => f32::from_bits((magnitude << 13) + (112 << 23)),
    };
    f32::from_bits(value.to_bits() | sign)
}

/// To nearest, ties to even.
pub(crate) fn f16_from_f32(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = x.abs();
    if x.is_nan() {
        return 0x7fff;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // Adding a power of two whose last place is the step wanted rounds to that step.
    let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(-14);
    let step = f32::from_bits(((exponent - 10 + 127 + 23) as u32) << 23);
    let count = ((magnitude + step).to_bits() - step.to_bits()) as i32;
    sign | (((exponent + 14) << 10) + count) as u16
}

/// To nearest, ties to even.
pub(crate) fn bf16_from_f32(x: f32) -> u16 {
    if x.is_nan() {
        return 0x7fff;
    }
    let odd = (x.to_bits() >> 16) & 1;
    ((x.to_bits() + 0x7fff + odd) >> 16) as u16
}

/// Two numbers to nearest, ties to even; the first in the low half.
pub(crate) fn f16_pair_from_f32(low: f32, high: f32) -> u32 {
    u32::from(f16_from_f32(low)) | u32::from(f16_from_f32(high)) << 16
}

/// Two numbers to nearest, ties to even; the first in the low half.
pub(crate) fn bf16_pair_from_f32(low: f32, high: f32) -> u32 {
    u32::from(bf16_from_f32(low)) | u32::from(bf16_from_f32(high)) << 16
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_half_goes_to_f32_and_back() {
        for bits in 0..=u16::MAX {
            let x = super::f32_from_f16(bits);
            if !x.is_nan() {
                assert_eq!(super::f16_from_f32(x), bits);
            }
        }
        assert_eq!(super::f16_from_f32(65519.0), 0x7bff);
        assert_eq!(super::f16_from_f32(f32::powi(2.0, -25)), 0);
        assert_eq!(super::f16_from_f32(1.5 * f32::powi(2.0, -25)), 1);
    }

    #[test]
    fn zeros_are_ordered() {
        assert_eq!(super::max_f32(-0.0, 0.0).to_bits(), 0);
        assert_eq!(super::min_f32(0.0, -0.0).to_bits(), 1 << 31);
        assert_eq!(super::max_f32(f32::NAN, 1.0), 1.0);
    }
}

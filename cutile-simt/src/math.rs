//! Functions of floats that the tile language offers, for every float type that computes: `f64`, `f32`, and the halves,
//! which go through `f32`. Accuracy of `f32`: 2 ulp for `exp`, `exp2`, `log`, `log2`, `rsqrt`, 3 for `tanh`, 4 for `sigmoid`,
//! 1 for `pow`, `sin`, `cos`, `erf`; the others are exact.

use super::float::{Bf16, F16, Narrow};
use super::{intrinsics, math64};

/// Floats that compute.
pub trait Float: Copy {
    /// Absolute value.
    fn abs(x: Self) -> Self;
    /// e^x.
    fn exp(x: Self) -> Self;
    /// 2^x.
    fn exp2(x: Self) -> Self;
    /// Natural logarithm.
    fn log(x: Self) -> Self;
    /// Logarithm to base 2.
    fn log2(x: Self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(x: Self) -> Self;
    /// 1 / sqrt(x).
    fn rsqrt(x: Self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(x: Self) -> Self;
    /// Sine of radians.
    fn sin(x: Self) -> Self;
    /// Cosine of radians.
    fn cos(x: Self) -> Self;
    /// The error function.
    fn erf(x: Self) -> Self;
    /// 1 / (1 + e^-x).
    fn sigmoid(x: Self) -> Self;
    /// Toward minus infinity.
    fn floor(x: Self) -> Self;
    /// Toward plus infinity.
    fn ceil(x: Self) -> Self;
    /// Halves away from zero.
    fn round(x: Self) -> Self;
    /// Halves to even.
    fn round_even(x: Self) -> Self;
    /// Toward zero.
    fn trunc(x: Self) -> Self;
    /// Is a NaN.
    fn is_nan(x: Self) -> bool;
    /// Is an infinity.
    fn is_inf(x: Self) -> bool;
    /// The smaller, ignoring NaN.
    fn min(a: Self, b: Self) -> Self;
    /// The larger, ignoring NaN.
    fn max(a: Self, b: Self) -> Self;
    /// The smaller, NaN if either is.
    fn minimum(a: Self, b: Self) -> Self;
    /// The larger, NaN if either is.
    fn maximum(a: Self, b: Self) -> Self;
    /// x^y.
    fn pow(x: Self, y: Self) -> Self;
    /// a b + c, rounded once.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    /// Remainder with the dividend's sign, exact.
    fn rem(x: Self, y: Self) -> Self;
}

/// What `f32` and `f64` have in common.
macro_rules! by_bits {
    ($ty:ident, $bits:ident, $sqrt:ident, $floor:ident, $ceil:ident, $even:ident, $trunc:ident,
     $min:ident, $max:ident, $fma:ident, $explicit:literal) => {
        #[inline(always)]
        fn abs(x: $ty) -> $ty {
            $ty::from_bits(x.to_bits() & ($bits::MAX >> 1))
        }
        #[inline(always)]
        fn sqrt(x: $ty) -> $ty {
            intrinsics::$sqrt(x)
        }
        #[inline(always)]
        fn floor(x: $ty) -> $ty {
            intrinsics::$floor(x)
        }
        #[inline(always)]
        fn ceil(x: $ty) -> $ty {
            intrinsics::$ceil(x)
        }
        #[inline(always)]
        fn round_even(x: $ty) -> $ty {
            intrinsics::$even(x)
        }
        #[inline(always)]
        fn trunc(x: $ty) -> $ty {
            intrinsics::$trunc(x)
        }
        #[inline(always)]
        fn round(x: $ty) -> $ty {
            // The largest number below a half: adding a half itself would carry 0.49999997 over.
            let below_half = $ty::from_bits((0.5 as $ty).to_bits() - 1);
            let sign = x.to_bits() & !($bits::MAX >> 1);
            intrinsics::$trunc(x + $ty::from_bits(below_half.to_bits() | sign))
        }
        #[inline(always)]
        fn is_nan(x: $ty) -> bool {
            x.is_nan()
        }
        #[inline(always)]
        fn is_inf(x: $ty) -> bool {
            x.is_infinite()
        }
        #[inline(always)]
        fn min(a: $ty, b: $ty) -> $ty {
            intrinsics::$min(a, b)
        }
        #[inline(always)]
        fn max(a: $ty, b: $ty) -> $ty {
            intrinsics::$max(a, b)
        }
        #[inline(always)]
        fn minimum(a: $ty, b: $ty) -> $ty {
            if a.is_nan() || b.is_nan() { $ty::NAN } else { intrinsics::$min(a, b) }
        }
        #[inline(always)]
        fn maximum(a: $ty, b: $ty) -> $ty {
            if a.is_nan() || b.is_nan() { $ty::NAN } else { intrinsics::$max(a, b) }
        }
        #[inline(always)]
        fn fma(a: $ty, b: $ty, c: $ty) -> $ty {
            intrinsics::$fma(a, b, c)
        }
        #[inline(always)]
        fn rem(x: $ty, y: $ty) -> $ty {
            const SIGN: $bits = !($bits::MAX >> 1);
            const HIDDEN: $bits = 1 << $explicit;
            let sign = x.to_bits() & SIGN;
            let (a, b) = (x.to_bits() & !SIGN, y.to_bits() & !SIGN);
            if x.is_nan() || x.is_infinite() || y.is_nan() || b == 0 {
                return $ty::NAN;
            }
            if a < b || y.is_infinite() {
                return x;
            }
            // Long division in binary: mantissas as integers, one exponent apart at a time.
            let split = |v: $bits| {
                let shift = if v >> $explicit == 0 {
                    v.leading_zeros() - (HIDDEN.leading_zeros())
                } else {
                    0
                };
                let exponent = if v >> $explicit == 0 { 1 } else { (v >> $explicit) as i32 };
                let hidden = if v >> $explicit == 0 { 0 } else { HIDDEN };
                (exponent - shift as i32, ((v & (HIDDEN - 1)) | hidden) << shift)
            };
            let ((mut exponent, mut r), (least, divisor)) = (split(a), split(b));
            while exponent > least {
                r = if r >= divisor { r - divisor } else { r };
                r <<= 1;
                exponent -= 1;
            }
            r = if r >= divisor { r - divisor } else { r };
            if r == 0 {
                return $ty::from_bits(sign);
            }
            let shift = r.leading_zeros() - HIDDEN.leading_zeros();
            r <<= shift;
            exponent -= shift as i32;
            let a = if exponent < 1 {
                r >> (1 - exponent)
            } else {
                (r - HIDDEN) | ((exponent as $bits) << $explicit)
            };
            $ty::from_bits(a | sign)
        }
    };
}

impl Float for f64 {
    by_bits!(
        f64,
        u64,
        sqrt_f64,
        floor_f64,
        ceil_f64,
        round_even_f64,
        trunc_f64,
        min_f64,
        max_f64,
        fma_f64,
        52
    );

    #[inline(always)]
    fn exp(x: f64) -> f64 {
        math64::exp(x)
    }
    #[inline(always)]
    fn exp2(x: f64) -> f64 {
        math64::exp2(x)
    }
    #[inline(always)]
    fn log(x: f64) -> f64 {
        math64::log(x)
    }
    #[inline(always)]
    fn log2(x: f64) -> f64 {
        math64::log2(x)
    }
    #[inline(always)]
    fn rsqrt(x: f64) -> f64 {
        1.0 / intrinsics::sqrt_f64(x)
    }
    #[inline(always)]
    fn tanh(x: f64) -> f64 {
        math64::tanh(x)
    }
    #[inline(always)]
    fn sin(x: f64) -> f64 {
        math64::sin(x)
    }
    #[inline(always)]
    fn cos(x: f64) -> f64 {
        math64::cos(x)
    }
    #[inline(always)]
    fn erf(x: f64) -> f64 {
        math64::erf(x)
    }
    #[inline(always)]
    fn sigmoid(x: f64) -> f64 {
        math64::sigmoid(x)
    }
    #[inline(always)]
    fn pow(x: f64, y: f64) -> f64 {
        math64::pow(x, y)
    }
}

const LOG2_E: f32 = core::f32::consts::LOG2_E;
/// What `LOG2_E` lacks of the logarithm.
const LOG2_E_LOW: f32 = 1.925_963e-8;

/// The logarithm of a positive finite number as n ln 2 + s, s between -0.35 and 0.35.
#[inline(always)]
fn log_parts(x: f32) -> (f32, f32) {
    let subnormal = x.to_bits() < 0x0080_0000;
    let x = if subnormal { x * 33_554_432.0 } else { x };
    let offset = x.to_bits().wrapping_sub(0x3f35_04f3);
    let n = offset as i32 >> 23;
    let m = f32::from_bits(x.to_bits().wrapping_sub((n as u32) << 23));
    let f = m - 1.0;
    // log(1 + f) = 2 atanh(f / (2 + f)) = f - f s + 2 s^3 (1/3 + s^2/5 + ...).
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = intrinsics::fma_f32(
        intrinsics::fma_f32(intrinsics::fma_f32(z, 2.0 / 9.0, 2.0 / 7.0), z, 2.0 / 5.0),
        z,
        2.0 / 3.0,
    );
    // f^2 / 2 exactly taken from f keeps the last bits.
    let half = 0.5 * f * f;
    let rest = s * intrinsics::fma_f32(z, tail, half);
    let n = n - if subnormal { 25 } else { 0 };
    (n as f32, f - (half - rest))
}

#[inline(always)]
fn log_special(x: f32) -> f32 {
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x < 0.0 {
        f32::NAN
    } else {
        x
    }
}

impl Float for f32 {
    by_bits!(
        f32,
        u32,
        sqrt_f32,
        floor_f32,
        ceil_f32,
        round_even_f32,
        trunc_f32,
        min_f32,
        max_f32,
        fma_f32,
        23
    );

    #[inline(always)]
    fn exp(x: f32) -> f32 {
        // x log2 e = high + low. The hardware's 2^high is good to 2 ulp everywhere; 2^low is 1 + low ln 2.
        let high = x * LOG2_E;
        let low = intrinsics::fma_f32(x, LOG2_E, -high);
        let low = intrinsics::fma_f32(x, LOG2_E_LOW, low);
        // A NaN at infinite x becomes a number: 0 and infinity then stay what they are.
        let low = intrinsics::min_f32(low, 1.0);
        intrinsics::exp2_approx_f32(high) * intrinsics::fma_f32(low, core::f32::consts::LN_2, 1.0)
    }
    #[inline(always)]
    fn exp2(x: f32) -> f32 {
        intrinsics::exp2_approx_f32(x)
    }
    #[inline(always)]
    fn log(x: f32) -> f32 {
        let (n, s) = log_parts(x);
        let value = intrinsics::fma_f32(n, 0.693_145_75, intrinsics::fma_f32(n, 1.428_606_8e-6, s));
        if x > 0.0 && x < f32::INFINITY { value } else { log_special(x) }
    }
    #[inline(always)]
    fn log2(x: f32) -> f32 {
        let (n, s) = log_parts(x);
        // log2 e in two parts, so that the product is nearly exact.
        let value = n + intrinsics::fma_f32(s, LOG2_E, s * LOG2_E_LOW);
        if x > 0.0 && x < f32::INFINITY { value } else { log_special(x) }
    }
    #[inline(always)]
    fn rsqrt(x: f32) -> f32 {
        intrinsics::rsqrt_approx_f32(x)
    }
    #[inline(always)]
    fn tanh(x: f32) -> f32 {
        let magnitude = <f32 as Float>::abs(x);
        let value = if magnitude < 0.55 {
            // From the continued fraction: x / (1 + x^2 / (3 + x^2 / (5 + ...))).
            let z = x * x;
            magnitude / (1.0 + z / (3.0 + z / (5.0 + z / (7.0 + z / 9.0))))
        } else {
            let e = <f32 as Float>::exp(2.0 * if magnitude > 10.0 { 10.0 } else { magnitude });
            1.0 - div(2.0, e + 1.0)
        };
        if x.is_nan() { x } else { f32::from_bits(value.to_bits() | (x.to_bits() & 0x8000_0000)) }
    }
    #[inline(always)]
    fn sin(x: f32) -> f32 {
        math64::sin(x as f64) as f32
    }
    #[inline(always)]
    fn cos(x: f32) -> f32 {
        math64::cos(x as f64) as f32
    }
    #[inline(always)]
    fn erf(x: f32) -> f32 {
        math64::erf(x as f64) as f32
    }
    #[inline(always)]
    fn sigmoid(x: f32) -> f32 {
        div(1.0, 1.0 + <f32 as Float>::exp(-x))
    }
    #[inline(always)]
    fn pow(x: f32, y: f32) -> f32 {
        math64::pow(x as f64, y as f64) as f32
    }
}

macro_rules! through_f32 {
    ($ty:ident: $($unary:ident)*; $($binary:ident)*) => {
        impl Float for $ty {
            $(
                #[inline(always)]
                fn $unary(x: $ty) -> $ty {
                    $ty::from_f32(<f32 as Float>::$unary(x.to_f32()))
                }
            )*
            $(
                #[inline(always)]
                fn $binary(a: $ty, b: $ty) -> $ty {
                    $ty::from_f32(<f32 as Float>::$binary(a.to_f32(), b.to_f32()))
                }
            )*
            #[inline(always)]
            fn abs(x: $ty) -> $ty {
                $ty(x.0 & 0x7fff)
            }
            #[inline(always)]
            fn is_nan(x: $ty) -> bool {
                x.to_f32().is_nan()
            }
            #[inline(always)]
            fn is_inf(x: $ty) -> bool {
                x.to_f32().is_infinite()
            }
            #[inline(always)]
            fn fma(a: $ty, b: $ty, c: $ty) -> $ty {
                let (a, b, c) = (a.to_f32() as f64, b.to_f32() as f64, c.to_f32() as f64);
                $ty::from_f32(super::float::to_odd_f32(intrinsics::fma_f64(a, b, c)))
            }
        }
    };
}
through_f32!(F16: exp exp2 log log2 sqrt rsqrt tanh sin cos erf sigmoid floor ceil round round_even trunc;
    min max minimum maximum pow rem);
through_f32!(Bf16: exp exp2 log log2 sqrt rsqrt tanh sin cos erf sigmoid floor ceil round round_even trunc;
    min max minimum maximum pow rem);

/// Whether [`quotient`] is the correctly rounded a / b: no intermediate can overflow or lose bits.
#[inline(always)]
pub fn divides(a: f32, b: f32) -> bool {
    const LARGE: f32 = (1u64 << 60) as f32;
    let ordinary = |x: f32| {
        let magnitude = <f32 as Float>::abs(x);
        (magnitude > 1.0 / LARGE) & (magnitude < LARGE)
    };
    ordinary(b) & (ordinary(a) | (a == 0.0))
}

/// a / b by a correctly rounded reciprocal, corrected once by the exact remainder (Markstein's theorem). The reciprocal is
/// shared by all divisions by one number. Right where [`divides`] says so.
#[inline(always)]
pub fn quotient(a: f32, b: f32) -> f32 {
    // By a positive divisor, and with the remainder negated, a zero keeps its sign.
    let sign = b.to_bits() & 0x8000_0000;
    let (a, b) = (f32::from_bits(a.to_bits() ^ sign), f32::from_bits(b.to_bits() ^ sign));
    let y = intrinsics::rcp_approx_f32(b);
    let y = intrinsics::fma_f32(intrinsics::fma_f32(-b, y, 1.0), y, y);
    let q = a * y;
    intrinsics::fma_f32(-y, intrinsics::fma_f32(b, q, -a), q)
}

/// a / b, correctly rounded.
#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    if divides(a, b) { quotient(a, b) } else { a / b }
}

/// e^x by the hardware's 2^x alone: a relative error that grows with |x|, for `fast_math`.
#[inline(always)]
pub fn fast_exp(x: f32) -> f32 {
    intrinsics::exp2_approx_f32(x * LOG2_E)
}

/// a / b by the hardware's reciprocal: about 2 ulp, for `fast_math`.
#[inline(always)]
pub fn fast_div(a: f32, b: f32) -> f32 {
    a * intrinsics::rcp_approx_f32(b)
}

#[cfg(test)]
mod tests {
    use super::Float;

    fn check(f: fn(f32) -> f32, reference: fn(f64) -> f64, low: f32, high: f32, bound: f64) {
        for i in 0..200_000 {
            let x = low + (high - low) * (i as f32 / 200_000.0);
            let (got, want) = (f(x) as f64, reference(x as f64));
            let near = (want as f32).abs();
            let unit = (f32::from_bits(near.to_bits() + 1) - near) as f64;
            let close = (got - want).abs() <= bound * unit || got == (want as f32) as f64;
            assert!(close, "f({x:e}) = {got:e}, not {want:e}: {} ulp", (got - want).abs() / unit);
        }
    }

    #[test]
    fn elementary_functions_are_as_accurate_as_stated() {
        check(Float::exp, f64::exp, -103.0, 88.7, 2.0);
        check(Float::exp, f64::exp, -1.0, 1.0, 2.0);
        check(Float::exp2, f64::exp2, -149.0, 127.9, 2.0);
        check(Float::log, f64::ln, 0.25, 4.0, 2.0);
        check(Float::log, f64::ln, 1e-45, 1e-37, 2.0);
        check(Float::log, f64::ln, 1.0, 1e30, 2.0);
        check(Float::log2, f64::log2, 0.25, 4.0, 2.0);
        check(Float::log2, f64::log2, 1.0, 1e30, 2.0);
        check(Float::tanh, f64::tanh, -1.0, 1.0, 3.0);
        check(Float::tanh, f64::tanh, -12.0, 12.0, 3.0);
        check(Float::sigmoid, |x| 1.0 / (1.0 + (-x).exp()), -80.0, 40.0, 4.0);
        check(Float::sin, f64::sin, -1e6, 1e6, 1.0);
        check(Float::cos, f64::cos, -1e6, 1e6, 1.0);
    }

    #[test]
    fn quotients_are_correctly_rounded() {
        let mut state = 9u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 32) as u32
        };
        let check = |a: f32, b: f32| {
            let (got, want) = (super::div(a, b), a / b);
            assert!(
                got.to_bits() == want.to_bits() || want.is_nan() && got.is_nan(),
                "{a:e} / {b:e}: {got:e} {want:e}"
            );
        };
        for _ in 0..2_000_000 {
            let (a, b) = (next(), next());
            check(f32::from_bits(a), f32::from_bits(b));
            // Near each other, and divisors with all bits set, where reciprocals are hardest.
            check(f32::from_bits(0x3f80_0000 | a >> 9), f32::from_bits(0x3f80_0000 | b >> 9));
            check(f32::from_bits(0x3f80_0000 | a >> 9), f32::from_bits(0x3fff_ffff - (b >> 28)));
            check(if a & 1 == 0 { 0.0 } else { -0.0 }, f32::from_bits(b));
        }
    }

    #[test]
    fn special_values() {
        type F = f32;
        assert_eq!(<F as Float>::exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(<F as Float>::exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(<F as Float>::exp(200.0), f32::INFINITY);
        assert!(<F as Float>::exp(f32::NAN).is_nan() && <F as Float>::tanh(f32::NAN).is_nan());
        assert_eq!(<F as Float>::log(0.0), f32::NEG_INFINITY);
        assert_eq!(<F as Float>::log2(f32::INFINITY), f32::INFINITY);
        assert!(<F as Float>::log(-1.0).is_nan() && <F as Float>::log2(f32::NAN).is_nan());
        assert_eq!(<F as Float>::tanh(-0.0).to_bits(), 1 << 31);
        assert_eq!(<F as Float>::tanh(f32::INFINITY), 1.0);
    }

    #[test]
    fn rounding_to_integers() {
        for (x, even, away) in [(0.5f32, 0.0, 1.0), (1.5, 2.0, 2.0), (-2.5, -2.0, -3.0)] {
            assert_eq!(<f32 as Float>::round_even(x), even);
            assert_eq!(<f32 as Float>::round(x), away);
        }
        assert_eq!(<f32 as Float>::round(0.499_999_97), 0.0);
        assert_eq!(<f64 as Float>::round(8388609.0), 8388609.0);
        assert_eq!(<f32 as Float>::round(8388609.0), 8388609.0);
    }

    #[test]
    fn remainders_are_exact() {
        let values = [5.5f32, -7.25, 1e30, 3e-42, 1.0, -1e-40, 0.1, f32::MAX, f32::MIN_POSITIVE];
        for x in values {
            for y in values {
                assert_eq!(<f32 as Float>::rem(x, y).to_bits(), (x % y).to_bits(), "{x} % {y}");
                let (x, y) = (x as f64 * 1.1, y as f64);
                assert_eq!(<f64 as Float>::rem(x, y).to_bits(), (x % y).to_bits(), "{x} % {y}");
            }
        }
        assert!(<f32 as Float>::rem(1.0, 0.0).is_nan());
        assert_eq!(<f32 as Float>::rem(1.0, f32::INFINITY), 1.0);
    }
}

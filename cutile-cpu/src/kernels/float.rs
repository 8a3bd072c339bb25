//! Scalar definitions of the floating-point operations, for f32 and f64; f16 and bf16 use f32's.

/// Operations whose definition is more than an operator or a method of the standard library.
pub(crate) trait Float: Copy {
    /// Ignores NaN; -0.0 is smaller than 0.0.
    fn min_number(self, other: Self) -> Self;
    /// Ignores NaN; 0.0 is larger than -0.0.
    fn max_number(self, other: Self) -> Self;
    /// NaN if either is; -0.0 is smaller than 0.0.
    fn minimum(self, other: Self) -> Self;
    /// NaN if either is; 0.0 is larger than -0.0.
    fn maximum(self, other: Self) -> Self;
    /// 1 / sqrt(x).
    fn rsqrt(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// 1 / (1 + e^-x).
    fn sigmoid(self) -> Self;
}

macro_rules! float {
    ($($t:ident, $erf:path, |$x:ident| $rsqrt:expr;)*) => {$(
        impl Float for $t {
            #[inline(always)]
            fn min_number(self, other: Self) -> Self {
                // Equal numbers differ in the sign of zero at most: `|` keeps a minus.
                let equal = $t::from_bits(self.to_bits() | other.to_bits());
                let number = if self < other { self } else { other };
                let number = if self == other { equal } else { number };
                if other.is_nan() { self } else { number }
            }
            #[inline(always)]
            fn max_number(self, other: Self) -> Self {
                let equal = $t::from_bits(self.to_bits() & other.to_bits());
                let number = if self > other { self } else { other };
                let number = if self == other { equal } else { number };
                if other.is_nan() { self } else { number }
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                let number = self.min_number(other);
                if self.is_nan() { self } else if other.is_nan() { other } else { number }
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                let number = self.max_number(other);
                if self.is_nan() { self } else if other.is_nan() { other } else { number }
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                let $x = self;
                $rsqrt
            }
            #[inline(always)]
            fn erf(self) -> Self {
                $erf(self)
            }
            #[inline(always)]
            fn sigmoid(self) -> Self {
                1.0 / (1.0 + (-self).exp())
            }
        }
    )*};
}
float! {
    // Through f64, so that the result is rounded once but for rare ties.
    f32, libm::erff, |x| (1.0 / f64::from(x).sqrt()) as f32;
    f64, libm::erf, |x| 1.0 / x.sqrt();
}

/// a * b + c of numbers whose product f64 holds exactly (of f16 or bf16), rounded to odd: one more
/// rounding, to the narrow format, then gives the fused result.
#[inline(always)]
pub(crate) fn fma_narrow_odd(a: f32, b: f32, c: f32) -> f64 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    // What the sum lost, exactly (Knuth's two-sum).
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    if !sum.is_finite() || lost == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // The neighbour on the side of what was lost is the odd one.
    let away = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

//! How partial results of reductions combine.

use super::math::Float;

/// Elements that reductions combine.
pub trait Number: Copy + PartialOrd {
    /// Wide enough that a value and its index are one piece without padding.
    type Index: Copy + PartialOrd;
    /// No index.
    const NOBODY: Self::Index;
    /// An index.
    fn index(i: u32) -> Self::Index;
    /// An index as the result of a reduction.
    fn position(i: Self::Index) -> i32;
    /// Not a NaN.
    fn is_number(self) -> bool;
    /// a + b.
    fn sum(a: Self, b: Self) -> Self;
    /// a * b.
    fn product(a: Self, b: Self) -> Self;
    /// The larger, ignoring NaN.
    fn max(a: Self, b: Self) -> Self;
    /// The smaller, ignoring NaN.
    fn min(a: Self, b: Self) -> Self;
}

macro_rules! number {
    ($($ty:ident $index:ident: $number:expr, $sum:expr, $product:expr, $max:expr, $min:expr;)*) => {$(
        impl Number for $ty {
            type Index = $index;
            const NOBODY: $index = $index::MAX;
            #[inline(always)]
            fn index(i: u32) -> $index {
                i as $index
            }
            #[inline(always)]
            fn position(i: $index) -> i32 {
                if i == $index::MAX { 0 } else { i as i32 }
            }
            #[inline(always)]
            fn is_number(self) -> bool {
                let number: fn($ty) -> bool = $number;
                number(self)
            }
            #[inline(always)]
            fn sum(a: $ty, b: $ty) -> $ty {
                let f: fn($ty, $ty) -> $ty = $sum;
                f(a, b)
            }
            #[inline(always)]
            fn product(a: $ty, b: $ty) -> $ty {
                let f: fn($ty, $ty) -> $ty = $product;
                f(a, b)
            }
            #[inline(always)]
            fn max(a: $ty, b: $ty) -> $ty {
                let f: fn($ty, $ty) -> $ty = $max;
                f(a, b)
            }
            #[inline(always)]
            fn min(a: $ty, b: $ty) -> $ty {
                let f: fn($ty, $ty) -> $ty = $min;
                f(a, b)
            }
        }
    )*};
    (integers: $($ty:ident $index:ident)*) => {
        number! {$(
            $ty $index: |_| true, $ty::wrapping_add, $ty::wrapping_mul, Ord::max, Ord::min;
        )*}
    };
}
number! {
    f32 u32: |x| !x.is_nan(), |a, b| a + b, |a, b| a * b, <f32 as Float>::max, <f32 as Float>::min;
    f64 u64: |x| !x.is_nan(), |a, b| a + b, |a, b| a * b, <f64 as Float>::max, <f64 as Float>::min;
}
number!(integers: i8 u32 i16 u32 i32 u32 i64 u64 u8 u32 u16 u32 u32 u32 u64 u64);

/// a + b.
#[inline(always)]
pub fn sum<T: Number>(a: T, b: T) -> T {
    T::sum(a, b)
}

/// a * b.
#[inline(always)]
pub fn product<T: Number>(a: T, b: T) -> T {
    T::product(a, b)
}

/// The larger, ignoring NaN.
#[inline(always)]
pub fn max<T: Number>(a: T, b: T) -> T {
    T::max(a, b)
}

/// The smaller, ignoring NaN.
#[inline(always)]
pub fn min<T: Number>(a: T, b: T) -> T {
    T::min(a, b)
}

/// The larger, NaN if either is.
#[inline(always)]
pub fn maximum<T: Float>(a: T, b: T) -> T {
    T::maximum(a, b)
}

/// The smaller, NaN if either is.
#[inline(always)]
pub fn minimum<T: Float>(a: T, b: T) -> T {
    T::minimum(a, b)
}

/// Whether either holds.
#[inline(always)]
pub fn any(a: bool, b: bool) -> bool {
    a | b
}

/// Whether both hold.
#[inline(always)]
pub fn all(a: bool, b: bool) -> bool {
    a & b
}

/// A value and where it stands, or nobody.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Candidate<T: Number> {
    value: T,
    index: T::Index,
}

/// The value at an index; NaN does not stand.
#[inline(always)]
pub fn candidate<T: Number>(value: T, index: u32) -> Candidate<T> {
    let index = if value.is_number() { T::index(index) } else { T::NOBODY };
    Candidate { value, index }
}

/// No value.
#[inline(always)]
pub fn nobody<T: Number>(zero: T) -> Candidate<T> {
    Candidate { value: zero, index: T::NOBODY }
}

#[inline(always)]
fn choose<T: Number>(a: Candidate<T>, b: Candidate<T>, better: bool) -> Candidate<T> {
    let tie = a.value == b.value && b.index < a.index;
    let take = b.index != T::NOBODY && (a.index == T::NOBODY || better || tie);
    if take { b } else { a }
}

/// The larger, the lowest index on ties.
#[inline(always)]
pub fn first_max<T: Number>(a: Candidate<T>, b: Candidate<T>) -> Candidate<T> {
    choose(a, b, b.value > a.value)
}

/// The smaller, the lowest index on ties.
#[inline(always)]
pub fn first_min<T: Number>(a: Candidate<T>, b: Candidate<T>) -> Candidate<T> {
    choose(a, b, b.value < a.value)
}

/// Where a candidate stands; 0 for nobody.
#[inline(always)]
pub fn index<T: Number>(c: Candidate<T>) -> i32 {
    T::position(c.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(values: &[f32], pick: fn(Candidate<f32>, Candidate<f32>) -> Candidate<f32>) -> i32 {
        let all = values.iter().enumerate().map(|(i, v)| candidate(*v, i as u32));
        index(all.rev().fold(nobody(0.0), pick))
    }

    #[test]
    fn ties_go_to_the_lowest_index_and_nan_is_skipped() {
        assert_eq!(arg(&[1.0, 3.0, 3.0, f32::NAN], first_max), 1);
        assert_eq!(arg(&[f32::NAN, 2.0, -1.0, -1.0], first_min), 2);
        assert_eq!(arg(&[f32::NAN, f32::NAN], first_max), 0);
        assert_eq!(arg(&[f32::NAN, f32::NEG_INFINITY], first_max), 1);
        assert_eq!(arg(&[-0.0, 0.0], first_max), 0);
    }

    #[test]
    fn sums_wrap_and_extrema_ignore_nan() {
        assert_eq!(sum(i32::MAX, 1), i32::MIN);
        assert_eq!(max(f32::NAN, -5.0), -5.0);
        assert!(maximum(f32::NAN, 1.0).is_nan());
    }
}

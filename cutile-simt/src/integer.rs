//! Integer operations of the tile language beside Rust's own wrapping ones.

/// Integers of any width.
pub trait Int: Copy {
    /// A division that faults: by zero, or the minimum by -1.
    fn division_faults(self, divisor: Self) -> bool;
    /// 1.
    const ONE: Self;
    /// Quotient toward zero; the division must not fault.
    fn div(self, divisor: Self) -> Self;
    /// Remainder with the dividend's sign; the division must not fault.
    fn rem(self, divisor: Self) -> Self;
    /// Quotient toward minus infinity; the division must not fault.
    fn div_floor(self, divisor: Self) -> Self;
    /// Quotient toward plus infinity; the division must not fault.
    fn div_ceil(self, divisor: Self) -> Self;
    /// The remainder that is never negative; the division must not fault.
    fn rem_euclid(self, divisor: Self) -> Self;
    /// Shift left by the amount modulo the width.
    fn shl(self, amount: Self) -> Self;
    /// Shift right by the amount modulo the width: arithmetic for signed types.
    fn shr(self, amount: Self) -> Self;
}

macro_rules! int {
    ($($ty:ident $faults:expr, $negative:expr;)*) => {$(
        impl Int for $ty {
            const ONE: $ty = 1;
            #[inline(always)]
            fn division_faults(self, divisor: $ty) -> bool {
                let faults: fn($ty, $ty) -> bool = $faults;
                faults(self, divisor)
            }
            #[inline(always)]
            fn div(self, divisor: $ty) -> $ty {
                // SAFETY: the caller divides only where `division_faults` is false. Said in two parts: LLVM looks for the
                // first one alone.
                unsafe {
                    core::hint::assert_unchecked(divisor != 0);
                    core::hint::assert_unchecked(!self.division_faults(divisor));
                }
                self.wrapping_div(divisor)
            }
            #[inline(always)]
            fn rem(self, divisor: $ty) -> $ty {
                // SAFETY: the caller divides only where `division_faults` is false. Said in two parts: LLVM looks for the
                // first one alone.
                unsafe {
                    core::hint::assert_unchecked(divisor != 0);
                    core::hint::assert_unchecked(!self.division_faults(divisor));
                }
                self.wrapping_rem(divisor)
            }
            #[inline(always)]
            fn div_floor(self, divisor: $ty) -> $ty {
                let (q, r) = (self.div(divisor), self.rem(divisor));
                let opposite: fn($ty, $ty) -> bool = $negative;
                if r != 0 && opposite(r, divisor) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)]
            fn div_ceil(self, divisor: $ty) -> $ty {
                let (q, r) = (self.div(divisor), self.rem(divisor));
                let opposite: fn($ty, $ty) -> bool = $negative;
                if r != 0 && !opposite(r, divisor) { q.wrapping_add(1) } else { q }
            }
            #[inline(always)]
            fn rem_euclid(self, divisor: $ty) -> $ty {
                let r = self.rem(divisor);
                let opposite: fn($ty, $ty) -> bool = $negative;
                // A negative remainder is one of another sign than |divisor|.
                let zero: $ty = 0;
                if r != 0 && opposite(r, 1) {
                    if opposite(divisor, 1) { r.wrapping_sub(divisor) } else { r.wrapping_add(divisor) }
                } else {
                    r.wrapping_add(zero)
                }
            }
            #[inline(always)]
            fn shl(self, amount: $ty) -> $ty {
                self.wrapping_shl(amount as u32)
            }
            #[inline(always)]
            fn shr(self, amount: $ty) -> $ty {
                self.wrapping_shr(amount as u32)
            }
        }
    )*};
}
int! {
    i8 |a, b| b == 0 || (a == i8::MIN && b == -1), |a, b| (a ^ b) < 0;
    i16 |a, b| b == 0 || (a == i16::MIN && b == -1), |a, b| (a ^ b) < 0;
    i32 |a, b| b == 0 || (a == i32::MIN && b == -1), |a, b| (a ^ b) < 0;
    i64 |a, b| b == 0 || (a == i64::MIN && b == -1), |a, b| (a ^ b) < 0;
    u8 |_, b| b == 0, |_, _| false;
    u16 |_, b| b == 0, |_, _| false;
    u32 |_, b| b == 0, |_, _| false;
    u64 |_, b| b == 0, |_, _| false;
}

#[cfg(test)]
mod tests {
    use super::Int;

    #[test]
    fn divisions_round_as_they_say() {
        for a in -9i32..=9 {
            for b in (-4i32..=4).filter(|b| *b != 0) {
                let exact = a as f64 / b as f64;
                assert_eq!(Int::div(a, b), exact.trunc() as i32, "{a} / {b}");
                assert_eq!(Int::div_floor(a, b), exact.floor() as i32, "floor {a} / {b}");
                assert_eq!(Int::div_ceil(a, b), exact.ceil() as i32, "ceil {a} / {b}");
                assert_eq!(Int::rem(a, b), a % b, "{a} % {b}");
                assert_eq!(Int::rem_euclid(a, b), i32::rem_euclid(a, b), "{a} mod {b}");
            }
        }
        for a in 0u8..=20 {
            for b in 1u8..=7 {
                assert_eq!(Int::div_floor(a, b), a / b);
                assert_eq!(Int::div_ceil(a, b), a.div_ceil(b));
                assert_eq!(Int::rem_euclid(a, b), a % b);
            }
        }
    }

    #[test]
    fn faults_are_exactly_zero_and_overflow() {
        assert!(7i32.division_faults(0) && i32::MIN.division_faults(-1));
        assert!(!i32::MIN.division_faults(1) && !7i32.division_faults(-1));
        assert!(7u64.division_faults(0) && !0u64.division_faults(u64::MAX));
    }

    #[test]
    fn shift_amounts_are_masked() {
        assert_eq!(Int::shl(1i32, 33), 2);
        assert_eq!(Int::shr(-8i8, 1), -4);
        assert_eq!(Int::shr(0x80u8, 9), 0x40);
        assert_eq!(Int::shl(1i64, -1), i64::MIN);
    }
}

//! Binary floating-point formats: bits to `f64` (always exact) and `f64` to bits in each rounding mode.

use super::Round;

/// A format of at most 32 bits with an implicit leading one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the exponent field.
    exponent: u32,
    /// Bits of the fraction field.
    fraction: u32,
    /// Zero bits below the fraction (tf32 lives in the upper 19 bits of a word).
    shift: u32,
    /// Largest finite value's bits, before the shift.
    max_finite: u32,
    /// Infinity's bits; NaN's where the format has no infinity.
    overflow: u32,
    /// The NaN that instructions produce.
    nan: u32,
}

impl Format {
    pub(crate) const F32: Format = Format {
        exponent: 8,
        fraction: 23,
        shift: 0,
        max_finite: 0x7f7f_ffff,
        overflow: 0x7f80_0000,
        nan: 0x7fff_ffff,
    };
    pub(crate) const F16: Format = Format {
        exponent: 5,
        fraction: 10,
        shift: 0,
        max_finite: 0x7bff,
        overflow: 0x7c00,
        nan: 0x7fff,
    };
    pub(crate) const BF16: Format = Format {
        exponent: 8,
        fraction: 7,
        shift: 0,
        max_finite: 0x7f7f,
        overflow: 0x7f80,
        nan: 0x7fff,
    };
    pub(crate) const TF32: Format = Format {
        exponent: 8,
        fraction: 10,
        shift: 13,
        max_finite: 0x3_fbff,
        overflow: 0x3_fc00,
        nan: 0x3_ffff,
    };
    /// Four exponent bits, no infinity; all ones is NaN.
    pub(crate) const E4M3: Format =
        Format { exponent: 4, fraction: 3, shift: 0, max_finite: 0x7e, overflow: 0x7f, nan: 0x7f };
    pub(crate) const E5M2: Format =
        Format { exponent: 5, fraction: 2, shift: 0, max_finite: 0x7b, overflow: 0x7c, nan: 0x7f };

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn sign(self) -> u32 {
        1 << (self.exponent + self.fraction)
    }

    /// The value of `bits`.
    pub(crate) fn widen(self, bits: u32) -> f64 {
        let bits = bits >> self.shift;
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        let value = if magnitude > self.max_finite {
            if magnitude == self.overflow && self.overflow != self.nan {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else {
            let fraction = magnitude & ((1 << self.fraction) - 1);
            let exponent = (magnitude >> self.fraction) as i32;
            let (significand, exponent) = if exponent == 0 {
                (fraction, 1)
            } else {
                (fraction | 1 << self.fraction, exponent)
            };
            f64::from(significand) * power_of_two(exponent - self.bias() - self.fraction as i32)
        };
        if negative { -value } else { value }
    }

    /// The bits of `value` rounded to this format. A `value` that is itself a rounded result must have been rounded to
    /// odd (see [`super::arith::to_odd`]); then this is the correct rounding of the exact result. With `finite`, what
    /// overflows becomes the largest finite value.
    pub(crate) fn narrow(self, value: f64, round: Round, finite: bool) -> u32 {
        if value.is_nan() {
            return self.nan << self.shift;
        }
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value == 0.0 {
            return sign << self.shift;
        }
        let magnitude = if value.is_infinite() {
            if finite { self.max_finite } else { self.overflow }
        } else {
            self.round_magnitude(value, round, finite)
        };
        (sign | magnitude) << self.shift
    }

    fn round_magnitude(self, value: f64, round: Round, finite: bool) -> u32 {
        let bits = value.to_bits() & !(1 << 63);
        let (significand, exponent) = match bits >> 52 {
            0 => (bits, -1074),
            e => (bits & ((1 << 52) - 1) | 1 << 52, e as i32 - 1075),
        };
        let top = 63 - significand.leading_zeros() as i32 + exponent;
        let top = top.max(1 - self.bias());
        let drop = top - self.fraction as i32 - exponent;
        let (kept, rest, half) = match drop {
            ..=0 => (significand << drop.unsigned_abs().min(11), 0, 1),
            1..=62 => (significand >> drop, significand & ((1 << drop) - 1), 1u64 << (drop - 1)),
            _ => (0, significand, u64::MAX),
        };
        let negative = value.is_sign_negative();
        let up = match round {
            Round::Near => rest > half || (rest == half && kept & 1 == 1),
            Round::NearAway => rest >= half,
            Round::Zero => false,
            Round::Down => negative && rest != 0,
            Round::Up => !negative && rest != 0,
        };
        let kept = kept + u64::from(up);
        let out = (((top + self.bias() - 1) as u64) << self.fraction) + kept;
        if out <= u64::from(self.max_finite) {
            return out as u32;
        }
        let to_finite = match round {
            Round::Near | Round::NearAway => false,
            Round::Zero => true,
            Round::Down => !negative,
            Round::Up => negative,
        };
        if finite || to_finite { self.max_finite } else { self.overflow }
    }

    /// Whether `bits` are a subnormal number.
    pub(crate) fn subnormal(self, bits: u32) -> bool {
        let magnitude = (bits >> self.shift) & (self.sign() - 1);
        magnitude != 0 && magnitude >> self.fraction == 0
    }
}

/// 2^`e` for `e` in the range of normal `f64`.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_bfloat_widen_as_the_half_crate_does() {
        for bits in 0..=u16::MAX {
            let (h, b) =
                (half::f16::from_bits(bits).to_f64(), half::bf16::from_bits(bits).to_f64());
            let (ours_h, ours_b) =
                (Format::F16.widen(bits.into()), Format::BF16.widen(bits.into()));
            assert!(
                h.to_bits() == ours_h.to_bits() || (h.is_nan() && ours_h.is_nan()),
                "{bits:04x}"
            );
            assert!(
                b.to_bits() == ours_b.to_bits() || (b.is_nan() && ours_b.is_nan()),
                "{bits:04x}"
            );
        }
    }

    /// Every half and bfloat value, the midpoints between neighbours and what lies just beside the midpoints.
    #[test]
    fn half_and_bfloat_narrow_as_the_half_crate_does() {
        for bits in 0..=u16::MAX {
            for (format, value, next) in [
                (
                    Format::F16,
                    half::f16::from_bits(bits).to_f64(),
                    half::f16::from_bits(bits.wrapping_add(1)).to_f64(),
                ),
                (
                    Format::BF16,
                    half::bf16::from_bits(bits).to_f64(),
                    half::bf16::from_bits(bits.wrapping_add(1)).to_f64(),
                ),
            ] {
                let middle = (value + next) / 2.0;
                // The half crate is exact from single precision only: from double it drops the lower word.
                let (value, middle) = (value as f32, middle as f32);
                for x in [value, middle, middle.next_up(), middle.next_down()] {
                    if x.is_nan() {
                        continue;
                    }
                    let expected = if format == Format::F16 {
                        half::f16::from_f32(x).to_bits()
                    } else {
                        half::bf16::from_f32(x).to_bits()
                    };
                    assert_eq!(
                        format.narrow(x.into(), Round::Near, false),
                        u32::from(expected),
                        "{x:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn single_narrows_as_the_machine_does() {
        let mut state = 7u64;
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let exponent = 1023 - 160 + (state >> 40) % 300;
            let x = f64::from_bits((state << 12 >> 12) | exponent << 52 | (state & 1) << 63);
            assert_eq!(Format::F32.narrow(x, Round::Near, false), (x as f32).to_bits(), "{x:e}");
            let toward_zero = f32::from_bits(Format::F32.narrow(x, Round::Zero, false));
            assert!(f64::from(toward_zero).abs() <= x.abs());
            let (down, up) = (
                Format::F32.narrow(x, Round::Down, false),
                Format::F32.narrow(x, Round::Up, false),
            );
            assert!(
                f64::from(f32::from_bits(down)) <= x && f64::from(f32::from_bits(up)) >= x,
                "{x:e}"
            );
        }
    }

    /// Values from the OCP 8-bit floating point specification.
    #[test]
    fn fp8_landmarks() {
        assert_eq!(Format::E4M3.widen(0x7e), 448.0);
        assert_eq!(Format::E4M3.widen(0x01), 2f64.powi(-9));
        assert!(Format::E4M3.widen(0x7f).is_nan());
        assert_eq!(Format::E5M2.widen(0x7b), 57344.0);
        assert_eq!(Format::E5M2.widen(0x01), 2f64.powi(-16));
        assert!(Format::E5M2.widen(0x7c).is_infinite());
        assert_eq!(Format::E4M3.narrow(1e9, Round::Near, true), 0x7e);
        for bits in 0..=0xffu32 {
            for format in [Format::E4M3, Format::E5M2] {
                let value = format.widen(bits);
                if !value.is_nan() {
                    assert_eq!(format.narrow(value, Round::Near, false), bits);
                }
            }
        }
    }

    #[test]
    fn tf32_drops_thirteen_bits() {
        let x = f32::from_bits(0x3f80_1000);
        assert_eq!(Format::TF32.narrow(x.into(), Round::NearAway, false), 0x3f80_2000);
        assert_eq!(Format::TF32.narrow(x.into(), Round::Near, false), 0x3f80_0000);
    }
}

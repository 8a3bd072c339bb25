//! Conversions between integers and floating point.

use super::Round;

/// `value` rounded to an integer, in floating point.
pub(crate) fn round_integer(value: f64, round: Round) -> f64 {
    match round {
        Round::Near => value.round_ties_even(),
        Round::Zero => value.trunc(),
        Round::Down => value.floor(),
        Round::Up => value.ceil(),
        Round::NearAway => value.round(),
    }
}

/// A float to an integer of `bits` bits: rounded, clamped to the range, NaN giving 0.
pub(crate) fn to_integer(value: f64, round: Round, bits: u32, signed: bool) -> u64 {
    let rounded = round_integer(value, round);
    let out = match (bits, signed) {
        (64, true) => rounded as i64 as u64,
        (64, false) => rounded as u64,
        (_, true) => {
            let limit = 1i64 << (bits - 1);
            (rounded as i64).clamp(-limit, limit - 1) as u64
        }
        (_, false) => (rounded as u64).min((1 << bits) - 1),
    };
    out & mask(bits)
}

/// All ones in the lower `bits`.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// The lower `bits` of `value` as a number.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

/// An integer as a double rounded to odd, so that a further rounding to a narrow format is right.
pub(crate) fn from_integer_odd(value: i128) -> f64 {
    let near = value as f64;
    let error = value - near as i128;
    super::arith::to_odd(near, error as f64)
}

/// An integer as a double in the given mode.
pub(crate) fn from_integer_double(value: i128, round: Round) -> f64 {
    let near = value as f64;
    let error = value - near as i128;
    match round {
        Round::Down if error < 0 => near.next_down(),
        Round::Up if error > 0 => near.next_up(),
        Round::Zero if error < 0 && near > 0.0 => near.next_down(),
        Round::Zero if error > 0 && near < 0.0 => near.next_up(),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::format::Format;

    #[test]
    fn floats_clamp_to_the_integer_range() {
        assert_eq!(to_integer(-1.5, Round::Zero, 8, false), 0);
        assert_eq!(to_integer(300.0, Round::Zero, 8, false), 255);
        assert_eq!(to_integer(-300.0, Round::Near, 8, true), 0x80);
        assert_eq!(to_integer(f64::NAN, Round::Near, 32, true), 0);
        assert_eq!(to_integer(2.5, Round::Near, 32, true), 2);
        assert_eq!(to_integer(-2.5, Round::Down, 32, true), (-3i32) as u32 as u64);
        assert_eq!(to_integer(1e30, Round::Near, 64, true), i64::MAX as u64);
    }

    #[test]
    fn integers_to_single_match_the_machine() {
        let mut state = 5u64;
        for _ in 0..100_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = state >> (state % 40);
            let ours = Format::F32.narrow(from_integer_odd(value.into()), Round::Near, false);
            assert_eq!(ours, (value as f32).to_bits(), "{value}");
        }
    }
}

//! Double-precision arithmetic in the directed rounding modes, by integers: exact results, rounded once.

use super::Round;
use super::arith::FloatOp;

/// A finite magnitude: `significand` * 2^`exponent`, a little more if `sticky`.
#[derive(Clone, Copy, Debug)]
struct Magnitude {
    significand: u128,
    exponent: i32,
    sticky: bool,
}

/// The operation on finite operands with a finite, non-zero exact result; `None` where that is not so.
pub(crate) fn operation(op: FloatOp, round: Round, [a, b, c]: [f64; 3]) -> Option<f64> {
    let (negative, magnitude) = match op {
        FloatOp::Add => sum(double(a)?, double(b)?),
        FloatOp::Sub => sum(double(a)?, double(-b)?),
        FloatOp::Mul => product(double(a)?, double(b)?),
        FloatOp::Fma => sum(product(double(a)?, double(b)?), double(c)?),
        FloatOp::Div => quotient(double(a)?, double(b)?)?,
        FloatOp::Rcp => quotient(double(1.0)?, double(a)?)?,
        FloatOp::Sqrt => root(double(a)?)?,
    };
    (magnitude.significand != 0).then(|| rounded(negative, magnitude, round))
}

type Signed = (bool, Magnitude);

/// A finite double with its leading one at bit 52, or zero.
fn double(x: f64) -> Option<Signed> {
    if !x.is_finite() {
        return None;
    }
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let (significand, exponent) = match bits >> 52 & 0x7ff {
        0 => {
            let shift = fraction.leading_zeros().saturating_sub(11).min(52);
            (fraction << shift, -1074 - shift as i32)
        }
        e => (fraction | 1 << 52, e as i32 - 1075),
    };
    Some((
        x.is_sign_negative(),
        Magnitude { significand: u128::from(significand), exponent, sticky: false },
    ))
}

fn product((sa, a): Signed, (sb, b): Signed) -> Signed {
    let significand = a.significand * b.significand;
    (sa != sb, Magnitude { significand, exponent: a.exponent + b.exponent, sticky: false })
}

fn quotient((sa, a): Signed, (sb, b): Signed) -> Option<Signed> {
    if b.significand == 0 {
        return None;
    }
    let numerator = a.significand << 70;
    let significand = numerator / b.significand;
    let sticky = numerator % b.significand != 0;
    Some((sa != sb, Magnitude { significand, exponent: a.exponent - 70 - b.exponent, sticky }))
}

fn root((negative, a): Signed) -> Option<Signed> {
    if negative {
        return None;
    }
    let odd = a.exponent.rem_euclid(2);
    let radicand = a.significand << (70 + odd);
    let significand = radicand.isqrt();
    let sticky = significand * significand != radicand;
    Some((false, Magnitude { significand, exponent: (a.exponent - odd - 70) / 2, sticky }))
}

/// Exact sum: at most 106 bits against at most 106, aligned in 126 with a sticky bit for what falls off.
fn sum((sa, a): Signed, (sb, b): Signed) -> Signed {
    if a.significand == 0 {
        return (sb, b);
    }
    if b.significand == 0 {
        return (sa, a);
    }
    let top = |m: &Magnitude| 128 - m.significand.leading_zeros() as i32 + m.exponent;
    let ((sa, a), (sb, b)) =
        if top(&a) >= top(&b) { ((sa, a), (sb, b)) } else { ((sb, b), (sa, a)) };
    // The larger one's leading bit goes to bit 125.
    let shift = a.significand.leading_zeros() as i32 - 2;
    let exponent = a.exponent - shift;
    let large = a.significand << shift;
    let down = exponent - b.exponent;
    let (small, lost) = match down {
        ..=0 => (b.significand << -down, false),
        1..=127 => (b.significand >> down, b.significand & ((1 << down) - 1) != 0),
        _ => (0, true),
    };
    if sa == sb {
        (sa, Magnitude { significand: large + small, exponent, sticky: lost })
    } else if large >= small + u128::from(lost) {
        (sa, Magnitude { significand: large - small - u128::from(lost), exponent, sticky: lost })
    } else {
        (sb, Magnitude { significand: small - large, exponent, sticky: false })
    }
}

fn rounded(negative: bool, m: Magnitude, round: Round) -> f64 {
    let top = 127 - m.significand.leading_zeros() as i32 + m.exponent;
    // The exponent of the result's last place.
    let place = (top - 52).max(-1074);
    let drop = place - m.exponent;
    let (kept, rest) = match drop {
        ..=0 => (m.significand << -drop, false),
        1..=127 => (m.significand >> drop, m.significand & ((1 << drop) - 1) != 0),
        _ => (0, true),
    };
    let inexact = rest || m.sticky;
    let away = match round {
        Round::Up => !negative,
        Round::Down => negative,
        _ => false,
    };
    let kept = kept as u64 + u64::from(inexact && away);
    // The encoding of consecutive magnitudes is consecutive: the implicit one adds itself to the exponent.
    let bits = (((place + 1074) as u64) << 52) + kept;
    let infinity = 0x7ff_u64 << 52;
    let bits = if bits >= infinity { if away { infinity } else { infinity - 1 } } else { bits };
    f64::from_bits(bits | u64::from(negative) << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> f64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let exponent = 960 + (*state >> 40) % 120;
        f64::from_bits((*state & (0x800f_ffff_ffff_ffff)) | exponent << 52)
    }

    #[test]
    fn directed_results_bracket_the_nearest() {
        let mut state = 1;
        for _ in 0..100_000 {
            let args = [random(&mut state), random(&mut state), random(&mut state)];
            let [a, b, c] = args;
            for (op, near) in [
                (FloatOp::Add, a + b),
                (FloatOp::Sub, a - b),
                (FloatOp::Mul, a * b),
                (FloatOp::Div, a / b),
                (FloatOp::Fma, a.mul_add(b, c)),
                (FloatOp::Rcp, 1.0 / a),
            ] {
                let at = |round| operation(op, round, args).unwrap_or(near);
                let (down, up, zero) = (at(Round::Down), at(Round::Up), at(Round::Zero));
                assert!(down == up || down.next_up() == up, "{op:?} {args:?}");
                assert!(near == down || near == up, "{op:?} {args:?}: {down:e} {near:e} {up:e}");
                assert_eq!(zero, if near > 0.0 { down } else { up });
            }
            let root = operation(FloatOp::Sqrt, Round::Down, [a.abs(), 0.0, 0.0]).unwrap();
            assert!(root == a.abs().sqrt() || root.next_up() == a.abs().sqrt());
        }
    }

    #[test]
    fn subnormal_results_round_once() {
        let tiny = f64::from_bits(1);
        assert_eq!(operation(FloatOp::Mul, Round::Up, [tiny, 0.25, 0.0]), Some(tiny));
        assert_eq!(operation(FloatOp::Mul, Round::Down, [tiny, 0.25, 0.0]), Some(0.0));
        assert_eq!(operation(FloatOp::Mul, Round::Up, [f64::MAX, 2.0, 0.0]), Some(f64::INFINITY));
        assert_eq!(operation(FloatOp::Mul, Round::Zero, [f64::MAX, 2.0, 0.0]), Some(f64::MAX));
    }
}

//! Floating-point arithmetic with PTX's modes, each result correctly rounded.
//!
//! Narrow formats compute in `f64` rounded to odd: with at least two spare bits a second rounding of such a value is the
//! rounding of the exact one (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).

use super::format::Format;
use super::{Mode, Round};

/// A binary or ternary operation; unary ones are in [`super::approx`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    /// a * b + c
    Fma,
    Div,
    Sqrt,
    Rcp,
}

/// The NaN that single-precision instructions produce.
pub(crate) const NAN32: u32 = 0x7fff_ffff;

/// `s` moved to an odd significand when `error`, the exact result minus `s`, is not zero.
pub(crate) fn to_odd(s: f64, error: f64) -> f64 {
    let inexact = error.abs() > 0.0 && s.is_finite();
    if !inexact || s.to_bits() & 1 == 1 {
        return s;
    }
    if error > 0.0 { s.next_up() } else { s.next_down() }
}

/// Exact error of `a + b` computed as `s` (Knuth's two-sum).
fn sum_error(a: f64, b: f64, s: f64) -> f64 {
    let bb = s - a;
    (a - (s - bb)) + (b - bb)
}

/// a * b + c rounded to nearest single.
#[inline(always)]
pub(crate) fn fma32(a: f32, b: f32, c: f32) -> f32 {
    // The product of two singles is exact in double.
    let p = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let s = p + c;
    to_odd(s, sum_error(p, c, s)) as f32
}

/// The operation on doubles that hold narrower values exactly, rounded to odd.
fn odd(op: FloatOp, a: f64, b: f64, c: f64) -> f64 {
    match op {
        FloatOp::Add => to_odd(a + b, sum_error(a, b, a + b)),
        FloatOp::Sub => to_odd(a - b, sum_error(a, -b, a - b)),
        FloatOp::Mul => a * b,
        FloatOp::Fma => {
            let p = a * b;
            to_odd(p + c, sum_error(p, c, p + c))
        }
        FloatOp::Div | FloatOp::Rcp => {
            let (n, d) = if op == FloatOp::Rcp { (1.0, a) } else { (a, b) };
            let q = n / d;
            let rest = (-q).mul_add(d, n);
            to_odd(q, if d < 0.0 { -rest } else { rest })
        }
        FloatOp::Sqrt => {
            let r = a.sqrt();
            to_odd(r, (-r).mul_add(r, a))
        }
    }
}

/// The operation in a format of at most 32 bits.
pub(crate) fn narrow_op(format: Format, op: FloatOp, mode: Mode, args: [u32; 3]) -> u32 {
    let [a, b, c] = args.map(|bits| {
        let value = format.widen(bits);
        if mode.ftz && format.subnormal(bits) { 0f64.copysign(value) } else { value }
    });
    let value = odd(op, a, b, c);
    let value = if mode.round == Round::Down { negative_zero(op, [a, b, c], value) } else { value };
    finish(format, value, mode)
}

/// Rounds, flushes and clamps a result.
pub(crate) fn finish(format: Format, value: f64, mode: Mode) -> u32 {
    let value = clamp(value, mode);
    let out = format.narrow(value, mode.round, false);
    if mode.ftz && format.subnormal(out) {
        format.narrow(0f64.copysign(value), mode.round, false)
    } else {
        out
    }
}

fn clamp(value: f64, mode: Mode) -> f64 {
    if mode.sat {
        // NaN becomes +0, as does -0.
        if value > 0.0 { value.min(1.0) } else { 0.0 }
    } else if mode.relu && value <= 0.0 {
        0.0
    } else {
        value
    }
}

/// The operation in double precision.
pub(crate) fn op64(op: FloatOp, mode: Mode, a: f64, b: f64, c: f64) -> f64 {
    let value = match op {
        FloatOp::Add => a + b,
        FloatOp::Sub => a - b,
        FloatOp::Mul => a * b,
        FloatOp::Fma => a.mul_add(b, c),
        FloatOp::Div => a / b,
        FloatOp::Rcp => 1.0 / a,
        FloatOp::Sqrt => a.sqrt(),
    };
    let value =
        if mode.round == Round::Near { value } else { directed(op, mode.round, [a, b, c], value) };
    clamp(value, mode)
}

/// The result in a directed mode, given the nearest one.
fn directed(op: FloatOp, round: Round, args: [f64; 3], near: f64) -> f64 {
    match super::exact::operation(op, round, args) {
        Some(value) => value,
        None if round == Round::Down => negative_zero(op, args, near),
        None => near,
    }
}

/// Rounding down, a sum of zero is -0 unless both terms are +0.
fn negative_zero(op: FloatOp, [a, b, c]: [f64; 3], value: f64) -> f64 {
    let terms = match op {
        FloatOp::Add => [a, b],
        FloatOp::Sub => [a, -b],
        FloatOp::Fma => [a * b, c],
        _ => return value,
    };
    if value == 0.0 && terms.iter().any(|t| t.is_sign_negative()) { -0.0 } else { value }
}

/// Minimum or maximum of two values of a narrow format: a NaN loses to a number, unless `nan`; -0 is below +0.
pub(crate) fn min_max(max: bool, nan: bool, a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => f64::NAN,
        (true, _) | (_, true) if nan => f64::NAN,
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            // Equal but perhaps zeros of two signs.
            if a.is_sign_negative() == max { b } else { a }
        }
        _ => {
            if (a < b) == max {
                b
            } else {
                a
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> f32 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = (*state >> 32) as u32;
        // Exponents near one, so that cancellation and ties happen.
        f32::from_bits(bits & 0x807f_ffff | (100 + (bits >> 7) % 60) << 23)
    }

    #[test]
    fn single_operations_match_the_machine() {
        let mut state = 11;
        for _ in 0..100_000 {
            let [a, b, c] = [random(&mut state), random(&mut state), random(&mut state)];
            let bits = [a, b, c].map(f32::to_bits);
            for (op, expected) in [
                (FloatOp::Add, a + b),
                (FloatOp::Sub, a - b),
                (FloatOp::Mul, a * b),
                (FloatOp::Fma, a.mul_add(b, c)),
                (FloatOp::Div, a / b),
                (FloatOp::Rcp, 1.0 / a),
                (FloatOp::Sqrt, a.abs().sqrt()),
            ] {
                let args = if op == FloatOp::Sqrt { [bits[0] & 0x7fff_ffff, 0, 0] } else { bits };
                assert_eq!(
                    narrow_op(Format::F32, op, Mode::PLAIN, args),
                    expected.to_bits(),
                    "{op:?} {a} {b} {c}"
                );
            }
            assert_eq!(fma32(a, b, c).to_bits(), a.mul_add(b, c).to_bits());
        }
    }

    #[test]
    fn directed_modes_bracket_the_exact_result() {
        let mut state = 3;
        for _ in 0..50_000 {
            let [a, b] = [random(&mut state), random(&mut state)];
            let at = |round, op| {
                let mode = Mode { round, ..Mode::PLAIN };
                f32::from_bits(narrow_op(Format::F32, op, mode, [a.to_bits(), b.to_bits(), 0]))
            };
            for op in [FloatOp::Add, FloatOp::Mul, FloatOp::Div] {
                let (down, up) = (at(Round::Down, op), at(Round::Up, op));
                assert!(down == up || down.next_up() == up, "{op:?} {a} {b}: {down} {up}");
                let near = at(Round::Near, op);
                assert!(near == down || near == up);
            }
            let wide = f64::from(a) / 3.0;
            let mode = |round| Mode { round, ..Mode::PLAIN };
            let down = op64(FloatOp::Div, mode(Round::Down), f64::from(a), 3.0, 0.0);
            let up = op64(FloatOp::Div, mode(Round::Up), f64::from(a), 3.0, 0.0);
            assert!(down <= wide && wide <= up && (down == up || down.next_up() == up));
        }
    }

    #[test]
    fn saturation_flush_and_relu() {
        let sat = Mode { sat: true, ..Mode::PLAIN };
        let add = |mode, a: f32, b: f32| {
            f32::from_bits(narrow_op(
                Format::F32,
                FloatOp::Add,
                mode,
                [a.to_bits(), b.to_bits(), 0],
            ))
        };
        assert_eq!(add(sat, 3.0, 1.0), 1.0);
        assert_eq!(add(sat, f32::NAN, 1.0).to_bits(), 0);
        assert_eq!(add(sat, -3.0, 1.0).to_bits(), 0);
        let tiny = f32::from_bits(1);
        assert_eq!(add(Mode { ftz: true, ..Mode::PLAIN }, -tiny, -0.0).to_bits(), 0x8000_0000);
        assert_eq!(add(Mode { relu: true, ..Mode::PLAIN }, -3.0, 1.0).to_bits(), 0);
        assert_eq!(add(Mode::PLAIN, f32::INFINITY, f32::NEG_INFINITY).to_bits(), NAN32);
    }

    #[test]
    fn minimum_and_maximum_order_zeros_and_drop_nan() {
        assert!(min_max(false, false, 0.0, -0.0).is_sign_negative());
        assert!(min_max(true, false, -0.0, 0.0).is_sign_positive());
        assert_eq!(min_max(true, false, f64::NAN, 1.0), 1.0);
        assert!(min_max(true, true, f64::NAN, 1.0).is_nan());
        assert_eq!(min_max(false, false, 2.0, 1.0), 1.0);
    }
}

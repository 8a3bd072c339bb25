//! Elementwise operations on floats. f32 and f64 against Rust's, math functions against f64's; f16
//! and bf16 against the exact result rounded once.

use crate::harness::{Host, Random, elementwise, pairs};
use cutile_ir::Element;
use half::{bf16, f16};

/// Bits that must agree; any NaN equals any other.
trait Same: Host {
    fn same(self, other: Self) -> bool;
    fn wide(self) -> f64;
    /// The nearest value.
    fn near(v: f64) -> Self;
}

macro_rules! same {
    ($($t:ident, $near:expr, $wide:expr;)*) => {$(
        impl Same for $t {
            fn same(self, other: Self) -> bool {
                (self.is_nan() && other.is_nan()) || self.to_bits() == other.to_bits()
            }
            fn wide(self) -> f64 { $wide(self) }
            fn near(v: f64) -> Self { $near(v) }
        }
    )*};
}
same! {
    f64, |v: f64| v, |x: f64| x;
    f32, |v: f64| v as f32, f64::from;
    f16, f16::from_f64, |x: f16| x.to_f64();
    bf16, bf16::from_f64, |x: bf16| x.to_f64();
}

fn samples<T: Same>() -> Vec<T> {
    let mut v = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        3.9,
        -3.9,
        7.0,
        100.0,
        1e-3,
        65504.0,
        1e-7,
        3e38,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.3333,
        -1.7,
        0.49999997,
    ];
    let mut random = Random(11);
    v.extend((0..12).map(|_| random.unit() * 20.0));
    v.into_iter().map(T::near).collect()
}

fn binary<T: Same>(op: &str, f: impl Fn(T, T) -> T) {
    let (a, b) = pairs(&samples::<T>());
    let got: Vec<T> =
        elementwise(&format!("binary {op} %a %b"), (T::ELEMENT, T::ELEMENT), &[&a, &b]);
    for i in 0..a.len() {
        let expected = f(a[i], b[i]);
        assert!(
            got[i].same(expected),
            "{op} of {:?} and {:?} as {}: {:?}, not {expected:?}",
            a[i],
            b[i],
            T::ELEMENT,
            got[i]
        );
    }
}

fn unary<T: Same>(op: &str, f: impl Fn(T) -> T) {
    let a = samples::<T>();
    let got: Vec<T> = elementwise(&format!("unary {op} %a"), (T::ELEMENT, T::ELEMENT), &[&a]);
    for (a, got) in a.iter().zip(got) {
        let expected = f(*a);
        assert!(got.same(expected), "{op} of {a:?} as {}: {got:?}, not {expected:?}", T::ELEMENT);
    }
}

/// Minimum and maximum as the semantics page says them, by cases.
fn extreme<T: Same>(a: T, b: T, larger: bool, propagate: bool) -> T {
    let (x, y) = (a.wide(), b.wide());
    match (x.is_nan(), y.is_nan()) {
        (true, true) => a,
        (true, false) => {
            if propagate {
                a
            } else {
                b
            }
        }
        (false, true) => {
            if propagate {
                b
            } else {
                a
            }
        }
        _ if x == y => {
            if x.is_sign_negative() == larger {
                b
            } else {
                a
            }
        }
        _ => {
            if (x > y) == larger {
                a
            } else {
                b
            }
        }
    }
}

fn exact<T: Same>() {
    // All of these are exact in f64, or rounded there so finely that one more rounding is the only
    // one (f64 itself apart, where f64 is the definition).
    binary::<T>("add", |a, b| T::near(a.wide() + b.wide()));
    binary::<T>("sub", |a, b| T::near(a.wide() - b.wide()));
    binary::<T>("mul", |a, b| T::near(a.wide() * b.wide()));
    binary::<T>("div", |a, b| T::near(a.wide() / b.wide()));
    binary::<T>("rem", |a, b| T::near(a.wide() % b.wide()));
    binary::<T>("min", |a, b| extreme(a, b, false, false));
    binary::<T>("max", |a, b| extreme(a, b, true, false));
    binary::<T>("minimum", |a, b| extreme(a, b, false, true));
    binary::<T>("maximum", |a, b| extreme(a, b, true, true));
    unary::<T>("neg", |a| T::near(-a.wide()));
    unary::<T>("abs", |a| T::near(a.wide().abs()));
    unary::<T>("sqrt", |a| T::near(a.wide().sqrt()));
    unary::<T>("floor", |a| T::near(a.wide().floor()));
    unary::<T>("ceil", |a| T::near(a.wide().ceil()));
    unary::<T>("trunc", |a| T::near(a.wide().trunc()));
    unary::<T>("round", |a| T::near(a.wide().round()));
    unary::<T>("round_even", |a| T::near(a.wide().round_ties_even()));
}

#[test]
fn arithmetic_is_rounded_once() {
    exact::<f64>();
    exact::<f32>();
    exact::<f16>();
    exact::<bf16>();
}

#[test]
fn halves_round_away_or_to_even() {
    let a = [0.5f32, 1.5, 2.5, -0.5, -1.5, 0.49999997];
    let e = (Element::F32, Element::F32);
    assert_eq!(
        elementwise::<f32, f32>("unary round %a", e, &[&a]),
        [1.0, 2.0, 3.0, -1.0, -2.0, 0.0]
    );
    let even = elementwise::<f32, f32>("unary round_even %a", e, &[&a]);
    assert_eq!(even, [0.0, 2.0, 2.0, -0.0, -2.0, 0.0]);
}

/// Math functions: within `ulp` units in the last place of f64's result; of f16 and bf16, which round
/// an f32 result once, within one.
fn math<T: Same>(op: &str, reference: fn(f64) -> f64, domain: (f64, f64), epsilon: f64) {
    let mut random = Random(5);
    let mut a: Vec<T> = (0..500)
        .map(|_| T::near(domain.0 + (random.unit() + 1.0) / 2.0 * (domain.1 - domain.0)))
        .collect();
    a.extend([domain.0, domain.1].map(T::near));
    let got: Vec<T> = elementwise(&format!("unary {op} %a"), (T::ELEMENT, T::ELEMENT), &[&a]);
    for (a, got) in a.iter().zip(got) {
        let expected = reference(a.wide());
        let tolerance = epsilon * (expected.abs() + 1e-3);
        assert!(
            (got.wide() - expected).abs() <= tolerance,
            "{op} of {a:?} as {}: {got:?}, not {expected}",
            T::ELEMENT
        );
    }
}

#[test]
fn math_functions() {
    // Abramowitz and Stegun's series for erf, far better than the tolerance on [-3, 3].
    fn erf(x: f64) -> f64 {
        let mut term = x;
        let mut sum = x;
        for n in 1..120 {
            term *= -x * x / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }
    type Case = (&'static str, fn(f64) -> f64, (f64, f64));
    let cases: [Case; 11] = [
        ("exp", f64::exp, (-10.0, 10.0)),
        ("exp2", f64::exp2, (-10.0, 10.0)),
        ("log", f64::ln, (0.01, 100.0)),
        ("log2", f64::log2, (0.01, 100.0)),
        ("rsqrt", |x| 1.0 / x.sqrt(), (0.01, 100.0)),
        ("tanh", f64::tanh, (-5.0, 5.0)),
        ("sin", f64::sin, (-6.0, 6.0)),
        ("cos", f64::cos, (-6.0, 6.0)),
        ("erf", erf, (-3.0, 3.0)),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp()), (-10.0, 10.0)),
        ("sqrt", f64::sqrt, (0.0, 100.0)),
    ];
    for (op, f, domain) in cases {
        math::<f64>(op, f, domain, 1e-13);
        math::<f32>(op, f, domain, 4.0 * f64::from(f32::EPSILON));
        math::<f16>(op, f, domain, 1.01 * f16::EPSILON.to_f64());
        math::<bf16>(op, f, domain, 1.01 * bf16::EPSILON.to_f64());
    }
}

#[test]
fn math_functions_at_the_ends() {
    let inf = f32::INFINITY;
    let check = |op: &str, a: f32, expected: f32| {
        let e = (Element::F32, Element::F32);
        let got = elementwise::<f32, f32>(&format!("unary {op} %a"), e, &[&[a]])[0];
        assert!(got.same(expected), "{op} of {a}: {got}, not {expected}");
    };
    check("exp", -inf, 0.0);
    check("exp", inf, inf);
    check("log", 0.0, -inf);
    check("log", -1.0, f32::NAN);
    check("sqrt", -0.0, -0.0);
    check("rsqrt", 0.0, inf);
    check("tanh", inf, 1.0);
    check("erf", -inf, -1.0);
    check("sigmoid", -inf, 0.0);
    check("sigmoid", inf, 1.0);
    check("sin", inf, f32::NAN);
}

#[test]
fn pow_of_f32() {
    let (a, b) = pairs(&[0.5f32, 1.0, 2.0, 3.7, 10.0, -2.0, 0.0, 2.5]);
    let got = elementwise::<f32, f32>("binary pow %a %b", (Element::F32, Element::F32), &[&a, &b]);
    for i in 0..a.len() {
        let expected = f64::from(a[i]).powf(b[i].into());
        let near = (f64::from(got[i]) - expected).abs() <= expected.abs() * 2e-7;
        assert!(near || got[i].same(expected as f32), "{} to the {}: {}", a[i], b[i], got[i]);
    }
}

#[test]
fn comparisons_are_ieee() {
    fn check<T: Same>() {
        let (a, b) = pairs(&samples::<T>());
        type Compare = fn(&f64, &f64) -> bool;
        let all: [(&str, Compare); 6] = [
            ("eq", f64::eq),
            ("ne", f64::ne),
            ("lt", f64::lt),
            ("le", f64::le),
            ("gt", f64::gt),
            ("ge", f64::ge),
        ];
        for (op, f) in all {
            let got: Vec<bool> =
                elementwise(&format!("compare {op} %a %b"), (T::ELEMENT, Element::Bool), &[&a, &b]);
            for i in 0..a.len() {
                assert_eq!(
                    got[i],
                    f(&a[i].wide(), &b[i].wide()),
                    "{op} of {:?} and {:?}",
                    a[i],
                    b[i]
                );
            }
        }
        let a = samples::<T>();
        let nan: Vec<bool> = elementwise("unary is_nan %a", (T::ELEMENT, Element::Bool), &[&a]);
        let inf: Vec<bool> = elementwise("unary is_inf %a", (T::ELEMENT, Element::Bool), &[&a]);
        for i in 0..a.len() {
            assert_eq!(nan[i], a[i].wide().is_nan());
            assert_eq!(inf[i], a[i].wide().is_infinite());
        }
    }
    check::<f64>();
    check::<f32>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn fma_rounds_once() {
    // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: the last part shows only without a rounding between.
    let a = [1.0f32 + f32::EPSILON * 2048.0; 1];
    let got = elementwise::<f32, f32>(
        "fma %a %b %c",
        (Element::F32, Element::F32),
        &[&a, &a, &[-(a[0] * a[0])]],
    );
    assert_eq!(got, [2.0f32.powi(-24)]);
    // For f16 and bf16: exactly, in 128-bit fixed point, against every rounding that could be wrong.
    let mut random = Random(77);
    let mut any = |shift: i32| random.unit() * 2f64.powi(shift);
    let mut check = |n: usize| {
        let a: Vec<f16> = (0..n).map(|_| f16::from_f64(any(4))).collect();
        let b: Vec<f16> = (0..n).map(|_| f16::from_f64(any(3))).collect();
        let c: Vec<f16> = (0..n).map(|i| f16::from_f64(any(i as i32 % 20 - 14))).collect();
        let e = (Element::F16, Element::F16);
        let got = elementwise::<f16, f16>("fma %a %b %c", e, &[&a, &b, &c]);
        for i in 0..n {
            // Multiples of 2^-24 each, so of 2^-48 all together.
            let fixed = |x: f16, bits: i32| (x.to_f64() * 2f64.powi(bits)) as i128;
            let exact = fixed(a[i], 24) * fixed(b[i], 24) + (fixed(c[i], 24) << 24);
            let below = |x: f16| fixed(x, 24) << 24;
            let error = (below(got[i]) - exact).abs();
            let up = f16::from_bits(got[i].to_bits().wrapping_add(1));
            let down = f16::from_bits(got[i].to_bits().wrapping_sub(1));
            for other in [up, down] {
                if other.is_finite() && other.is_sign_negative() == got[i].is_sign_negative() {
                    let worse = (below(other) - exact).abs();
                    let even = got[i].to_bits() & 1 == 0;
                    assert!(
                        error < worse || (error == worse && even),
                        "{:?} {:?} {:?}",
                        a[i],
                        b[i],
                        c[i]
                    );
                }
            }
        }
    };
    check(4000);
    // bf16 products that lie halfway between neighbours, and an addend that f64 loses decides.
    let bits = |n: i32| bf16::from_f32(n as f32 / 128.0);
    let tiny = bf16::from_f64(2f64.powi(-100));
    let got = elementwise::<bf16, bf16>(
        "fma %a %b %c",
        (Element::BF16, Element::BF16),
        &[
            &[bits(129), bits(129), bits(131), bits(131)],
            &[bits(192); 4],
            &[tiny, -tiny, tiny, -tiny],
        ],
    );
    assert_eq!(got, [194, 193, 197, 196].map(bits));
}

#[test]
fn no_contraction() {
    let a = [1.0f32 + f32::EPSILON * 2048.0];
    let text = "entry @f(%x: tensor f32[?], %y: partitioned f32[?] by [1]) {
        %vx = partition %x : view f32[1]
        %vy = partition %y : view f32[1]
        %i = program_id 0 : i32
        %a = load %vx [%i] clip : f32[1]
        %p = binary mul %a %a : f32[1]
        %n = unary neg %p : f32[1]
        %q = binary mul %a %a : f32[1]
        %s = binary add %q %n : f32[1]
        store %s %vy [%i]
        yield
    }";
    let mut x = crate::harness::tensor(&[1], a.to_vec());
    let mut y = crate::harness::output::<f32>(&[1]);
    crate::harness::run(text, &[x.arg(), y.arg()], &[1]);
    assert_eq!(y.data, [0.0]);
}

/// -0.0, infinities, NaN bits and subnormals go through a load, a select and a store unchanged.
#[test]
fn special_values_survive() {
    let bits = [0x8000_0000u32, 0x7f80_0000, 0xff80_0000, 0x7fc0_1234, 0xffa0_0001, 1, 0x8000_0001];
    let values: Vec<f32> = bits.iter().map(|b| f32::from_bits(*b)).collect();
    let got = elementwise::<f32, f32>("convert %a", (Element::F32, Element::F32), &[&values]);
    assert_eq!(got.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), bits);
    let tiny = elementwise::<f32, f32>(
        "binary add %a %b",
        (Element::F32, Element::F32),
        &[&[f32::from_bits(3)], &[f32::from_bits(4)]],
    );
    assert_eq!(tiny[0].to_bits(), 7, "subnormals are not flushed");
}

//! Conversions between all element types, against Rust's `as` and against a search for the nearest
//! value of a narrow format, by that format's definition.

use crate::harness::{Host, Random, elementwise};
use cutile_ir::Element;
use half::{bf16, f16};

/// A narrow float format by its definition.
struct Format {
    element: Element,
    exponent_bits: u32,
    mantissa_bits: u32,
    /// Whether what is too large becomes the largest finite value.
    saturates: bool,
    largest: f64,
}

const FORMATS: [Format; 5] = [
    Format {
        element: Element::F16,
        exponent_bits: 5,
        mantissa_bits: 10,
        saturates: false,
        largest: 65504.0,
    },
    Format {
        element: Element::BF16,
        exponent_bits: 8,
        mantissa_bits: 7,
        saturates: false,
        largest: 3.3895313892515355e38,
    },
    Format {
        element: Element::TF32,
        exponent_bits: 8,
        mantissa_bits: 10,
        saturates: false,
        largest: 3.4011621342146535e38,
    },
    Format {
        element: Element::F8E4M3,
        exponent_bits: 4,
        mantissa_bits: 3,
        saturates: true,
        largest: 448.0,
    },
    Format {
        element: Element::F8E5M2,
        exponent_bits: 5,
        mantissa_bits: 2,
        saturates: true,
        largest: 57344.0,
    },
];

impl Format {
    /// The nearest value to a number of at most 53 bits, ties to even: scaled so that the format's
    /// last place is 1, f64 rounds to the integer.
    fn nearest(&self, x: f64) -> f64 {
        if x.is_nan() || x == 0.0 {
            return x;
        }
        let clamped = |v: f64| {
            if v.abs() <= self.largest {
                v
            } else if self.saturates {
                self.largest.copysign(v)
            } else {
                f64::INFINITY.copysign(v)
            }
        };
        if x.is_infinite() {
            return clamped(x);
        }
        let smallest_normal = 2 - (1 << (self.exponent_bits - 1));
        let exponent = (x.abs().log2().floor() as i32 + 1).clamp(-1074, 1023);
        // The logarithm may be off by one.
        let exponent = if 2f64.powi(exponent) > x.abs() { exponent - 1 } else { exponent };
        let place = 2f64.powi(exponent.max(smallest_normal) - self.mantissa_bits as i32);
        clamped((x / place).round_ties_even() * place)
    }

    /// The value of bits.
    fn value(&self, bits: u32) -> f64 {
        let sign =
            if bits >> (self.exponent_bits + self.mantissa_bits) & 1 == 1 { -1.0 } else { 1.0 };
        let exponent = (bits >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1);
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let top = (1 << self.exponent_bits) - 1;
        if self.element == Element::F8E4M3 {
            if exponent == top && mantissa == 7 {
                return f64::NAN;
            }
        } else if exponent == top {
            return if mantissa == 0 { sign * f64::INFINITY } else { f64::NAN };
        }
        let smallest_normal = 2 - (1 << (self.exponent_bits - 1));
        let fraction = f64::from(mantissa) / f64::from(1 << self.mantissa_bits);
        sign * if exponent == 0 {
            fraction * 2f64.powi(smallest_normal)
        } else {
            (1.0 + fraction) * 2f64.powi(exponent as i32 - 1 + smallest_normal)
        }
    }

    /// The value of what memory holds of the format.
    fn stored(&self, bits: u32) -> f64 {
        self.value(if self.element == Element::TF32 { bits >> 13 } else { bits })
    }
}

fn numbers() -> Vec<f64> {
    let mut v = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        3.9,
        -3.9,
        0.5,
        1e10,
        -1e10,
        500.0,
        448.0,
        464.0,
        449.0,
        60000.0,
        57344.0,
        61440.0,
        65504.0,
        65519.9,
        65520.0,
        1e-8,
        5.9e-8,
        2.98e-8,
        1e-40,
        1e-45,
        3.4e38,
        1e300,
        1e-300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        2f64.powi(-9),
        2f64.powi(-10),
        1.5 * 2f64.powi(-10),
        // Halfway between f16 neighbours but for a bit that f32 loses.
        1.0 + 2f64.powi(-11) + 2f64.powi(-40),
        1.0 + 2f64.powi(-11),
        1.0 + 2f64.powi(-8) + 2f64.powi(-30),
        1.0 + 3.0 * 2f64.powi(-8),
    ];
    let mut random = Random(42);
    for _ in 0..400 {
        let scale = 2f64.powi((random.next() % 60) as i32 - 30);
        v.push(random.unit() * scale);
    }
    v
}

#[test]
fn floats_round_to_the_nearest_narrow_value() {
    for format in &FORMATS {
        let check = |x: f64, bits: u32, from: Element| {
            let (got, expected) = (format.stored(bits), format.nearest(x));
            let same = got == expected && got.is_sign_negative() == expected.is_sign_negative();
            let nan = got.is_nan() && expected.is_nan();
            assert!(
                same || nan,
                "{x:e} of {from} to {}: {got:e}, not {expected:e}",
                format.element
            );
        };
        let doubles = numbers();
        let floats: Vec<f32> = doubles.iter().map(|x| *x as f32).collect();
        match format.element.bytes() {
            1 => {
                let got = elementwise::<f64, u8>(
                    "convert %a",
                    (Element::F64, format.element),
                    &[&doubles],
                );
                doubles.iter().zip(got).for_each(|(x, b)| check(*x, b.into(), Element::F64));
                let got = elementwise::<f32, u8>(
                    "convert %a",
                    (Element::F32, format.element),
                    &[&floats],
                );
                floats
                    .iter()
                    .zip(got)
                    .for_each(|(x, b)| check((*x).into(), b.into(), Element::F32));
            }
            2 => {
                let got = elementwise::<f64, u16>(
                    "convert %a",
                    (Element::F64, format.element),
                    &[&doubles],
                );
                doubles.iter().zip(got).for_each(|(x, b)| check(*x, b.into(), Element::F64));
                let got = elementwise::<f32, u16>(
                    "convert %a",
                    (Element::F32, format.element),
                    &[&floats],
                );
                floats
                    .iter()
                    .zip(got)
                    .for_each(|(x, b)| check((*x).into(), b.into(), Element::F32));
            }
            _ => {
                let got = elementwise::<f64, u32>(
                    "convert %a",
                    (Element::F64, format.element),
                    &[&doubles],
                );
                doubles.iter().zip(got).for_each(|(x, b)| check(*x, b, Element::F64));
                let got = elementwise::<f32, u32>(
                    "convert %a",
                    (Element::F32, format.element),
                    &[&floats],
                );
                floats.iter().zip(&got).for_each(|(x, b)| check((*x).into(), *b, Element::F32));
                assert!(got.iter().all(|b| b & 0x1fff == 0), "tf32 has 10 bits of mantissa");
            }
        }
    }
}

#[test]
fn narrow_floats_widen_exactly() {
    for format in &FORMATS {
        let same = |bits: u32, got: f32| {
            let expected = format.stored(bits) as f32;
            let equal = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
            assert!(equal, "{bits:#x} of {}: {got}, not {expected}", format.element);
        };
        let e = (format.element, Element::F32);
        match format.element.bytes() {
            1 => {
                let all: Vec<u8> = (0..=255).collect();
                let got = elementwise::<u8, f32>("convert %a", e, &[&all]);
                all.iter().zip(got).for_each(|(b, x)| same((*b).into(), x));
            }
            2 => {
                let all: Vec<u16> = (0..=u16::MAX).step_by(7).collect();
                let got = elementwise::<u16, f32>("convert %a", e, &[&all]);
                all.iter().zip(got).for_each(|(b, x)| same((*b).into(), x));
            }
            _ => {
                let all: Vec<u32> = (0..1 << 19).step_by(97).map(|b| b << 13).collect();
                let got = elementwise::<u32, f32>("convert %a", e, &[&all]);
                all.iter().zip(got).for_each(|(b, x)| same(*b, x));
            }
        }
    }
}

#[test]
fn the_largest_finite_fp8() {
    let x = [500.0f32, 60000.0, f32::INFINITY, -1e9];
    let back = |e| {
        let bits = elementwise::<f32, u8>("convert %a", (Element::F32, e), &[&x]);
        elementwise::<u8, f32>("convert %a", (e, Element::F32), &[&bits])
    };
    assert_eq!(back(Element::F8E4M3), [448.0, 448.0, 448.0, -448.0]);
    assert_eq!(back(Element::F8E5M2), [512.0, 57344.0, 57344.0, -57344.0]);
}

macro_rules! native {
    ($s:ident to $($d:ident)*) => {$({
        let x: Vec<$s> = native!(@samples $s);
        let got: Vec<$d> = elementwise("convert %a", ($s::ELEMENT, $d::ELEMENT), &[&x]);
        for (x, got) in x.iter().zip(got) {
            let expected = *x as $d;
            let same = got == expected || (got as f64).is_nan() && (expected as f64).is_nan();
            assert!(same, "{x:?} of {} to {}: {got:?}, not {expected:?}", $s::ELEMENT, $d::ELEMENT);
        }
    })*};
    (@samples f64) => { numbers() };
    (@samples f32) => { numbers().iter().map(|x| *x as f32).collect() };
    (@samples $t:ident) => {
        [0i128, 1, -1, 7, 127, 128, 200, 255, -128, -129, 32767, 32768, 60000, -40000, 1 << 24, (1 << 24) + 1,
            i32::MAX as i128, i32::MIN as i128, u32::MAX as i128, (1 << 53) + 1, i64::MAX as i128,
            i64::MIN as i128, u64::MAX as i128]
            .iter().map(|n| *n as $t).collect()
    };
}
macro_rules! all_native {
    ($($s:ident)*) => {$( native!($s to f64 f32 i8 i16 i32 i64 u8 u16 u32 u64); )*};
}

#[test]
fn native_types_convert_as_rust_does() {
    all_native! { f64 f32 i8 i16 i32 i64 u8 u16 u32 u64 }
}

#[test]
fn the_report_on_saturation() {
    let x = [3.9f32, -3.9, 1e10, -1e10, f32::NAN, f32::INFINITY];
    let got = elementwise::<f32, i32>("convert %a", (Element::F32, Element::I32), &[&x]);
    assert_eq!(got, [3, -3, i32::MAX, i32::MIN, 0, i32::MAX]);
    let half: Vec<f16> = x.iter().map(|v| f16::from_f32(*v)).collect();
    let got = elementwise::<f16, i8>("convert %a", (Element::F16, Element::I8), &[&half]);
    assert_eq!(got, [3, -3, 127, -128, 0, 127]);
    let brain: Vec<bf16> = x.iter().map(|v| bf16::from_f32(*v)).collect();
    let got = elementwise::<bf16, u16>("convert %a", (Element::BF16, Element::U16), &[&brain]);
    assert_eq!(got, [3, 0, 65535, 0, 0, 65535]);
}

/// Integers of 64 bits round once, though f64 between could round twice.
#[test]
fn wide_integers_round_once() {
    // Just above a tie of bf16's 8 bits; f64 would drop what decides.
    let tie = (1u64 << 63) + (1 << 55);
    let x = [tie, tie + 1, tie - 1, u64::MAX, (1 << 40) + 1];
    let got = elementwise::<u64, bf16>("convert %a", (Element::U64, Element::BF16), &[&x]);
    let step = 2f32.powi(56);
    let expected =
        [2f32.powi(63), 2f32.powi(63) + step, 2f32.powi(63), 2f32.powi(64), 2f32.powi(40)];
    assert_eq!(got.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), expected);
    let minus: Vec<i64> = vec![-((1 << 62) + (1 << 54)) - 1, i64::MIN, -1];
    let got = elementwise::<i64, bf16>("convert %a", (Element::I64, Element::BF16), &[&minus]);
    let expected = [-(2f32.powi(62) + 2f32.powi(55)), -(2f32.powi(63)), -1.0];
    assert_eq!(got.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), expected);
}

#[test]
fn bitcasts_keep_bits() {
    let x = [1.0f32, -0.0, f32::NAN];
    let got = elementwise::<f32, u32>("bitcast %a", (Element::F32, Element::U32), &[&x]);
    assert_eq!(got, x.map(f32::to_bits));
    let got =
        elementwise::<u16, f16>("bitcast %a", (Element::U16, Element::F16), &[&[0x3c00, 0xfe01]]);
    assert_eq!(got.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), [0x3c00, 0xfe01]);
    let got = elementwise::<i8, u8>("bitcast %a", (Element::I8, Element::F8E4M3), &[&[-1, 5]]);
    assert_eq!(got, [255, 5]);
}

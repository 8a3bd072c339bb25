//! Many operations in one kernel each: every unary, binary, comparison and conversion over tables of awkward values.

use crate::harness::*;
use std::fmt::Write;

/// A kernel that computes each expression of `%a` and `%b` and stores it as a row of `%z`.
fn table(from: &str, to: &str, n: usize, expressions: &[String]) -> String {
    let mut s = format!(
        "
entry @table(%x: tensor {from}[?], %y: tensor {from}[?], %z: partitioned {to}[?, ?] by [1, {n}]) {{
    %px = partition %x : view {from}[{n}]
    %py = partition %y : view {from}[{n}]
    %pz = partition %z : view {to}[1, {n}]
    %o = constant 0 : i32
    %a = load %px [%o] clip : {from}[{n}]
    %b = load %py [%o] clip : {from}[{n}]
"
    );
    for (i, e) in expressions.iter().enumerate() {
        writeln!(s, "    %i{i} = constant {i} : i32").unwrap();
        writeln!(s, "    %e{i} = {e} : {to}[{n}]").unwrap();
        writeln!(s, "    %r{i} = reshape %e{i} : {to}[1, {n}]").unwrap();
        writeln!(s, "    store %r{i} %pz [%i{i}, %o]").unwrap();
    }
    s + "    yield\n}\n"
}

/// An operation as tile IR, and what it gives for two operands.
type Case<'a, T, U> = (&'a str, &'a dyn Fn(T, T) -> U);

fn rows<T: Pod, U: Pod + PartialEq + std::fmt::Debug>(
    types: [&str; 2],
    x: &[T],
    y: &[T],
    cases: &[Case<'_, T, U>],
    close: impl Fn(U, U) -> bool,
) {
    let n = x.len();
    let expressions: Vec<String> = cases.iter().map(|(e, _)| e.to_string()).collect();
    let text = table(types[0], types[1], n, &expressions);
    let out = vec![0xa5u8; n * cases.len() * size_of::<U>()];
    let shape = vec![cases.len() as i64, n as i64];
    let out = Tensor { bytes: out, element: size_of::<U>(), strides: vec![n as i64, 1], shape };
    let args = [tensor(x, &[n as i64]), tensor(y, &[n as i64]), Arg::Tensor(out)];
    run(&text, &[1, 1], &args, |o| {
        let got = o.tensors[2].values::<U>();
        for (row, (name, f)) in got.chunks(n).zip(cases) {
            for i in 0..n {
                let want = f(x[i], y[i]);
                assert!(close(row[i], want), "{name} at {i}: {:?}, not {want:?}", row[i]);
            }
        }
    });
}

fn same_f32(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

const AWKWARD: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    2.5,
    0.5,
    -0.5,
    1e-40,
    -3e38,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    7.25,
    -7.75,
    1e10,
    0.333,
];

fn others() -> Vec<f32> {
    AWKWARD.iter().rev().copied().collect()
}

#[test]
fn floats_compute_as_rust_does() {
    let min =
        |a: f32, b: f32| if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) };
    let max =
        |a: f32, b: f32| if a == b { f32::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) };
    let cases: &[Case<'_, f32, f32>] = &[
        ("unary neg %a", &|a, _| -a),
        ("unary abs %a", &|a, _| a.abs()),
        ("unary sqrt %a", &|a, _| a.sqrt()),
        ("unary floor %a", &|a, _| a.floor()),
        ("unary ceil %a", &|a, _| a.ceil()),
        ("unary round %a", &|a, _| a.round()),
        ("unary round_even %a", &|a, _| a.round_ties_even()),
        ("unary trunc %a", &|a, _| a.trunc()),
        ("binary add %a %b", &|a, b| a + b),
        ("binary sub %a %b", &|a, b| a - b),
        ("binary mul %a %b", &|a, b| a * b),
        ("binary div %a %b", &|a, b| a / b),
        ("binary rem %a %b", &|a, b| a % b),
        ("binary min %a %b", &min),
        ("binary max %a %b", &max),
        ("binary minimum %a %b", &|a, b| {
            if a.is_nan() || b.is_nan() { f32::NAN } else { min(a, b) }
        }),
        ("fma %a %b %a", &|a, b| a.mul_add(b, a)),
    ];
    rows(["f32", "f32"], &AWKWARD, &others(), cases, same_f32);
}

#[test]
fn math_functions_are_close() {
    let x = [0.1f32, 0.7, 1.3, -2.2, 3.9, 8.5, -0.4, 20.0];
    let close = |a: f32, b: f32| same_f32(a, b) || (a - b).abs() <= b.abs() * 5e-7;
    let cases: &[Case<'_, f32, f32>] = &[
        ("unary exp %a", &|a, _| f64::from(a).exp() as f32),
        ("unary exp2 %a", &|a, _| f64::from(a).exp2() as f32),
        ("unary log %a", &|a, _| f64::from(a).ln() as f32),
        ("unary log2 %a", &|a, _| f64::from(a).log2() as f32),
        ("unary rsqrt %a", &|a, _| (1.0 / f64::from(a).sqrt()) as f32),
        ("unary tanh %a", &|a, _| f64::from(a).tanh() as f32),
        ("unary sin %a", &|a, _| f64::from(a).sin() as f32),
        ("unary cos %a", &|a, _| f64::from(a).cos() as f32),
        ("unary sigmoid %a", &|a, _| (1.0 / (1.0 + f64::from(-a).exp())) as f32),
        ("binary pow %a %b", &|a, b| f64::from(a).powf(b.into()) as f32),
    ];
    rows(["f32", "f32"], &x, &[2.0, -1.5, 3.0, 3.0, 0.5, 0.0, 2.0, 1.1], cases, close);
    let cases: &[Case<'_, f32, f32>] = &[("unary erf %a", &|a, _| match a {
        0.5 => 0.520_499_9,
        1.0 => 0.842_700_8,
        -2.0 => -0.995_322_3,
        _ => 0.999_977_9,
    })];
    rows(["f32", "f32"], &[0.5f32, 1.0, -2.0, 3.0], &[0.0; 4], cases, close);
}

#[test]
fn comparisons_follow_ieee() {
    let cases: &[Case<'_, f32, u8>] = &[
        ("compare eq %a %b", &|a, b| (a == b).into()),
        ("compare ne %a %b", &|a, b| (a != b).into()),
        ("compare lt %a %b", &|a, b| (a < b).into()),
        ("compare ge %a %b", &|a, b| (a >= b).into()),
        ("unary is_nan %a", &|a, _| a.is_nan().into()),
        ("unary is_inf %b", &|_, b| b.is_infinite().into()),
    ];
    rows(["f32", "bool"], &AWKWARD, &others(), cases, |a, b| a == b);
}

#[test]
fn integers_wrap_and_divide_as_rust_does() {
    let x = [i32::MAX, i32::MIN, -7, 7, 0, -1, 100, 13];
    let y = [3, 2, 2, -2, 5, 31, 7, -13];
    let cases: &[Case<'_, i32, i32>] = &[
        ("binary add %a %b", &|a, b| a.wrapping_add(b)),
        ("binary mul %a %b", &|a, b| a.wrapping_mul(b)),
        ("binary div %a %b", &|a, b| a / b),
        ("binary rem %a %b", &|a, b| a % b),
        ("binary div_floor %a %b", &|a, b| (f64::from(a) / f64::from(b)).floor() as i32),
        ("binary div_ceil %a %b", &|a, b| (f64::from(a) / f64::from(b)).ceil() as i32),
        ("binary rem_euclid %a %b", &|a, b| a.rem_euclid(b)),
        ("binary shl %a %b", &|a, b| a.wrapping_shl(b as u32)),
        ("binary shr %a %b", &|a, b| a.wrapping_shr(b as u32)),
        ("binary xor %a %b", &|a, b| a ^ b),
        ("binary min %a %b", &|a, b| a.min(b)),
        ("unary not %a", &|a, _| !a),
        ("unary abs %a", &|a, _| a.wrapping_abs()),
    ];
    rows(["i32", "i32"], &x, &y, cases, |a, b| a == b);
    let cases: &[Case<'_, u8, u8>] = &[
        ("binary div %a %b", &|a, b| a / b),
        ("binary max %a %b", &|a, b| a.max(b)),
        ("binary shr %a %b", &|a, b| a.wrapping_shr(b.into())),
        ("binary sub %a %b", &|a, b| a.wrapping_sub(b)),
    ];
    rows(["u8", "u8"], &[200u8, 3, 255, 0], &[3, 200, 9, 1], cases, |a, b| a == b);
}

#[test]
fn conversions_round_saturate_and_wrap() {
    let to_i32: &[Case<'_, f32, i32>] = &[("convert %a", &|a, _| a as i32)];
    rows(["f32", "i32"], &AWKWARD, &others(), to_i32, |a, b| a == b);
    let to_u8: &[Case<'_, i32, u8>] = &[("convert %a", &|a, _| a as u8)];
    rows(["i32", "u8"], &[300, -1, 7, 65536], &[0; 4], to_u8, |a, b| a == b);
    let to_bf16: &[Case<'_, f32, u16>] = &[("convert %a", &|a, _| {
        if a.is_nan() {
            0x7fff
        } else {
            ((a.to_bits() + 0x7fff + (a.to_bits() >> 16 & 1)) >> 16) as u16
        }
    })];
    rows(["f32", "bf16"], &AWKWARD, &others(), to_bf16, |a, b| a == b);
    let bits: &[Case<'_, f32, u32>] = &[("bitcast %a", &|a, _| a.to_bits())];
    rows(["f32", "u32"], &AWKWARD, &others(), bits, |a, b| a == b);
}

#[test]
fn halves_compute_in_f32() {
    let half = |v: f32| ((v.to_bits() + 0x7fff + (v.to_bits() >> 16 & 1)) >> 16) as u16;
    let wide = |v: u16| f32::from_bits(u32::from(v) << 16);
    let x: Vec<u16> = noise(64, 1).into_iter().map(half).collect();
    let y: Vec<u16> = noise(64, 2).into_iter().map(half).collect();
    let cases: &[Case<'_, u16, u16>] = &[
        ("binary add %a %b", &|a, b| half(wide(a) + wide(b))),
        ("binary mul %a %b", &|a, b| half(wide(a) * wide(b))),
        ("binary div %a %b", &|a, b| half(wide(a) / wide(b))),
        ("binary max %a %b", &|a, b| half(wide(a).max(wide(b)))),
        ("unary neg %a", &|a, _| a ^ 0x8000),
    ];
    rows(["bf16", "bf16"], &x, &y, cases, |a, b| a == b);
}

#[test]
fn scalars_of_every_width_arrive() {
    let text = "
entry @k(%f: bool, %a: bf16, %b: u8, %c: i64, %d: f64, %y: partitioned f64[?] by [4]) {
    %py = partition %y : view f64[4]
    %i = program_id 0 : i32
    %a2 = convert %a : f64
    %b2 = convert %b : f64
    %c2 = convert %c : f64
    %s = binary add %a2 %b2 : f64
    %t = binary add %c2 %d : f64
    %u = binary mul %s %t : f64
    %z = constant -1.0 : f64
    %r = select %f %u %z : f64
    %rt = splat %r : f64[4]
    store %rt %py [%i]
    yield
}
";
    for flag in [0u8, 1] {
        let args = [
            scalar(flag),
            scalar(0x3fc0u16),
            scalar(200u8),
            scalar(-(1i64 << 40)),
            scalar(0.25f64),
            tensor(&[0f64; 4], &[4]),
        ];
        run(text, &[1], &args, |o| {
            let want = if flag == 1 { 201.5 * (0.25 - (1u64 << 40) as f64) } else { -1.0 };
            assert_eq!(o.tensors[0].values::<f64>(), [want; 4]);
        });
    }
}

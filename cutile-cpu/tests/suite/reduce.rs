//! Reductions: every kind, element type and axis, whole and ragged.

use crate::harness::{Host, Random, output, run, tensor};
use half::{bf16, f16};

/// Reduces an axis of a [rows, columns] tensor in tiles of 4 by 6 (of 3 by 150 with `long`), which must
/// hold it whole.
fn reduce<T: Host, R: Host>(
    kind: &str,
    axis: usize,
    shape: [i64; 2],
    tile: [i64; 2],
    x: &[T],
) -> Vec<R> {
    let (e, r) = (T::ELEMENT, R::ELEMENT);
    let [m, n] = tile;
    let left = tile[1 - axis];
    let text = format!(
        "entry @reduce(%x: tensor {e}[?, ?], %y: partitioned {r}[?] by [{left}]) {{
            %vx = partition %x : view {e}[{m}, {n}]
            %vy = partition %y : view {r}[{left}]
            %i = program_id 0 : i32
            %zero = constant 0 : i32
            %t = load %vx [{}] clip : {e}[{m}, {n}]
            %s = reduce {kind} {axis} %t : {r}[{left}]
            store %s %vy [%i]
            yield
        }}",
        if axis == 1 { "%i, %zero" } else { "%zero, %i" }
    );
    let mut x = tensor(&shape, x.to_vec());
    let mut y = output::<R>(&[shape[1 - axis]]);
    run(&text, &[x.arg(), y.arg()], &[(shape[1 - axis] as u32).div_ceil(left as u32)]);
    y.data
}

/// The elements that each result reduces.
fn groups<T: Copy>(x: &[T], [rows, columns]: [i64; 2], axis: usize) -> Vec<Vec<T>> {
    let (rows, columns) = (rows as usize, columns as usize);
    let at = |i: usize, j: usize| x[i * columns + j];
    if axis == 1 {
        (0..rows).map(|i| (0..columns).map(|j| at(i, j)).collect()).collect()
    } else {
        (0..columns).map(|j| (0..rows).map(|i| at(i, j)).collect()).collect()
    }
}

const CASES: [([i64; 2], [i64; 2]); 6] = [
    ([4, 6], [4, 6]),
    ([3, 5], [4, 6]),
    ([1, 1], [4, 6]),
    ([3, 150], [3, 150]),
    ([2, 140], [3, 150]),
    ([140, 3], [150, 3]),
];

macro_rules! integers {
    ($($t:ident)*) => {$({
        for (shape, tile) in CASES {
            for axis in 0..2 {
                let mut random = Random(shape[0] as u64 * 31 + shape[1] as u64);
                let x: Vec<$t> = (0..shape[0] * shape[1]).map(|_| random.next() as $t).collect();
                let rows = groups(&x, shape, axis);
                let each = |f: &dyn Fn(&[$t]) -> $t| rows.iter().map(|r| f(r)).collect::<Vec<$t>>();
                let got = |kind: &str| reduce::<$t, $t>(kind, axis, shape, tile, &x);
                assert_eq!(got("sum"), each(&|r| r.iter().fold(0, |a, b| a.wrapping_add(*b))));
                assert_eq!(got("prod"), each(&|r| r.iter().fold(1, |a, b| a.wrapping_mul(*b))));
                assert_eq!(got("max"), each(&|r| *r.iter().max().unwrap()));
                assert_eq!(got("min"), each(&|r| *r.iter().min().unwrap()));
                let first = |r: &[$t], v: $t| r.iter().position(|x| *x == v).unwrap() as i32;
                let index = |f: &dyn Fn(&[$t]) -> i32| rows.iter().map(|r| f(r)).collect::<Vec<i32>>();
                assert_eq!(
                    reduce::<$t, i32>("argmax", axis, shape, tile, &x),
                    index(&|r| first(r, *r.iter().max().unwrap()))
                );
                assert_eq!(
                    reduce::<$t, i32>("argmin", axis, shape, tile, &x),
                    index(&|r| first(r, *r.iter().min().unwrap()))
                );
            }
        }
    })*};
}

#[test]
fn integers() {
    integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
}

fn floats<T: Host>(near: fn(f64) -> T, wide: fn(T) -> f64, sum_epsilon: f64, end_epsilon: f64) {
    for (shape, tile) in CASES {
        for axis in 0..2 {
            let mut random = Random(shape[0] as u64 * 37 + shape[1] as u64);
            let x: Vec<T> = (0..shape[0] * shape[1]).map(|_| near(random.unit())).collect();
            let rows = groups(&x, shape, axis);
            let got = |kind: &str| reduce::<T, T>(kind, axis, shape, tile, &x);
            for ((r, sum), prod) in rows.iter().zip(got("sum")).zip(got("prod")) {
                let expected: f64 = r.iter().map(|v| wide(*v)).sum();
                let magnitude: f64 = r.iter().map(|v| wide(*v).abs()).sum();
                // Each of n terms rounds at most once an addition; then the result does.
                let tolerance =
                    sum_epsilon * r.len() as f64 * magnitude + end_epsilon * expected.abs();
                assert!((wide(sum) - expected).abs() <= tolerance, "sum {expected}: {sum:?}");
                let expected: f64 = r.iter().map(|v| wide(*v)).product();
                let tolerance =
                    (sum_epsilon * r.len() as f64 + end_epsilon) * expected.abs() + 1e-7;
                assert!((wide(prod) - expected).abs() <= tolerance, "product {expected}: {prod:?}");
            }
            let max = |r: &Vec<T>| r.iter().map(|v| wide(*v)).fold(f64::NEG_INFINITY, f64::max);
            let min = |r: &Vec<T>| r.iter().map(|v| wide(*v)).fold(f64::INFINITY, f64::min);
            for kind in ["max", "maximum"] {
                let got: Vec<f64> = got(kind).into_iter().map(wide).collect();
                assert_eq!(got, rows.iter().map(max).collect::<Vec<_>>());
            }
            for kind in ["min", "minimum"] {
                let got: Vec<f64> = got(kind).into_iter().map(wide).collect();
                assert_eq!(got, rows.iter().map(min).collect::<Vec<_>>());
            }
            let arg = |r: &Vec<T>, v: f64| r.iter().position(|x| wide(*x) == v).unwrap() as i32;
            let expected: Vec<i32> = rows.iter().map(|r| arg(r, max(r))).collect();
            assert_eq!(reduce::<T, i32>("argmax", axis, shape, tile, &x), expected);
            let expected: Vec<i32> = rows.iter().map(|r| arg(r, min(r))).collect();
            assert_eq!(reduce::<T, i32>("argmin", axis, shape, tile, &x), expected);
        }
    }
}

#[test]
fn floats_of_every_width() {
    let single = f64::from(f32::EPSILON) / 2.0;
    floats::<f64>(|v| v, |v| v, f64::EPSILON / 2.0, 0.0);
    floats::<f32>(|v| v as f32, f64::from, single, 0.0);
    // f16 and bf16 accumulate in f32: only the end has their own error.
    floats::<f16>(f16::from_f64, f16::to_f64, single, f16::EPSILON.to_f64() / 2.0);
    floats::<bf16>(bf16::from_f64, bf16::to_f64, single, bf16::EPSILON.to_f64() / 2.0);
}

#[test]
fn invalid_lanes_take_no_part() {
    // The report: five negative values in a tile of 8.
    let x = [-5.0f32, -4.0, -3.0, -2.0, -1.0];
    let one = |kind: &str| reduce::<f32, f32>(kind, 1, [1, 5], [1, 8], &x)[0];
    assert_eq!(one("max"), -1.0);
    assert_eq!(one("sum"), -15.0);
    assert_eq!(one("min"), -5.0);
    assert_eq!(one("prod"), -120.0);
    assert_eq!(reduce::<f32, i32>("argmax", 1, [1, 5], [1, 8], &x), [4]);
    assert_eq!(reduce::<bool, bool>("all", 1, [1, 3], [1, 8], &[true; 3]), [true]);
    assert_eq!(reduce::<bool, bool>("any", 1, [1, 3], [1, 8], &[false; 3]), [false]);
    let mixed = [true, false, true, true, true, true];
    assert_eq!(reduce::<bool, bool>("all", 0, [2, 3], [4, 4], &mixed), [true, false, true]);
    assert_eq!(reduce::<bool, bool>("any", 1, [2, 3], [4, 4], &mixed), [true, true]);
}

#[test]
fn nan_infinities_and_zeros() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for axis in 0..2 {
        let n = |x: &[f32]| if axis == 1 { [1, x.len() as i64] } else { [x.len() as i64, 1] };
        let value = |kind: &str, x: &[f32]| reduce::<f32, f32>(kind, axis, n(x), n(x), x)[0];
        let index = |kind: &str, x: &[f32]| reduce::<f32, i32>(kind, axis, n(x), n(x), x)[0];
        assert_eq!(value("max", &[-inf, nan, inf, 1.0]), inf);
        assert_eq!(value("max", &[nan, 1.0]), 1.0);
        assert_eq!(value("min", &[1.0, nan]), 1.0);
        assert!(value("maximum", &[-inf, nan, inf]).is_nan());
        assert!(value("minimum", &[1.0, 2.0, nan]).is_nan());
        assert!(value("max", &[nan; 4]).is_nan());
        assert!(value("min", &[nan; 20]).is_nan());
        assert_eq!(value("max", &[-inf; 3]), -inf);
        assert!(value("sum", &[inf, -inf]).is_nan());
        assert_eq!(index("argmax", &[nan; 4]), 0);
        assert_eq!(index("argmin", &[nan, 3.0, 1.0, nan, 1.0]), 2);
        assert_eq!(index("argmax", &[nan, nan, -inf]), 2);
        assert_eq!(index("argmax", &[1.0, 5.0, 5.0]), 1);
        assert_eq!(value("max", &[-0.0, 0.0, -0.0]).to_bits(), 0);
        assert_eq!(value("min", &[0.0, -0.0, 0.0]).to_bits(), (-0.0f32).to_bits());
    }
}

/// The report: tiles with an axis of 1.
#[test]
fn axes_of_one() {
    let x: Vec<f32> = (0..16).map(|i| (i * 7 % 16) as f32).collect();
    assert_eq!(reduce::<f32, f32>("max", 0, [16, 1], [16, 1], &x), [15.0]);
    assert_eq!(reduce::<f32, f32>("sum", 0, [16, 1], [16, 1], &x), [120.0]);
    assert_eq!(reduce::<f32, f32>("max", 1, [16, 1], [16, 1], &x), x);
    assert_eq!(reduce::<f32, f32>("sum", 1, [16, 1], [16, 1], &x), x);
}

/// The same bits on every run, on however many threads.
#[test]
fn sums_repeat() {
    let x = Random(1).units(1000 * 30);
    let first = reduce::<f32, f32>("sum", 1, [30, 1000], [1, 1000], &x);
    for _ in 0..10 {
        assert_eq!(reduce::<f32, f32>("sum", 1, [30, 1000], [1, 1000], &x), first);
    }
}

/// Reductions of computed, permuted and uniform tiles, of a middle axis of three.
#[test]
fn of_other_tiles() {
    let text = "entry @f(%x: tensor i32[?, ?, ?], %y: partitioned i32[?, ?] by [4, 3], %u: partitioned i32[?] by [4]) {
        %vx = partition %x : view i32[3, 4, 5]
        %vy = partition %y : view i32[4, 3]
        %vu = partition %u : view i32[4]
        %zero = constant 0 : i32
        %t = load %vx [%zero, %zero, %zero] clip : i32[3, 4, 5]
        %p = permute [1, 2, 0] %t : i32[4, 5, 3]
        %s = reduce sum 1 %p : i32[4, 3]
        store %s %vy [%zero, %zero]
        %two = constant 2 : i32[4, 6]
        %w = reduce sum 1 %two : i32[4]
        store %w %vu [%zero]
        yield
    }";
    // The last axis has 4 of 5 valid.
    let mut x = tensor(&[3, 4, 4], (0..48).collect::<Vec<i32>>());
    let (mut y, mut u) = (output::<i32>(&[4, 3]), output::<i32>(&[4]));
    run(text, &[x.arg(), y.arg(), u.arg()], &[1]);
    for i in 0..4 {
        for j in 0..3 {
            let expected: i32 = (0..4).map(|k| j * 16 + i * 4 + k).sum();
            assert_eq!(y.data[(i * 3 + j) as usize], expected);
        }
    }
    assert_eq!(u.data, [12; 4]);
}

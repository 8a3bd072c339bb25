//! The same kernels on two devices: what the CPU backend gives is the definition, and every other
//! backend is compared with it, element by element, at whole and at ragged shapes.
//!
//! Where the arithmetic is IEEE-754 or integer, bits are compared. Where accuracy is stated in ulp
//! (math functions) or the order of a sum is the backend's own, the bound says why.

mod kernels;
mod registry;

use cutile::HostElement;
use cutile::cuda_async::DeviceKind;
use cutile::prelude::*;
use half::{bf16, f16};
use kernels::battery;

use crate::child::{in_child, is_child};
use crate::emulated::{ARCHS, can_compile, emulator};

type Result<T = ()> = std::result::Result<T, DeviceError>;
/// Where a case runs.
type On = cutile::cuda_async::Stream;

/// 2^-23: the distance from 1 to the next f32.
const ULP: f64 = f32::EPSILON as f64;

#[test]
fn the_emulator_gives_what_the_cpu_gives() {
    for arch in ARCHS {
        in_child("differential::the_emulator_gives_what_the_cpu_gives", &emulator(arch), || {
            if can_compile() {
                compare_all(Device::default());
            }
        });
        if is_child() {
            return;
        }
    }
}

#[test]
fn the_gpu_gives_what_the_cpu_gives() {
    let device = Device::default();
    match device.kind() {
        DeviceKind::Cuda => compare_all(device),
        kind => println!("left out: the default device is {kind:?}, not a GPU"),
    }
}

fn compare_all(device: Device) {
    let mut failures = Vec::new();
    for (name, case) in CASES {
        let mut check = Check { name, device, failures: Vec::new(), compared: 0 };
        if let Err(error) = case(&mut check) {
            check.failures.push(format!("{name}: {error}"));
        }
        assert!(check.compared > 0 || !check.failures.is_empty(), "{name} compares nothing");
        failures.extend(check.failures);
    }
    assert!(failures.is_empty(), "{device}:\n{}", failures.join("\n"));
}

/// A name, and what is compared under it.
type Case = (&'static str, fn(&mut Check) -> Result);

const CASES: &[Case] = &[
    ("math", math),
    ("floats", floats),
    ("integers", integers),
    ("conversions", conversions),
    ("reductions", reductions),
    ("columns", columns),
    ("softmax", softmax),
    ("product", product),
    ("shapes", shapes),
    ("control", control),
    ("places", places),
    ("tensor functions", tensor_functions),
];

/// One case's comparisons.
struct Check {
    name: &'static str,
    device: Device,
    failures: Vec<String>,
    compared: usize,
}

/// How far two results may be apart.
#[derive(Clone, Copy)]
enum Bound {
    /// Not at all: bits, any NaN like any other.
    Exact,
    /// By this much, relative to the larger of the magnitude and the second number.
    Relative(f64, f64),
}

impl Check {
    /// Runs `f` on the host device and on the other one and compares.
    fn same<T: Comparable>(
        &mut self,
        what: &str,
        bound: Bound,
        f: impl Fn(&On) -> Result<Vec<T>>,
    ) -> Result {
        let expected = f(&Device::host(0).new_stream()?)?;
        let found = f(&self.device.new_stream()?)?;
        self.compared += expected.len();
        let name = self.name;
        if expected.len() != found.len() {
            let (n, m) = (found.len(), expected.len());
            self.failures.push(format!("{name}, {what}: {n} elements instead of {m}"));
            return Ok(());
        }
        let wrong: Vec<usize> =
            (0..found.len()).filter(|i| !found[*i].agrees(expected[*i], bound)).collect();
        if let Some(i) = wrong.first() {
            self.failures.push(format!(
                "{name}, {what}: {} of {} differ, first [{i}]: {:?} instead of {:?}",
                wrong.len(),
                found.len(),
                found[*i],
                expected[*i]
            ));
        }
        Ok(())
    }
}

trait Comparable: Copy + std::fmt::Debug {
    fn agrees(self, expected: Self, bound: Bound) -> bool;
}

impl Comparable for f32 {
    fn agrees(self, expected: f32, bound: Bound) -> bool {
        let (x, y) = (f64::from(self), f64::from(expected));
        match bound {
            _ if self.to_bits() == expected.to_bits() || (x.is_nan() && y.is_nan()) => true,
            Bound::Exact => false,
            Bound::Relative(by, floor) => (x - y).abs() <= by * y.abs().max(floor),
        }
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Comparable for $t {
            fn agrees(self, expected: $t, _: Bound) -> bool {
                self == expected
            }
        }
    )*};
}
integers!(i32, i64, u8);

/// Numbers that look random, the same for the same seed.
fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    (0..n).map(|_| next() * 8.0 - 4.0).collect()
}

/// Random numbers with every special value among them.
fn special(n: usize, seed: u64) -> Vec<f32> {
    let values = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e10,
        -1e10,
        0.5,
        1.5,
        2.5,
        -2.5,
        f32::MIN_POSITIVE,
        1e-40,
        65504.0,
        65520.0,
        3.9,
        -3.9,
        255.5,
        3e38,
    ];
    let mut all = random(n, seed);
    for (i, v) in all.iter_mut().enumerate().filter(|(i, _)| i % 3 == 0) {
        *v = values[(i / 3) % values.len()];
    }
    all
}

fn up<T: HostElement>(on: &On, data: &[T], shape: &[usize]) -> Result<Arc<Tensor<T>>> {
    api::from_slice(data, shape).arc().sync_on(on)
}

/// Outputs start as something that no case gives by chance.
fn poisoned<T: HostElement>(on: &On, value: T, shape: &[usize]) -> Result<Tensor<T>> {
    api::full(value, shape).sync_on(on)
}

fn down<T: HostElement>(on: &On, tensor: Tensor<T>) -> Result<Vec<T>> {
    tensor.into_host_vec().sync_on(on)
}

/// Shapes around a tile of 16 x 32: within one, whole, and ragged on each side.
const SHAPES: [[usize; 2]; 5] = [[1, 1], [5, 7], [16, 32], [33, 64], [40, 97]];

fn math(check: &mut Check) -> Result {
    macro_rules! each {
        ($($f:literal $name:literal $bound:expr);* $(;)?) => {$(
            for shape in SHAPES {
                let n = shape[0] * shape[1];
                let x = if $f >= 2 && $f <= 5 {
                    random(n, 1).iter().map(|v| v.abs() + 1e-3).collect()
                } else if $f >= 11 { special(n, 2) } else { random(n, 3) };
                check.same(&format!("{} {shape:?}", $name), $bound, |on| {
                    let y = poisoned(on, -77.0, &shape)?.partition([16, 32]);
                    let (_, y) =
                        battery::math::<$f>(up(on, &x, &shape)?, y).sync_on(on)?;
                    down(on, y.unpartition())
                })?;
            }
        )*};
    }
    // Each backend's functions are within a few ulp of the exact value.
    let few = Bound::Relative(8.0 * ULP, 1e-6);
    each! {
        0 "exp" few; 1 "exp2" few; 2 "log" Bound::Relative(8.0 * ULP, 0.1);
        3 "log2" Bound::Relative(8.0 * ULP, 0.1); 4 "sqrt" Bound::Exact; 5 "rsqrt" few;
        6 "tanh" few; 7 "sin" Bound::Relative(8.0 * ULP, 0.1);
        8 "cos" Bound::Relative(8.0 * ULP, 0.1); 9 "erf" few; 10 "sigmoid" few;
        11 "floor, ceil, trunc" Bound::Exact; 12 "round, round_even, abs" Bound::Exact;
    }
    Ok(())
}

fn floats(check: &mut Check) -> Result {
    macro_rules! each {
        ($($f:literal $name:literal),* $(,)?) => {$(
            for shape in SHAPES {
                let n = shape[0] * shape[1];
                let (a, b) = (special(n, 4), special(n + 1, 5)[1..].to_vec());
                check.same(&format!("{} {shape:?}", $name), Bound::Exact, |on| {
                    let (a, b) = (up(on, &a, &shape)?, up(on, &b, &shape)?);
                    let y = poisoned(on, -77.0, &shape)?.partition([16, 32]);
                    let (.., y) = battery::floats::<$f>(a, b, y).sync_on(on)?;
                    down(on, y.unpartition())
                })?;
            }
        )*};
    }
    each!(0 "mul, add", 1 "sub", 2 "div", 3 "min, max", 4 "minimum, maximum", 5 "fma", 6 "select");
    // The remainder is exact in f64 as in f32; infinities and zeros give NaN on both.
    each!(7 "rem");
    Ok(())
}

fn integers(check: &mut Check) -> Result {
    macro_rules! each {
        ($t:ty, $($f:literal $name:literal),* $(,)?) => {$(
            for shape in SHAPES {
                let n = shape[0] * shape[1];
                let wide = |seed| random(n, seed).iter().map(|v| (v * 1e9) as i64).collect::<Vec<_>>();
                let a: Vec<$t> = wide(6).iter().map(|v| *v as $t).collect();
                let b: Vec<$t> = wide(7).iter().map(|v| (v % 50) as $t).collect();
                let b: Vec<$t> = b.into_iter().map(|v| if v == 0 { 3 } else { v }).collect();
                check.same(&format!("{} {} {shape:?}", stringify!($t), $name), Bound::Exact, |on| {
                    let (a, b) = (up(on, &a, &shape)?, up(on, &b, &shape)?);
                    let y = poisoned(on, 77 as $t, &shape)?.partition([16, 32]);
                    let (.., y) = battery::integers::<$t, $f>(a, b, y).sync_on(on)?;
                    down(on, y.unpartition())
                })?;
            }
        )*};
    }
    each!(i32, 0 "mul, add, sub", 1 "div", 2 "rem", 3 "and, or, xor", 4 "min, max, shr");
    each!(u8, 0 "mul, add, sub", 1 "div", 2 "rem", 3 "and, or, xor", 4 "min, max, shr");
    each!(i64, 0 "mul, add, sub", 1 "div", 2 "rem", 3 "and, or, xor", 4 "min, max, shr");
    Ok(())
}

fn conversions(check: &mut Check) -> Result {
    for shape in SHAPES {
        let x = special(shape[0] * shape[1], 8);
        let run = |on: &On| -> Result<_> {
            let tile = [16, 32];
            battery::conversions(
                up(on, &x, &shape)?,
                poisoned(on, -77.0f32, &shape)?.partition(tile),
                poisoned(on, -77.0f32, &shape)?.partition(tile),
                poisoned(on, -77i32, &shape)?.partition(tile),
                poisoned(on, 77u8, &shape)?.partition(tile),
            )
            .sync_on(on)
        };
        let what = |name| format!("{name} {shape:?}");
        check.same(&what("f16"), Bound::Exact, |on| down(on, run(on)?.1.unpartition()))?;
        check.same(&what("bf16"), Bound::Exact, |on| down(on, run(on)?.2.unpartition()))?;
        check.same(&what("i32"), Bound::Exact, |on| down(on, run(on)?.3.unpartition()))?;
        check.same(&what("u8"), Bound::Exact, |on| down(on, run(on)?.4.unpartition()))?;
    }
    Ok(())
}

fn reductions(check: &mut Check) -> Result {
    for (rows, columns, tile) in [(1, 1, 4), (4, 64, 4), (9, 50, 4), (7, 100, 3), (5, 99, 3)] {
        let shape = [rows, columns];
        let x = random(rows * columns, 9);
        let run = |on: &On| -> Result<_> {
            let out = || Ok::<_, DeviceError>(poisoned(on, -77.0f32, &[rows])?.partition([tile]));
            let width = if tile == 4 { 64 } else { 100 };
            let (s, p, l, m) = (out()?, out()?, out()?, out()?);
            let places = poisoned(on, -77i32, &[rows])?.partition([tile]);
            let x = up(on, &x, &shape)?;
            let r = match width {
                64 => battery::reductions::<64>(x, s, p, l, m, places).sync_on(on)?,
                _ => battery::reductions::<100>(x, s, p, l, m, places).sync_on(on)?,
            };
            Ok((
                down(on, r.1.unpartition())?,
                down(on, r.2.unpartition())?,
                down(on, r.3.unpartition())?,
                down(on, r.4.unpartition())?,
                down(on, r.5.unpartition())?,
            ))
        };
        // The order of a sum is the backend's own: each addition rounds once.
        let sum = Bound::Relative(columns as f64 * ULP, 4.0 * columns as f64);
        let product = Bound::Relative(4.0 * columns as f64 * ULP, 1e-30);
        let what = |name| format!("{name} {shape:?}");
        check.same(&what("sum"), sum, |on| Ok(run(on)?.0))?;
        check.same(&what("product"), product, |on| Ok(run(on)?.1))?;
        check.same(&what("max"), Bound::Exact, |on| Ok(run(on)?.2))?;
        check.same(&what("minimum"), Bound::Exact, |on| Ok(run(on)?.3))?;
        check.same(&what("argmax, argmin"), Bound::Exact, |on| Ok(run(on)?.4))?;
    }
    Ok(())
}

fn columns(check: &mut Check) -> Result {
    for shape in [[1, 1], [32, 16], [70, 37], [97, 80]] {
        let x = random(shape[0] * shape[1], 10);
        let bound = Bound::Relative(shape[0] as f64 * ULP, 4.0 * shape[0] as f64);
        check.same(&format!("{shape:?}"), bound, |on| {
            let sums = poisoned(on, -77.0f32, &shape[1..])?.partition([16]);
            let (_, sums) = battery::columns::<32>(up(on, &x, &shape)?, sums).sync_on(on)?;
            down(on, sums.unpartition())
        })?;
    }
    Ok(())
}

fn softmax(check: &mut Check) -> Result {
    for shape in [[1, 1], [4, 128], [9, 100], [13, 77]] {
        let x = random(shape[0] * shape[1], 11);
        // An exponential and a sum of at most 128 of them.
        check.same(&format!("{shape:?}"), Bound::Relative(64.0 * ULP, 1e-9), |on| {
            let y = poisoned(on, -77.0f32, &shape)?.partition([4, 128]);
            let (_, y) = battery::softmax(up(on, &x, &shape)?, y).sync_on(on)?;
            down(on, y.unpartition())
        })?;
    }
    Ok(())
}

fn product(check: &mut Check) -> Result {
    macro_rules! each {
        ($t:ty, $to:expr, $tile:literal, $bk:literal) => {
            for [m, k, n] in [[1, 1, 1], [32, 16, 32], [64, 96, 64], [45, 50, 70], [70, 33, 130]] {
                let of = |n, seed| random(n, seed).into_iter().map($to).collect::<Vec<$t>>();
                let (x, y) = (of(m * k, 12), of(k * n, 13));
                // Products of at most 16 in magnitude; the sum's order is the backend's own.
                let bound = Bound::Relative(k as f64 * ULP, 16.0 * k as f64);
                check.same(&format!("{} {m} x {k} x {n}", stringify!($t)), bound, |on| {
                    let z = poisoned(on, -77.0f32, &[m, n])?.partition([$tile, $tile]);
                    let (x, y) = (up(on, &x, &[m, k])?, up(on, &y, &[k, n])?);
                    let (z, ..) = battery::product::<$t, $bk>(z, x, y).sync_on(on)?;
                    down(on, z.unpartition())
                })?;
            }
        };
    }
    each!(f32, |v| v, 32, 16);
    each!(f16, f16::from_f32, 32, 16);
    each!(bf16, bf16::from_f32, 64, 32);
    Ok(())
}

fn shapes(check: &mut Check) -> Result {
    for (n, tile) in [(1usize, 16usize), (16, 16), (50, 16), (12, 12), (30, 12)] {
        let x = random(n * n, 14);
        check.same(&format!("{n} by {tile}"), Bound::Exact, |on| {
            let y = poisoned(on, -77.0f32, &[n, n])?.partition([tile, tile]);
            let (_, y) = battery::shapes(up(on, &x, &[n, n])?, y).sync_on(on)?;
            down(on, y.unpartition())
        })?;
    }
    Ok(())
}

fn control(check: &mut Check) -> Result {
    let x = random(32 * 5 + 7, 15);
    for turns in [0, 1, 2, 5, 30] {
        check.same(&format!("{turns} turns"), Bound::Exact, |on| {
            let y = poisoned(on, -77.0f32, &[32])?.partition([32]);
            let (.., y) = battery::control(turns, up(on, &x, &[x.len()])?, y).sync_on(on)?;
            down(on, y.unpartition())
        })?;
    }
    Ok(())
}

fn places(check: &mut Check) -> Result {
    for shape in [[1, 1, 1], [4, 6, 8], [3, 5, 9]] {
        check.same(&format!("{shape:?}"), Bound::Exact, |on| {
            let (y,) =
                battery::places(poisoned(on, -77, &shape)?.partition([2, 2, 4])).sync_on(on)?;
            down(on, y.unpartition())
        })?;
    }
    Ok(())
}

fn tensor_functions(check: &mut Check) -> Result {
    for n in [0usize, 1, 1000, 5000] {
        let (a, b) = (random(n, 16), random(n, 17));
        let what = |name| format!("{name} of {n}");
        let pair = |on: &On| Ok::<_, DeviceError>((up(on, &a, &[n])?, up(on, &b, &[n])?));
        check.same(&what("add"), Bound::Exact, |on| {
            let (a, b) = pair(on)?;
            down(on, api::add(a, b).sync_on(on)?)
        })?;
        check.same(&what("div"), Bound::Exact, |on| {
            let (a, b) = pair(on)?;
            down(on, api::div(a, b).sync_on(on)?)
        })?;
        check.same(&what("relu"), Bound::Exact, |on| {
            down(on, api::relu(pair(on)?.0).sync_on(on)?)
        })?;
        let sum = Bound::Relative(n as f64 * ULP, 4.0 * n as f64);
        check.same(&what("sum"), sum, |on| down(on, api::sum(pair(on)?.0).sync_on(on)?))?;
    }
    for [m, k, n] in [[1, 1, 1], [65, 40, 33]] {
        let (x, y) = (random(m * k, 18), random(k * n, 19));
        let bound = Bound::Relative(k as f64 * ULP, 16.0 * k as f64);
        check.same(&format!("matmul {m} x {k} x {n}"), bound, |on| {
            let (x, y) = (up(on, &x, &[m, k])?, up(on, &y, &[k, n])?);
            down(on, api::matmul(x, y).sync_on(on)?)
        })?;
    }
    Ok(())
}

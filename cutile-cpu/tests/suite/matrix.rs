//! Matrix products: every pair of element types, whole and ragged, against f64 and exact integers.

use crate::harness::{Host, Host2, Random, output, run, tensor};
use cutile_ir::Element;
use half::{bf16, f16};

/// One product of tiles of 6 by 7 by 10 over tensors of m by n by k, added to what `z` holds.
fn text(operand: Element, acc: Element) -> String {
    format!(
        "entry @mma(%x: tensor {operand}[?, ?], %y: tensor {operand}[?, ?], %z: partitioned {acc}[?, ?] by [6, 7]) {{
            %vx = partition %x : view {operand}[6, 10]
            %vy = partition %y : view {operand}[10, 7]
            %vz = partition %z : view {acc}[6, 7]
            %i = constant 0 : i32
            %a = load %vx [%i, %i] clip : {operand}[6, 10]
            %b = load %vy [%i, %i] clip : {operand}[10, 7]
            %c = load %vz [%i, %i] clip : {acc}[6, 7]
            %d = mma %a %b %c : {acc}[6, 7]
            store %d %vz [%i, %i]
            yield
        }}"
    )
}

const SIZES: [[usize; 3]; 6] =
    [[6, 7, 10], [5, 7, 10], [6, 2, 10], [6, 7, 9], [1, 1, 1], [4, 5, 3]];

/// From f64 and back.
type Ways<T> = (fn(f64) -> T, fn(T) -> f64);

fn check<A: Host, C: Host>(
    operand: Element,
    value: fn(f64) -> A,
    wide: fn(A) -> f64,
    acc: Ways<C>,
    epsilons: (f64, f64),
) {
    for [m, n, k] in SIZES {
        let mut random = Random((m * 100 + n * 10 + k) as u64);
        let a: Vec<A> = (0..m * k).map(|_| value(random.unit())).collect();
        let b: Vec<A> = (0..k * n).map(|_| value(random.unit())).collect();
        let c: Vec<C> = (0..m * n).map(|_| acc.0(random.unit())).collect();
        let shape = |r: usize, c: usize| [r as i64, c as i64];
        let mut x = tensor(&shape(m, k), a.clone()).of(operand);
        let mut y = tensor(&shape(k, n), b.clone()).of(operand);
        let mut z = tensor(&shape(m, n), c.clone());
        run(&text(operand, C::ELEMENT), &[x.arg(), y.arg(), z.arg()], &[1]);
        for i in 0..m {
            for j in 0..n {
                let terms = (0..k).map(|l| wide(a[i * k + l]) * wide(b[l * n + j]));
                let expected: f64 = acc.1(c[i * n + j]) + terms.clone().sum::<f64>();
                let magnitude: f64 = acc.1(c[i * n + j]).abs() + terms.map(f64::abs).sum::<f64>();
                // Each of k sums rounds in the accumulating type, the end in its own.
                let tolerance =
                    epsilons.0 * (k + 1) as f64 * magnitude + epsilons.1 * expected.abs();
                let got = acc.1(z.data[i * n + j]);
                assert!(
                    (got - expected).abs() <= tolerance,
                    "{operand}, {m} {n} {k}, at {i}, {j}: {got}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn floats() {
    let single = f64::from(f32::EPSILON) / 2.0;
    let f32s: Ways<f32> = (|v| v as f32, f64::from);
    check::<f64, f64>(Element::F64, |v| v, |v| v, (|v| v, |v| v), (f64::EPSILON / 2.0, 0.0));
    check::<f32, f32>(Element::F32, |v| v as f32, f64::from, f32s, (single, 0.0));
    check::<f16, f32>(Element::F16, f16::from_f64, f16::to_f64, f32s, (single, 0.0));
    check::<bf16, f32>(Element::BF16, bf16::from_f64, bf16::to_f64, f32s, (single, 0.0));
    let f16s: Ways<f16> = (f16::from_f64, f16::to_f64);
    let half = f16::EPSILON.to_f64() / 2.0;
    check::<f16, f16>(Element::F16, f16::from_f64, f16::to_f64, f16s, (single, half));
}

#[test]
fn fp8_and_tf32() {
    let single = f64::from(f32::EPSILON) / 2.0;
    let f32s: Ways<f32> = (|v| v as f32, f64::from);
    // e5m2 is the upper half of f16; of e4m3 the test uses whole numbers of -7 to 7, in a table.
    check::<u8, f32>(
        Element::F8E5M2,
        |v| (f16::from_f64(v).to_bits() >> 8) as u8,
        |b| f16::from_bits(u16::from(b) << 8).to_f64(),
        f32s,
        (single, 0.0),
    );
    const E4M3: [(u8, f64); 8] = [
        (0x00, 0.0),
        (0x38, 1.0),
        (0x40, 2.0),
        (0x44, 3.0),
        (0x48, 4.0),
        (0x4a, 5.0),
        (0x4c, 6.0),
        (0x4e, 7.0),
    ];
    check::<u8, f32>(
        Element::F8E4M3,
        |v| E4M3[(v.abs() * 8.0) as usize].0 | (u8::from(v < 0.0) << 7),
        |b| E4M3.iter().find(|e| e.0 == b & 0x7f).unwrap().1 * if b > 0x7f { -1.0 } else { 1.0 },
        f32s,
        (single, 0.0),
    );
    // Bits of f32 that tf32 does not have don't count.
    check::<f32, f32>(
        Element::TF32,
        |v| v as f32,
        |v| f64::from(f32::from_bits(v.to_bits() & !0x1fff)),
        f32s,
        (single, 0.0),
    );
}

#[test]
fn integers() {
    fn exact<A: Host + Into<i32>>(value: fn(u64) -> A) {
        for [m, n, k] in SIZES {
            let mut random = Random(k as u64);
            let a: Vec<A> = (0..m * k).map(|_| value(random.next())).collect();
            let b: Vec<A> = (0..k * n).map(|_| value(random.next())).collect();
            let mut x = tensor(&[m as i64, k as i64], a.clone());
            let mut y = tensor(&[k as i64, n as i64], b.clone());
            let mut z: Host2<i32> = tensor(&[m as i64, n as i64], vec![i32::MAX - 5; m * n]);
            run(&text(A::ELEMENT, Element::I32), &[x.arg(), y.arg(), z.arg()], &[1]);
            for i in 0..m {
                for j in 0..n {
                    let sum: i32 = (0..k).map(|l| a[i * k + l].into() * b[l * n + j].into()).sum();
                    assert_eq!(z.data[i * n + j], (i32::MAX - 5).wrapping_add(sum));
                }
            }
        }
    }
    exact::<i8>(|r| r as i8);
    exact::<u8>(|r| r as u8);
}

/// The report: f32 stays f32, 64 cubed, values in [-1, 1].
#[test]
fn f32_products_are_not_tf32() {
    let mut random = Random(64);
    let (a, b) = (random.units(64 * 64), random.units(64 * 64));
    let mut x = tensor(&[64, 64], a.clone());
    let mut y = tensor(&[64, 64], b.clone());
    let mut z = output::<f32>(&[64, 64]);
    run(&crate::kernels::gemm(64, 64, 32), &[z.arg(), x.arg(), y.arg()], &[1, 1]);
    for i in 0..64 {
        for j in 0..64 {
            let exact: f64 =
                (0..64).map(|l| f64::from(a[i * 64 + l]) * f64::from(b[l * 64 + j])).sum();
            assert!((f64::from(z.data[i * 64 + j]) - exact).abs() <= 1e-5);
        }
    }
}

/// What lies beyond the edge along K does not count, though memory there holds NaN.
#[test]
fn invalid_lanes_along_k_are_zero() {
    let mut x = tensor(&[6, 10], vec![f32::NAN; 60]);
    let mut y = tensor(&[10, 7], vec![f32::NAN; 70]);
    for i in 0..6 {
        x.data[i * 10..i * 10 + 4].fill(2.0);
    }
    y.data[..4 * 7].fill(3.0);
    let mut z = tensor(&[6, 7], vec![1.0f32; 42]);
    // Tensors of K 4 whose rows lie 10 apart.
    let mut narrow = x.arg();
    if let cutile_cpu::Arg::Tensor(t) = &mut narrow {
        t.extents[1] = 4;
    }
    let mut short = y.arg();
    if let cutile_cpu::Arg::Tensor(t) = &mut short {
        t.extents[0] = 4;
    }
    run(&text(Element::F32, Element::F32), &[narrow.clone(), short, z.arg()], &[1]);
    assert_eq!(z.data, [25.0; 42]);
    // One operand's K decides too.
    y.data.fill(3.0);
    z.data.fill(1.0);
    run(&text(Element::F32, Element::F32), &[narrow, y.arg(), z.arg()], &[1]);
    assert_eq!(z.data, [25.0; 42]);
}

/// An accumulator that is needed afterwards keeps its value; operands may be computed, permuted,
/// uniform; products chain.
#[test]
fn accumulators_and_operands_of_other_kinds() {
    let text = "entry @f(%x: tensor f32[?, ?], %z: partitioned f32[?, ?] by [4, 4], %w: partitioned f32[?, ?] by [4, 4]) {
        %vx = partition %x : view f32[4, 4]
        %vz = partition %z : view f32[4, 4]
        %vw = partition %w : view f32[4, 4]
        %i = constant 0 : i32
        %a = load %vx [%i, %i] clip : f32[4, 4]
        %t = permute [1, 0] %a : f32[4, 4]
        %half = constant 0.5 : f32[4, 4]
        %h = binary mul %a %half : f32[4, 4]
        %zero = constant 0.0 : f32[4, 4]
        %p = mma %a %t %zero : f32[4, 4]
        %q = mma %h %half %p : f32[4, 4]
        %r = mma %half %a %q : f32[4, 4]
        %s = binary sub %r %p : f32[4, 4]
        store %s %vz [%i, %i]
        store %q %vw [%i, %i]
        yield
    }";
    let x: Vec<f32> = (0..16).map(|v| (v * 5 % 7) as f32).collect();
    let mut tx = tensor(&[4, 4], x.clone());
    let (mut z, mut w) = (output::<f32>(&[4, 4]), output::<f32>(&[4, 4]));
    run(text, &[tx.arg(), z.arg(), w.arg()], &[1]);
    for i in 0..4 {
        for j in 0..4 {
            let sum = |f: &dyn Fn(usize) -> f32| (0..4).map(f).sum::<f32>();
            let p = sum(&|l| x[i * 4 + l] * x[j * 4 + l]);
            let second = sum(&|l| x[i * 4 + l] * 0.25);
            let third = sum(&|l| x[l * 4 + j] * 0.5);
            assert_eq!(w.data[i * 4 + j], p + second);
            assert_eq!(z.data[i * 4 + j], second + third);
        }
    }
}

//! Reductions and softmax: within threads, across lanes, across warps; ragged rows.

use crate::harness::*;

fn softmax(rows: usize, columns: usize) -> String {
    format!(
        "
entry @softmax(%x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [{rows}, {columns}]) {{
    %px = partition %x : view f32[{rows}, {columns}]
    %py = partition %y : view f32[{rows}, {columns}]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %t = load %px [%i, %j] clip : f32[{rows}, {columns}]
    %m = reduce max 1 %t : f32[{rows}]
    %m1 = reshape %m : f32[{rows}, 1]
    %mb = broadcast %m1 : f32[{rows}, {columns}]
    %d = binary sub %t %mb : f32[{rows}, {columns}]
    %e = unary exp %d : f32[{rows}, {columns}]
    %s = reduce sum 1 %e : f32[{rows}]
    %s1 = reshape %s : f32[{rows}, 1]
    %sb = broadcast %s1 : f32[{rows}, {columns}]
    %q = binary div %e %sb : f32[{rows}, {columns}]
    store %q %py [%i, %j]
    yield
}}
"
    )
}

#[test]
fn softmax_of_whole_and_ragged_rows() {
    for (tile, m, n) in [((1, 1024), 2i64, 1024i64), ((4, 128), 7, 100), ((2, 48), 3, 46)] {
        let x: Vec<f32> = noise((m * n) as usize, 7).iter().map(|v| v * 4.0 - 10.0).collect();
        let grid = [(m as u32).div_ceil(tile.0), 1];
        let args = [tensor(&x, &[m, n]), tensor(&vec![f32::NAN; x.len()], &[m, n])];
        run(&softmax(tile.0 as usize, tile.1), &grid, &args, |o| {
            let got = o.tensors[1].values::<f32>();
            for (row, got) in x.chunks(n as usize).zip(got.chunks(n as usize)) {
                let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max) as f64;
                let sum: f64 = row.iter().map(|v| (f64::from(*v) - max).exp()).sum();
                for (v, g) in row.iter().zip(got) {
                    let want = (f64::from(*v) - max).exp() / sum;
                    // A few roundings of f32, and a sum of n terms folded pairwise.
                    assert!((f64::from(*g) - want).abs() <= want * 2e-6, "{g} {want} of {m} x {n}");
                }
            }
        });
    }
}

fn reduce(kind: &str, axis: usize, element: &str, result: &str, shape: [usize; 2]) -> String {
    let [m, n] = shape;
    let kept = shape[1 - axis];
    format!(
        "
entry @r(%x: tensor {element}[{m}, {n}], %y: partitioned {result}[?] by [{kept}]) {{
    %px = partition %x : view {element}[{m}, {n}]
    %py = partition %y : view {result}[{kept}]
    %i = constant 0 : i32
    %t = load %px [%i, %i] clip : {element}[{m}, {n}]
    %r = reduce {kind} {axis} %t : {result}[{kept}]
    store %r %py [%i]
    yield
}}
"
    )
}

#[test]
fn every_reduction_along_both_axes() {
    for shape in [[16usize, 64], [5, 7], [128, 64]] {
        let n = shape[0] * shape[1];
        let mut x = noise(n, 3);
        x[n / 3] = f32::NAN;
        x[n / 2] = x[n / 2 + 1];
        for axis in 0..2 {
            let rows: Vec<Vec<f32>> = (0..shape[1 - axis])
                .map(|k| {
                    let at = |i: usize| {
                        if axis == 1 { x[k * shape[1] + i] } else { x[i * shape[1] + k] }
                    };
                    (0..shape[axis]).map(at).collect()
                })
                .collect();
            let args = |r: &[u8]| {
                let out = Tensor {
                    bytes: r.to_vec(),
                    element: 4,
                    shape: vec![rows.len() as i64],
                    strides: vec![1],
                };
                [tensor(&x, &[shape[0] as i64, shape[1] as i64]), Arg::Tensor(out)]
            };
            let args = args(&vec![0xff; 4 * rows.len()]);
            run(&reduce("max", axis, "f32", "f32", shape), &[1], &args, |o| {
                for (row, got) in rows.iter().zip(o.tensors[1].values::<f32>()) {
                    assert_eq!(
                        got,
                        row.iter().copied().fold(f32::NAN, f32::max),
                        "{shape:?} {axis}"
                    );
                }
            });
            run(&reduce("argmin", axis, "f32", "i32", shape), &[1], &args, |o| {
                for (row, got) in rows.iter().zip(o.tensors[1].values::<i32>()) {
                    let least = row.iter().copied().fold(f32::NAN, f32::min);
                    let want = row.iter().position(|v| *v == least).unwrap();
                    assert_eq!(got, want as i32, "{shape:?} {axis}");
                }
            });
            run(&reduce("maximum", axis, "f32", "f32", shape), &[1], &args, |o| {
                for (row, got) in rows.iter().zip(o.tensors[1].values::<f32>()) {
                    assert_eq!(got.is_nan(), row.iter().any(|v| v.is_nan()), "{shape:?} {axis}");
                }
            });
        }
    }
}

#[test]
fn integers_sum_exactly() {
    let x: Vec<i64> = noise(33 * 20, 9).iter().map(|v| (v * 1e9) as i64).collect();
    let args = [tensor(&x, &[33, 20]), tensor(&[0i64; 33], &[33])];
    run(&reduce("sum", 1, "i64", "i64", [33, 20]), &[1], &args, |o| {
        for (row, got) in x.chunks(20).zip(o.tensors[1].values::<i64>()) {
            assert_eq!(got, row.iter().sum::<i64>());
        }
    });
}

#[test]
fn a_whole_tile_reduces_to_a_tensor_of_rank_zero() {
    let text = "
entry @sum(%x: tensor bf16[?, ?], %y: partitioned f32[] by [], %b: partitioned bool[] by []) {
    %px = partition %x : view bf16[16, 128]
    %py = partition %y : view f32[]
    %pb = partition %b : view bool[]
    %o = constant 0 : i32
    %t = load %px [%o, %o] clip : bf16[16, 128]
    %w = convert %t : f32[16, 128]
    %r = reduce sum 1 %w : f32[16]
    %s = reduce sum 0 %r : f32[]
    store %s %py []
    %c = to_scalar %s : f32
    %z = constant 0.0 : f32
    %n = compare lt %c %z : bool
    %nt = splat %n : bool[]
    store %nt %pb []
    yield
}
";
    let x: Vec<u16> =
        (0..10 * 104).map(|i| ((((i % 8) as f32 - 4.0).to_bits()) >> 16) as u16).collect();
    let want: f32 = (0..1040).map(|i| (i % 8) as f32 - 4.0).sum();
    let args = [tensor(&x, &[10, 104]), tensor(&[0.0f32], &[]), tensor(&[9u8], &[])];
    run(text, &[1], &args, |o| {
        assert_eq!(o.tensors[1].values::<f32>(), [want]);
        assert_eq!(o.tensors[2].values::<u8>(), [u8::from(want < 0.0)]);
    });
}

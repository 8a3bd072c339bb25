//! Matrix products: by multiply-adds and by matrix instructions, copied ahead or not, ragged and turned.

use crate::harness::*;

/// z = x y, with tiles of BM x BN and steps of BK.
fn gemm(element: &str, acc: &str, [bm, bn, bk]: [usize; 3], transposed: bool) -> String {
    let (yt, view, index) = if transposed {
        ("permute [1, 0] %b0", format!("{bn}, {bk}"), "%j, %k")
    } else {
        ("", format!("{bk}, {bn}"), "%k, %j")
    };
    let (first, b) = if transposed {
        ("%b0", format!("%b = {yt} : {element}[{bk}, {bn}]"))
    } else {
        ("%b", String::new())
    };
    format!(
        "
files [\"src/gemm.rs\"]
entry @gemm(%z: partitioned {acc}[?, ?] by [{bm}, {bn}], %x: tensor {element}[?, ?], %y: tensor {element}[?, ?]) {{
    %pz = partition %z : view {acc}[{bm}, {bn}]
    %px = partition %x : view {element}[{bm}, {bk}]
    %py = partition %y : view {element}[{view}]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %n = tile_count %px 1 : i32
    %z0 = constant 0.0 : {acc}[{bm}, {bn}]
    %r = for %zero %n %one [%z0] (%k: i32, %acc: {acc}[{bm}, {bn}]) {{
        %a = load %px [%i, %k] clip : {element}[{bm}, {bk}] loc 0:5:9
        {first} = load %py [{index}] clip : {element}[{view}] loc 0:6:9
        {b}
        %s = mma %a %b %acc : {acc}[{bm}, {bn}] loc 0:7:9
        yield %s
    }} : {acc}[{bm}, {bn}]
    store %r %pz [%i, %j]
    yield
}}
"
    )
}

fn check<T: Pod>(
    text: &str,
    tile: [usize; 3],
    [m, n, k]: [usize; 3],
    transposed: bool,
    encode: fn(f32) -> T,
    decode: fn(T) -> f64,
) {
    let x: Vec<T> = noise(m * k, 5).into_iter().map(encode).collect();
    let y: Vec<T> = noise(k * n, 6).into_iter().map(encode).collect();
    let [m64, n64, k64] = [m as i64, n as i64, k as i64];
    let y_arg = if transposed {
        let t: Vec<T> = (0..n * k).map(|i| y[(i % k) * n + i / k]).collect();
        tensor(&t, &[n64, k64])
    } else {
        tensor(&y, &[k64, n64])
    };
    let args = [tensor(&vec![f32::NAN; m * n], &[m64, n64]), tensor(&x, &[m64, k64]), y_arg];
    let grid = [m.div_ceil(tile[0]) as u32, n.div_ceil(tile[1]) as u32];
    run(text, &grid, &args, |o| {
        let got = o.tensors[0].values::<f32>();
        for i in 0..m {
            for j in 0..n {
                let want: f64 = (0..k).map(|l| decode(x[i * k + l]) * decode(y[l * n + j])).sum();
                // Products are exact; a sum of k terms below 1 in f32.
                let bound = k as f64 * k as f64 * 6e-8;
                assert!(
                    (f64::from(got[i * n + j]) - want).abs() <= bound,
                    "{i} {j}: {} {want}",
                    got[i * n + j]
                );
            }
        }
    });
}

fn bf16(v: f32) -> u16 {
    (v.to_bits() >> 16) as u16
}

fn from_bf16(v: u16) -> f64 {
    f32::from_bits(u32::from(v) << 16).into()
}

#[test]
fn f32_by_multiply_adds() {
    for (tile, sizes) in
        [([32, 32, 16], [64, 64, 48]), ([16, 64, 8], [20, 72, 20]), ([3, 5, 7], [6, 10, 14])]
    {
        for transposed in [false, true] {
            check(&gemm("f32", "f32", tile, transposed), tile, sizes, transposed, |v| v, f64::from);
        }
    }
}

#[test]
fn bf16_by_matrix_instructions() {
    for (tile, sizes, both) in [
        ([64, 64, 32], [128, 64, 160], true),
        ([32, 16, 16], [40, 24, 56], true),
        ([128, 128, 32], [128, 128, 32], false),
    ] {
        for transposed in [false, true].into_iter().take(1 + both as usize) {
            check(&gemm("bf16", "f32", tile, transposed), tile, sizes, transposed, bf16, from_bf16);
        }
    }
}

/// Accumulators are narrow in memory as bf16: they go through shared memory, where the next product's copies stood before.
#[test]
fn narrow_results_are_stored_by_rows() {
    let text = "
entry @k(%z: partitioned bf16[?, ?] by [32, 64], %x: tensor bf16[?, ?], %y: tensor bf16[?, ?]) {
    %pz = partition %z : view bf16[32, 64]
    %px = partition %x : view bf16[32, 16]
    %py = partition %y : view bf16[16, 64]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %two = constant 2 : i32
    %n = tile_count %px 1 : i32
    for %zero %two %one [] (%turn: i32) {
        %z0 = constant 0.0 : f32[32, 64]
        %r = for %zero %n %one [%z0] (%k: i32, %acc: f32[32, 64]) {
            %a = load %px [%i, %k] clip : bf16[32, 16]
            %b = load %py [%k, %j] clip : bf16[16, 64]
            %s = mma %a %b %acc : f32[32, 64]
            yield %s
        } : f32[32, 64]
        %first = compare eq %turn %zero : bool
        %before = load %pz [%i, %j] clip : bf16[32, 64]
        %narrow = convert %r : bf16[32, 64]
        if %first () {
            store %narrow %pz [%i, %j]
            yield
        } () {
            %sum = binary add %narrow %before : bf16[32, 64]
            store %sum %pz [%i, %j]
            yield
        }
        yield
    }
    yield
}
";
    for [m, n, k] in [[64, 64, 32], [33, 72, 16]] {
        let x: Vec<u16> = noise(m * k, 5).into_iter().map(bf16).collect();
        let y: Vec<u16> = noise(k * n, 6).into_iter().map(bf16).collect();
        let shape = |a: usize, b: usize| [a as i64, b as i64];
        let z = vec![bf16(0.0); m * n];
        let args = [tensor(&z, &shape(m, n)), tensor(&x, &shape(m, k)), tensor(&y, &shape(k, n))];
        run(text, &[m.div_ceil(32) as u32, n.div_ceil(64) as u32], &args, |o| {
            let got = o.tensors[0].values::<u16>();
            for i in 0..m {
                for j in 0..n {
                    let term = |l: usize| from_bf16(x[i * k + l]) * from_bf16(y[l * n + j]);
                    let want = 2.0 * (0..k).map(term).sum::<f64>();
                    let (got, bound) = (from_bf16(got[i * n + j]), want.abs() / 100.0 + 1e-4);
                    assert!((got - want).abs() <= bound, "{m} x {n}: {i} {j}: {got} {want}");
                }
            }
        });
    }
}

#[test]
fn tf32_by_matrix_instructions() {
    let tf32 = |v: f32| f32::from_bits(v.to_bits() & !0x1fff);
    for transposed in [false, true] {
        let tile = [32, 32, 16];
        check(
            &gemm("tf32", "f32", tile, transposed),
            tile,
            [32, 64, 40],
            transposed,
            tf32,
            f64::from,
        );
    }
}

#[test]
fn operands_in_registers_are_multiplied_too() {
    // The left operand is computed, so that it cannot be copied ahead; K is ragged in both.
    let text = "
entry @k(%z: partitioned f32[?, ?] by [32, 32], %x: tensor f16[?, ?], %y: tensor f16[?, ?]) {
    %pz = partition %z : view f32[32, 32]
    %px = partition %x : view f16[32, 32]
    %py = partition %y : view f16[32, 32]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %o = constant 0 : i32
    %a = load %px [%i, %o] clip : f16[32, 32]
    %a2 = binary add %a %a : f16[32, 32]
    %b = load %py [%o, %j] clip : f16[32, 32]
    %acc = load %pz [%i, %j] clip : f32[32, 32]
    %s = mma %a2 %b %acc : f32[32, 32]
    store %s %pz [%i, %j]
    yield
}
";
    // Powers of two and small integers: every product and sum is exact.
    let half = |v: i32| -> u16 {
        let f = v as f32;
        if v == 0 {
            0
        } else {
            ((f.to_bits() >> 16 & 0x8000)
                | (((f.to_bits() >> 23 & 0xff) - 112) << 10)
                | (f.to_bits() >> 13 & 0x3ff)) as u16
        }
    };
    let (m, n, k) = (40usize, 32usize, 24usize);
    let x: Vec<i32> = (0..m * k).map(|i| (i * 7 % 13) as i32 - 6).collect();
    let y: Vec<i32> = (0..k * n).map(|i| (i * 5 % 11) as i32 - 5).collect();
    let z: Vec<f32> = (0..m * n).map(|i| i as f32).collect();
    let halves = |v: &[i32]| v.iter().map(|v| half(*v)).collect::<Vec<u16>>();
    let args = [
        tensor(&z, &[m as i64, n as i64]),
        tensor(&halves(&x), &[m as i64, k as i64]),
        tensor(&halves(&y), &[k as i64, n as i64]),
    ];
    run(text, &[2, 1], &args, |o| {
        let got = o.tensors[0].values::<f32>();
        for i in 0..m {
            for j in 0..n {
                let sum: i32 = (0..k).map(|l| 2 * x[i * k + l] * y[l * n + j]).sum();
                assert_eq!(got[i * n + j], z[i * n + j] + sum as f32, "{i} {j}");
            }
        }
    });
}

#[test]
fn other_element_types_multiply_too() {
    let tile = [16, 16, 8];
    let (m, n, k) = (16i64, 16i64, 24i64);
    let x: Vec<i8> = (0..m * k).map(|i| (i * 37 % 251 - 125) as i8).collect();
    let y: Vec<i8> = (0..k * n).map(|i| (i * 91 % 241 - 120) as i8).collect();
    let sums: Vec<i32> = (0..m * n)
        .map(|at| {
            (0..k)
                .map(|l| {
                    i32::from(x[(at / n * k + l) as usize])
                        * i32::from(y[(l * n + at % n) as usize])
                })
                .sum()
        })
        .collect();
    let integers = gemm("i8", "i32", tile, false).replace("constant 0.0 : i32", "constant 0 : i32");
    let args = [tensor(&vec![0i32; 256], &[m, n]), tensor(&x, &[m, k]), tensor(&y, &[k, n])];
    run(&integers, &[1, 1], &args, |o| assert_eq!(o.tensors[0].values::<i32>(), sums));
    let wide = |v: &[i8]| v.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
    let args =
        [tensor(&vec![0f64; 256], &[m, n]), tensor(&wide(&x), &[m, k]), tensor(&wide(&y), &[k, n])];
    run(&gemm("f64", "f64", tile, false), &[1, 1], &args, |o| {
        let want: Vec<f64> = sums.iter().map(|v| f64::from(*v)).collect();
        assert_eq!(o.tensors[0].values::<f64>(), want);
    });
    // Bits of e4m3: 0, 1, 2 and -1, so that sums are exact in f16 too.
    let eight = |v: &[i8]| {
        v.iter().map(|v| [0u8, 0x38, 0x40, 0xb8][(*v & 3) as usize]).collect::<Vec<u8>>()
    };
    let small = |v: i8| [0f32, 1.0, 2.0, -1.0][(v & 3) as usize];
    let sum = |at: i64| -> f32 {
        (0..k)
            .map(|l| small(x[(at / n * k + l) as usize]) * small(y[(l * n + at % n) as usize]))
            .sum()
    };
    let args = [
        tensor(&vec![0f32; 256], &[m, n]),
        tensor(&eight(&x), &[m, k]),
        tensor(&eight(&y), &[k, n]),
    ];
    run(&gemm("f8e4m3", "f32", tile, false), &[1, 1], &args, |o| {
        for (at, got) in o.tensors[0].values::<f32>().into_iter().enumerate() {
            assert_eq!(got, sum(at as i64));
        }
    });
}

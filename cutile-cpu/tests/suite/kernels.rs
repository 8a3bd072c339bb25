//! Whole kernels: saxpy, relu, softmax, matrix product; over whole and ragged shapes.

use crate::harness::{Random, output, run, tensor};
use cutile_cpu::Arg;

fn saxpy(tile: i64) -> String {
    format!(
        "entry @saxpy(%a: f32, %x: tensor f32[?], %y: partitioned f32[?] by [{tile}]) {{
            %vx = partition %x : view f32[{tile}]
            %vy = partition %y : view f32[{tile}]
            %i = program_id 0 : i32
            %tx = load %vx [%i] clip : f32[{tile}]
            %ty = load %vy [%i] clip : f32[{tile}]
            %ta = splat %a : f32[{tile}]
            %p = binary mul %ta %tx : f32[{tile}]
            %s = binary add %p %ty : f32[{tile}]
            store %s %vy [%i]
            yield
        }}"
    )
}

#[test]
fn saxpy_of_any_length() {
    for (n, tile) in
        [(1, 1), (1, 64), (63, 64), (64, 64), (65, 64), (5000, 1024), (4096, 2048), (10, 3)]
    {
        let mut random = Random(n as u64);
        let mut x = tensor(&[n], random.units(n as usize));
        let before = random.units(n as usize);
        let mut y = tensor(&[n], before.clone());
        let grid = [(n as u32).div_ceil(tile)];
        run(&saxpy(tile.into()), &[Arg::from(2.5f32), x.arg(), y.arg()], &grid);
        for (i, (x, before)) in x.data.iter().zip(&before).enumerate() {
            // Not contracted: the product is rounded.
            assert_eq!(y.data[i], 2.5 * x + before, "n {n}, tile {tile}, element {i}");
        }
    }
}

#[test]
fn relu_in_two_dimensions() {
    let text = "entry @relu(%x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [4, 8]) {
        %vx = partition %x : view f32[4, 8]
        %vy = partition %y : view f32[4, 8]
        %i = program_id 0 : i32
        %j = program_id 1 : i32
        %t = load %vx [%i, %j] clip : f32[4, 8]
        %zero = constant 0.0 : f32[4, 8]
        %r = binary max %t %zero : f32[4, 8]
        store %r %vy [%i, %j]
        yield
    }";
    for (rows, columns) in [(8, 16), (7, 13), (1, 1), (9, 8), (4, 17), (10, 100), (64, 200)] {
        let data = Random(3).units((rows * columns) as usize);
        let mut x = tensor(&[rows, columns], data.clone());
        let mut y = output::<f32>(&[rows, columns]);
        let grid = [(rows as u32).div_ceil(4), (columns as u32).div_ceil(8)];
        run(text, &[x.arg(), y.arg()], &grid);
        let expected: Vec<f32> = data.iter().map(|v| v.max(0.0)).collect();
        assert_eq!(y.data, expected, "{rows} by {columns}");

        // The same through a transposed view of the input.
        let mut back = tensor(&[columns, rows], transpose(&data, rows as usize, columns as usize));
        let mut y = output::<f32>(&[rows, columns]);
        run(text, &[back.transposed(), y.arg()], &grid);
        assert_eq!(y.data, expected, "transposed, {rows} by {columns}");

        // And into one.
        let mut x = tensor(&[rows, columns], data.clone());
        let mut y = output::<f32>(&[columns, rows]);
        run(text, &[x.arg(), y.transposed()], &grid);
        let expected = transpose(&expected, rows as usize, columns as usize);
        assert_eq!(y.data, expected, "into transposed, {rows} by {columns}");
    }
}

fn transpose<T: Copy>(data: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns).flat_map(|j| (0..rows).map(move |i| data[i * columns + j])).collect()
}

#[test]
fn softmax_of_ragged_rows() {
    let text = "entry @softmax(%x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [4, 32]) {
        %vx = partition %x : view f32[4, 32]
        %vy = partition %y : view f32[4, 32]
        %i = program_id 0 : i32
        %j = program_id 1 : i32
        %t = load %vx [%i, %j] clip : f32[4, 32]
        %m = reduce max 1 %t : f32[4]
        %mc = reshape %m : f32[4, 1]
        %mb = broadcast %mc : f32[4, 32]
        %d = binary sub %t %mb : f32[4, 32]
        %e = unary exp %d : f32[4, 32]
        %s = reduce sum 1 %e : f32[4]
        %sc = reshape %s : f32[4, 1]
        %sb = broadcast %sc : f32[4, 32]
        %r = binary div %e %sb : f32[4, 32]
        store %r %vy [%i, %j]
        yield
    }";
    for (rows, columns) in [(4, 32), (6, 32), (4, 31), (5, 1), (1, 7), (13, 20)] {
        let data: Vec<f32> =
            Random(9).units((rows * columns) as usize).iter().map(|v| v * 30.0 - 40.0).collect();
        let mut x = tensor(&[rows, columns], data.clone());
        let mut y = output::<f32>(&[rows, columns]);
        run(text, &[x.arg(), y.arg()], &[(rows as u32).div_ceil(4), 1]);
        for (row, got) in data.chunks(columns as usize).zip(y.data.chunks(columns as usize)) {
            let max = row.iter().copied().fold(f64::NEG_INFINITY, |m, v| m.max(v.into()));
            let exps: Vec<f64> = row.iter().map(|v| (f64::from(*v) - max).exp()).collect();
            let sum: f64 = exps.iter().sum();
            for (e, g) in exps.iter().zip(got) {
                let expected = e / sum;
                // The difference rounds at magnitude 64 (2^-18), the rest a few times in the last place.
                let tolerance = expected * (4e-6 + 4.0 * f64::from(f32::EPSILON)) + 1e-38;
                assert!(
                    (f64::from(*g) - expected).abs() <= tolerance,
                    "{rows} by {columns}: {g} is not {expected}"
                );
            }
        }
    }
}

pub(crate) fn gemm(bm: i64, bn: i64, bk: i64) -> String {
    format!(
        "entry @gemm(%z: partitioned f32[?, ?] by [{bm}, {bn}], %x: tensor f32[?, ?], %y: tensor f32[?, ?]) {{
            %vx = partition %x : view f32[{bm}, {bk}]
            %vy = partition %y : view f32[{bk}, {bn}]
            %vz = partition %z : view f32[{bm}, {bn}]
            %i = program_id 0 : i32
            %j = program_id 1 : i32
            %acc = constant 0.0 : f32[{bm}, {bn}]
            %zero = constant 0 : i32
            %one = constant 1 : i32
            %n = tile_count %vx 1 : i32
            %r = for %zero %n %one [%acc] (%k: i32, %c: f32[{bm}, {bn}]) {{
                %a = load %vx [%i, %k] clip : f32[{bm}, {bk}]
                %b = load %vy [%k, %j] clip : f32[{bk}, {bn}]
                %d = mma %a %b %c : f32[{bm}, {bn}]
                yield %d
            }} : f32[{bm}, {bn}]
            store %r %vz [%i, %j]
            yield
        }}"
    )
}

#[test]
fn gemm_of_any_size() {
    for (m, n, k) in [(16, 16, 16), (17, 9, 33), (1, 1, 1), (5, 40, 3), (32, 16, 64)] {
        let mut random = Random((m * n * k) as u64);
        let (a, b) = (random.units(m * k), random.units(k * n));
        let mut expected = vec![0.0f64; m * n];
        for i in 0..m {
            for j in 0..n {
                expected[i * n + j] =
                    (0..k).map(|l| f64::from(a[i * k + l]) * f64::from(b[l * n + j])).sum();
            }
        }
        let shape = |r: usize, c: usize| [r as i64, c as i64];
        let grid = [(m as u32).div_ceil(16), (n as u32).div_ceil(8)];
        let text = gemm(16, 8, 16);
        let mut x = tensor(&shape(m, k), a.clone());
        let mut y = tensor(&shape(k, n), b.clone());
        let mut xt = tensor(&shape(k, m), transpose(&a, m, k));
        let mut yt = tensor(&shape(n, k), transpose(&b, k, n));
        for transposed in [false, true] {
            let mut z = output::<f32>(&shape(m, n));
            if transposed {
                run(&text, &[z.arg(), xt.transposed(), yt.transposed()], &grid);
            } else {
                run(&text, &[z.arg(), x.arg(), y.arg()], &grid);
            }
            for (g, e) in z.data.iter().zip(&expected) {
                // k products of at most 1, each sum rounded once.
                let tolerance = (k * k) as f64 * f64::from(f32::EPSILON) / 2.0 + 1e-12;
                assert!((f64::from(*g) - e).abs() <= tolerance, "{m} {n} {k}: {g} is not {e}");
            }
        }
    }
}

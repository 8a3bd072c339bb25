//! The CPU backend against plain Rust on the same threads and the same data: saxpy against a zipped
//! loop, a matrix product against the `gemm` crate, softmax and an elementwise chain for their own
//! sake. The last column is the ratio of the times; 1 is as fast as plain Rust.
//!
//! `cargo run --release -p cutile-benches --bin cpu_kernels [-- --small]`

use cutile_cpu::{Arg, Program, TensorArg, max_threads};
use cutile_ir::{Element, Module, Specialisation, specialise};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let small = std::env::args().any(|a| a == "--small");
    let threads = max_threads();
    println!("{threads} threads");
    println!("{:34} {:>12} {:>12} {:>8}", "kernel", "cutile ms", "plain ms", "ratio");
    let side = if small { 512 } else { 8192 };
    saxpy("saxpy, tiles [1024]", &saxpy_1d(1024), &[side * side], &[1024], threads)?;
    saxpy("saxpy, tiles [64, 64]", &saxpy_2d(64), &[side, side], &[64, 64], threads)?;
    product(if small { 256 } else { 1024 }, threads)?;
    softmax(if small { 256 } else { 4096 }, 1024, threads)
}

fn prepare(text: &str) -> Result<Program, Box<dyn Error>> {
    let module = Module::parse(text)?;
    let kernel = specialise(&module, &Specialisation::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(Program::new(&kernel)?)
}

fn matrix(data: &mut [f32], shape: &[usize]) -> Arg {
    let shape: Vec<i64> = shape.iter().map(|n| *n as i64).collect();
    TensorArg::contiguous(data.as_mut_ptr().cast(), Element::F32, &shape).into()
}

/// Medians in milliseconds of two functions that take turns, and their ratio.
fn compare(
    name: &str,
    mut ours: impl FnMut() -> Result<(), Box<dyn Error>>,
    mut plain: impl FnMut(),
) -> Result<(), Box<dyn Error>> {
    let mut times = [Vec::new(), Vec::new()];
    ours()?;
    plain();
    for _ in 0..15 {
        let start = Instant::now();
        ours()?;
        times[0].push(start.elapsed());
        let start = Instant::now();
        plain();
        times[1].push(start.elapsed());
    }
    let [ours, plain] = times.map(|mut t| {
        t.sort();
        t[t.len() / 2].as_secs_f64() * 1e3
    });
    println!("{name:34} {ours:12.3} {plain:12.3} {:8.2}", plain / ours);
    Ok(())
}

fn saxpy_1d(tile: usize) -> String {
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

fn saxpy_2d(tile: usize) -> String {
    format!(
        "entry @saxpy(%a: f32, %x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [{tile}, {tile}]) {{
            %vx = partition %x : view f32[{tile}, {tile}]
            %vy = partition %y : view f32[{tile}, {tile}]
            %i = program_id 0 : i32
            %j = program_id 1 : i32
            %tx = load %vx [%i, %j] clip : f32[{tile}, {tile}]
            %ty = load %vy [%i, %j] clip : f32[{tile}, {tile}]
            %ta = splat %a : f32[{tile}, {tile}]
            %p = binary mul %ta %tx : f32[{tile}, {tile}]
            %s = binary add %p %ty : f32[{tile}, {tile}]
            store %s %vy [%i, %j]
            yield
        }}"
    )
}

fn saxpy(
    name: &str,
    text: &str,
    shape: &[usize],
    tile: &[usize],
    threads: usize,
) -> Result<(), Box<dyn Error>> {
    let program = prepare(text)?;
    let n = shape.iter().product();
    let mut x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let mut y = vec![1.0f32; n];
    let mut plain = vec![1.0f32; n];
    let grid: Vec<u32> = shape.iter().zip(tile).map(|(n, t)| n.div_ceil(*t) as u32).collect();
    let args = [Arg::from(0.5f32), matrix(&mut x, shape), matrix(&mut y, shape)];
    let portion = n.div_ceil(threads);
    compare(
        name,
        // SAFETY: the vectors outlive the call, and nothing else uses them during it.
        || unsafe { program.run(&args, &grid, threads) }.map_err(Into::into),
        || {
            std::thread::scope(|scope| {
                for (x, y) in x.chunks(portion).zip(plain.chunks_mut(portion)) {
                    scope.spawn(move || {
                        for (x, y) in x.iter().zip(y) {
                            *y += 0.5 * x;
                        }
                    });
                }
            });
        },
    )?;
    if y != plain {
        return Err(format!("{name}: the results differ").into());
    }
    Ok(())
}

fn product(size: usize, threads: usize) -> Result<(), Box<dyn Error>> {
    let program = prepare(
        "entry @gemm(%z: partitioned f32[?, ?] by [128, 128], %x: tensor f32[?, ?], %y: tensor f32[?, ?]) {
            %vx = partition %x : view f32[128, 64]
            %vy = partition %y : view f32[64, 128]
            %vz = partition %z : view f32[128, 128]
            %i = program_id 0 : i32
            %j = program_id 1 : i32
            %acc = constant 0.0 : f32[128, 128]
            %zero = constant 0 : i32
            %one = constant 1 : i32
            %n = tile_count %vx 1 : i32
            %r = for %zero %n %one [%acc] (%k: i32, %c: f32[128, 128]) {
                %a = load %vx [%i, %k] clip : f32[128, 64]
                %b = load %vy [%k, %j] clip : f32[64, 128]
                %d = mma %a %b %c : f32[128, 128]
                yield %d
            } : f32[128, 128]
            store %r %vz [%i, %j]
            yield
        }",
    )?;
    let value = |i: usize| ((i * 7919) % 1000) as f32 / 1000.0 - 0.5;
    let mut x: Vec<f32> = (0..size * size).map(value).collect();
    let mut y: Vec<f32> = (0..size * size).map(|i| value(i + 17)).collect();
    let mut z = vec![0.0f32; size * size];
    let mut plain = vec![0.0f32; size * size];
    let shape = [size, size];
    let grid = [size.div_ceil(128) as u32; 2];
    let args = [matrix(&mut z, &shape), matrix(&mut x, &shape), matrix(&mut y, &shape)];
    let step = size as isize;
    compare(
        &format!("matrix product, {size} cubed"),
        // SAFETY: the vectors outlive the call, and nothing else uses them during it.
        || unsafe { program.run(&args, &grid, threads) }.map_err(Into::into),
        // SAFETY: three square matrices of that size, row-major, of which only `plain` is written.
        || unsafe {
            gemm::gemm(
                size,
                size,
                size,
                plain.as_mut_ptr(),
                1,
                step,
                false,
                x.as_ptr(),
                1,
                step,
                y.as_ptr(),
                1,
                step,
                0.0,
                1.0,
                false,
                false,
                false,
                if threads > 1 {
                    gemm::Parallelism::Rayon(threads)
                } else {
                    gemm::Parallelism::None
                },
            );
        },
    )?;
    let error = z.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // Two orders of `size` products below 1/4 each.
    if error > size as f32 * f32::EPSILON {
        return Err(format!("the products differ by {error}").into());
    }
    Ok(())
}

fn softmax(rows: usize, columns: usize, threads: usize) -> Result<(), Box<dyn Error>> {
    let program = prepare(
        "entry @softmax(%x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [4, 1024]) {
            %vx = partition %x : view f32[4, 1024]
            %vy = partition %y : view f32[4, 1024]
            %i = program_id 0 : i32
            %zero = constant 0 : i32
            %t = load %vx [%i, %zero] clip : f32[4, 1024]
            %m = reduce max 1 %t : f32[4]
            %mc = reshape %m : f32[4, 1]
            %mb = broadcast %mc : f32[4, 1024]
            %d = binary sub %t %mb : f32[4, 1024]
            %e = unary exp %d : f32[4, 1024]
            %s = reduce sum 1 %e : f32[4]
            %sc = reshape %s : f32[4, 1]
            %sb = broadcast %sc : f32[4, 1024]
            %r = binary div %e %sb : f32[4, 1024]
            store %r %vy [%i, %zero]
            yield
        }",
    )?;
    let n = rows * columns;
    let mut x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1000) as f32 / 100.0).collect();
    let mut y = vec![0.0f32; n];
    let mut plain = vec![0.0f32; n];
    let shape = [rows, columns];
    let args = [matrix(&mut x, &shape), matrix(&mut y, &shape)];
    let portion = rows.div_ceil(threads) * columns;
    compare(
        &format!("softmax, {rows} rows of {columns}"),
        || {
            // SAFETY: the vectors outlive the call, and nothing else uses them during it.
            unsafe { program.run(&args, &[rows.div_ceil(4) as u32, 1], threads) }
                .map_err(Into::into)
        },
        || {
            std::thread::scope(|scope| {
                for (x, y) in x.chunks(portion).zip(plain.chunks_mut(portion)) {
                    scope.spawn(move || {
                        for (x, y) in x.chunks(columns).zip(y.chunks_mut(columns)) {
                            let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                            let mut sum = 0.0;
                            for (x, y) in x.iter().zip(&mut *y) {
                                *y = (x - max).exp();
                                sum += *y;
                            }
                            y.iter_mut().for_each(|y| *y /= sum);
                        }
                    });
                }
            });
        },
    )?;
    let error = y.iter().zip(&plain).map(|(a, b)| (a - b).abs() / b).fold(0.0, f32::max);
    // The plain sum rounds at each of its terms.
    if error > columns as f32 * f32::EPSILON {
        return Err(format!("the softmaxes differ by {error}").into());
    }
    Ok(())
}

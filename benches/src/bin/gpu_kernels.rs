//! Kernels on large data beside a device-to-device copy of the same run, each checked first.
//!
//!     cargo xtask bench gpu_kernels                  # here, on the default device
//!     ./run.sh bench gpu_kernels --json out.jsonl # from a bundle, on a machine with a GPU
//!
//! Bytes are counted read and written, each once. A sample is one submission of many launches in a
//! chain, timed on the host from submission to completion; it lasts tens of milliseconds, so that
//! the few microseconds of one completion do not count. Figures are medians of the samples.
//! `--only NAME` runs one part (copy, saxpy, relu, softmax, gemm, matmul). `--small` shrinks everything, to see that the program runs; its figures mean nothing.

use cutile::api::MatMul;
use cutile::cuda_async::with_context;
use cutile::prelude::*;
use cutile_benches::{Figures, Settings};
use half::{bf16, f16};

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// y = a * x + y.
    #[cutile::entry(specialize(N = 1024), specialize(N = 2048), specialize(N = 4096))]
    fn saxpy<const N: i32>(a: f32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
        let tile_x: Tile<f32, { [N] }> = load_tile_like_1d(x, y);
        let tile_y: Tile<f32, { [N] }> = load_tile_mut(y);
        store_tile(tile_x * a + tile_y, y);
    }

    /// y = max(x, 0).
    #[cutile::entry(specialize(N = 1024), specialize(N = 2048), specialize(N = 4096))]
    fn relu<const N: i32>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
        let tile: Tile<f32, { [N] }> = load_tile_like_1d(x, y);
        store_tile(max(tile, zeros(const_shape![N])), y);
    }

    /// Softmax of each row; a program takes BM whole rows of at most BN columns.
    #[cutile::entry(specialize(BM = 1, BN = 4096), specialize(BM = 2, BN = 4096))]
    fn softmax<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let tile: Tile<f32, { [BM, BN] }> = load_tile_like_2d(x, y);
        let largest = reduce_max(tile, 1).reshape(const_shape![BM, 1]);
        let powers = exp(tile - largest.broadcast(const_shape![BM, BN]));
        let sum = reduce_sum(powers, 1).reshape(const_shape![BM, 1]);
        y.store(powers / sum.broadcast(const_shape![BM, BN]));
    }

    /// z = x * y in bf16 with f32 accumulation.
    #[cutile::entry(
        specialize(BM = 128, BN = 128, BK = 32, K = 4096),
        specialize(BM = 128, BN = 128, BK = 64, K = 4096),
        specialize(BM = 128, BN = 128, BK = 32, K = 512)
    )]
    fn gemm<const BM: i32, const BN: i32, const BK: i32, const K: i32>(
        z: &mut Tensor<bf16, { [BM, BN] }>,
        x: &Tensor<bf16, { [-1, K] }>,
        y: &Tensor<bf16, { [K, -1] }>,
    ) {
        let px = x.partition(const_shape![BM, BK]);
        let py = y.partition(const_shape![BK, BN]);
        let pid = get_tile_block_id();
        let mut acc: Tile<f32, { [BM, BN] }> = zeros(const_shape![BM, BN]);
        for i in 0..(K / BK) {
            acc = mma(px.load([pid.0, i]), py.load([i, pid.1]), acc);
        }
        let out: Tile<bf16, { [BM, BN] }> = convert(acc);
        z.store(out);
    }
}

/// `first` then `launches - 1` more of what `next` makes, as one submission.
fn chain<T, O, F>(first: T, launches: usize, next: F) -> impl DeviceOperation<Output = T>
where
    T: Send + 'static,
    O: DeviceOperation<Output = T> + 'static,
    F: Fn(T) -> O + Clone + Send + 'static,
{
    let mut operation = next(first).boxed();
    for _ in 1..launches {
        operation = operation.then(next.clone()).boxed();
    }
    operation
}

fn saxpy(settings: &Settings, figures: &mut Figures) -> Result<(), DeviceError> {
    let n = settings.elements();
    let x = std::sync::Arc::new(api::rand::<f32>([n], 1).sync()?);
    for tile in [1024usize, 2048, 4096] {
        let y = api::ones::<f32>([n]).sync()?;
        let (_, _, y) = kernels::saxpy(2.0, x.clone(), y.partition([tile])).sync()?;
        let y = y.unpartition();
        check(&x, &y, |x| 2.0 * x + 1.0)?;
        let mut y = Some(y.partition([tile]));
        let samples = settings.samples(|launches| {
            let x = x.clone();
            let next = move |y| kernels::saxpy(0.5, x.clone(), y).map(|(_, _, y)| y);
            y = Some(chain(y.take().expect("put back"), launches, next).sync()?);
            Ok(())
        })?;
        figures.bytes(&format!("saxpy f32, tile {tile}"), 3 * 4 * n, samples);
    }
    Ok(())
}

fn relu(settings: &Settings, figures: &mut Figures) -> Result<(), DeviceError> {
    let n = settings.elements();
    let x = std::sync::Arc::new(api::randn::<f32>([n], 2).sync()?);
    for tile in [1024usize, 2048, 4096] {
        let y = api::full(f32::NAN, [n]).sync()?;
        let (_, y) = kernels::relu(x.clone(), y.partition([tile])).sync()?;
        let y = y.unpartition();
        check(&x, &y, |x| x.max(0.0))?;
        let mut y = Some(y.partition([tile]));
        let samples = settings.samples(|launches| {
            let x = x.clone();
            let next = move |y| kernels::relu(x.clone(), y).map(|(_, y)| y);
            y = Some(chain(y.take().expect("put back"), launches, next).sync()?);
            Ok(())
        })?;
        figures.bytes(&format!("relu f32, tile {tile}"), 2 * 4 * n, samples);
    }
    Ok(())
}

/// Compares every element of an elementwise result with its definition.
fn check(
    x: &std::sync::Arc<Tensor<f32>>,
    y: &Tensor<f32>,
    expected: impl Fn(f32) -> f32,
) -> Result<(), DeviceError> {
    let (x, y) = zip!(x.to_host_vec(), y.to_host_vec()).sync()?;
    let wrong = x.iter().zip(&y).position(|(x, y)| expected(*x) != *y);
    assert_eq!(wrong, None, "an element is wrong");
    Ok(())
}

fn softmax(settings: &Settings, figures: &mut Figures) -> Result<(), DeviceError> {
    let (rows, columns) = settings.softmax_shape();
    let x = std::sync::Arc::new(api::randn::<f32>([rows, columns], 3).sync()?);
    for tile in [1usize, 2] {
        let y = api::full(f32::NAN, [rows, columns]).partition([tile, 4096]);
        let (_, y) = kernels::softmax(x.clone(), y).sync()?;
        let y = y.unpartition();
        check_softmax(&x, &y, columns)?;
        let mut y = Some(y.partition([tile, 4096]));
        let samples = settings.samples(|launches| {
            let x = x.clone();
            let next = move |y| kernels::softmax(x.clone(), y).map(|(_, y)| y);
            y = Some(chain(y.take().expect("put back"), launches, next).sync()?);
            Ok(())
        })?;
        let name = format!("softmax f32 {rows} x {columns}, {tile} rows a program");
        figures.bytes(&name, 2 * 4 * rows * columns, samples);
    }
    Ok(())
}

/// Every element against f64; the result is at most 1 and the exponential's error a few ulp.
fn check_softmax(
    x: &std::sync::Arc<Tensor<f32>>,
    y: &Tensor<f32>,
    columns: usize,
) -> Result<(), DeviceError> {
    let (x, y) = zip!(x.to_host_vec(), y.to_host_vec()).sync()?;
    for (x, y) in x.chunks(columns).zip(y.chunks(columns)) {
        let sum: f64 = x.iter().map(|v| f64::from(*v).exp()).sum();
        for (x, y) in x.iter().zip(y) {
            let exact = f64::from(*x).exp() / sum;
            let error = (f64::from(*y) - exact).abs();
            assert!(error <= 2e-6 * exact + 1e-12, "softmax: {y} instead of {exact}");
        }
    }
    Ok(())
}

fn gemm(settings: &Settings, figures: &mut Figures) -> Result<(), DeviceError> {
    let n = settings.gemm_size();
    let uniform = |seed| -> Result<_, DeviceError> {
        let values = api::randn::<f32>([n * n], seed).sync()?.to_host_vec().sync()?;
        let values: Vec<bf16> = values.into_iter().map(bf16::from_f32).collect();
        Ok((values.clone(), std::sync::Arc::new(api::from_vec(values, [n, n]).sync()?)))
    };
    let (host_x, x) = uniform(4)?;
    let (host_y, y) = uniform(5)?;
    let z = api::full(bf16::NAN, [n, n]).partition([128, 128]);
    let (z, ..) = kernels::gemm::<32>(z, x.clone(), y.clone()).sync()?;
    let z = z.unpartition();
    check_gemm(&host_x, &host_y, &z.to_host_vec().sync()?, n, 4e-3);
    let mut z = Some(z.partition([128, 128]));
    let samples = settings.samples(|launches| {
        let (x, y) = (x.clone(), y.clone());
        let next = move |z| kernels::gemm::<32>(z, x.clone(), y.clone()).map(|(z, ..)| z);
        z = Some(chain(z.take().expect("put back"), launches, next).sync()?);
        Ok(())
    })?;
    figures.operations(&format!("gemm bf16 {n}^3, 128x128x32"), 2 * n * n * n, samples);
    Ok(())
}

/// `api::matmul`, which chooses its tiles itself.
fn matmul(settings: &Settings, figures: &mut Figures) -> Result<(), DeviceError> {
    for &n in settings.matmul_sizes() {
        product("f32", n, |v| v, 1e-5, settings, figures)?;
        product("f16", n, f16::from_f32, 4e-3, settings, figures)?;
    }
    Ok(())
}

/// The product of two square matrices of one type, with its relative error bounded.
fn product<T: MatMul + Into<f64>>(
    name: &str,
    n: usize,
    cast: fn(f32) -> T,
    bound: f64,
    settings: &Settings,
    figures: &mut Figures,
) -> Result<(), DeviceError> {
    let random = |seed| -> Result<_, DeviceError> {
        let values = api::randn::<f32>([n * n], seed).sync()?.to_host_vec().sync()?;
        let values: Vec<T> = values.into_iter().map(cast).collect();
        Ok((values.clone(), std::sync::Arc::new(api::from_vec(values, [n, n]).sync()?)))
    };
    let (host_x, x) = random(6)?;
    let (host_y, y) = random(7)?;
    let z = api::matmul(x.clone(), y.clone()).to_host_vec().sync()?;
    check_gemm(&host_x, &host_y, &z, n, bound);
    let samples = settings.samples(|launches| {
        let (x, y) = (x.clone(), y.clone());
        chain((), launches, move |()| api::matmul(x.clone(), y.clone()).map(drop)).sync()
    })?;
    figures.operations(&format!("matmul {name} {n}^3"), 2 * n * n * n, samples);
    Ok(())
}

/// Rows spread over the matrix against f64, by relative Frobenius norm.
fn check_gemm<T: Copy + Into<f64>>(x: &[T], y: &[T], z: &[T], n: usize, bound: f64) {
    assert!(z.iter().all(|v| (*v).into().is_finite()), "an element was not written");
    let (mut difference, mut norm) = (0.0f64, 0.0f64);
    for row in (0..n).step_by((n / 16).max(1)) {
        let mut exact = vec![0.0f64; n];
        for (k, x) in x[row * n..][..n].iter().enumerate() {
            for (e, y) in exact.iter_mut().zip(&y[k * n..][..n]) {
                *e += (*x).into() * (*y).into();
            }
        }
        for (e, z) in exact.iter().zip(&z[row * n..][..n]) {
            difference += ((*z).into() - e).powi(2);
            norm += e * e;
        }
    }
    let error = (difference / norm).sqrt();
    assert!(error < bound, "gemm: relative error {error}");
}

/// The reference: the driver's copy from device memory to device memory.
fn copy(settings: &Settings, figures: &mut Figures) -> Result<(), DeviceError> {
    let bytes = 4 * settings.elements();
    let buffers = with_context(move |ctx| {
        let (from, to) = (ctx.alloc(bytes)?, ctx.alloc(bytes)?);
        ctx.fill(&from, 0, 0x3f9d_70a4, 4, bytes / 4)?;
        Ok((from, to))
    });
    let (from, to) = buffers.sync()?;
    let samples = settings.samples(|launches| {
        let (from, to) = (from.clone(), to.clone());
        with_context(move |ctx| (0..launches).try_for_each(|_| ctx.copy(&from, 0, &to, 0, bytes)))
            .sync()
    })?;
    figures.bytes("device-to-device copy", 2 * bytes, samples);
    Ok(())
}

/// Measures one part.
type Part = fn(&Settings, &mut Figures) -> Result<(), DeviceError>;

const PARTS: [(&str, Part); 7] = [
    ("copy", copy),
    ("saxpy", saxpy),
    ("relu", relu),
    ("softmax", softmax),
    ("copy", copy),
    ("gemm", gemm),
    ("matmul", matmul),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::from_arguments(std::env::args().skip(1))?;
    let mut figures = Figures::new(&settings)?;
    // The reference stands first and last: their difference is the run's own noise.
    for (name, part) in PARTS {
        if settings.wants(name) {
            part(&settings, &mut figures)?;
        }
    }
    figures.finish("device-to-device copy")?;
    Ok(())
}

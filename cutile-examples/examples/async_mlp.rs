//! The flagship: a trained network classifies handwritten digits, data-parallel over all devices.
//!
//!     cargo run --release -p cutile-examples --example async_mlp [-- --rounds 200]
//!
//! Each device gets a copy of the weights and its share of the held-out images. A share's whole
//! forward pass, three layers and the choice of the class, is one lazy operation: one submission,
//! one wake. `--rounds` runs the pass that many times, for a stable rate.

use async_executor::Executor;
use cutile::prelude::*;
use cutile_examples::{Digits, Failure, Layer, Mlp, PIXELS, rounds_from_arguments};
use futures_lite::future::block_on;
use futures_util::future::try_join_all;
use indicatif::ProgressBar;
use std::time::Instant;

/// Rows of a batch and columns of a layer that one tile program computes.
const BLOCK: usize = 64;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    /// z = x * w + b, then ReLU where asked for. A program computes a BM x BN block over all of K.
    #[cutile::entry(
        specialize(BM = 64, BN = 64, K = 64, RELU = true),
        specialize(BM = 64, BN = 64, K = 128, RELU = true),
        specialize(BM = 64, BN = 64, K = 64, RELU = false)
    )]
    fn layer<const BM: i32, const BN: i32, const K: i32, const RELU: bool>(
        z: &mut Tensor<f32, { [BM, BN] }>,
        x: &Tensor<f32, { [-1, K] }>,
        w: &Tensor<f32, { [K, -1] }>,
        b: &Tensor<f32, { [-1] }>,
    ) {
        let pid = get_tile_block_id();
        let rows = x.partition(const_shape![BM, K]).load([pid.0, 0]);
        let columns = w.partition(const_shape![K, BN]).load([0, pid.1]);
        let bias = b.partition(const_shape![BN]).load([pid.1]);
        let bias = bias.reshape(const_shape![1, BN]).broadcast(const_shape![BM, BN]);
        let sum = mma(rows, columns, bias);
        if RELU {
            z.store(max(sum, zeros(const_shape![BM, BN])));
        } else {
            z.store(sum);
        }
    }

    /// The class with the largest logit. BN is at least the number of classes.
    #[cutile::entry(specialize(BM = 64))]
    fn classify<const BM: i32>(
        class: &mut Tensor<i32, { [BM] }>,
        logits: &Tensor<f32, { [-1, -1] }>,
    ) {
        let pid = get_tile_block_id();
        let rows = logits.partition(const_shape![BM, 16]).load([pid.0, 0]);
        class.store(reduce_argmax(rows, 1));
    }
}

/// One layer's output for a batch of `rows`.
fn layer<const RELU: bool, X: IntoDeviceOperation<Arc<Tensor<f32>>>>(
    x: X,
    parameters: &Layer,
    rows: usize,
) -> impl DeviceOperation<Output = Arc<Tensor<f32>>> + use<RELU, X> {
    let z = api::zeros::<f32>([rows, parameters.outputs()]).partition([BLOCK, BLOCK]);
    zip!(z, x, parameters.weight.clone(), parameters.bias.clone())
        .apply(kernels::layer::<RELU>)
        .map(|(z, ..)| z)
        .unpartition()
        .arc()
}

/// The classes of a batch: the whole forward pass as one operation.
fn classes(mlp: &Mlp, images: Arc<Tensor<f32>>) -> impl DeviceOperation<Output = Vec<i32>> + use<> {
    let rows = images.shape()[0];
    let [first, second, last] = &mlp.layers;
    let x = layer::<true, _>(images, first, rows);
    let x = layer::<true, _>(x, second, rows);
    let logits = layer::<false, _>(x, last, rows);
    let class = api::zeros::<i32>([rows]).partition([BLOCK]);
    zip!(class, logits)
        .apply(kernels::classify)
        .map(|(class, _)| class)
        .unpartition()
        .then(|class| class.into_host_vec())
}

/// What one device did: images seen, and how many of them it got right.
#[derive(Default)]
struct Tally {
    seen: usize,
    right: usize,
}

/// Classifies one device's share of the images, `rounds` times.
async fn work(
    device: usize,
    share: Digits,
    rounds: usize,
    progress: ProgressBar,
) -> Result<Tally, Failure> {
    let mlp = Mlp::load(device).await?;
    let images = api::from_vec(share.images, [share.labels.len(), PIXELS]).arc().fallible();
    let images = images.schedule(global_policy(device)).await?;
    let mut tally = Tally::default();
    for _ in 0..rounds {
        let pass = classes(&mlp, images.clone()).fallible();
        let found = pass.schedule(global_policy(device)).await?;
        tally.seen += found.len();
        tally.right +=
            found.iter().zip(&share.labels).filter(|(a, b)| **a == i32::from(**b)).count();
        progress.inc(1);
    }
    Ok(tally)
}

async fn run(executor: &Executor<'_>, rounds: usize) -> Result<(), Failure> {
    let digits = Digits::held_out()?;
    let devices = Device::count();
    let progress = match rounds {
        0..50 => ProgressBar::hidden(),
        _ => ProgressBar::new((rounds * devices) as u64).with_message("passes"),
    };
    let start = Instant::now();
    let workers = digits
        .shares(devices)
        .into_iter()
        .enumerate()
        .map(|(device, share)| executor.spawn(work(device, share, rounds, progress.clone())));
    let tallies = try_join_all(workers).await?;
    let seconds = start.elapsed().as_secs_f64();
    progress.finish_and_clear();

    let seen: usize = tallies.iter().map(|t| t.seen).sum();
    let right: usize = tallies.iter().map(|t| t.right).sum();
    let names: Vec<String> = Device::all().iter().map(Device::to_string).collect();
    println!("device: {}", names.join(", "));
    println!("samples: {seen}");
    println!("accuracy: {:.4}", right as f64 / seen as f64);
    println!("samples per second: {:.0}", seen as f64 / seconds);
    Ok(())
}

fn main() -> Result<(), Failure> {
    let rounds = rounds_from_arguments(std::env::args().skip(1))?;
    let executor = Executor::new();
    block_on(executor.run(run(&executor, rounds)))
}

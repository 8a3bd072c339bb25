//! Awaiting an operation from an async executor.
//!
//!     cargo run -p cutile-examples --example async_add

use async_executor::Executor;
use cutile::prelude::*;
use futures_lite::future::block_on;

async fn sum_of_ones() -> Vec<f32> {
    // Nothing runs until the `await`; then all of it is one submission, in order on one stream.
    let x = api::ones::<f32>([16, 16]);
    let y = api::ones::<f32>([16, 16]);
    let z: Tensor<f32> = api::add(x, y).await;
    z.to_host_vec().await
}

fn main() {
    let executor = Executor::new();
    // Futures are `Send`: a task may move between threads of the executor.
    let tasks: Vec<_> = (0..4).map(|_| executor.spawn(sum_of_ones())).collect();
    block_on(executor.run(async {
        for (i, task) in tasks.into_iter().enumerate() {
            let z = task.await;
            assert!(z.iter().all(|v| *v == 2.0));
            println!("task {i}: {} values, each {}", z.len(), z[0]);
        }
    }));
}

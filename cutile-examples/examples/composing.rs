//! Composing lazy operations into a graph: zip, apply, then, unzip, shared, fallible.
//!
//!     cargo run -p cutile-examples --example composing

use cutile::prelude::*;
use futures_lite::future::block_on;

async fn run() {
    // zip makes one operation of several; apply spreads its outputs over a function.
    let sum = zip!(api::full(3.0f32, [8, 8]), api::full(4.0f32, [8, 8])).apply(api::add);

    // then continues with what the operation before it gives.
    let scaled = sum.then(|z| api::mul(z, api::full(0.5f32, [8, 8])));

    // shared runs once, however many operations use it, on whatever thread.
    let scaled = scaled.arc().shared();
    let twice = api::add(scaled.clone(), scaled.clone());
    let thrice = api::add(twice, scaled.clone());
    let (once, thrice) =
        zip!(scaled.then(|t| t.to_host_vec()), thrice.then(|t| t.into_host_vec())).await;
    println!("(3 + 4) / 2 = {}, three times that = {}", once[0], thrice[0]);
    assert!(once.iter().all(|v| *v == 3.5) && thrice.iter().all(|v| *v == 10.5));

    // unzip splits an operation; a branch that is dropped costs nothing.
    let (a, b) = zip!(api::zeros::<f32>([4]), api::ones::<f32>([4])).unzip();
    drop(a);
    println!("ones: {:?}", b.then(|t| t.into_host_vec()).await);

    // fallible gives the error instead of panicking; what the caller holds stays usable.
    let x = std::sync::Arc::new(api::ones::<f32>([2, 3]).await);
    let y = api::ones::<f32>([3, 2]).arc();
    match api::add(x.clone(), y).fallible().await {
        Ok(_) => unreachable!("the shapes differ"),
        Err(error) => println!("as it should be: {error}"),
    }
    println!("x is still here: {:?}", x.to_host_vec().await);
}

fn main() {
    block_on(run());
}

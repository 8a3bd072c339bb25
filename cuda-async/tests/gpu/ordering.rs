//! Order across streams, work in flight that nobody waits for, dependent launches.

use std::pin::pin;
use std::task::{Context as TaskContext, Waker};
use std::time::{Duration, Instant};

use cuda_async::prelude::*;
use futures_util::future::join_all;

use crate::kernels::{BASE, HOPPER, Params, load};
use crate::{add_one, context, gpu, launch_with, spin, words};

#[test]
fn a_reader_on_another_stream_waits_for_the_writer() {
    let device = gpu!();
    let (add, spinning) = (load(device, BASE, c"add_one", 0), load(device, BASE, c"spin", 0));
    let (first, second) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let buffer = zeroed(4 * 1000).sync_on(&first).unwrap();
    for round in 1..=100 {
        let writer = spin(spinning, 200_000).then({
            let buffer = buffer.clone();
            move |()| add_one(add, buffer)
        });
        drop(writer.schedule(first.clone()).poll_result(Waker::noop()));
        // In every other round the writer's stream has gone on to something else by then.
        if round % 2 == 0 {
            drop(spin(spinning, 50_000).schedule(first.clone()).poll_result(Waker::noop()));
        }
        let read = download(buffer.clone()).sync_on(&second).unwrap();
        assert!(read == words([round; 1000]), "round {round}: the reader came first");
    }
}

#[test]
fn ten_thousand_submissions_dropped_and_forgotten() {
    let device = gpu!();
    let add = load(device, BASE, c"add_one", 0);
    let streams: Vec<Stream> = (0..4).map(|_| device.new_stream().unwrap()).collect();
    let shared = upload(words([0; 256])).sync_on(&streams[0]).unwrap();
    let (used, _) = context(device).pool_usage().unwrap();
    let mut submitted = 0;
    let mut state = 0x2545_F491_u32;
    let begin = Instant::now();
    for i in 0..10_000usize {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let op = add_one(add, shared.clone())
            .then(move |_| upload(vec![7; 1024]).then(move |own| add_one(add, own)).map(|_| ()));
        let mut future = op.schedule(streams[i % 4].clone());
        if state >> 28 == 0 {
            continue;
        }
        drop(pin!(&mut future).poll_result(Waker::noop()));
        submitted += 1;
        if state >> 27 & 1 == 0 {
            std::mem::forget(future);
        }
    }
    println!("{submitted} submissions of two kernels and a copy in {:?}", begin.elapsed());
    assert!(download(shared).sync_on(&streams[3]).unwrap() == words([submitted; 256]));
    let until = Instant::now() + Duration::from_secs(5);
    while context(device).pool_usage().unwrap().0 > used && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (left, _) = context(device).pool_usage().unwrap();
    assert!(left <= used, "{} bytes of dropped operations were not freed", left - used);
}

#[test]
fn many_operations_are_awaited_together() {
    let device = gpu!();
    let add = load(device, BASE, c"add_one", 0);
    let streams: Vec<Stream> = (0..4).map(|_| device.new_stream().unwrap()).collect();
    let operations = (0..64u32).map(|i| {
        let op = upload(words([i; 64])).then(move |buffer| add_one(add, buffer)).then(download);
        op.schedule(streams[i as usize % 4].clone())
    });
    for (i, bytes) in block_on(join_all(operations)).into_iter().enumerate() {
        assert_eq!(bytes, words([i as u32 + 1; 64]));
    }
}

#[test]
fn dependent_launches_keep_the_order_of_writers_and_readers() {
    let device = gpu!();
    if context(device).properties().compute_capability < (9, 0) {
        println!("skipped: dependent launches need sm_90");
        return;
    }
    let pass_on = load(device, HOPPER, c"pass_on", 0);
    let stream = device.new_stream().unwrap();
    for _ in 0..20 {
        let op = with_context(move |ctx| {
            let cells = [ctx.alloc(4)?, ctx.alloc(4)?];
            for cell in &cells {
                ctx.fill(cell, 0, 0, 4, 1)?;
            }
            for i in 0..1000 {
                let from = ctx.read(&cells[i % 2])?;
                let to = ctx.write(&cells[1 - i % 2])?;
                launch_with(ctx, pass_on, 1, 0, true, &Params::default().u64(from.0).u64(to.0))?;
            }
            let [last, _] = cells;
            Ok(last)
        });
        assert_eq!(op.then(download).sync_on(&stream).unwrap(), words([1000]));
    }
}

/// The smallest executor.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = TaskContext::from_waker(Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}

//! Futures dropped, forgotten and aborted at every point: memory in flight stays valid, nothing waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuda_async::prelude::*;
use futures_util::future::abortable;

use crate::support::{
    Gate, PollNow, block_on, device, duplicate, fill, increment, poll_once, small_device,
};

const BYTES: usize = 1 << 16;

/// Several stages with device and host outputs in between, 6 polls or more long.
fn stages() -> impl DeviceOperation<Output = Vec<u8>> {
    let stage = |x: Vec<u8>| upload(x).then(increment).then(duplicate).then(download);
    let pair = zip((stage(vec![1; BYTES]), stage(vec![2; BYTES])));
    pair.then(move |(x, y)| zip((stage(x), stage(y)))).map(|(x, _)| x).then(stage)
}

/// After some work was let go of at some point, memory made since is nobody else's.
fn new_memory_is_undisturbed(device: Device, stream: &Stream, gate: &Gate) {
    let other = device.new_stream().unwrap();
    let fresh: Vec<_> = (0..4)
        .map(|_| zeroed(BYTES).then(|buffer| fill(buffer, 7)).schedule(&other).sync().unwrap())
        .collect();
    gate.open();
    stream.synchronize().unwrap();
    for buffer in fresh {
        let bytes = download(buffer).sync_on(&other).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 7), "freed memory was written to");
    }
}

/// Polls `points` times with work held back from time to time, then gives the future to `end`.
fn let_go_at_every_point(end: impl Fn(DeviceFuture<Boxed>)) {
    for points in 0..12 {
        let device = device();
        let stream = device.new_stream().unwrap();
        let gate = Gate::default();
        let mut future = stages().boxed().schedule(&stream);
        let mut held = points;
        // The first half of the points lie behind a closed gate.
        if points % 2 == 0 {
            drop(gate.block().schedule(&stream).poll_now());
        }
        while held > 0 && poll_once(&mut future).is_pending() {
            held -= 1;
            if points % 2 == 1 {
                stream.synchronize().unwrap();
            }
        }
        let begin = Instant::now();
        end(future);
        assert!(begin.elapsed() < Duration::from_secs(5), "letting go waited for the device");
        new_memory_is_undisturbed(device, &stream, &gate);
    }
}

type Boxed = BoxedOperation<'static, Vec<u8>>;

#[test]
fn a_future_can_be_dropped_at_every_point() {
    let_go_at_every_point(drop);
}

#[test]
fn a_future_can_be_forgotten_at_every_point() {
    let_go_at_every_point(std::mem::forget);
}

#[test]
fn dropping_gives_the_memory_back() {
    let device = device();
    let stream = device.new_stream().unwrap();
    for points in 0..12 {
        let mut future = stages().schedule(&stream);
        for _ in 0..points {
            if poll_once(&mut future).is_ready() {
                break;
            }
        }
    }
    stream.synchronize().unwrap();
    assert_eq!(device.memory().unwrap().used, 0);
}

#[test]
fn a_dropped_input_outlives_its_readers_on_every_stream() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let x = upload(vec![5; BYTES]).sync_on(&a).unwrap();
    // A reader on `b`, held back; then the last handle goes, and `a` allocates the same size.
    drop(gate.block().schedule(&b).poll_now());
    let copy = duplicate(x.clone()).schedule(&b);
    let mut copy = Box::pin(copy);
    assert!(poll_once(&mut copy).is_pending());
    drop(x);
    let other = zeroed(BYTES).schedule(&a).sync_within(Duration::from_millis(50));
    gate.open();
    let copy = block_on(copy);
    assert!(download(copy).sync_on(&b).unwrap().iter().all(|byte| *byte == 5));
    drop(other);
}

trait Within: Future + Sized + Unpin {
    /// Polls for a while; work that has to wait for a gate is left in flight.
    fn sync_within(mut self, limit: Duration) -> Option<Self::Output> {
        let begin = Instant::now();
        while begin.elapsed() < limit {
            if let std::task::Poll::Ready(output) = poll_once(&mut self) {
                return Some(output);
            }
        }
        None
    }
}

impl<F: Future + Unpin> Within for F {}

#[test]
fn aborting_a_thousand_tasks_corrupts_and_leaks_nothing() {
    let device = small_device(64 << 20);
    let policy = StreamPoolRoundRobin::with_streams(device, 4);
    let mut slowest = Duration::ZERO;
    let mut total = Duration::ZERO;
    for round in 0..1000 {
        let op = upload(vec![1; 4096]).then(increment).then(duplicate).then(download);
        let (mut task, abort) = abortable(Box::pin(op.schedule(&policy)));
        let _ = poll_once(&mut task);
        abort.abort();
        let begin = Instant::now();
        drop(task);
        slowest = slowest.max(begin.elapsed());
        total += begin.elapsed();
        if round % 50 == 0 {
            let op = zeroed(4096).then(|buffer| fill(buffer, 7)).then(download);
            assert!(op.schedule(&policy).sync().unwrap().iter().all(|byte| *byte == 7));
        }
    }
    assert!(total < Duration::from_secs(1), "drops took {total:?}, the slowest {slowest:?}");
    let streams: Vec<_> = (0..4).map(|_| policy.place(&Hints::default()).unwrap()).collect();
    streams.iter().for_each(|place| place.stream().synchronize().unwrap());
    assert_eq!(device.memory().unwrap().used, 0);
}

#[test]
fn staging_memory_of_dropped_work_is_kept_until_the_device_is_done_with_it() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let gate = Gate::default();
    drop(gate.block().schedule(&stream).poll_now());
    // The upload's vector belongs to the stream once submitted.
    let mut future = upload(vec![3; BYTES]).schedule(&stream);
    let _ = poll_once(&mut future);
    let mut future = Box::pin(future);
    assert!(poll_once(&mut future).is_pending());
    let noise: Vec<Vec<u8>> = (0..16).map(|_| vec![0xee; BYTES]).collect();
    gate.open();
    let buffer = block_on(future);
    assert!(download(buffer).sync_on(&stream).unwrap().iter().all(|byte| *byte == 3));
    drop(noise);
}

#[test]
fn what_dropped_work_kept_alive_is_let_go_without_anybody_waiting() {
    let stream = device().new_stream().unwrap();
    let gate = Gate::default();
    let kept = Arc::new(());
    let owner = Arc::clone(&kept);
    let op = gate.block().then(move |()| {
        with_context(move |ctx| {
            ctx.run_on_host("work", || Ok(()))?;
            ctx.keep(owner);
            Ok(())
        })
    });
    drop(op.schedule(&stream).poll_now());
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(Arc::strong_count(&kept), 2, "let go while the work was in flight");
    gate.open();
    let begin = Instant::now();
    while Arc::strong_count(&kept) > 1 {
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody let it go");
        std::thread::sleep(Duration::from_millis(1));
    }
}

//! `unzip` and `shared`: the upstream runs at most once, whoever comes first, from any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_async::prelude::*;

use crate::support::{Gate, block_on, device, duplicate, failing, increment, poll_once};

/// An operation that counts its runs.
fn counted(runs: &Arc<AtomicUsize>) -> impl DeviceOperation<Output = (i32, Buffer)> + use<> {
    let runs = Arc::clone(runs);
    upload(vec![1, 2]).then(increment).map(move |buffer| {
        runs.fetch_add(1, Ordering::SeqCst);
        (7, buffer)
    })
}

#[test]
fn the_upstream_of_unzip_runs_at_most_once() {
    let stream = device().new_stream().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let (n, buffer) = counted(&runs).unzip();
    assert_eq!(buffer.then(download).sync_on(&stream).unwrap(), [2, 3]);
    assert_eq!(n.sync_on(&stream).unwrap(), 7);
    assert_eq!(runs.load(Ordering::SeqCst), 1);

    let (n, buffer) = counted(&runs).unzip();
    drop((n, buffer));
    assert_eq!(runs.load(Ordering::SeqCst), 1, "branches that are dropped run nothing");
}

#[test]
fn branches_on_different_streams_are_ordered() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let op = gate
        .block()
        .then(|()| zip((upload(vec![1]), upload(vec![2]))))
        .then(|(x, y)| zip((increment(x), increment(y))));
    let (x, y) = op.unzip();
    let (mut x, mut y) = (x.then(download).schedule(&a), y.then(download).schedule(&b));
    assert!(poll_once(&mut x).is_pending());
    assert!(poll_once(&mut y).is_pending(), "its data is not there yet");
    gate.open();
    assert_eq!(block_on(y), [3]);
    assert_eq!(block_on(x), [2]);
}

#[test]
fn a_branch_that_submits_nothing_still_waits_for_the_upstream() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let done = Arc::new(AtomicUsize::new(0));
    let mark = Arc::clone(&done);
    let op = gate.block().then(move |()| {
        with_context(move |ctx| {
            ctx.run_on_host("mark", move || {
                mark.store(1, Ordering::SeqCst);
                Ok(())
            })?;
            Ok((1, 2))
        })
    });
    let (x, y) = op.unzip();
    let (mut x, mut y) = (x.schedule(&a), y.schedule(&b));
    assert!(poll_once(&mut x).is_pending());
    assert!(poll_once(&mut y).is_pending());
    gate.open();
    assert_eq!(block_on(y), 2);
    assert_eq!(done.load(Ordering::SeqCst), 1);
    assert_eq!(block_on(x), 1);
}

#[test]
fn every_branch_learns_of_the_upstream_s_failure() {
    let stream = device().new_stream().unwrap();
    let (x, y) = upload(vec![1]).then(failing).map(|x| (x, 1)).unzip();
    assert!(x.sync_on(&stream).is_err());
    assert!(y.sync_on(&stream).is_err());

    let (x, y) = with_context(|_| Err::<(i32, i32), _>(DeviceError::new(std::fmt::Error))).unzip();
    assert!(y.sync_on(&stream).is_err());
    assert!(x.sync_on(&stream).is_err());
}

#[test]
fn a_branch_on_another_device_is_an_error() {
    let (here, there) = (device(), device());
    let (x, y) = zip((upload(vec![1]), upload(vec![2]))).unzip();
    assert_eq!(x.then(download).sync_on(&here.new_stream().unwrap()).unwrap(), [1]);
    let error = y.sync_on(&there.new_stream().unwrap()).unwrap_err();
    assert!(error.to_string().contains("copy_to"), "{error}");
}

#[test]
fn a_panic_upstream_goes_to_one_and_an_error_to_the_others() {
    let stream = device().new_stream().unwrap();
    let (x, y) = value(1).map(|_| -> (i32, i32) { panic!("upstream") }).unzip();
    let first = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| x.sync_on(&stream)));
    assert!(first.is_err());
    let error = y.sync_on(&stream).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Panicked { .. }), "{error}");
}

#[test]
fn shared_operations_run_once_from_many_threads() {
    for _ in 0..20 {
        let policy = Arc::new(StreamPoolRoundRobin::new(device()));
        let runs = Arc::new(AtomicUsize::new(0));
        // A host output upstream, so that it is driven over several polls.
        let count = Arc::clone(&runs);
        let op = upload(vec![1, 2, 3]).then(download).map(move |bytes| {
            count.fetch_add(1, Ordering::SeqCst);
            bytes
        });
        let shared = op.shared();
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let future = shared.clone().schedule(Arc::clone(&policy));
                std::thread::spawn(move || match n % 2 {
                    0 => future.sync().unwrap(),
                    _ => block_on(future),
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), [1, 2, 3]);
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_holder_that_goes_away_leaves_the_rest_to_others() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let held = gate.clone();
    let shared = upload(vec![1]).then(move |x| held.block().map(|()| x)).then(download).shared();
    let mut first = shared.clone().schedule(&a);
    assert!(poll_once(&mut first).is_pending());
    let mut second = shared.schedule(&b);
    assert!(poll_once(&mut second).is_pending());
    drop(first);
    gate.open();
    assert_eq!(block_on(second), [1]);
}

#[test]
fn one_output_feeds_several_operations() {
    let device = device();
    let policy = StreamPoolRoundRobin::with_streams(device, 4);
    let x = upload(vec![5; 100]).then(increment).shared();
    let sums: Vec<_> = (0..10)
        .map(|_| x.clone().then(duplicate).then(download).schedule(&policy).sync().unwrap())
        .collect();
    assert!(sums.iter().all(|sum| *sum == [6; 100]));
}

//! Read-backs overlap, and no closure sees memory that the device has not written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cuda_async::prelude::*;

use crate::support::{Gate, block_on, device, increment, poll_once};

#[test]
fn all_parts_of_a_zip_are_submitted_before_any_is_waited_for() {
    let stream = device().new_stream().unwrap();
    let gate = Gate::default();
    let submitted = Arc::new(AtomicUsize::new(0));
    let part = |byte| {
        let submitted = Arc::clone(&submitted);
        upload(vec![byte]).then(move |x| {
            submitted.fetch_add(1, Ordering::SeqCst);
            download(x)
        })
    };
    let (a, b, c) = (part(1), part(2), part(3));
    let mut future = gate.block().then(move |()| zip((a, b, c))).schedule(&stream);
    assert!(poll_once(&mut future).is_pending());
    assert_eq!(submitted.load(Ordering::SeqCst), 3);
    gate.open();
    assert_eq!(block_on(future), (vec![1], vec![2], vec![3]));
}

#[test]
fn a_closure_runs_only_when_its_data_is_complete() {
    let stream = device().new_stream().unwrap();
    let gate = Gate::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let op = upload(vec![1, 2]).then(|x| {
        let gate = gate.clone();
        increment(x).then(move |x| gate.block().map(|()| x)).then(increment)
    });
    let op = op.then(download).map(move |bytes| {
        counted.fetch_add(1, Ordering::SeqCst);
        bytes
    });
    let mut future = op.schedule(&stream);
    for _ in 0..5 {
        assert!(poll_once(&mut future).is_pending());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0, "the closure ran before the device had written");
    gate.open();
    assert_eq!(block_on(future), [3, 4]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn device_outputs_chain_in_one_poll() {
    let stream = device().new_stream().unwrap();
    let gate = Gate::default();
    let stages = Arc::new(AtomicUsize::new(0));
    let mut op = gate.block().then(|()| upload(vec![0])).boxed();
    for _ in 0..100 {
        let stages = Arc::clone(&stages);
        let count = move |_: &Buffer| {
            stages.fetch_add(1, Ordering::SeqCst);
        };
        op = op.then(increment).inspect(count).boxed();
    }
    let mut future = op.then(download).schedule(&stream);
    assert!(poll_once(&mut future).is_pending());
    assert_eq!(stages.load(Ordering::SeqCst), 100);
    gate.open();
    assert_eq!(block_on(future), [100]);
}

#[test]
fn a_failing_part_lets_the_others_be_submitted_first() {
    let stream = device().new_stream().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let bad = with_context(|_| Err::<i32, _>(DeviceError::new(std::fmt::Error)));
    let good = with_context(move |ctx| {
        ctx.run_on_host("good", move || {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    });
    assert!(zip((bad, good)).sync_on(&stream).is_err());
    stream.synchronize().unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

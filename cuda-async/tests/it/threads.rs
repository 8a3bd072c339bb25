//! Many threads, blocking inside closures, panics inside closures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_async::prelude::*;

use crate::support::{Gate, PollNow, block_on, device, increment, poll_once};

#[test]
fn many_threads_make_streams_and_await_for_many_rounds() {
    let device = device();
    for _ in 0..100 {
        let threads: Vec<_> = (0..32)
            .map(|n| {
                std::thread::spawn(move || {
                    let stream = device.new_stream().unwrap();
                    let op = upload(vec![n; 32]).then(increment).then(download);
                    let bytes = match n % 2 {
                        0 => block_on(op.schedule(&stream)),
                        _ => op.sync_on(&stream).unwrap(),
                    };
                    assert_eq!(bytes, [n + 1; 32]);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    // Streams come back: there are at most as many as there were threads at once.
    assert!(device.new_stream().unwrap().index() < 32);
    assert_eq!(device.memory().unwrap().used, 0);
}

#[test]
fn short_operations_in_quick_succession_are_never_lost() {
    let stream = device().new_stream().unwrap();
    let x = upload(vec![0; 8]).sync_on(&stream).unwrap();
    for _ in 0..20_000 {
        increment(x.clone()).sync_on(&stream).unwrap();
    }
    assert_eq!(download(x).sync_on(&stream).unwrap(), [(20_000 % 256) as u8; 8]);
}

#[test]
fn blocking_inside_a_closure_works() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    for inner in [a.clone(), b] {
        let op = upload(vec![1]).then(increment).then(|x| {
            // The same stream or another: neither can wait for itself.
            let seen = download(x.clone()).sync_on(&inner).unwrap();
            increment(x).map(move |x| (seen, x))
        });
        let (seen, x) = op.sync_on(&a).unwrap();
        assert_eq!(seen, [2]);
        assert_eq!(download(x).sync_on(&a).unwrap(), [3]);
    }
}

/// Work of the host that takes so many milliseconds.
fn slow(milliseconds: u64) -> impl FnOnce() -> Result<(), DeviceError> + Send + 'static {
    move || {
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        Ok(())
    }
}

#[test]
fn blocking_inside_a_closure_takes_no_wake_up_of_the_outer_operation() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let compiling = Op::new(cuda_async::offload("compiling", slow(20)));
    let blocking = upload(vec![1]).then(download).map(|bytes| {
        // The helper thread is done while this blocks.
        with_context(|ctx| ctx.run_on_host("slow", slow(60))).sync_on(&b).unwrap();
        bytes
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // So that this thread has blocked before.
            value(1).sync_on(&a).unwrap();
            let _ = sender.send(zip((compiling, blocking)).sync_on(&a).unwrap());
        });
        let result = receiver.recv_timeout(std::time::Duration::from_secs(20));
        // A test that hangs says nothing.
        let Ok(result) = result else { std::process::abort() };
        assert_eq!(result, ((), vec![1]));
    });
}

#[test]
fn a_panic_in_a_closure_reaches_the_caller_and_hurts_nobody_else() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let panicking = || upload(vec![1]).then(increment).map(|_: Buffer| -> u8 { panic!("mine") });
    let blocked = catch_unwind(AssertUnwindSafe(|| panicking().sync_on(&stream)));
    assert_eq!(*blocked.unwrap_err().downcast::<&str>().unwrap(), "mine");
    let awaited = catch_unwind(AssertUnwindSafe(|| block_on(panicking().schedule(&stream))));
    assert!(awaited.is_err());
    assert_eq!(upload(vec![1]).then(increment).then(download).sync_on(&stream).unwrap(), [2]);
    assert_eq!(device.memory().unwrap().used, 0);
}

/// Foreign work on the raw stream is stood for by a gate that is enqueued behind the context's back.
#[test]
fn foreign_work_is_ordered_like_any_other_even_if_its_closure_panics() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    for panics in [false, true] {
        let x = upload(vec![1]).sync_on(&a).unwrap();
        let gate = Gate::default();
        let foreign = with_context(|ctx| {
            ctx.write(&x)?;
            ctx.raw_stream()?;
            drop(gate.block().schedule(&a).poll_now());
            assert!(!panics, "after the foreign call");
            Ok(())
        });
        let polled = catch_unwind(AssertUnwindSafe(|| drop(foreign.schedule(&a).poll_now())));
        assert_eq!(polled.is_err(), panics);
        let mut reader = increment(x).then(download).schedule(&b);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(poll_once(&mut reader).is_pending(), "it did not wait for the foreign work");
        gate.open();
        assert_eq!(block_on(reader), [2]);
    }
}

#[test]
fn waiting_inside_device_work_is_an_error() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let inner = stream.clone();
    let op = with_context(move |ctx| {
        ctx.run_on_host("waits", move || {
            let error = upload(vec![1]).sync_on(&inner).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::WaitInsideWork { .. }), "{error}");
            assert!(inner.synchronize().is_err());
            Ok(())
        })
    });
    op.sync_on(&stream).unwrap();
}

#[test]
fn tasks_of_one_executor_all_get_their_turn() {
    let device = Device::host(0);
    let executor = async_executor::Executor::new();
    let done = Arc::new(AtomicUsize::new(0));
    let policy = Arc::new(StreamPoolRoundRobin::new(device));
    let tasks: Vec<_> = (0..64_u8)
        .map(|n| {
            let (done, policy) = (Arc::clone(&done), Arc::clone(&policy));
            executor.spawn(async move {
                for round in 0..20_u8 {
                    let op = upload(vec![n]).then(increment).then(download);
                    assert_eq!(op.schedule(&policy).await, [n + 1], "round {round}");
                }
                done.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                block_on(executor.run(async {
                    while done.load(Ordering::Relaxed) < 64 {
                        async_yield().await;
                    }
                }));
            });
        }
    });
    assert!(tasks.iter().all(|task| task.is_finished()));
}

/// Lets other tasks of the executor run.
async fn async_yield() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

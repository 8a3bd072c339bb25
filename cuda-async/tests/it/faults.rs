//! Failures of submitted work: one operation fails, its outputs are poisoned, the device lives on;
//! or the whole device is lost, and nobody hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cuda_async::prelude::*;
use futures_util::future::join_all;

use crate::support::{
    Gate, PollNow, block_on, device, duplicate, failing, increment, poll_once, trapping,
};

#[test]
fn a_fault_fails_its_operation_and_poisons_what_it_may_have_written() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let x = upload(vec![1, 2]).sync_on(&stream).unwrap();
    let bystander = upload(vec![8]).sync_on(&stream).unwrap();

    let error = failing(x.clone()).sync_on(&stream).unwrap_err();
    assert!(error.to_string().contains("kernel `failing`"), "{error}");
    assert!(error.to_string().contains("index 7 out of range"), "{error}");

    let error = download(x.clone()).sync_on(&stream).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Poisoned { .. }), "{error}");
    assert!(error.origin().to_string().contains("index 7"), "{error}");
    assert!(x.poison().is_some());

    assert_eq!(increment(bystander).then(download).sync_on(&stream).unwrap(), [9]);
}

#[test]
fn a_fault_in_the_middle_fails_what_depends_on_it_even_if_submitted_before() {
    let stream = device().new_stream().unwrap();
    let gate = Gate::default();
    drop(gate.block().schedule(&stream).poll_now());
    // The whole chain is enqueued while the fault is still to come.
    let chain = upload(vec![1, 2]).then(failing).then(increment).then(duplicate).then(download);
    let mut future = chain.schedule(&stream);
    assert!(poll_once(&mut future).is_pending());
    gate.open();
    let error = future.sync().unwrap_err();
    assert!(error.origin().to_string().contains("index 7"), "{error}");
}

#[test]
fn poison_reaches_readers_on_other_streams() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let x = upload(vec![1]).sync_on(&a).unwrap();
    let _blocked = gate.block().schedule(&a).poll_now();
    let _failing = failing(x.clone()).schedule(&a).poll_now();
    // Enqueued on the other stream before the fault happens; it waits for it there.
    let mut reader = duplicate(x).then(download).schedule(&b);
    assert!(poll_once(&mut reader).is_pending());
    gate.open();
    let error = reader.sync().unwrap_err();
    assert!(error.origin().to_string().contains("index 7"), "{error}");
}

#[test]
fn a_panic_in_a_host_kernel_is_a_failure_of_its_operation() {
    let stream = device().new_stream().unwrap();
    let op = with_context(|ctx| ctx.run_on_host("kernel `odd`", || panic!("no even sizes")));
    let error = op.sync_on(&stream).unwrap_err();
    assert!(error.to_string().contains("kernel `odd`"), "{error}");
    assert!(error.to_string().contains("no even sizes"), "{error}");
    assert_eq!(upload(vec![1]).then(download).sync_on(&stream).unwrap(), [1]);
}

#[test]
fn fallible_catches_failures_that_come_after_submission() {
    let stream = device().new_stream().unwrap();
    let op = upload(vec![1]).then(failing).fallible().map(|result| result.is_err());
    assert!(op.sync_on(&stream).unwrap());
    let op = upload(vec![1]).then(failing).fallible().then(|result| {
        assert!(result.is_err());
        upload(vec![5]).then(download)
    });
    assert_eq!(op.sync_on(&stream).unwrap(), [5], "the failure was an output, and that is over");
    let fine = upload(vec![1]).fallible().sync_on(&stream).unwrap();
    assert_eq!(fine.unwrap().len(), 1);
}

#[test]
fn recover_gives_back_what_a_launch_could_not_take() {
    use std::task::Poll;

    /// A launch that refuses its arguments before it submits anything.
    struct Launch(Option<(i32, Buffer)>);

    impl Execute for Launch {
        type Out = (i32, Buffer);

        fn advance(
            &mut self,
            _: &mut ExecutionContext<'_>,
        ) -> Poll<Result<Self::Out, DeviceError>> {
            Poll::Ready(Err(DeviceError::new(std::fmt::Error)))
        }

        fn reclaim(&mut self) -> Option<Self::Out> {
            self.0.take()
        }
    }

    let stream = device().new_stream().unwrap();
    let x = upload(vec![4]).sync_on(&stream).unwrap();
    let op = zip((7, x)).apply(|n: i32, x: Buffer| Op::new(Launch(Some((n, x)))));
    let failed = op.recover().sync_on(&stream).unwrap().unwrap_err();
    let (n, x) = failed.inputs.unwrap();
    assert_eq!(n, 7);
    assert_eq!(download(x).sync_on(&stream).unwrap(), [4]);

    let failed = upload(vec![1]).then(failing).recover().sync_on(&stream).unwrap().unwrap_err();
    assert!(failed.inputs.is_none(), "it had been submitted");
}

#[test]
fn ten_parked_futures_on_other_streams_learn_of_a_lost_device_in_time() {
    let device = device();
    let gate = Gate::default();
    let ran = Arc::new(AtomicUsize::new(0));
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let ran = Arc::clone(&ran);
            let stream = device.new_stream().unwrap();
            let op = gate.block().then(move |()| {
                with_context(move |ctx| {
                    ctx.run_on_host("after", move || {
                        ran.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    })
                })
            });
            op.fallible().schedule(&stream)
        })
        .collect();
    let mut waiting: Vec<_> = waiting.into_iter().map(PollNow::poll_now).collect();
    // Let them grow old enough to park with the reactor.
    std::thread::sleep(Duration::from_millis(5));
    for future in &mut waiting {
        assert!(poll_once(future).is_pending());
    }
    let trap = device.new_stream().unwrap();
    let trapper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        (trapping().sync_on(&trap).unwrap_err(), begin)
    });
    let results = block_on(join_all(waiting));
    let end = Instant::now();
    let (error, begin) = trapper.join().unwrap();
    assert!(error.is_device_lost(), "{error}");
    assert!(end - begin < Duration::from_millis(100), "it took {:?}", end - begin);
    for result in results {
        let error = result.unwrap_err();
        assert!(error.is_device_lost(), "{error}");
        assert!(error.to_string().contains("kernel `trapping`"), "{error}");
    }
    // Everything fails from now on, at once, and says why.
    let error = upload(vec![1]).schedule(StreamPoolRoundRobin::new(device)).sync().unwrap_err();
    assert!(error.is_device_lost() && error.to_string().contains("illegal address"), "{error}");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    gate.open();
}

#[test]
fn memory_of_a_lost_device_is_no_trouble() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let x = upload(vec![1]).sync_on(&stream).unwrap();
    assert!(trapping().sync_on(&stream).is_err());
    let error = download(x.clone()).sync_on(&stream).unwrap_err();
    assert!(error.is_device_lost());
    assert!(stream.synchronize().is_err());
    assert!(device.new_stream().is_err());
    drop(x);
}

#[test]
fn a_stream_that_waits_for_a_lost_device_is_let_go() {
    let (lost, alive) = (device(), device());
    let (first, a) = (lost.new_stream().unwrap(), lost.new_stream().unwrap());
    let b = alive.new_stream().unwrap();
    let gate = Gate::default();
    let x = upload(vec![1, 2]).sync_on(&a).unwrap();
    drop(gate.block().schedule(&a).poll_now());
    drop(increment(x.clone()).schedule(&a).poll_now());
    // The copy, on the other device, waits for the increment, which never comes.
    let mut copied = with_context(move |ctx| {
        let y = ctx.alloc(2)?;
        ctx.copy_from_peer(&x, &y, 2)?;
        Ok(y)
    })
    .schedule(&b);
    assert!(poll_once(&mut copied).is_pending());
    drop(trapping().fallible().schedule(&first).poll_now());
    let error = copied.sync().unwrap_err();
    gate.open();
    assert!(error.is_device_lost(), "{error}");
    assert!(a.synchronize().is_err());
    assert_eq!(upload(vec![5]).then(download).sync_on(&b).unwrap(), [5]);
}

//! The life of asynchronous work: aborting, failing, panicking, threads that end. Most of these went wrong in other systems.

use std::task::{Context, Poll, Waker};

use cutile::prelude::*;
use cutile_tests::run;
use futures_util::future::{AbortHandle, Abortable};

use crate::child::in_child;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn add_one<const N: i32>(y: &mut Tensor<i32, { [N] }>) {
        let tile: Tile<i32, { [N] }> = y.load();
        y.store(tile + 1);
    }

    /// Takes its time: `rounds` times round a loop.
    #[cutile::entry()]
    fn slow(rounds: i32, y: &mut Tensor<i32, { [64] }>) {
        let mut tile: Tile<i32, { [64] }> = y.load();
        for i in 0..rounds {
            tile = tile + i;
        }
        y.store(tile);
    }

    #[cutile::entry()]
    fn fails(zero: i32, y: &mut Tensor<i32, { [4] }>) {
        y.store(y.load() / zero);
    }
}
use kernels::{add_one, fails, slow};

fn host<T: cutile::HostElement>(part: Partition<Tensor<T>>) -> Vec<T> {
    part.unpartition().to_host_vec().sync().unwrap()
}

/// NVIDIA/cuda-oxide#99: aborting a task after its first poll corrupted memory, leaked or hung.
#[test]
fn aborted_tasks_leave_nothing_behind() {
    let device = Device::default();
    let round = |n: i32| {
        let (handle, registration) = AbortHandle::new_pair();
        let y = api::full(n, [256]).partition([64]);
        let mut task = Box::pin(Abortable::new(add_one(y).into_future(), registration));
        if let Poll::Ready(Ok((y,))) = task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            drop(y);
        }
        handle.abort();
        let (y,) = run(add_one(api::full(n, [256]).partition([64])));
        assert_eq!(host(y), [n + 1; 256]);
    };
    (0..50).for_each(round);
    let used = device.memory().unwrap().used;
    (0..1000).for_each(round);
    device.pool().unwrap().iter().for_each(|stream| stream.synchronize().unwrap());
    let now = device.memory().unwrap().used;
    assert!(now <= used + (1 << 20), "{used} bytes were in use, now {now}");
}

/// Blocking inside a closure, and a panic there, left the thread unusable.
#[test]
fn blocking_and_panicking_inside_a_closure_are_defined() {
    let nested = api::ones::<f32>([4]).then(|x| {
        let sum = api::sum(&x).to_host_vec().sync().unwrap();
        cuda_async::value(sum[0])
    });
    assert_eq!(nested.sync().unwrap(), 4.0);
    let panics = || {
        let op = api::ones::<f32>([4])
            .then(|_| -> cuda_async::Op<cuda_async::Value<i32>> { panic!("in a closure") });
        op.sync()
    };
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(api::ones::<f32>([2]).to_host_vec().sync().unwrap(), [1.0; 2]);
}

/// A fault must not take other work of the device with it where the device survives, and nobody may wait for ever.
#[test]
fn a_fault_concerns_its_operation_alone() {
    in_child(
        "in_flight::a_fault_concerns_its_operation_alone",
        &[("CUTILE_DEVICE", "host")],
        || {
            let others: Vec<_> = (0..10)
                .map(|i| slow(100, api::full(i, [64]).partition([64])).map(|(_, y)| y).submit())
                .collect();
            let shared = api::ones::<i32>([4]).arc().sync().unwrap();
            let failed = fails(0, api::ones::<i32>([4]).partition([4]))
                .sync()
                .map(|_| ())
                .unwrap_err()
                .to_string();
            assert!(failed.contains("fails") && failed.contains("in_flight.rs:"), "{failed}");
            for (i, other) in others.into_iter().enumerate() {
                assert_eq!(host(run(other)), [i as i32 + 4950; 64]);
            }
            assert_eq!(shared.to_host_vec().sync().unwrap(), [1; 4]);
        },
    );
}

/// What failed work may have written can't be mistaken for a result.
#[test]
fn a_result_of_failed_work_is_not_a_result() {
    in_child(
        "in_flight::a_result_of_failed_work_is_not_a_result",
        &[("CUTILE_DEVICE", "host")],
        || {
            let mut y = api::ones::<i32>([4]).sync().unwrap();
            let failed = fails(0, y.partition_mut([4])).sync().map(|_| ()).unwrap_err();
            let error = y.to_host_vec().sync().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Poisoned { .. }), "{error}");
            assert!(error.to_string().contains(&failed.to_string()), "{error}");
        },
    );
}

/// NVlabs/cutile-rs#195: threads that come and go crashed in teardown.
#[test]
fn threads_come_and_go() {
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for n in 0..16 {
                scope.spawn(move || {
                    let (y,) = run(add_one(api::full(n, [64]).partition([16])));
                    assert_eq!(host(y), [n + 1; 64]);
                });
            }
        });
    }
}

/// A failed request for a device replaced the policy of another.
#[test]
fn a_policy_is_kept() {
    in_child("in_flight::a_policy_is_kept", &[("CUTILE_DEVICE", "host")], || {
        let single = cuda_async::SingleStream::new(Device::default());
        cuda_async::set_global_policy(Device::default(), single).unwrap();
        assert!(api::ones::<f32>([1]).schedule(global_policy(99)).sync().is_err());
        assert_eq!(api::ones::<f32>([1]).to_host_vec().sync().unwrap(), [1.0]);
        let again = cuda_async::SingleStream::new(Device::default());
        assert!(cuda_async::set_global_policy(Device::default(), again).is_err());
    });
}

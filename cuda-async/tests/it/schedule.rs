//! Policies: which stream, decided once, and kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_async::prelude::*;

use crate::support::{Gate, device, in_child, poll_once};

/// Which stream an operation runs on.
fn stream_of(policy: impl SchedulingPolicy) -> usize {
    with_context(|ctx| Ok(ctx.stream().index())).schedule(policy).sync().unwrap()
}

#[test]
fn round_robin_takes_the_streams_in_turn() {
    let policy = StreamPoolRoundRobin::with_streams(device(), 3);
    let order: Vec<_> = (0..6).map(|_| stream_of(&policy)).collect();
    assert_eq!(order[..3], order[3..]);
    assert!(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
}

#[test]
fn the_default_pool_has_four_streams() {
    assert_eq!(Device::host(0).pool().unwrap().len(), 4);
}

#[test]
fn a_single_stream_keeps_the_order_of_first_polls() {
    let policy = SingleStream::new(device());
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = |n: i32| {
        let seen = Arc::clone(&seen);
        with_context(move |ctx| {
            ctx.run_on_host("note", move || {
                seen.lock().unwrap().push(n);
                Ok(())
            })
        })
        .schedule(&policy)
    };
    let (mut a, mut b, mut c) = (note(1), note(2), note(3));
    let _ = (poll_once(&mut c), poll_once(&mut a), poll_once(&mut b));
    policy.place(&Hints::default()).unwrap().stream().synchronize().unwrap();
    assert_eq!(*seen.lock().unwrap(), [3, 1, 2]);
}

#[test]
fn least_loaded_counts_futures_until_they_are_done_or_dropped() {
    let policy = LeastLoaded::with_streams(device(), 2);
    let stream = |policy: &LeastLoaded| policy.place(&Hints::default()).unwrap().stream().clone();
    let gate = Gate::default();
    let first = stream(&policy);
    let mut busy = gate.block().schedule(&policy);
    let _ = poll_once(&mut busy);
    assert_eq!(first.load(), 1);
    let second = stream(&policy);
    assert_ne!(first, second);
    let waiting = value(1).schedule(&policy);
    let also = value(2).schedule(&policy);
    assert_eq!((first.load(), second.load()), (2, 1));
    drop((waiting, also));
    assert_eq!((first.load(), second.load()), (1, 0));
    gate.open();
    // Done counts, not dropped.
    while poll_once(&mut busy).is_pending() {}
    assert_eq!((first.load(), second.load()), (0, 0));
    drop(busy);
    assert_eq!((first.load(), second.load()), (0, 0));
}

#[test]
fn affinity_is_respected() {
    let device = device();
    let policy = StreamPoolRoundRobin::with_streams(device, 4);
    let wanted = policy.place(&Hints::default()).unwrap().stream().clone();
    let hints = Hints { affinity: Some(wanted.clone()), ..Hints::default() };
    for _ in 0..5 {
        let op = with_context(|ctx| Ok(ctx.stream())).with_hints(hints.clone());
        assert_eq!(op.schedule(&policy).sync().unwrap(), wanted);
    }
}

#[test]
fn the_policy_is_asked_once_and_sees_the_hints() {
    struct Asking(SingleStream, AtomicUsize);

    impl SchedulingPolicy for Asking {
        fn place(&self, hints: &Hints) -> Result<Placement, DeviceError> {
            assert_eq!((hints.cost, hints.priority), (Some(7), Some(2)));
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.place(hints)
        }
    }

    let policy = Asking(SingleStream::new(device()), AtomicUsize::new(0));
    let part = |cost, priority| {
        let hints = Hints { cost: Some(cost), priority: Some(priority), ..Hints::default() };
        upload(vec![1]).then(download).with_hints(hints)
    };
    let op = zip((part(3, 1), part(4, 2)));
    assert_eq!(op.schedule(&policy).sync().unwrap(), (vec![1], vec![1]));
    assert_eq!(policy.1.load(Ordering::Relaxed), 1);
}

#[test]
fn a_custom_global_policy_is_kept() {
    in_child("schedule::a_custom_global_policy_is_kept", &[("CUTILE_DEVICE", "host")], || {
        struct Counting(SingleStream, Arc<AtomicUsize>);

        impl SchedulingPolicy for Counting {
            fn place(&self, hints: &Hints) -> Result<Placement, DeviceError> {
                self.1.fetch_add(1, Ordering::Relaxed);
                self.0.place(hints)
            }
        }

        let asked = Arc::new(AtomicUsize::new(0));
        let device = Device::default();
        let policy = Counting(SingleStream::new(device), Arc::clone(&asked));
        set_global_policy(device, policy).unwrap();
        assert!(value(1).schedule(global_policy(99)).sync().is_err());
        value(1).schedule(global_policy(0)).sync().unwrap();
        value(1).sync().unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        let error = set_global_policy(device, SingleStream::new(device)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::PolicyInUse { .. }), "{error}");
        value(1).sync().unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn the_environment_makes_several_host_devices() {
    let environment = [("CUTILE_DEVICE", "host"), ("CUTILE_HOST_DEVICES", "3")];
    in_child("schedule::the_environment_makes_several_host_devices", &environment, || {
        assert_eq!(Device::count(), 3);
        assert_eq!(Device::all().len(), 3);
        for (index, device) in Device::all().into_iter().enumerate() {
            assert_eq!(device, Device::host(index));
            let on = with_context(|ctx| Ok(ctx.device())).schedule(global_policy(index));
            assert_eq!(on.sync().unwrap(), device);
        }
        let error = value(1).schedule(global_policy(3)).sync().unwrap_err();
        assert!(error.to_string().contains("host:3") && error.to_string().contains("has 3"));
    });
}

#[test]
fn an_environment_that_means_nothing_is_reported_by_the_first_operation() {
    let environment = [("CUTILE_DEVICE", "gpu")];
    let name = "schedule::an_environment_that_means_nothing_is_reported_by_the_first_operation";
    in_child(name, &environment, || {
        let error = value(1).sync().unwrap_err();
        assert!(error.to_string().contains("CUTILE_DEVICE=gpu"), "{error}");
    });
}

#[test]
fn asking_for_cuda_where_there_is_none_says_what_is_missing() {
    let name = "schedule::asking_for_cuda_where_there_is_none_says_what_is_missing";
    in_child(name, &[("CUTILE_DEVICE", "cuda")], || {
        if let Err(error) = value(1).sync() {
            let text = error.to_string();
            assert!(text.contains("CUTILE_DEVICE=host"), "{text}");
        }
    });
}

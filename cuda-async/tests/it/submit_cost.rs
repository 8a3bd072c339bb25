//! What a submission costs: no allocation once everything is warm.

use cuda_async::prelude::*;

use crate::support::{allocations, device};

/// A kernel over three buffers.
fn kernel(x: &Buffer, y: &Buffer, z: &Buffer) -> impl DeviceOperation<Output = ()> {
    with_context(move |ctx| {
        let (x, y, z) = (ctx.read(x)?, ctx.read(y)?, ctx.write(z)?);
        ctx.run_on_host("kernel", move || {
            // SAFETY: all three have a byte and are declared.
            unsafe { *z.as_mut_ptr::<u8>() = *x.as_mut_ptr::<u8>() ^ *y.as_mut_ptr::<u8>() };
            Ok(())
        })
    })
}

/// Waits for real, once: that makes the thread's parker and starts the reactor, which short work may never need and a busy machine
/// may need at any time.
fn wait_once(stream: &Stream) {
    let slow = with_context(|ctx| {
        ctx.run_on_host("slow", || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok(())
        })
    });
    slow.sync_on(stream).unwrap();
}

struct Nothing;

impl std::task::Wake for Nothing {
    fn wake(self: std::sync::Arc<Self>) {}
}

#[test]
fn submitting_and_polling_allocate_nothing() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let make = |byte| upload(vec![byte; 64]).sync_on(&stream).unwrap();
    let (x, y, z) = (make(1), make(2), make(0));
    // Not the waker that does nothing: no two of its clones need be the same.
    let waker = std::task::Waker::from(std::sync::Arc::new(Nothing));
    let round = || {
        let mut future = kernel(&x, &y, &z).then(|()| kernel(&z, &y, &x)).schedule(&stream);
        while future.poll_result(&waker).is_pending() {}
    };
    wait_once(&stream);
    (0..100).for_each(|_| round());
    let before = allocations();
    (0..100).for_each(|_| round());
    assert_eq!(allocations() - before, 0);
}

#[test]
fn blocking_allocates_nothing() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let make = |byte| upload(vec![byte; 64]).sync_on(&stream).unwrap();
    let (x, y, z) = (make(1), make(2), make(0));
    wait_once(&stream);
    (0..100).for_each(|_| kernel(&x, &y, &z).sync_on(&stream).unwrap());
    let before = allocations();
    (0..100).for_each(|_| kernel(&x, &y, &z).sync_on(&stream).unwrap());
    assert_eq!(allocations() - before, 0);
}

#[test]
fn combinators_allocate_only_where_they_say_so() {
    let before = allocations();
    let op = zip((1, value(2))).apply(|a: i32, b: i32| value(a + b)).map(|n| n + 1).fallible();
    assert_eq!(allocations() - before, 0, "composing");
    let (a, b) = zip((op, 1)).unzip();
    assert_eq!(allocations() - before, 1, "unzip allocates once");
    let shared = a.shared();
    let clones = (shared.clone(), shared);
    assert_eq!(allocations() - before, 2, "shared allocates once");
    drop((b, clones));
}

#[test]
fn an_error_is_one_word() {
    assert_eq!(size_of::<Result<(), DeviceError>>(), size_of::<usize>());
}

//! Composition: what each combinator yields.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_async::prelude::*;

use crate::support::{block_on, device, duplicate, increment};

/// Adds two buffers of bytes, as a generated launcher would look.
fn add(
    x: impl IntoDeviceOperation<Buffer>,
    y: impl IntoDeviceOperation<Buffer>,
) -> impl DeviceOperation<Output = Buffer> {
    zip((x, y)).apply(|x: Buffer, y: Buffer| {
        with_context(move |ctx| {
            let out = ctx.alloc(x.len())?;
            let (n, a, b, c) = (x.len(), ctx.read(&x)?, ctx.read(&y)?, ctx.write(&out)?);
            ctx.run_on_host("add", move || {
                for i in 0..n {
                    // SAFETY: all three have `n` bytes and are declared.
                    unsafe {
                        let sum = *a.as_mut_ptr::<u8>().add(i) + *b.as_mut_ptr::<u8>().add(i);
                        *c.as_mut_ptr::<u8>().add(i) = sum;
                    }
                }
                Ok(())
            })?;
            Ok(out)
        })
    })
}

#[test]
fn operations_take_operations_and_values() {
    let stream = device().new_stream().unwrap();
    let y = upload(vec![10, 20, 30]).sync_on(&stream).unwrap();
    let op = add(add(upload(vec![1, 2, 3]), y.clone()), y).then(download);
    assert_eq!(op.sync_on(&stream).unwrap(), [21, 42, 63]);
}

#[test]
fn the_customer_s_forms_type_check_and_run() {
    fn saxpy<X: Send + DeviceValue, Y: Send + DeviceValue>(
        a: impl IntoDeviceOperation<f32>,
        x: impl IntoDeviceOperation<X>,
        y: impl IntoDeviceOperation<Y>,
    ) -> impl DeviceOperation<Output = (f32, X, Y)> {
        zip((a, x, y))
    }
    async fn my_op<T: Send>(z: impl DeviceOperation<Output = T>) -> T {
        let zf: DeviceFuture<_> = z.schedule(global_policy(0));
        zf.await
    }
    block_on(async {
        let a = 2.0;
        let x = upload(vec![1, 2]).arc();
        let y = zeroed(2);
        let op = zip((a, x, y)).apply(saxpy);
        let (a, x, y) = op.await;
        let (_, x, y) = zip!(a, x, y).apply(saxpy).unzip();
        let x: Arc<Buffer> = x.await;
        assert_eq!(my_op(download((*x).clone())).await, [1, 2]);
        assert_eq!(y.then(download).await, [0, 0]);
    });
}

#[test]
fn operations_and_futures_are_send() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let op = is_send(upload(vec![1]).then(download));
    let future = is_send(op.schedule(global_policy(0)));
    assert_eq!(block_on(is_send(future)), [1]);
}

#[test]
fn map_inspect_first_last_yield_what_they_say() {
    let seen = AtomicUsize::new(0);
    let op = zip((1, 2, 3)).inspect(|(a, _, _)| seen.store(*a, Ordering::Relaxed));
    assert_eq!(op.map(|(a, b, c)| a + b + c).sync().unwrap(), 6);
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    assert_eq!(zip((1, "x", 2.0)).first().sync().unwrap(), 1);
    assert_eq!(zip((1, "x", 2.0)).last().sync().unwrap(), 2.0);
    assert_eq!(zip((1, 2)).last().sync().unwrap(), 2);
}

#[test]
fn zip_takes_twelve() {
    let op = zip!(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, value(12));
    let op = op.apply(|a, b, c, d, e, f, g, h, i, j, k, l: i32| {
        value([a, b, c, d, e, f, g, h, i, j, k, l].into_iter().sum::<i32>())
    });
    assert_eq!(op.sync().unwrap(), 78);
}

#[test]
fn join_takes_tuples_vectors_and_arrays() {
    assert_eq!((value(1), value("x")).join().sync().unwrap(), (1, "x"));
    let ops: Vec<_> = (0..5).map(|n| upload(vec![n]).then(download)).collect();
    let outputs = ops.join().sync().unwrap();
    assert_eq!(outputs, [[0], [1], [2], [3], [4]]);
    assert_eq!([value(1), value(2)].join().sync().unwrap(), [1, 2]);
    assert_eq!(Vec::<BoxedOperation<'static, i32>>::new().join().sync().unwrap(), []);
}

#[test]
fn boxed_operations_recurse() {
    fn times(buffer: Buffer, n: usize) -> BoxedOperation<'static, Buffer> {
        match n {
            0 => value(buffer).boxed(),
            _ => increment(buffer).then(move |buffer| times(buffer, n - 1)).boxed(),
        }
    }
    let stream = device().new_stream().unwrap();
    let op = upload(vec![1, 2]).then(|x| times(x, 5)).then(download);
    assert_eq!(op.sync_on(&stream).unwrap(), [6, 7]);
}

#[test]
fn an_arc_is_unwrapped_only_while_unique() {
    let shared = Arc::new(5);
    assert_eq!(value(Arc::new(5)).try_unwrap().sync().unwrap(), 5);
    let error = value(Arc::clone(&shared)).try_unwrap().sync().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shared { holders: 2 }), "{error}");
    assert_eq!(*shared, 5);
}

#[test]
fn borrowed_inputs_can_be_awaited() {
    let stream = device().new_stream().unwrap();
    let buffer = upload(vec![3, 4]).sync_on(&stream).unwrap();
    let by_reference = zip((&buffer, 1)).apply(|b: &Buffer, _n: i32| duplicate(b.clone()));
    assert_eq!(by_reference.then(download).sync_on(&stream).unwrap(), [3, 4]);
}

#[test]
fn submit_starts_without_waiting() {
    let ran = Arc::new(AtomicUsize::new(0));
    let mark = Arc::clone(&ran);
    let future = with_context(move |_| {
        mark.fetch_add(1, Ordering::SeqCst);
        Ok(9)
    })
    .submit();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(block_on(future), 9);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[test]
fn scheduling_runs_nothing_before_the_first_poll() {
    let ran = Arc::new(AtomicUsize::new(0));
    let mark = Arc::clone(&ran);
    let future = with_context(move |_| {
        mark.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })
    .schedule(global_policy(0));
    std::thread::yield_now();
    drop(future);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

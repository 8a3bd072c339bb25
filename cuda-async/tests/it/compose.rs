//! Composition: what each combinator yields.

use std::sync::Arc;

use cuda_async::prelude::*;

/// Adds two buffers of `u32` on the host.
fn add(
    x: impl IntoDeviceOperation<Buffer>,
    y: impl IntoDeviceOperation<Buffer>,
) -> impl DeviceOperation<Output = Buffer> {
    zip((x, y)).apply(|x: Buffer, y: Buffer| {
        with_context(move |ctx| {
            let out = ctx.alloc(x.len())?;
            let (n, a, b, c) = (x.len() / 4, ctx.read(&x)?, ctx.read(&y)?, ctx.write(&out)?);
            ctx.run_on_host("add", move || {
                for i in 0..n {
                    // SAFETY: all three have `n` values and are declared.
                    unsafe {
                        let sum = *a.as_mut_ptr::<u32>().add(i) + *b.as_mut_ptr::<u32>().add(i);
                        *c.as_mut_ptr::<u32>().add(i) = sum;
                    }
                }
                Ok(())
            })?;
            Ok(out)
        })
    })
}

fn bytes(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

#[test]
fn operations_take_operations_and_values() {
    let x = upload(bytes(&[1, 2, 3]));
    let y = upload(bytes(&[10, 20, 30])).sync().unwrap();
    let sum = add(add(x, y.clone()), y).then(download).sync().unwrap();
    assert_eq!(sum, bytes(&[21, 42, 63]));
}

#[test]
fn awaiting_yields_the_output_itself() {
    async fn generic<T: Send>(z: impl DeviceOperation<Output = T>) -> T {
        let zf: DeviceFuture<_> = z.schedule(global_policy(0));
        zf.await
    }
    let value = futures_util::FutureExt::now_or_never(async { 1 }).unwrap();
    let executor = async_executor::Executor::new();
    let task = executor.spawn(async move {
        let a = 2.0;
        let x = upload(vec![1, 2]).arc();
        let y = zeroed(2);
        let (a, x, y) = zip!(a, x, y)
            .apply(|a: f32, x: Arc<Buffer>, y: Buffer| zip!(a, x, y))
            .await;
        let (x2, _y2) = zip!(x.clone(), y).unzip();
        let x2: Arc<Buffer> = x2.await;
        (a, generic(download((*x2).clone())).await, value)
    });
    assert_eq!(futures_util::future::FutureExt::map(task, |x| x).sync_block(&executor), (2.0, vec![1, 2], 1));
}

trait SyncBlock: Future + Sized {
    fn sync_block(self, executor: &async_executor::Executor<'_>) -> Self::Output {
        let mut future = std::pin::pin!(self);
        loop {
            let waker = std::task::Waker::noop();
            if let std::task::Poll::Ready(output) =
                future.as_mut().poll(&mut std::task::Context::from_waker(waker))
            {
                return output;
            }
            while executor.try_tick() {}
            std::thread::yield_now();
        }
    }
}
impl<F: Future> SyncBlock for F {}

//! Copies data to a device and back, composing operations with no tensor and no kernel.
//!
//! ```text
//! cargo run -p cuda-async --example host_copy
//! ```

use cuda_async::prelude::*;

fn main() -> Result<(), DeviceError> {
    let device = Device::default();
    println!("running on {device}: {}", device.name()?);

    // Two buffers, made and copied on the device; nothing has happened yet.
    let x = upload((0..=255).collect());
    let y = zeroed(256);
    let copied = zip!(x, y).apply(|x: Buffer, y: Buffer| {
        with_context(move |ctx| {
            ctx.copy(&x, 128, &y, 0, 128)?;
            ctx.fill(&y, 128, 0xff, 1, 128)?;
            Ok((x, y))
        })
    });

    // Both read-backs are enqueued before either is waited for.
    let both = copied.then(|(x, y)| zip((download(x), download(y))));
    let (x, y) = both.sync()?;
    assert!(x.iter().enumerate().all(|(i, byte)| usize::from(*byte) == i));
    assert_eq!(y[..128], x[128..]);
    assert!(y[128..].iter().all(|byte| *byte == 0xff));

    // The same from async code, on four streams at once.
    let policy = StreamPoolRoundRobin::new(device);
    let executor = async_executor::LocalExecutor::new();
    let tasks: Vec<_> = (0..4_u8)
        .map(|n| executor.spawn(upload(vec![n; 1 << 20]).then(download).schedule(&policy)))
        .collect();
    while !tasks.iter().all(|task| task.is_finished()) {
        if !executor.try_tick() {
            std::thread::yield_now();
        }
    }
    println!("copied 256 bytes one way and 4 MiB another, all as expected");
    Ok(())
}

//! A kernel that traps: everything that waits learns of it soon. It loses the device for the whole
//! process, so it runs in a child.

use std::process::{Command, Stdio};
use std::task::{Context as TaskContext, Wake, Waker};
use std::time::{Duration, Instant};

use cuda_async::prelude::*;

use crate::kernels::{BASE, Params, load};
use crate::{context, gpu, launch, spin};

/// Set for the child process.
const CHILD: &str = "CUDA_ASYNC_GPU_TEST_CHILD";
/// What a fault may take until everybody knows.
const BOUND: Duration = Duration::from_millis(100);

#[test]
fn a_trap_reaches_everybody_who_waits() {
    let _device = gpu!();
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--exact", "fault::child", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let hung = child.try_wait().unwrap().is_none();
    if hung {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{text}");
    assert!(!hung, "the child hung");
    assert!(output.status.success(), "the child failed: {}", output.status);
    assert!(text.contains("all ten knew after"), "the child did not get to the end");
}

struct Nothing;

impl Wake for Nothing {
    fn wake(self: std::sync::Arc<Self>) {}
}

#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let device = gpu!();
    let (spinning, fail) = (load(device, BASE, c"spin", 0), load(device, BASE, c"fail", 0));
    let record = context(device).fault_record_address();
    let trap_stream = device.new_stream().unwrap();
    let waker = Waker::from(std::sync::Arc::new(Nothing));
    let mut task = TaskContext::from_waker(&waker);
    // Kernels that run for ten seconds: a trap ends them. Few streams, so that the failing kernel
    // has a hardware queue to itself.
    let others: Vec<Stream> = (0..3).map(|_| device.new_stream().unwrap()).collect();
    let mut parked: Vec<_> = (0..10)
        .map(|i| {
            Box::pin(spin(spinning, 10_000_000_000).fallible().schedule(others[i % 3].clone()))
        })
        .collect();
    let asleep = Instant::now() + Duration::from_millis(50);
    while Instant::now() < asleep {
        for future in &mut parked {
            assert!(future.as_mut().poll(&mut task).is_pending());
        }
    }
    let begin = Instant::now();
    let failing = with_context(move |ctx| launch(ctx, fail, 1, &Params::default().u64(record)));
    let error = failing.sync_on(&trap_stream).unwrap_err();
    println!("the failing operation knew after {:?}: {error}", begin.elapsed());
    for future in &mut parked {
        loop {
            match future.as_mut().poll(&mut task) {
                std::task::Poll::Ready(result) => {
                    assert!(result.unwrap_err().is_device_lost());
                    break;
                }
                std::task::Poll::Pending => {
                    assert!(begin.elapsed() < Duration::from_secs(20), "a future hangs")
                }
            }
            std::thread::yield_now();
        }
    }
    let took = begin.elapsed();
    println!("all ten knew after {took:?}");
    assert!(error.is_device_lost(), "{error}");
    let text = error.to_string();
    for part in ["check 9 of kernel 2", "program 5", "operands 64 and 63"] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    let later = zeroed(4).sync_on(&trap_stream).unwrap_err();
    assert!(later.is_device_lost(), "{later}");
    assert!(took < BOUND, "it took {took:?}");
}

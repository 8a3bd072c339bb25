//! What the tests share: devices, gates that hold work back, kernels, a way to block on futures.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cuda_async::prelude::*;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread has allocated so far.
pub(crate) fn allocations() -> usize {
    ALLOCATIONS.get()
}

/// A device of the test's own that overwrites freed memory.
pub(crate) fn device() -> Device {
    Device::private_host(HostOptions { scribble: true, ..Default::default() })
}

/// The same with so many bytes of memory.
pub(crate) fn small_device(memory: usize) -> Device {
    Device::private_host(HostOptions { memory, scribble: true, ..Default::default() })
}

/// Holds work back until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(crate) fn wait(&self) {
        let guard = self.0.0.lock().unwrap();
        let limit = Duration::from_secs(30);
        let (guard, _) = self.0.1.wait_timeout_while(guard, limit, |open| !*open).unwrap();
        assert!(*guard, "nobody opened the gate");
    }

    /// An operation after which the stream does nothing until the gate is open.
    pub(crate) fn block(&self) -> impl DeviceOperation<Output = ()> + use<> {
        let gate = self.clone();
        with_context(move |ctx| {
            ctx.run_on_host("gate", move || {
                gate.wait();
                Ok(())
            })
        })
    }
}

/// Fills a buffer on the host with `byte`.
pub(crate) fn fill(buffer: Buffer, byte: u8) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        ctx.fill(&buffer, 0, byte.into(), 1, buffer.len())?;
        Ok(buffer)
    })
}

/// Adds 1 to every byte of a buffer, in place.
pub(crate) fn increment(buffer: Buffer) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        let (ptr, len) = (ctx.write(&buffer)?, buffer.len());
        ctx.run_on_host("increment", move || {
            // SAFETY: the buffer has `len` bytes and is declared as written.
            let bytes = unsafe { std::slice::from_raw_parts_mut(ptr.as_mut_ptr::<u8>(), len) };
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            Ok(())
        })?;
        Ok(buffer)
    })
}

/// A new buffer with the bytes of `x`, by a kernel.
pub(crate) fn duplicate(x: Buffer) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        let out = ctx.alloc(x.len())?;
        let (from, to, len) = (ctx.read(&x)?, ctx.write(&out)?, x.len());
        ctx.run_on_host("duplicate", move || {
            // SAFETY: both have `len` bytes, are apart, and declared.
            unsafe { to.as_mut_ptr::<u8>().copy_from_nonoverlapping(from.as_mut_ptr(), len) };
            Ok(())
        })?;
        Ok(out)
    })
}

/// A kernel that fails; it says that it writes `buffer`.
pub(crate) fn failing(buffer: Buffer) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        ctx.write(&buffer)?;
        let id = ctx.device().id();
        ctx.run_on_host("failing", move || {
            Err(DeviceError::fault(id, "kernel `failing`", "index 7 out of range"))
        })?;
        Ok(buffer)
    })
}

/// A kernel that takes the whole device with it, as a trap does on CUDA.
pub(crate) fn trapping() -> impl DeviceOperation<Output = ()> {
    with_context(|ctx| {
        let device = ctx.device().id();
        ctx.run_on_host("trapping", move || {
            let origin = DeviceError::fault(device, "kernel `trapping`", "illegal address");
            Err(ErrorKind::DeviceLost { device, origin }.into())
        })
    })
}

/// Polls a future once, with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a future once: what can be submitted is.
pub(crate) trait PollNow {
    fn poll_now(self) -> Self;
}

impl<F: Future + Unpin> PollNow for F {
    fn poll_now(mut self) -> Self {
        let _ = poll_once(&mut self);
        self
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: one future, this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Runs `body` in a process of its own: the test `name` of this binary again, with `environment`.
pub(crate) fn in_child(name: &str, environment: &[(&str, &str)], body: impl FnOnce()) {
    const MARK: &str = "CUDA_ASYNC_TEST_CHILD";
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(MARK, "1");
    command.envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "the child ran no test called {name}: {text}");
}

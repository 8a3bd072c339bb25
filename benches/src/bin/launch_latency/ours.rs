//! The runtime: the same work through operations.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use cuda_async::backend::{Launch, RawFunction};
use cuda_async::driver::sys::CUstream;
use cuda_async::driver::{DriverError, Event, PinnedMemory, Stream as RawStream};
use cuda_async::prelude::*;

use crate::Failure;
use crate::kernels::{Kernels, THREADS, runtime_name, step_params};
use crate::raw::{BARE, CHAIN, PLAIN_GPU, bare_launch, counter, expect_count, spin};
use crate::report::{Case, Report, in_turns};

/// The row that times to completion are compared with.
const SPIN_SYNC: &str = "raw launch + spinning cuStreamSynchronize";
/// The row that waking is compared with.
const LONG_SYNC: &str = "raw 300 us kernel + spinning cuStreamSynchronize";

/// Raw launches with a stream write after every 16th.
const WITH_WRITES: &str = "raw cuLaunchKernel, 16 and one stream write";

/// Enqueues `step` on a buffer that the context is asked for like any other.
fn launch_step(
    ctx: &mut ExecutionContext<'_>,
    function: RawFunction,
    buffer: &Buffer,
    dependent: bool,
) -> Result<(), DeviceError> {
    let data = ctx.write(buffer)?;
    let launch = Launch {
        function,
        grid: [1; 3],
        block: [THREADS, 1, 1],
        cluster: [1; 3],
        shared_bytes: 0,
        dependent,
        params: &step_params(data.0),
    };
    // SAFETY: the parameters of `step`; its buffer is declared as written.
    unsafe { ctx.launch(&launch) }
}

/// An operation that launches `step`.
fn step(
    function: RawFunction,
    buffer: Buffer,
    dependent: bool,
) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        launch_step(ctx, function, &buffer, dependent)?;
        Ok(buffer)
    })
}

/// Four of them, one after the other.
fn four_steps(
    function: RawFunction,
    buffer: Buffer,
    dependent: bool,
) -> impl DeviceOperation<Output = Buffer> {
    step(function, buffer, dependent)
        .then(move |buffer| step(function, buffer, dependent))
        .then(move |buffer| step(function, buffer, dependent))
        .then(move |buffer| step(function, buffer, dependent))
}

/// Sixteen of them: enough to spread the one completion that every future announces.
fn sixteen_steps(
    function: RawFunction,
    buffer: Buffer,
    dependent: bool,
) -> impl DeviceOperation<Output = Buffer> {
    four_steps(function, buffer, dependent)
        .then(move |buffer| four_steps(function, buffer, dependent))
        .then(move |buffer| four_steps(function, buffer, dependent))
        .then(move |buffer| four_steps(function, buffer, dependent))
}

fn zero(stream: &Stream) -> Result<Buffer, DeviceError> {
    zeroed(4).sync_on(stream)
}

fn value_of(buffer: &Buffer, stream: &Stream) -> Result<u32, DeviceError> {
    let bytes = download(buffer.clone()).sync_on(stream)?;
    Ok(bytes.try_into().map_or(0, u32::from_ne_bytes))
}

/// Host time of submitting a chained kernel.
///
/// Operations of 16 announce their completion, each by one write in the stream; a row of raw calls
/// says what the driver takes for the same.
pub(crate) fn submission(kernels: &Kernels, report: &mut Report) -> Result<(), Failure> {
    let stream = kernels.device.new_stream()?;
    let raw = RawStream::new(kernels.context, 0)?;
    let counter = counter(&raw)?;
    let buffer = zero(&stream)?;
    let word = PinnedMemory::allocate(kernels.context, 8)?;
    let plain = runtime_name(kernels.step.raw());
    let again = "raw cuLaunchKernel, kernelParams (in turns with the next rows)";
    let in_one = |function, dependent, n: usize| {
        let (buffer, stream) = (buffer.clone(), stream.clone());
        move || {
            let op = with_context(|ctx| {
                (0..n).try_for_each(|_| launch_step(ctx, function, &buffer, dependent))
            });
            // The future is dropped: what was submitted runs.
            let _ = op.schedule(stream.clone()).poll_result(Waker::noop())?;
            Ok::<(), DeviceError>(())
        }
    };
    const N: usize = 400;
    let mut bare = || {
        (0..N)
            .try_for_each(|_| bare_launch(kernels, raw.raw(), counter.address()))
            .map_err(DeviceError::new)
    };
    let with_writes = || {
        for number in 0..N as u64 / 16 {
            (0..16).try_for_each(|_| bare_launch(kernels, raw.raw(), counter.address()))?;
            // SAFETY: the word lives to the end of the section.
            unsafe { raw.write_value(word.device_address(), number) }?;
        }
        Ok::<(), DriverError>(())
    };
    let composed = |function, dependent| {
        let (buffer, stream) = (buffer.clone(), stream.clone());
        move || {
            for _ in 0..N / 16 {
                let op = sixteen_steps(function, buffer.clone(), dependent);
                drop(op.schedule(stream.clone()).poll_result(Waker::noop())?);
            }
            Ok::<(), DeviceError>(())
        }
    };
    let mut cases = vec![
        Case::new(again, &mut bare),
        Case::new(WITH_WRITES, || with_writes().map_err(DeviceError::new)),
        Case::new("runtime: submit, many kernels in one operation", in_one(plain, false, N)),
        Case::new("runtime: submit, operations of 16 chained kernels", composed(plain, false)),
    ];
    if let Some(dependent) = &kernels.dependent_step {
        let function = runtime_name(dependent.raw());
        cases.push(Case::new(
            "runtime: submit, many dependent kernels in one operation",
            in_one(function, true, N),
        ));
        cases.push(Case::new(
            "runtime: submit, operations of 16 dependent kernels",
            composed(function, true),
        ));
    }
    let times = in_turns(60, 1, &mut cases, || {
        stream.synchronize()?;
        raw.synchronize().map_err(DeviceError::new)
    })?;
    let names: Vec<&str> = cases.iter().map(|case| case.what).collect();
    // Two of them are raw and count elsewhere.
    let launched = 65 * N as u32 * (cases.len() as u32 - 2);
    drop(cases);
    for (name, samples) in names.into_iter().zip(times) {
        let each = samples.into_iter().map(|sample| sample / N as f64).collect();
        report.add_against(name, each, if name == again { BARE } else { again });
    }
    expect_count(value_of(&buffer, &stream)?, launched)
}

/// From a launch until the host knows that it is complete.
pub(crate) fn completion(kernels: &Kernels, report: &mut Report) -> Result<(), Failure> {
    let stream = kernels.device.new_stream()?;
    let raw = RawStream::new(kernels.context, 0)?;
    let counter = counter(&raw)?;
    let data = counter.address();
    let buffer = zero(&stream)?;
    let function = runtime_name(kernels.step.raw());
    let word = PinnedMemory::allocate(kernels.context, 8)?;
    // SAFETY: a live block, of which only volatile and device accesses follow.
    let seen = unsafe {
        word.host_address().cast::<u64>().write(0);
        &*word.host_address().cast::<std::sync::atomic::AtomicU64>().as_ptr()
    };
    let mut number = 0;
    let mut cases = vec![
        Case::new(SPIN_SYNC, || {
            bare_launch(kernels, raw.raw(), data)?;
            raw.synchronize()?;
            Ok::<(), Failure>(())
        }),
        Case::new("raw launch + stream write, host spins on the word", || {
            number += 1;
            bare_launch(kernels, raw.raw(), data)?;
            // SAFETY: the word lives to the end of the section.
            if !unsafe { raw.write_value(word.device_address(), number) }? {
                return Ok(());
            }
            while seen.load(Ordering::Acquire) < number {
                std::hint::spin_loop();
            }
            Ok(())
        }),
        Case::new("runtime: .sync_on(stream)", || {
            step(function, buffer.clone(), false).sync_on(&stream)?;
            Ok(())
        }),
        Case::new("runtime: .await on an idle executor", || {
            block_on(step(function, buffer.clone(), false).schedule(stream.clone()));
            Ok(())
        }),
    ];
    let times = in_turns(400, 1, &mut cases, || Ok(()))?;
    let names: Vec<&str> = cases.iter().map(|case| case.what).collect();
    drop(cases);
    for (name, samples) in names.into_iter().zip(times) {
        report.add_against(name, samples, SPIN_SYNC);
    }
    Ok(())
}

/// Waking a task that sleeps while a long kernel runs.
pub(crate) fn parked(kernels: &Kernels, report: &mut Report) -> Result<(), Failure> {
    const LONG: u64 = 300_000;
    let echo = Echo::new();
    let stream = kernels.device.new_stream()?;
    let raw = RawStream::new(kernels.context, 0)?;
    let function = runtime_name(kernels.spin.raw());
    let long = || {
        with_context(|ctx| {
            let launch = Launch {
                function,
                grid: [1; 3],
                block: [1; 3],
                cluster: [1; 3],
                shared_bytes: 0,
                dependent: false,
                params: &LONG.to_ne_bytes(),
            };
            // SAFETY: the parameter of `spin`.
            unsafe { ctx.launch(&launch) }
        })
    };
    let mut cases = vec![
        Case::new(LONG_SYNC, || {
            spin(kernels, &raw, LONG)?;
            raw.synchronize()?;
            Ok::<(), Failure>(())
        }),
        Case::new("runtime: the same, awaited by a parked task", || {
            block_on(long().schedule(stream.clone()));
            Ok(())
        }),
        Case::new("two thread wakes, there and back (no GPU)", || echo.round_trip()),
    ];
    let times = in_turns(100, 1, &mut cases, || {
        std::thread::sleep(Duration::from_micros(200));
        Ok(())
    })?;
    let names: Vec<&str> = cases.iter().map(|case| case.what).collect();
    drop(cases);
    for (name, samples) in names.into_iter().zip(times) {
        report.add(name, samples);
    }
    Ok(())
}

/// A thread that answers each message by unparking the thread that made it.
struct Echo {
    calls: Sender<()>,
    answered: Arc<AtomicBool>,
}

impl Echo {
    fn new() -> Self {
        let (calls, received) = std::sync::mpsc::channel();
        let (main, answered) = (std::thread::current(), Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&answered);
        std::thread::spawn(move || {
            for () in received {
                flag.store(true, Ordering::Release);
                main.unpark();
            }
        });
        Self { calls, answered }
    }

    fn round_trip(&self) -> Result<(), Failure> {
        self.calls.send(())?;
        while !self.answered.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
        Ok(())
    }
}

/// GPU time of a chain that goes through the runtime.
pub(crate) fn gpu_time(kernels: &Kernels, report: &mut Report) -> Result<(), Failure> {
    let plain = chain(kernels, runtime_name(kernels.step.raw()), false)?;
    report.add_against("GPU time a kernel, 1000 chained, runtime, plain", plain, PLAIN_GPU);
    if let Some(dependent) = &kernels.dependent_step {
        let samples = chain(kernels, runtime_name(dependent.raw()), true)?;
        report.add_against(
            "GPU time a kernel, 1000 chained, runtime, dependent",
            samples,
            PLAIN_GPU,
        );
    }
    Ok(())
}

fn chain(kernels: &Kernels, function: RawFunction, dependent: bool) -> Result<Vec<f64>, Failure> {
    let stream = kernels.device.new_stream()?;
    let buffer = zero(&stream)?;
    let (start, end) = (Event::timing(kernels.context)?, Event::timing(kernels.context)?);
    let mut samples = Vec::new();
    for _ in 0..20 {
        let op = with_context(|ctx| {
            let native = CUstream(ctx.raw_stream()?.as_ptr());
            // SAFETY: streams of the runtime live as long as the process.
            let native =
                unsafe { RawStream::borrow(kernels.context, native) }.map_err(DeviceError::new)?;
            spin(kernels, &native, 8_000_000).map_err(DeviceError::new)?;
            start.record(&native).map_err(DeviceError::new)?;
            (0..CHAIN).try_for_each(|_| launch_step(ctx, function, &buffer, dependent))?;
            ctx.raw_stream()?;
            end.record(&native).map_err(DeviceError::new)
        });
        op.sync_on(&stream)?;
        samples.push(end.microseconds_since(&start)? / f64::from(CHAIN));
    }
    expect_count(value_of(&buffer, &stream)?, samples.len() as u32 * CHAIN)?;
    Ok(samples)
}

/// The smallest executor: polls one future, sleeps when it has not been woken.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Sleeper {
        thread: Thread,
        woken: AtomicBool,
    }
    impl Wake for Sleeper {
        fn wake(self: Arc<Self>) {
            self.woken.store(true, Ordering::Release);
            self.thread.unpark();
        }
    }
    let sleeper =
        Arc::new(Sleeper { thread: std::thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&sleeper));
    let mut context = TaskContext::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !sleeper.woken.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }
}

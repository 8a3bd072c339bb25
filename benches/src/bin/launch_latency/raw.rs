//! The raw driver: what every other figure is compared with.

use std::ffi::c_void;
use std::ptr;

use cuda_async::driver::sys::{CUfunction, CUstream};
use cuda_async::driver::{
    Context, DeviceMemory, DriverError, Event, FillValue, LaunchConfig, PinnedMemory, Stream,
};

use crate::Failure;
use crate::check;
use crate::kernels::{Kernels, THREADS, step_params};
use crate::report::{Case, Report, in_turns};

/// The row that host times are compared with.
pub(crate) const BARE: &str = "raw cuLaunchKernel, kernelParams (4 parameters)";
/// The row that GPU times are compared with.
pub(crate) const PLAIN_GPU: &str = "GPU time a kernel, 1000 chained, raw plain launches";

/// Chained kernels in a measurement of GPU time.
pub(crate) const CHAIN: u32 = 1000;

/// `cuLaunchKernel` with an array of pointers to parameters, as most callers use it.
pub(crate) fn bare_launch(
    kernels: &Kernels,
    stream: CUstream,
    data: u64,
) -> Result<(), DriverError> {
    let (mut data, mut n) = (data, 1u32);
    let word: *mut c_void = (&raw mut data).cast();
    let mut params = [word, word, word, (&raw mut n).cast()];
    let launch = kernels.context.driver().table().cuLaunchKernel;
    // SAFETY: the parameters of `step`, over a block that lives.
    let code = unsafe {
        launch(
            kernels.step.raw(),
            1,
            1,
            1,
            THREADS,
            1,
            1,
            0,
            stream,
            params.as_mut_ptr(),
            ptr::null_mut(),
        )
    };
    check("cuLaunchKernel", code)
}

/// A launch through the driver floor, with packed parameters.
pub(crate) fn packed_launch(
    function: CUfunction,
    stream: &Stream,
    data: u64,
    programmatic: bool,
) -> Result<(), DriverError> {
    let config = LaunchConfig { programmatic, ..LaunchConfig::new([1; 3], [THREADS, 1, 1]) };
    // SAFETY: the parameters of `step`, over a block that lives; programmatic launches are of the
    // dependent kernel, after its like.
    unsafe { stream.launch(function, &config, &step_params(data)) }
}

/// Occupies the stream for so long.
pub(crate) fn spin(
    kernels: &Kernels,
    stream: &Stream,
    nanoseconds: u64,
) -> Result<(), DriverError> {
    // SAFETY: the parameter of `spin`.
    unsafe {
        stream.launch(
            kernels.spin.raw(),
            &LaunchConfig::new([1; 3], [1; 3]),
            &nanoseconds.to_ne_bytes(),
        )
    }
}

/// A word of device memory that holds zero.
pub(crate) fn counter(stream: &Stream) -> Result<DeviceMemory, DriverError> {
    let memory = DeviceMemory::allocate(stream, 4)?;
    // SAFETY: the block lives until after the synchronisation.
    unsafe { stream.fill(memory.address(), FillValue::U32(0), 1) }?;
    stream.synchronize()?;
    Ok(memory)
}

/// The counter's value.
pub(crate) fn count(stream: &Stream, counter: &DeviceMemory) -> Result<u32, DriverError> {
    let mut value = 0u32;
    // SAFETY: both live until after the synchronisation.
    unsafe { stream.copy_to_host((&raw mut value).cast(), counter.address(), 4) }?;
    stream.synchronize()?;
    Ok(value)
}

/// Host time of one launch, by the way it is made.
pub(crate) fn host_time(kernels: &Kernels, report: &mut Report) -> Result<(), Failure> {
    let stream = Stream::new(kernels.context, 0)?;
    let counter = counter(&stream)?;
    let data = counter.address();
    let step = kernels.step.raw();
    let mut cases = vec![
        Case::new(BARE, || bare_launch(kernels, stream.raw(), data)),
        Case::new("driver floor: cuLaunchKernel, packed buffer", || {
            packed_launch(step, &stream, data, false)
        }),
    ];
    if let Some(dependent) = &kernels.dependent_step {
        cases.push(Case::new("driver floor: packed buffer, programmatic serialisation", || {
            packed_launch(dependent.raw(), &stream, data, true)
        }));
    }
    let times = in_turns(60, 500, &mut cases, || stream.synchronize())?;
    let names: Vec<&str> = cases.iter().map(|case| case.what).collect();
    drop(cases);
    for (name, samples) in names.into_iter().zip(times) {
        report.add_against(name, samples, BARE);
    }
    Ok(())
}

/// Host time of making one stream wait for another, by either means.
pub(crate) fn waits(context: Context, report: &mut Report) -> Result<(), Failure> {
    let (first, second) = (Stream::new(context, 0)?, Stream::new(context, 0)?);
    let event = Event::new(context)?;
    let word = PinnedMemory::allocate(context, 8)?;
    // SAFETY: nothing else uses the word yet.
    unsafe { word.host_address().cast::<u64>().write(0) };
    let address = word.device_address();
    let mut number = 0;
    let mut cases = vec![
        Case::new("record an event", || event.record(&first)),
        Case::new("record an event, make another stream wait for it", || {
            event.record(&first)?;
            second.wait(&event)
        }),
    ];
    if context.properties().stream_memory_operations {
        cases.push(Case::new("write a word from a stream, make another wait for it", || {
            number += 1;
            // SAFETY: the word lives to the end of the section; the write is enqueued before the
            // wait.
            unsafe {
                first.write_value(address, number)?;
                second.wait_value(address, number)?;
            }
            Ok(())
        }));
    }
    let times = in_turns(60, 100, &mut cases, || {
        first.synchronize()?;
        second.synchronize()
    })?;
    let names: Vec<&str> = cases.iter().map(|case| case.what).collect();
    drop(cases);
    for (name, samples) in names.into_iter().zip(times) {
        report.add(name, samples);
    }
    Ok(())
}

/// GPU time of a chain of small kernels that is enqueued before the GPU starts on it.
pub(crate) fn gpu_time(kernels: &Kernels, report: &mut Report) -> Result<(), Failure> {
    let stream = Stream::new(kernels.context, 0)?;
    let counter = counter(&stream)?;
    let data = counter.address();
    let step = kernels.step.raw();
    let plain = chain(kernels, &stream, || packed_launch(step, &stream, data, false))?;
    let mut rounds = plain.len();
    report.add(PLAIN_GPU, plain);
    if let Some(dependent) = &kernels.dependent_step {
        // The first follows the event, so it is launched plainly, as the runtime does it.
        let (function, mut position) = (dependent.raw(), 0);
        let samples = chain(kernels, &stream, || {
            let programmatic = position % CHAIN != 0;
            position += 1;
            packed_launch(function, &stream, data, programmatic)
        })?;
        rounds += samples.len();
        report.add_against(
            "GPU time a kernel, 1000 chained, raw programmatic launches",
            samples,
            PLAIN_GPU,
        );
    }
    expect_count(count(&stream, &counter)?, rounds as u32 * CHAIN)
}

/// Microseconds of GPU time a call, for [`CHAIN`] calls that are enqueued while the stream is held.
fn chain(
    kernels: &Kernels,
    stream: &Stream,
    mut launch: impl FnMut() -> Result<(), DriverError>,
) -> Result<Vec<f64>, DriverError> {
    let (start, end) = (Event::timing(kernels.context)?, Event::timing(kernels.context)?);
    let mut samples = Vec::new();
    for _ in 0..20 {
        spin(kernels, stream, 8_000_000)?;
        start.record(stream)?;
        for _ in 0..CHAIN {
            launch()?;
        }
        end.record(stream)?;
        stream.synchronize()?;
        samples.push(end.microseconds_since(&start)? / f64::from(CHAIN));
    }
    Ok(samples)
}

/// A chain in which a launch got lost or overtook another must not be reported as fast.
pub(crate) fn expect_count(found: u32, expected: u32) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(format!("the chain counted {found} launches instead of {expected}").into())
}

//! What a launch costs beside the raw driver, both measured in the same run and in turns.
//!
//! Sections: host time of a launch; host time of making one stream wait for another; from a launch
//! to its known completion; waking a parked program; GPU time of chained small kernels. Prints a
//! table, then one JSON line a row. Needs a GPU and its driver, nothing else: the kernels are in
//! the binary.

mod kernels;
mod ours;
mod raw;
mod report;

use std::process::ExitCode;

use cuda_async::driver::{Context, Driver, DriverError};

use kernels::Kernels;
use report::Report;

/// What a section can fail with.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let context = match Driver::get().and_then(|driver| Context::primary(driver, 0)) {
        Ok(context) => context,
        Err(error) if error.is_absent() => {
            println!("launch_latency: nothing measured, there is no CUDA device here: {error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&error),
    };
    match run(context) {
        Ok(report) => {
            report.print();
            ExitCode::SUCCESS
        }
        Err(error) => fail(&*error),
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("launch_latency: {error}");
    ExitCode::FAILURE
}

fn run(context: Context) -> Result<Report, Failure> {
    let kernels = Kernels::load(context)?;
    let mut report = Report::new(context)?;
    raw::host_time(&kernels, &mut report)?;
    raw::waits(context, &mut report)?;
    ours::submission(&kernels, &mut report)?;
    ours::completion(&kernels, &mut report)?;
    ours::parked(&kernels, &mut report)?;
    raw::gpu_time(&kernels, &mut report)?;
    ours::gpu_time(&kernels, &mut report)?;
    Ok(report)
}

/// Turns a driver code into an error that names the call.
fn check(call: &'static str, code: u32) -> Result<(), DriverError> {
    match code {
        0 => Ok(()),
        code => Err(Driver::get()?.explain(call, code)),
    }
}

//! The driver's errors in the runtime's terms. Formats nothing that the two error types don't.

use crate::device::DeviceId;
use crate::driver::{CallError, DriverError, Fault, FaultDetails};
use crate::error::{DeviceError, ErrorKind};

/// What `error` means for an operation on `device`.
#[cold]
pub(super) fn translate(device: DeviceId, error: DriverError) -> DeviceError {
    match error {
        DriverError::Fault(fault) => lost(device, &fault),
        DriverError::OutOfMemory { requested, free, total, .. } => {
            // What others on this GPU hold counts too: it is why the memory isn't there.
            let used = total.saturating_sub(free);
            ErrorKind::OutOfMemory { device, requested, used, total }.into()
        }
        DriverError::NoSuchDevice { count, .. } => ErrorKind::NoSuchDevice { device, count }.into(),
        DriverError::NoLibrary { .. } | DriverError::NoDevice => ErrorKind::CudaUnavailable {
            reason: error.to_string(),
            advice: "install the NVIDIA driver, or set CUTILE_DEVICE=host to run on the CPU",
        }
        .into(),
        DriverError::TooOld { .. } => ErrorKind::CudaUnavailable {
            reason: error.to_string(),
            advice: "update the NVIDIA driver, or set CUTILE_DEVICE=host to run on the CPU",
        }
        .into(),
        DriverError::Call(call) => failed_call(device, &call),
        DriverError::Load(_) | DriverError::Unsupported { .. } => DeviceError::new(error),
    }
}

fn failed_call(device: DeviceId, error: &CallError) -> DeviceError {
    ErrorKind::Driver {
        device,
        call: error.call,
        code: error.code.cast_signed(),
        name: error.name.to_owned(),
        text: error.text.to_owned(),
    }
    .into()
}

fn lost(device: DeviceId, fault: &Fault) -> DeviceError {
    let site = match (&fault.description, &fault.site) {
        (Some(description), _) => description.clone(),
        (None, Some(site)) => format!("check {} of kernel {}", site.site, site.kernel),
        (None, None) => "a kernel".to_owned(),
    };
    let cause = &fault.cause;
    let mut message = format!("{} ({}): {}", cause.name, cause.code, cause.text);
    let details = fault.site.and_then(|site| site.details);
    if let Some(FaultDetails { program, operands: [a, b] }) = details {
        message = format!("program {program}, operands {a} and {b}; {message}");
    }
    let origin = DeviceError::fault(device, site, message);
    ErrorKind::DeviceLost { device, origin }.into()
}

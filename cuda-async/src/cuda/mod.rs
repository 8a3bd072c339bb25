//! The CUDA implementation of [`Backend`], on top of [`crate::driver`].
//!
//! - `backend`: a device: streams, staging memory, modules.
//! - `stream`: a stream: commands as driver calls, waits between streams.
//! - `timeline`: the word that says how far a stream has come.
//! - `error`: the driver's errors in the runtime's terms.
//!
//! No numbers, no tracking, no waking: the runtime does those for every kind of device.

use std::sync::OnceLock;

use crate::backend::Backend;
use crate::device::{DeviceId, DeviceKind};
use crate::driver::{Context, Driver, DriverError};
use crate::error::{DeviceError, Result};

mod backend;
mod error;
mod stream;
#[cfg(test)]
mod tests;
mod timeline;

pub use backend::CudaBackend;
pub use stream::CudaStream;

/// What there is of CUDA on this machine.
pub(crate) enum Presence {
    /// No driver library, or a driver without a device.
    Absent { reason: String },
    /// A driver that fails for another reason.
    Broken(DeviceError),
    /// So many devices.
    Devices(usize),
}

/// What there is of CUDA on this machine; looked for once.
pub(crate) fn presence() -> &'static Presence {
    static PRESENCE: OnceLock<Presence> = OnceLock::new();
    PRESENCE.get_or_init(|| match Driver::get().and_then(Driver::count) {
        Ok(0) => Presence::Absent { reason: DriverError::NoDevice.to_string() },
        Ok(count) => Presence::Devices(count),
        Err(error) if error.is_absent() => Presence::Absent { reason: error.to_string() },
        Err(error) => Presence::Broken(error::translate(DeviceId::new(DeviceKind::Cuda, 0), error)),
    })
}

/// Opens a device that `presence` counts.
pub(crate) fn open(device: DeviceId) -> Result<Box<dyn Backend>> {
    let context = Driver::get().and_then(|driver| Context::primary(driver, device.index()));
    let context = context.map_err(|error| error::translate(device, error))?;
    Ok(Box::new(CudaBackend::new(device, context)))
}

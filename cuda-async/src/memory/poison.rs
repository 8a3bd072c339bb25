//! Whether a buffer's contents are defined, known also to work that outlives the buffer's handles.

use std::sync::OnceLock;

use crate::device::DeviceId;
use crate::error::{DeviceError, ErrorKind, Result};

/// The failure that left a buffer undefined, if there was one.
#[derive(Debug)]
pub(crate) struct Poison {
    device: DeviceId,
    bytes: usize,
    origin: OnceLock<DeviceError>,
}

impl Poison {
    pub(super) fn none(device: DeviceId, bytes: usize) -> Self {
        Poison { device, bytes, origin: OnceLock::new() }
    }

    pub(super) fn get(&self) -> Option<&DeviceError> {
        self.origin.get()
    }

    /// The first failure counts.
    pub(crate) fn set(&self, error: &DeviceError) {
        let _ = self.origin.set(error.origin().clone());
    }

    /// Fails if the contents are undefined.
    pub(crate) fn check(&self) -> Result<()> {
        match self.get() {
            None => Ok(()),
            Some(origin) => {
                let (device, bytes, origin) = (self.device, self.bytes, origin.clone());
                Err(ErrorKind::Poisoned { device, bytes, origin }.into())
            }
        }
    }
}

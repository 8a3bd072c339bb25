//! The streams that a policy chooses from: the device's pool, or some of the policy's own.

use std::sync::OnceLock;

use crate::device::Device;
use crate::error::{DeviceError, Result};
use crate::schedule::Hints;
use crate::stream::Stream;

/// Streams of one device, made when first needed.
#[derive(Debug)]
pub(super) struct Pool {
    device: Device,
    /// How many of its own; `None` for the device's pool.
    own: Option<usize>,
    streams: OnceLock<Result<Vec<Stream>>>,
}

impl Pool {
    pub(super) fn shared(device: Device) -> Self {
        Pool { device, own: None, streams: OnceLock::new() }
    }

    pub(super) fn own(device: Device, count: usize) -> Self {
        Pool { device, own: Some(count.max(1)), streams: OnceLock::new() }
    }

    /// At least one stream.
    pub(super) fn streams(&self) -> Result<&[Stream]> {
        let Some(count) = self.own else { return self.device.pool() };
        self.streams
            .get_or_init(|| (0..count).map(|_| self.device.new_stream()).collect())
            .as_deref()
            .map_err(DeviceError::clone)
    }

    /// The stream that the operation asks for, if it is of this device.
    pub(super) fn wanted(&self, hints: &Hints) -> Option<Stream> {
        hints.affinity.clone().filter(|stream| stream.device() == self.device)
    }
}

//! Where the failure of an operation's submitted work is reported.
//!
//! One cell belongs to one execution of an operation; the work it submits carries a reference. Only
//! devices that survive a fault (host, emulator) use it; a CUDA fault concerns the whole device.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::DeviceError;
use crate::sync::{Mutex, lock};

/// The first failure of one operation's submitted work.
#[derive(Debug, Default)]
pub(crate) struct FaultCell {
    failed: AtomicBool,
    error: Mutex<Option<DeviceError>>,
}

impl FaultCell {
    /// Reports a failure; the first one counts.
    pub(crate) fn set(&self, error: &DeviceError) {
        lock(&self.error).get_or_insert_with(|| error.clone());
        self.failed.store(true, Ordering::Release);
    }

    /// The failure, if there was one.
    pub(crate) fn get(&self) -> Option<DeviceError> {
        if self.failed.load(Ordering::Acquire) { lock(&self.error).clone() } else { None }
    }

    pub(crate) fn reset(&mut self) {
        *self = FaultCell::default();
    }
}

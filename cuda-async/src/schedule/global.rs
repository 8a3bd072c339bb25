//! The policy that a device has unless told otherwise.

use std::sync::Arc;

use crate::device::Device;
use crate::error::{ErrorKind, Result};
use crate::schedule::{Hints, Placement, SchedulingPolicy};

/// The policy of one device of the default kind; see [`global_policy`].
#[derive(Debug, Clone, Copy)]
pub struct GlobalPolicy(usize);

/// The policy of device `index` of the kind that this process uses: round robin over the device's
/// streams, unless [`set_global_policy`] gave it another.
///
/// If there is no such device, operations scheduled with it fail when they run, with an error that
/// names the device and how many there are.
pub fn global_policy(index: usize) -> GlobalPolicy {
    GlobalPolicy(index)
}

/// Gives `device` its policy, for as long as the process runs. It has to come before the first
/// operation is scheduled on that device.
///
/// # Errors
/// [`ErrorKind::PolicyInUse`] if the device has a policy, set or by use; that one stays.
pub fn set_global_policy(device: Device, policy: impl SchedulingPolicy + 'static) -> Result<()> {
    if device.set_policy(Arc::new(policy)) {
        return Ok(());
    }
    Err(ErrorKind::PolicyInUse { device: device.id() }.into())
}

impl SchedulingPolicy for GlobalPolicy {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        Device::nth(self.0).policy().place(hints)
    }
}

/// What `.await` and `.sync()` use: the policy of the device that the inputs are on, else of the
/// default device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DefaultPolicy;

pub(crate) fn default_policy() -> DefaultPolicy {
    DefaultPolicy
}

impl SchedulingPolicy for DefaultPolicy {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        hints.device.unwrap_or_else(Device::default).policy().place(hints)
    }
}

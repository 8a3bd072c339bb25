//! Everything on one stream.

use crate::device::Device;
use crate::error::Result;
use crate::schedule::pool::Pool;
use crate::schedule::{Hints, Placement, SchedulingPolicy};

/// Runs all operations on one stream, in the order of their first polls.
#[derive(Debug)]
pub struct SingleStream(Pool);

impl SingleStream {
    /// On a stream of its own.
    pub fn new(device: Device) -> Self {
        SingleStream(Pool::own(device, 1))
    }
}

impl SchedulingPolicy for SingleStream {
    fn place(&self, _: &Hints) -> Result<Placement> {
        Ok(Placement::on(self.0.streams()?[0].clone()))
    }
}

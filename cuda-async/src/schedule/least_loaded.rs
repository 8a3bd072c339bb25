//! The stream with the fewest unfinished operations.

use crate::device::Device;
use crate::error::Result;
use crate::schedule::pool::Pool;
use crate::schedule::{Hints, Placement, SchedulingPolicy};

/// Chooses the stream with the fewest futures that are placed on it and not done.
///
/// A future counts from `schedule` until it completes or is dropped; one that is forgotten counts for
/// ever.
#[derive(Debug)]
pub struct LeastLoaded(Pool);

impl LeastLoaded {
    /// Over the device's pool.
    pub fn new(device: Device) -> Self {
        LeastLoaded(Pool::shared(device))
    }

    /// Over `count` streams of its own, at least one.
    pub fn with_streams(device: Device, count: usize) -> Self {
        LeastLoaded(Pool::own(device, count))
    }
}

impl SchedulingPolicy for LeastLoaded {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        if let Some(stream) = self.0.wanted(hints) {
            return Ok(Placement::on(stream));
        }
        let streams = self.0.streams()?;
        let least = streams.iter().min_by_key(|stream| stream.load()).unwrap_or(&streams[0]);
        Ok(Placement::on(least.clone()))
    }
}

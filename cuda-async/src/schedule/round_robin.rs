//! The default policy: streams in turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::Device;
use crate::error::Result;
use crate::schedule::pool::Pool;
use crate::schedule::{Hints, Placement, SchedulingPolicy};

/// Gives operations to the streams of a pool in turn, each operation as a whole to one stream.
///
/// ```
/// use cuda_async::prelude::*;
///
/// let policy = StreamPoolRoundRobin::with_streams(Device::host(0), 2);
/// let on = |hints| policy.place(hints).map(|place| place.stream().clone());
/// let hints = Hints::default();
/// let (a, b, c) = (on(&hints)?, on(&hints)?, on(&hints)?);
/// assert!(a != b && a == c);
/// # Ok::<(), DeviceError>(())
/// ```
#[derive(Debug)]
pub struct StreamPoolRoundRobin {
    pool: Pool,
    next: AtomicUsize,
}

impl StreamPoolRoundRobin {
    /// Over the device's pool (4 streams unless `CUTILE_STREAMS` says otherwise).
    pub fn new(device: Device) -> Self {
        StreamPoolRoundRobin { pool: Pool::shared(device), next: AtomicUsize::new(0) }
    }

    /// Over `count` streams of its own, at least one.
    pub fn with_streams(device: Device, count: usize) -> Self {
        StreamPoolRoundRobin { pool: Pool::own(device, count), next: AtomicUsize::new(0) }
    }
}

impl SchedulingPolicy for StreamPoolRoundRobin {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        if let Some(stream) = self.pool.wanted(hints) {
            return Ok(Placement::on(stream));
        }
        let streams = self.pool.streams()?;
        let index = self.next.fetch_add(1, Ordering::Relaxed) % streams.len();
        Ok(Placement::on(streams[index].clone()))
    }
}

//! Independent parts of one operation on several streams.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::Device;
use crate::error::Result;
use crate::schedule::pool::Pool;
use crate::schedule::{Hints, Placement, SchedulingPolicy};

/// Lets the parts of `zip` and `join` run on different streams of a pool.
///
/// Worth it where the parts are long and leave the device idle in places; each join of streams costs
/// a stream wait.
#[derive(Debug)]
pub struct ForkJoin {
    pool: Pool,
    next: AtomicUsize,
}

impl ForkJoin {
    /// Over the device's pool.
    pub fn new(device: Device) -> Self {
        ForkJoin { pool: Pool::shared(device), next: AtomicUsize::new(0) }
    }

    /// Over `count` streams of its own, at least one.
    pub fn with_streams(device: Device, count: usize) -> Self {
        ForkJoin { pool: Pool::own(device, count), next: AtomicUsize::new(0) }
    }
}

impl SchedulingPolicy for ForkJoin {
    fn place(&self, _: &Hints) -> Result<Placement> {
        let streams = self.pool.streams()?;
        let first = self.next.fetch_add(1, Ordering::Relaxed) % streams.len();
        let lanes = streams[first..].iter().chain(&streams[..first]).cloned();
        Ok(Placement::on(streams[first].clone()).with_lanes(lanes))
    }
}

//! Scheduling: which stream an operation runs on, decided once, before it runs.
//!
//! A policy sees facts about the operation and answers with a [`Placement`]. It submits nothing and
//! waits for nothing.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;

mod fork_join;
mod global;
mod least_loaded;
mod pool;
mod round_robin;
mod single;

pub use fork_join::ForkJoin;
pub(crate) use global::default_policy;
pub use global::{GlobalPolicy, global_policy, set_global_policy};
pub use least_loaded::LeastLoaded;
pub use round_robin::StreamPoolRoundRobin;
pub use single::SingleStream;

/// What a policy may know about an operation. All of it is optional.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// The device that the operation's inputs are on.
    pub device: Option<Device>,
    /// Estimated work, in any unit that the caller uses throughout.
    pub cost: Option<u64>,
    /// Higher goes first, where the policy knows priorities.
    pub priority: Option<i32>,
    /// The stream that the operation had best run on.
    pub affinity: Option<Stream>,
}

impl Hints {
    /// These hints, completed by those of another part: the first answer counts, costs add up.
    pub fn and(self, other: Hints) -> Hints {
        Hints {
            device: self.device.or(other.device),
            cost: match (self.cost, other.cost) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            },
            priority: self.priority.max(other.priority),
            affinity: self.affinity.or(other.affinity),
        }
    }
}

/// A policy's answer: where an operation runs.
#[derive(Debug, Clone)]
pub struct Placement {
    pub(crate) stream: Stream,
    pub(crate) lanes: SmallVec<[Stream; 4]>,
}

impl Placement {
    /// All of it on one stream.
    pub fn on(stream: Stream) -> Self {
        Placement { stream, lanes: SmallVec::new() }
    }

    /// Independent parts of the operation may run on these streams of the same device.
    pub fn with_lanes(mut self, lanes: impl IntoIterator<Item = Stream>) -> Self {
        let device = self.stream.device();
        self.lanes = lanes.into_iter().filter(|lane| lane.device() == device).collect();
        self
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
}

/// Decides which stream an operation runs on.
///
/// ```
/// use cuda_async::prelude::*;
///
/// /// Urgent work gets a stream of its own.
/// struct Express { express: Stream, rest: SingleStream }
///
/// impl SchedulingPolicy for Express {
///     fn place(&self, hints: &Hints) -> Result<Placement, DeviceError> {
///         match hints.priority {
///             Some(1..) => Ok(Placement::on(self.express.clone())),
///             _ => self.rest.place(hints),
///         }
///     }
/// }
///
/// let device = Device::host(0);
/// let policy = Express { express: device.new_stream()?, rest: SingleStream::new(device) };
/// let urgent = Hints { priority: Some(1), ..Hints::default() };
/// assert_eq!(value(1).with_hints(urgent).schedule(&policy).sync()?, 1);
/// # Ok::<(), DeviceError>(())
/// ```
pub trait SchedulingPolicy: Send + Sync {
    /// Chooses a place.
    ///
    /// # Errors
    /// If there is none, for example because the device does not exist. The future then fails.
    fn place(&self, hints: &Hints) -> Result<Placement>;
}

impl<P: SchedulingPolicy + ?Sized> SchedulingPolicy for &P {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        (**self).place(hints)
    }
}

impl<P: SchedulingPolicy + ?Sized> SchedulingPolicy for Arc<P> {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        (**self).place(hints)
    }
}

impl<P: SchedulingPolicy + ?Sized> SchedulingPolicy for Box<P> {
    fn place(&self, hints: &Hints) -> Result<Placement> {
        (**self).place(hints)
    }
}

/// A stream is the policy that always chooses it.
impl SchedulingPolicy for Stream {
    fn place(&self, _: &Hints) -> Result<Placement> {
        Ok(Placement::on(self.clone()))
    }
}

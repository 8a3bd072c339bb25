//! Lazy, composable GPU operations on streams, awaited from any async runtime or blocked on with none.

pub mod backend;
mod block;
mod completion;
mod config;
mod context;
pub mod cuda;
#[cfg(feature = "cust")]
pub mod cust_interop;
mod device;
pub mod driver;
mod error;
mod future;
mod host;
mod memory;
mod offload;
mod operation;
pub mod prelude;
mod schedule;
mod stream;
mod sync;

pub use context::{ExecutionContext, RawStream, ReadBack};
pub use device::{Device, DeviceId, DeviceKind};
pub use error::{DeviceError, ErrorKind, Result};
pub use future::DeviceFuture;
pub use host::{HostOptions, HostTask};
pub use memory::{Access, AccessKind, Buffer};
pub use offload::{Offload, offload};
pub use operation::*;
pub use schedule::{
    ForkJoin, GlobalPolicy, Hints, LeastLoaded, Placement, SchedulingPolicy, SingleStream,
    StreamPoolRoundRobin, global_policy, set_global_policy,
};
pub use stream::{FaultCell, Stream, StreamCore};

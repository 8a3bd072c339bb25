//! What users of the runtime import: `use cuda_async::prelude::*;`.

pub use crate::zip;
pub use crate::{
    BoxedOperation, Buffer, Device, DeviceError, DeviceFuture, DeviceId, DeviceKind,
    DeviceOperation, DeviceValue, ErrorKind, Execute, ExecutionContext, Failed, ForkJoin, Hints,
    HostOptions, IntoArc, IntoDeviceOperation, Join, LeastLoaded, Op, Placement, SchedulingPolicy,
    SingleStream, Stream, StreamPoolRoundRobin, download, global_policy, join, set_global_policy,
    upload, value, with_context, zeroed,
};

//! What host code imports: types, traits and functions, listed by hand. `cutile::prelude` adds `api`.

pub use std::sync::Arc;

pub use cuda_async::{
    BoxedOperation, Device, DeviceError, DeviceFuture, DeviceOperation, ErrorKind, Failed,
    IntoDeviceOperation, Join, SchedulingPolicy, Stream, global_policy, join, set_global_policy,
    value, with_context, zip,
};

pub use crate::host::{
    DType, HostElement, IntoShape, Partition, SharedTensor, Tensor, TensorOperation,
};
pub use crate::launch::{GridLaunch, Launch};

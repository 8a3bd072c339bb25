//! What host code imports: types, traits and functions, listed by hand. `cutile::prelude` adds `api`.

pub use std::sync::Arc;

pub use cuda_async::{
    Device, DeviceError, DeviceFuture, DeviceOperation, ErrorKind, IntoDeviceOperation,
    SchedulingPolicy, global_policy, zip,
};

pub use crate::host::{
    DType, HostElement, IntoShape, Partition, SharedTensor, Tensor, TensorOperation,
};
pub use crate::launch::{GridLaunch, Launch};

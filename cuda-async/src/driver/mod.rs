//! The CUDA driver, in three floors.
//!
//! [`sys`] declares what we use of the driver's binary interface and resolves it by name from the
//! installed library at first use; nothing is linked and nothing is needed to build. `result` has
//! one thin function a call and turns codes into typed errors in the driver's own words. On top
//! stand the owners: [`Context`], [`Stream`], [`Event`], [`Module`], [`Function`],
//! [`DeviceMemory`], [`PinnedMemory`]. They know which context a handle belongs to, bind it on
//! every entry from any thread, remember that a context is lost, and have destructors that neither
//! wait nor panic.
//!
//! No scheduling, no tracking of who uses what, no futures: the CUDA device above builds those from
//! this.

mod context;
mod device;
mod error;
#[cfg(test)]
pub(crate) mod fake;
mod fault;
mod launch;
mod load;
mod memory;
mod module;
mod pinned;
mod result;
mod stream;
pub mod sys;
mod tensor_map;
#[cfg(test)]
mod tests;

pub use context::Context;
pub use device::DeviceProperties;
pub use error::{CallError, CudaVersion, DriverError, LoadError};
pub use fault::{Fault, FaultDetails, FaultNamer, FaultRecord, FaultSite, name_faults_with};
pub use launch::LaunchConfig;
pub use load::Driver;
pub use memory::{DeviceMemory, FillValue};
pub use module::{Function, FunctionAttributes, Module};
pub use pinned::PinnedMemory;
pub use stream::{Event, Stream};
pub use tensor_map::{
    TENSOR_MAP_MAX_RANK, TensorMap, TensorMapElement, TensorMapSpec, TensorMapSwizzle,
};

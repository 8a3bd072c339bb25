//! Runs cutile's tile IR on the CPU: the definition of every operation, and the backend of machines
//! without a GPU.
//!
//! A [`Program`] is a specialised kernel, prepared once: elementwise operations are put together in
//! groups that run chunk by chunk in the first-level cache, tiles share memory, loads are read from
//! the tensor in place. [`Program::run`] then runs it for every position of a grid, over all cores.
//!
//! Nothing here knows devices, streams or allocations; the caller brings addresses.

mod args;
mod exec;
mod fault;
mod kernels;
mod launch;
mod plan;

pub use args::{Arg, ArgumentError, Axes64, Scalar, TensorArg};
pub use fault::{Fault, FaultKind, PrepareError, RunError, SourceLocation};
pub use launch::{Program, max_threads};

//! Launching kernels: what launchers call, which the macro writes for each `#[cutile::entry]`.
//!
//! - `def`: a kernel of the program. `signature`: what its IR says of its parameters.
//! - `args`: what can be given for them. `bind`: all checks, const parameters, the grid.
//! - `view`: tensors in another shape. `operation`: the launch as an operation. `table`: what is built once and found again.
//!
//! How a kernel runs on a kind of device is in `backend/`.

mod args;
mod bind;
mod def;
mod operation;
mod signature;
mod table;
mod view;

pub use args::{Arg, AsPartition, AsTensor, KernelArg, KernelArgs};
pub(crate) use args::{ArgList, MAX_PARAMS, SealedArg};
pub(crate) use bind::{Bound, Values};
pub use def::KernelDef;
pub use operation::{GridLaunch, Launch, LaunchKernel, launch};
pub(crate) use signature::Signature;
pub(crate) use table::{BuildCell, Table};
pub use view::Viewed;

pub use crate::host::HostElement;
pub use cuda_async::{IntoDeviceOperation, zip};
/// Makes a bundle of built kernels known to the loader; see `cutile::embed_kernels`.
pub use cutile_bundle::lookup::embed;
/// The tile IR, for what the macro embeds.
pub use cutile_ir as ir;
pub use std::sync::Arc;

/// [`launch()`] of a kernel without `&mut` parameters: `grid` on the result says how many tile programs run.
pub use operation::launch as launch_grid;

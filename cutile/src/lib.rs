//! GPU tile kernels and asynchronous GPU work in Rust, without a CUDA toolkit.
//!
//! A kernel is a Rust function in a module that [`macro@module`] marks; `y.partition(..)` says how many tile programs run and
//! what each may write. Host work is made of operations: lazy values that are composed, then awaited or run with `sync`.
//! Without a GPU the same program runs on the CPU.
//!
//! ```
//! use cutile::prelude::*;
//!
//! #[cutile::module]
//! mod kernels {
//!     use cutile::core::*;
//!
//!     /// y = a x + y.
//!     #[cutile::entry()]
//!     fn saxpy<const S: [i32; 2]>(a: f32, x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, S>) {
//!         let tile_a: Tile<f32, S> = broadcast_scalar(a, y.shape());
//!         let tile_x: Tile<f32, S> = load_tile_like_2d(x, y);
//!         let tile_y: Tile<f32, S> = load_tile_mut(y);
//!         store_tile(tile_a * tile_x + tile_y, y);
//!     }
//! }
//!
//! # fn main() -> Result<(), DeviceError> {
//! let x = api::ones::<f32>([16, 16]).arc();
//! let y = api::ones::<f32>([16, 16]).partition([4, 4]);
//! let (_a, _x, y) = zip!(2.0, x, y).apply(kernels::saxpy).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [3.0; 256]);
//! # Ok(())
//! # }
//! ```
//!
//! - [`core`]: what a kernel is written with. [`macro@module`], [`macro@entry`]: how it is marked.
//! - [`prelude`]: what host code imports. [`api`]: functions of tensors.
//! - [`cuda_async`]: devices, streams, operations, scheduling.

pub use cutile_core::cuda_async;
pub use cutile_core::{
    DType, HostElement, HostFloat, HostNumber, IntoPartition, IntoShape, LaunchError, LaunchReason,
    MAX_RANK, MissingKernel, Partition, ReadTensor, Shape, SharedTensor, Tensor, TensorError,
    TensorOperation, core, launch,
};
pub use cutile_kernels::{api, kernels};
pub use cutile_macros::{entry, module};

/// What host code imports.
pub mod prelude {
    pub use crate::api;
    pub use cutile_core::prelude::*;
}

/// Embeds the package's built kernels in the program, so that the executable alone is enough: call it once, at the start of
/// `main`.
///
/// The kernels are those in `cutile-kernels.bundle` beside the package's `Cargo.toml`, which
/// `cargo cutile build-kernels --embed` writes. Kernels that are not in it are looked for where they always are.
#[macro_export]
macro_rules! embed_kernels {
    () => {
        $crate::launch::embed(::core::include_bytes!(::core::concat!(
            ::core::env!("CARGO_MANIFEST_DIR"),
            "/cutile-kernels.bundle"
        )))
    };
}

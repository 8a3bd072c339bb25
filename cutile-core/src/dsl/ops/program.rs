//! Where a program stands in its grid. A kernel runs once for each sub-tensor of its partitions; axis 0 of the grid is the
//! slowest.
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn number(y: &mut Tensor<i32, { [1, 1] }>) {
//!         let (row, column, _) = get_tile_block_id();
//!         y.store(full(row * num_programs(1) + column, y.shape()));
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let (y,) = kernels::number(api::zeros::<i32>([2, 3]).partition([1, 1])).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [0, 1, 2, 3, 4, 5]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;

vocabulary! {
    /// This program's position along the grid's first three axes; axis 0 is the slowest. 0 beyond the grid's rank.
    fn get_tile_block_id[]() -> (i32, i32, i32);
    /// The number of programs along the grid's first three axes; 1 beyond the grid's rank.
    fn get_num_tile_blocks[]() -> (i32, i32, i32);
    /// This program's position along the grid's first `N` axes, up to 6.
    fn tile_block_id[const N: usize]() -> [i32; N];
    /// This program's position along an axis of the grid.
    fn program_id[](axis: i32) -> i32;
    /// The number of programs along an axis of the grid.
    fn num_programs[](axis: i32) -> i32;
}

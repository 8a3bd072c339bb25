//! Where a program stands in its grid.

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

//! Tiles of tensors: which one an index means, and loads that fill what lies outside.

use super::{Frame, Run, Steps, dense, trap};
use crate::fault::FaultKind;
use crate::kernels::arith;
use crate::kernels::map::{Dst, Lanes, Src};
use crate::kernels::rows::Rows;
use crate::plan::{Access, Buffer, Dims, Query, Slot};
use cutile_ir::{Loc, MAX_RANK};

/// Tiles along an axis, the ragged one counted.
fn tile_count(extent: i64, tile: usize) -> i64 {
    let tile = tile as i64;
    extent / tile + i64::from(extent % tile != 0)
}

#[cold]
fn out_of_range(a: &Access, axis: usize, index: i128, extent: i64) -> Run {
    let (what, tile) = (a.what, a.tile[axis]);
    let count = tile_count(extent, tile);
    let message = format!(
        "{what}: tile index {index} along axis {axis} is outside the {count} tiles of {tile} that \
         {extent} elements make"
    );
    trap(FaultKind::IndexOutOfRange, a.loc, [index, count.into()], message)
}

impl Frame<'_> {
    pub(super) fn query(&mut self, what: Query, dst: Slot, loc: Option<Loc>) -> Run {
        let n = match what {
            Query::Extent { tensor, axis } => self.launch.tensors[tensor].extents[axis],
            Query::TileCount { tensor, axis, tile } => {
                tile_count(self.launch.tensors[tensor].extents[axis], tile)
            }
            Query::Id(axis) => self.position.get(axis).copied().unwrap_or(0).into(),
            Query::Count(axis) => self.launch.grid.get(axis).copied().unwrap_or(1).into(),
        };
        let Ok(small) = i32::try_from(n) else {
            let message = format!("{n} does not fit the kernel's i32");
            let operands = [n.into(), i32::MAX.into()];
            return trap(FaultKind::ExtentOverflow, loc, operands, message);
        };
        self.write(dst, small as u32 as u64);
        Ok(())
    }

    /// Finds the tile of a load or a store.
    pub(super) fn locate(&mut self, a: &Access) -> Run {
        let tensor = &self.launch.tensors[a.tensor];
        let mut offset = 0i64;
        for axis in 0..a.tile.len() {
            let (slot, element) = a.index[axis];
            let index = self.integer(slot, element);
            let (extent, tile) = (tensor.extents[axis], a.tile[axis] as i64);
            // In range if the tile begins inside the tensor; no tile count, which would divide.
            let start = i64::try_from(index).ok().and_then(|i| i.checked_mul(tile));
            let Some(start) = start.filter(|s| (0..extent).contains(s)) else {
                return out_of_range(a, axis, index, extent);
            };
            offset = offset.wrapping_add(start.wrapping_mul(tensor.strides[axis]));
            self.set_length(a.valid[axis], (extent - start).min(tile) as usize);
        }
        let bytes = offset.wrapping_mul(a.bytes as i64) as isize;
        self.sites[a.site as usize] = tensor.base.wrapping_offset(bytes);
        Ok(())
    }

    /// Loads a tile of which any part may lie outside the tensor.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn load_padded(&mut self, a: &Access, fill: Slot, dst: Buffer) {
        let Some(copy) = arith::copy(a.bytes) else { return };
        let tensor = &self.launch.tensors[a.tensor];
        let mut inside = Dims::new();
        let mut offset = 0i64;
        for axis in 0..a.tile.len() {
            let (slot, element) = a.index[axis];
            let index = self.integer(slot, element);
            let extent = tensor.extents[axis];
            let tile = a.tile[axis] as i64;
            // Tiles begin at multiples of their extent: one before 0 is outside altogether.
            let in_range = (0..i128::from(tile_count(extent, a.tile[axis]))).contains(&index);
            let start = if in_range { index as i64 * tile } else { extent };
            inside.push((extent - start).min(tile) as usize);
            offset = offset.wrapping_add(start.wrapping_mul(tensor.strides[axis]));
        }
        let to = self.buffer(dst);
        let total: usize = a.tile.iter().product();
        let uniform = Src::one(self.slot(fill));
        if inside != a.tile {
            // SAFETY: the buffer holds the whole tile.
            unsafe { copy(Dst::run(to), &[uniform, Src::NONE, Src::NONE], Lanes::run(total)) };
        }
        if inside.contains(&0) {
            return;
        }
        let from = tensor.base.wrapping_offset(offset.wrapping_mul(a.bytes as i64) as isize);
        let steps = self.tensor_steps(a.tensor, a.bytes);
        let to_steps = dense(&a.tile, a.bytes);
        // SAFETY: the lanes inside are elements of the tensor, and of the buffer.
        unsafe { copy_box(a.bytes, (to, to_steps), (from, steps), &inside) };
    }

    /// # Safety
    /// The buffer holds `n` elements.
    pub(super) unsafe fn iota(&mut self, dst: Buffer, element: cutile_ir::Element, n: usize) {
        use crate::kernels::lane::with_lane;
        let to = self.buffer(dst);
        // SAFETY: the caller's contract, passed on.
        with_lane!(element, T => unsafe { crate::kernels::reduce::count::<T>(to, n) }, ());
    }
}

/// Copies a box of elements from a tensor to a row-major tile.
///
/// # Safety
/// Both places hold the box; they don't overlap.
unsafe fn copy_box(
    bytes: usize,
    (to, to_steps): (*mut u8, Steps),
    (from, from_steps): (*mut u8, Steps),
    lengths: &[usize],
) {
    let inner = lengths.len().saturating_sub(1);
    let lanes = lengths.last().copied().unwrap_or(1);
    let step = if lengths.is_empty() { bytes as isize } else { from_steps[inner] };
    let mut index = [0usize; MAX_RANK];
    loop {
        let (mut dst, mut at) = (to, from);
        for axis in 0..inner {
            dst = dst.wrapping_offset(index[axis] as isize * to_steps[axis]);
            at = at.wrapping_offset(index[axis] as isize * from_steps[axis]);
        }
        let row = Rows { at, step, row_step: 0, rows: 1, lanes, bytes };
        // SAFETY: the row lies in both places.
        unsafe { row.collect(dst) };
        if !super::next_index(&mut index, lengths, 0..inner) {
            return;
        }
    }
}

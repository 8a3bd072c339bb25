//! Reductions and matrix products over tiles, wherever these lie.

use super::{Frame, Steps, dense, next_index};
use crate::kernels::mma::{Matrix, Product};
use crate::plan::{Dims, Mma, Reduce};
use cutile_ir::MAX_RANK;

impl Frame<'_> {
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn reduce(&mut self, r: &Reduce) {
        let (from, steps) = self.tile(&r.src, r.bytes);
        let lengths = self.lengths(&r.src.valid, &r.shape);
        let to = self.buffer(r.dst);
        let to_steps = result_steps(&r.shape, r.axis, r.dst_bytes);
        let n = lengths[r.axis];
        // Rows at once, where the innermost other axis lies in consecutive elements.
        let inner = (0..r.shape.len()).rev().find(|k| *k != r.axis && r.shape[*k] != 1);
        let rows =
            inner.filter(|k| steps[*k] == r.bytes as isize && steps[r.axis] != r.bytes as isize);
        let lanes = rows.map_or(1, |k| lengths[k]);
        let outer: Dims = (0..r.shape.len()).filter(|k| *k != r.axis && Some(*k) != rows).collect();
        if lanes == 0 || outer.iter().any(|k| lengths[*k] == 0) {
            return;
        }
        let mut index = [0; MAX_RANK];
        loop {
            let (mut src, mut dst) = (from, to);
            for k in &outer {
                src = src.wrapping_offset(index[*k] as isize * steps[*k]);
                dst = dst.wrapping_offset(index[*k] as isize * to_steps[*k]);
            }
            // SAFETY: the lanes are valid ones of the tile, and of the result.
            unsafe { (r.kernel)(dst, src, n, steps[r.axis], lanes) };
            if !next_index(&mut index, &lengths, outer.iter().copied()) {
                return;
            }
        }
    }

    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn mma(&mut self, m: &Mma) {
        let [rows, columns, depth] = m.extents;
        let matrix = |(ptr, steps): (*mut u8, Steps)| Matrix {
            ptr,
            stride: [steps[0] / m.bytes as isize, steps[1] / m.bytes as isize],
        };
        let k = self.length(m.a.valid[1], depth).min(self.length(m.b.valid[0], depth));
        let product = Product {
            m: self.length(m.valid[0], rows),
            n: self.length(m.valid[1], columns),
            k,
            a: matrix(self.tile(&m.a, m.bytes)),
            b: matrix(self.tile(&m.b, m.bytes)),
            acc: self.buffer(m.acc),
            acc_stride: columns,
            scratch: m.scratch.map_or(std::ptr::null_mut(), |b| self.buffer(b)),
        };
        // SAFETY: the tiles hold their valid lanes, the scratch buffer was made for this product, and
        // the accumulator and it are no operands.
        unsafe { (m.kernel)(&product) };
    }
}

/// The steps of a row-major result by the operand's axes; 0 along the one that is gone.
fn result_steps(shape: &Dims, axis: usize, bytes: usize) -> Steps {
    let mut left = shape.clone();
    left.remove(axis);
    let packed = dense(&left, bytes);
    let mut steps = [0; MAX_RANK];
    for k in (0..shape.len()).filter(|k| *k != axis) {
        steps[k] = packed[if k < axis { k } else { k - 1 }];
    }
    steps
}

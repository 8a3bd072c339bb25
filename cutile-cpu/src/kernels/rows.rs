//! Copies between lanes that lie apart and consecutive ones. Rows are often short, a few cache lines:
//! a call of the library's copy for each would cost as much as the copy.

use super::map::Src;

/// Rows of lanes somewhere in memory.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// The first lane.
    pub(crate) at: *mut u8,
    /// Bytes from lane to lane.
    pub(crate) step: isize,
    /// Bytes from row to row.
    pub(crate) row_step: isize,
    pub(crate) rows: usize,
    /// Lanes of a row.
    pub(crate) lanes: usize,
    /// Bytes of a lane.
    pub(crate) bytes: usize,
}

macro_rules! by_width {
    ($bytes:expr, $t:ident => $e:expr) => {
        match $bytes {
            1 => {
                type $t = u8;
                $e
            }
            2 => {
                type $t = u16;
                $e
            }
            4 => {
                type $t = u32;
                $e
            }
            _ => {
                type $t = u64;
                $e
            }
        }
    };
}

impl Rows {
    fn row(&self, row: usize) -> *mut u8 {
        self.at.wrapping_offset((row as isize).wrapping_mul(self.row_step))
    }

    fn is_consecutive(&self) -> bool {
        self.step == self.bytes as isize
    }

    /// Copies all lanes to consecutive ones.
    ///
    /// # Safety
    /// Both places hold the lanes, aligned; they don't overlap.
    pub(crate) unsafe fn collect(&self, to: *mut u8) {
        let row_bytes = self.lanes * self.bytes;
        for row in 0..self.rows {
            let from = self.row(row);
            // SAFETY: the caller's contract, for this row.
            unsafe {
                let to = to.add(row * row_bytes);
                if self.is_consecutive() {
                    copy_bytes(to, from, row_bytes);
                } else {
                    by_width!(self.bytes, T => for i in 0..self.lanes {
                        let lane = from.wrapping_offset((i as isize).wrapping_mul(self.step));
                        *to.cast::<T>().add(i) = *lane.cast::<T>();
                    });
                }
            }
        }
    }

    /// Copies the lanes of a source to these.
    ///
    /// # Safety
    /// Both places hold the lanes, aligned; they don't overlap.
    pub(crate) unsafe fn spread(&self, src: Src) {
        let one = usize::from(!src.uniform);
        for row in 0..self.rows {
            let to = self.row(row);
            // SAFETY: the caller's contract, for this row.
            unsafe {
                let from = src.ptr.offset(row as isize * src.row);
                by_width!(self.bytes, T => for i in 0..self.lanes {
                    let lane = to.wrapping_offset((i as isize).wrapping_mul(self.step));
                    *lane.cast::<T>() = *from.cast::<T>().add(i * one);
                });
            }
        }
    }
}

/// Bytes that are copied in place; more go to the library.
const SHORT: usize = 1024;

/// Copies bytes: few of them without a call.
///
/// # Safety
/// Both places hold `n` bytes; they don't overlap.
#[inline(always)]
pub(crate) unsafe fn copy_bytes(to: *mut u8, from: *const u8, n: usize) {
    type Line = [u64; 8];
    // SAFETY: the caller's contract; lines need no alignment.
    unsafe {
        if n > SHORT {
            return to.copy_from_nonoverlapping(from, n);
        }
        let whole = n / 128;
        for i in 0..whole {
            // Two at a time: one would be made a call again.
            let (to, from) = (to.cast::<Line>().add(2 * i), from.cast::<Line>().add(2 * i));
            let (a, b) = (from.read_unaligned(), from.add(1).read_unaligned());
            to.write_unaligned(a);
            to.add(1).write_unaligned(b);
        }
        let done = whole * 128;
        if done < n {
            to.add(done).copy_from_nonoverlapping(from.add(done), n - done);
        }
    }
}

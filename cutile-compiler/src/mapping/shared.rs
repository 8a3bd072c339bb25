//! How a matrix lies in shared memory: rows of 16-byte chunks, the chunks of a row exchanged by a swizzle, so that eight rows
//! read at one column, as matrix loads do, meet eight different groups of banks.

use std::borrow::Cow;

/// A matrix in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedMatrix {
    /// Rows.
    pub rows: u32,
    /// Elements in a row.
    pub columns: u32,
    /// Bytes of an element.
    pub bytes: u32,
    /// Bytes from one row to the next, a multiple of 16.
    pub stride: u32,
    /// The chunk number is exchanged with itself xor `(row >> shift) & mask`.
    pub shift: u32,
    /// See `shift`.
    pub mask: u32,
}

impl SharedMatrix {
    /// The layout without bank conflicts.
    pub fn new(rows: u32, columns: u32, bytes: u32) -> SharedMatrix {
        let chunks = (columns * bytes).div_ceil(16);
        // Eight rows at one chunk: with eight chunks a row they all start at the same bank, with four every second does.
        let (stride, shift, mask) = match chunks {
            c if c.is_power_of_two() => {
                let shift = 3u32.saturating_sub(c.trailing_zeros());
                (c, shift, c.min(8) - 1)
            }
            // An odd number of chunks runs through all banks by itself.
            c => (c | 1, 0, 0),
        };
        SharedMatrix { rows, columns, bytes, stride: stride * 16, shift, mask }
    }

    /// Bytes in all.
    pub fn size(&self) -> u32 {
        self.rows * self.stride
    }

    /// Where an element starts.
    pub fn offset(&self, row: u32, column: u32) -> u32 {
        row * self.stride + ((column * self.bytes) ^ (((row >> self.shift) & self.mask) << 4))
    }

    /// The same for `u32` expressions of row and column.
    pub fn offset_of(&self, row: &str, column: &str) -> String {
        let (row, column) = (grouped(row), grouped(column));
        let inside = format!("{column} * {}", self.bytes);
        let inside = match (self.mask, self.shift) {
            (0, _) => inside,
            (mask, 0) => format!("(({inside}) ^ (({row} & {mask}) << 4))"),
            (mask, shift) => format!("(({inside}) ^ ((({row} >> {shift}) & {mask}) << 4))"),
        };
        format!("{row} * {} + {inside}", self.stride)
    }
}

/// An expression as an operand: in parentheses unless it is one word.
fn grouped(expression: &str) -> Cow<'_, str> {
    match expression.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => expression.into(),
        false => format!("({expression})").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn elements_do_not_overlap(rows in 1u32..40, columns in 1u32..80, log in 0u32..4) {
            let s = SharedMatrix::new(rows, columns, 1 << log);
            let mut seen = HashSet::new();
            for r in 0..rows {
                for c in 0..columns {
                    let at = s.offset(r, c);
                    prop_assert!(at + s.bytes <= s.size());
                    prop_assert!(seen.insert(at));
                    prop_assert_eq!(at % s.bytes, 0);
                }
            }
        }

        #[test]
        fn eight_rows_of_a_column_of_chunks_use_all_banks(first in 0u32..8, columns in 1u32..20, chunk in 0u32..20) {
            let s = SharedMatrix::new(64, columns * 8, 2);
            let chunk = chunk % columns;
            let banks: HashSet<u32> =
                (0..8).map(|r| s.offset(first * 8 + r, chunk * 8) / 16 % 8).collect();
            prop_assert_eq!(banks.len(), 8);
        }
    }
}

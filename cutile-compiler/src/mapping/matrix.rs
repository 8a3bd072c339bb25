//! Matrix products: which instruction, and how the accumulators lie.

use super::layout::{Layout, unit};
use cutile_ir::Element;

/// How a product is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Product {
    /// By matrix instructions of one warp: 16 x 8 accumulators, operands from shared memory.
    Warp(WarpMma),
    /// By multiply-adds of each thread, operands from shared memory.
    Thread,
}

/// A matrix instruction of one warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpMma {
    /// The operands' element type.
    pub element: Element,
    /// Steps along K that one instruction takes.
    pub k: u32,
}

/// The sizes of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Rows of the left operand.
    pub m: u32,
    /// Columns of the right operand.
    pub n: u32,
    /// Columns of the left, rows of the right operand.
    pub k: u32,
}

impl Product {
    /// The best way for these operands.
    pub fn choose(operand: Element, accumulator: Element, sizes: Sizes) -> Product {
        let k = match (operand, accumulator) {
            (Element::F16 | Element::BF16, Element::F32) => 16,
            (Element::TF32, Element::F32) => 8,
            _ => return Product::Thread,
        };
        let fits =
            sizes.m.is_multiple_of(16) && sizes.n.is_multiple_of(16) && sizes.k.is_multiple_of(k);
        if fits { Product::Warp(WarpMma { element: operand, k }) } else { Product::Thread }
    }
}

/// How many warps a product of this size keeps busy.
pub fn warps(sizes: Sizes) -> u32 {
    (sizes.m * sizes.n / 1024).next_power_of_two().clamp(1, 8)
}

/// The layout of the accumulators of matrix instructions. Warps share rows and columns so that together they read little.
pub fn accumulators(sizes: Sizes, warps: u32) -> Layout {
    let (mut rows, mut columns) = (1, 1);
    while rows * columns < warps {
        let (tall, wide) = (sizes.m / rows, sizes.n / columns);
        let split_rows = tall.is_multiple_of(32);
        let split_columns = wide.is_multiple_of(32);
        match (split_rows, split_columns) {
            (true, true) if tall > wide => rows *= 2,
            (_, true) => columns *= 2,
            (true, false) => rows *= 2,
            (false, false) => break,
        }
    }
    let (m, n) = (|v| unit(2, 0, v), |v| unit(2, 1, v));
    let registers = vec![n(1), m(8), n(8)];
    let mut threads = vec![n(2), n(4), m(1), m(2), m(4)];
    let mut extents = [16, 16];
    for (axis, count) in [(1, columns), (0, rows)] {
        for _ in 0..count.trailing_zeros() {
            threads.push(unit(2, axis, extents[axis]));
            extents[axis] *= 2;
        }
    }
    // Warps beyond what the tile can feed compute the same again.
    threads.resize(5 + warps.trailing_zeros() as usize, unit(2, 0, 0));
    Layout::new(&[sizes.m, sizes.n], &extents, registers, threads)
}

/// The layout of accumulators that each thread computes by itself: about as many rows as columns a thread, so that it reads
/// little; four columns in a vector. `None` for tiles that are too small or odd for it.
pub fn thread_accumulators(sizes: Sizes, warps: u32) -> Option<Layout> {
    if !sizes.m.is_multiple_of(4) || !sizes.n.is_multiple_of(32) {
        return None;
    }
    let (m, n) = (|v| unit(2, 0, v), |v| unit(2, 1, v));
    let mut threads = vec![n(4), n(8), n(16), m(1), m(2)];
    let (mut rows, mut columns) = (4, 32);
    for _ in 0..warps.trailing_zeros() {
        // What is left for each thread's registers along both axes.
        let (tall, wide) = (sizes.m / rows, sizes.n / columns);
        if tall.is_multiple_of(2) && (tall >= 4 * wide || !wide.is_multiple_of(2)) {
            threads.push(m(rows));
            rows *= 2;
        } else if wide.is_multiple_of(2) {
            threads.push(n(columns));
            columns *= 2;
        } else {
            threads.push(m(0));
        }
    }
    Some(Layout::new(&[sizes.m, sizes.n], &[rows, columns], vec![n(1), n(2)], threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_warps_share_a_large_tile_evenly() {
        let l = accumulators(Sizes { m: 128, n: 128, k: 32 }, 8);
        assert_eq!(l.register_count(), 64);
        assert_eq!(l.replicated_bits(), 0);
        assert!(l.is_disjoint());
        // The fragment of the instruction: c0 c1 beside each other, c2 c3 eight rows below.
        assert_eq!(l.coord(5, 0).as_slice(), [1, 2]);
        assert_eq!(l.coord(5, 1).as_slice(), [1, 3]);
        assert_eq!(l.coord(5, 2).as_slice(), [9, 2]);
    }

    #[test]
    fn odd_tiles_repeat() {
        let l = accumulators(Sizes { m: 48, n: 16, k: 16 }, 4);
        assert_eq!(l.padded().as_slice(), [48, 16]);
        assert_eq!(l.replicated_bits(), 0b1100000);
    }

    #[test]
    fn threads_take_squares() {
        let l = thread_accumulators(Sizes { m: 128, n: 128, k: 16 }, 8).unwrap();
        assert_eq!((l.register_count(), l.replicated_bits(), l.vector_width(4)), (64, 0, 4));
        let distinct = |axis: usize| {
            let mut all: Vec<u32> = (0..64).map(|r| l.register_coord(r)[axis]).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        assert_eq!((distinct(0), distinct(1)), (8, 8));
        assert_eq!(thread_accumulators(Sizes { m: 3, n: 32, k: 1 }, 1), None);
    }

    #[test]
    fn what_does_not_fit_an_instruction_goes_to_the_threads() {
        let sizes = Sizes { m: 16, n: 16, k: 8 };
        assert_eq!(Product::choose(Element::BF16, Element::F32, sizes), Product::Thread);
        assert_eq!(Product::choose(Element::F32, Element::F32, sizes), Product::Thread);
        let tf32 = WarpMma { element: Element::TF32, k: 8 };
        assert_eq!(Product::choose(Element::TF32, Element::F32, sizes), Product::Warp(tf32));
    }
}

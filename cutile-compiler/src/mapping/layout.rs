//! Layouts: which element of a tile which thread holds in which register.
//!
//! A layout is a linear map over bits. Each bit of the register number, of the lane and of the warp contributes a
//! coordinate (its *basis*); the coordinates of an element are the exclusive or of the bases of the bits that are set. This
//! describes a *block* whose extents are powers of two; along each axis the block repeats in further registers, any number
//! of times, until it covers the tile. Coordinates at or beyond the tile's extent are padding: no element.
//!
//! A lane or warp bit whose basis is zero means that both halves hold the same elements. Registers never repeat one.
//! Conversions, reductions, shuffles, vector widths and predicates are computed from this object and from nothing else.

use smallvec::SmallVec;
use std::fmt;

/// One number for each axis.
pub type Coord = SmallVec<[u32; 4]>;

/// The number of bits of a lane number.
pub const LANE_BITS: usize = 5;

/// Where the elements of a tile are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    shape: Coord,
    block: Coord,
    /// Axes along which the block repeats, and how often (odd numbers above 1); the last varies fastest.
    repeats: SmallVec<[(usize, u32); 2]>,
    registers: Vec<Coord>,
    /// Lane bits, then warp bits.
    threads: Vec<Coord>,
}

/// How the bits of a block are handed out: lowest register bits first, then lanes, warps, and registers for the rest.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// The tile's extents.
    pub shape: &'a [u32],
    /// Axes, the one that varies fastest first.
    pub order: &'a [usize],
    /// Neighbours along the fastest axis that one thread should hold.
    pub vector: u32,
    /// Warps of the block, a power of two.
    pub warps: u32,
}

fn log2(n: u32) -> usize {
    n.trailing_zeros() as usize
}

/// The extent of a block along an axis of this extent, at most `capacity`: the largest power of two that wastes little.
fn block_extent(extent: u32, capacity: u32) -> u32 {
    let padded = |p: u32| extent.div_ceil(p) * p;
    let mut p = extent.next_power_of_two().min(capacity.max(1));
    // A third of padding is still cheaper than idle lanes.
    while p > 1 && padded(p) * 3 >= extent * 4 {
        p /= 2;
    }
    p
}

impl Layout {
    /// A layout from its parts.
    ///
    /// `block` are the extents that the bases span; the block repeats along each axis as often as the shape needs.
    pub fn new(shape: &[u32], block: &[u32], registers: Vec<Coord>, threads: Vec<Coord>) -> Layout {
        let mut l = Layout {
            shape: shape.into(),
            block: block.into(),
            repeats: SmallVec::new(),
            registers,
            threads,
        };
        let mut repeats: Coord = shape.iter().zip(block).map(|(s, b)| s.div_ceil(*b)).collect();
        // Doublings of the block become register bits, fastest axis first, so that a row's registers stay together.
        for axis in (0..shape.len()).rev() {
            while repeats[axis].is_multiple_of(2) {
                l.registers.push(unit(shape.len(), axis, l.block[axis]));
                l.block[axis] *= 2;
                repeats[axis] /= 2;
            }
        }
        l.repeats = repeats.iter().copied().enumerate().filter(|(_, n)| *n > 1).collect();
        l
    }

    /// A layout in which neighbours along the first axis of the order are in one thread, then in neighbouring lanes.
    pub fn blocked(recipe: &Recipe<'_>) -> Layout {
        let rank = recipe.shape.len();
        let thread_bits = LANE_BITS + log2(recipe.warps);
        let mut left = thread_bits;
        let mut block: Coord = SmallVec::from_elem(1, rank);
        let mut registers = Vec::new();
        let mut threads = Vec::new();
        for (i, &axis) in recipe.order.iter().enumerate() {
            let vector = if i == 0 { recipe.vector } else { 1 };
            let capacity = vector << left;
            let extent = block_extent(recipe.shape[axis], capacity).max(vector);
            block[axis] = extent;
            let mut bit = 1;
            while bit < extent {
                let basis = unit(rank, axis, bit);
                if bit < vector {
                    registers.push(basis);
                } else {
                    threads.push(basis);
                    left -= 1;
                }
                bit *= 2;
            }
        }
        threads.resize(thread_bits, SmallVec::from_elem(0, rank));
        Layout::new(recipe.shape, &block, registers, threads)
    }

    /// The tile's extents.
    pub fn shape(&self) -> &[u32] {
        &self.shape
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The bases of lane and warp bits.
    pub fn thread_bases(&self) -> &[Coord] {
        &self.threads
    }

    /// Threads that share the tile.
    pub fn thread_count(&self) -> u32 {
        1 << self.threads.len()
    }

    /// Registers in which each thread holds its elements.
    pub fn register_count(&self) -> usize {
        self.repeats.iter().map(|(_, n)| *n as usize).product::<usize>() << self.registers.len()
    }

    /// Extents of the repeated block along each axis: the tile's extents and the padding.
    pub fn padded(&self) -> Coord {
        let mut padded = self.block.clone();
        self.repeats.iter().for_each(|(axis, n)| padded[*axis] *= n);
        padded
    }

    /// Whether coordinates along the axis can lie beyond the tile.
    pub fn is_padded(&self, axis: usize) -> bool {
        self.padded()[axis] != self.shape[axis]
    }

    /// The part of an element's coordinates that the register decides.
    pub fn register_coord(&self, register: usize) -> Coord {
        let bits = self.registers.len();
        let mut coord = combine(&self.registers, register & ((1 << bits) - 1), self.rank());
        let mut repeat = (register >> bits) as u32;
        for &(axis, n) in self.repeats.iter().rev() {
            coord[axis] += repeat % n * self.block[axis];
            repeat /= n;
        }
        coord
    }

    /// The part of an element's coordinates that the thread decides.
    pub fn thread_coord(&self, thread: u32) -> Coord {
        combine(&self.threads, thread as usize, self.rank())
    }

    /// The coordinates of an element; beyond the shape there is none.
    pub fn coord(&self, thread: u32, register: usize) -> Coord {
        let (t, r) = (self.thread_coord(thread), self.register_coord(register));
        t.iter()
            .zip(&r)
            .zip(&self.block)
            .map(|((t, r), block)| (t ^ (r & (block - 1))) + (r & !(block - 1)))
            .collect()
    }

    /// The register whose own part of the coordinates is this.
    pub fn register_at(&self, coord: &[u32]) -> Option<usize> {
        (0..self.register_count()).find(|r| self.register_coord(*r).as_slice() == coord)
    }

    /// Thread bits that change nothing: threads that differ in them hold the same elements.
    pub fn replicated_bits(&self) -> u32 {
        let zero = |b: &Coord| b.iter().all(|c| *c == 0);
        self.threads.iter().enumerate().filter(|(_, b)| zero(b)).map(|(i, _)| 1 << i).sum()
    }

    /// Consecutive elements along the last axis in consecutive registers, at most `limit` (a power of two), that start at
    /// multiples of their number in every thread.
    pub fn vector_width(&self, limit: u32) -> u32 {
        let Some(last) = self.rank().checked_sub(1) else { return 1 };
        let mut width = 1;
        for basis in &self.registers {
            let next = unit(self.rank(), last, width);
            if width == limit || *basis != next || !self.shape[last].is_multiple_of(2 * width) {
                break;
            }
            width *= 2;
        }
        width
    }

    /// Elements along the last axis that the lanes of a warp hold next to each other in one vector each.
    pub fn warp_width(&self, vector: u32) -> u32 {
        let Some(last) = self.rank().checked_sub(1) else { return 1 };
        let mut width = self.vector_width(vector);
        while self.threads[..LANE_BITS].contains(&unit(self.rank(), last, width)) {
            width *= 2;
        }
        width
    }

    /// The layout of a reduction's result along `axis`: every thread of a row holds what the row became.
    pub fn without_axis(&self, axis: usize) -> Layout {
        let mut l = self.with_unit(axis);
        l.shape.remove(axis);
        l.block.remove(axis);
        l.repeats.iter_mut().filter(|(a, _)| *a > axis).for_each(|(a, _)| *a -= 1);
        for basis in l.registers.iter_mut().chain(&mut l.threads) {
            basis.remove(axis);
        }
        l
    }

    /// The layout of the tile whose elements, repeated along `axis`, stand in this layout.
    pub fn with_unit(&self, axis: usize) -> Layout {
        let mut l = self.clone();
        (l.shape[axis], l.block[axis]) = (1, 1);
        l.repeats.retain(|(a, _)| *a != axis);
        for basis in l.registers.iter_mut().chain(&mut l.threads) {
            basis[axis] = 0;
        }
        l.registers.retain(|b| b.iter().any(|c| *c != 0));
        l
    }

    /// The layout after an axis of extent 1 is put in.
    pub fn insert_unit(&self, axis: usize) -> Layout {
        let mut l = self.clone();
        l.shape.insert(axis, 1);
        l.block.insert(axis, 1);
        l.repeats.iter_mut().filter(|(a, _)| *a >= axis).for_each(|(a, _)| *a += 1);
        for basis in l.registers.iter_mut().chain(&mut l.threads) {
            basis.insert(axis, 0);
        }
        l
    }

    /// The layout of the permuted tile, registers as they are: axis i is this layout's axis `order[i]`.
    pub fn permute(&self, order: &[u32]) -> Layout {
        let pick = |c: &Coord| order.iter().map(|a| c[*a as usize]).collect::<Coord>();
        let place = |axis: usize| order.iter().position(|a| *a as usize == axis).unwrap_or(axis);
        Layout {
            shape: pick(&self.shape),
            block: pick(&self.block),
            repeats: self.repeats.iter().map(|(axis, n)| (place(*axis), *n)).collect(),
            registers: self.registers.iter().map(pick).collect(),
            threads: self.threads.iter().map(pick).collect(),
        }
    }

    /// The layout of the reshaped tile, registers as they are; `None` where it is no linear map on powers of two.
    pub fn reshape(&self, shape: &[u32]) -> Option<Layout> {
        let wide =
            |s: &[u32]| s.iter().copied().enumerate().filter(|(_, e)| *e != 1).collect::<Vec<_>>();
        let (from, to) = (wide(&self.shape), wide(shape));
        if from.iter().map(|x| x.1).eq(to.iter().map(|x| x.1)) {
            // Only axes of extent 1 come and go.
            let mut l = self.clone();
            for axis in (0..self.rank()).rev().filter(|a| self.shape[*a] == 1) {
                l = l.without_axis(axis);
            }
            for axis in (0..shape.len()).filter(|a| shape[*a] == 1) {
                l = l.insert_unit(axis);
            }
            return Some(l);
        }
        let powers = |s: &[u32]| s.iter().all(|e| e.is_power_of_two());
        if !powers(&self.shape) || !powers(shape) || self.padded() != self.shape {
            return None;
        }
        let relabel = |c: &Coord| {
            let mut linear = self.shape.iter().zip(c).fold(0, |n, (s, c)| n * s + c);
            let mut out: Coord = SmallVec::from_elem(0, shape.len());
            for axis in (0..shape.len()).rev() {
                out[axis] = linear % shape[axis];
                linear /= shape[axis];
            }
            out
        };
        Some(Layout {
            shape: shape.into(),
            block: shape.into(),
            repeats: SmallVec::new(),
            registers: self.registers.iter().map(relabel).collect(),
            threads: self.threads.iter().map(relabel).collect(),
        })
    }

    /// For each register of `self` the register of `source` in which the same thread holds the same element; `None` where
    /// a thread would have to ask another one.
    pub fn registers_from(&self, source: &Layout) -> Option<Vec<usize>> {
        if self.shape != source.shape
            || self.threads != source.threads
            || !(self.is_disjoint() && source.is_disjoint())
        {
            return None;
        }
        (0..self.register_count()).map(|r| source.register_at(&self.register_coord(r))).collect()
    }

    /// No coordinate bit depends on register and thread both: the coordinates are the sum of the two parts.
    pub fn is_disjoint(&self) -> bool {
        let of = |bases: &[Coord], axis: usize| bases.iter().fold(0, |n, b: &Coord| n | b[axis]);
        (0..self.rank()).all(|axis| of(&self.registers, axis) & of(&self.threads, axis) == 0)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bases = |all: &[Coord]| {
            let each: Vec<String> = all.iter().map(|b| format!("{:?}", b.as_slice())).collect();
            each.join(" ")
        };
        write!(f, "{:?}", self.shape.as_slice())?;
        write!(f, " registers {}", bases(&self.registers))?;
        let (lanes, warps) = self.threads.split_at(LANE_BITS.min(self.threads.len()));
        write!(f, " | lanes {} | warps {}", bases(lanes), bases(warps))?;
        for (axis, n) in &self.repeats {
            write!(f, " | {n} times along axis {axis}")?;
        }
        Ok(())
    }
}

/// The coordinate that is `value` along `axis` and 0 elsewhere.
pub fn unit(rank: usize, axis: usize, value: u32) -> Coord {
    let mut c: Coord = SmallVec::from_elem(0, rank);
    c[axis] = value;
    c
}

/// The exclusive or of the bases of the bits that are set.
fn combine(bases: &[Coord], bits: usize, rank: usize) -> Coord {
    let mut coord: Coord = SmallVec::from_elem(0, rank);
    for basis in bases.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, b)| b) {
        coord.iter_mut().zip(basis).for_each(|(c, b)| *c ^= b);
    }
    coord
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn blocked(shape: &[u32], vector: u32, warps: u32) -> Layout {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        Layout::blocked(&Recipe { shape, order: &order, vector, warps })
    }

    fn any_layout() -> impl Strategy<Value = Layout> {
        (prop::collection::vec(1u32..70, 0..4), 0u32..4, 0u32..4).prop_map(|(shape, v, w)| {
            let last = shape.last().copied().unwrap_or(1);
            blocked(&shape, (1 << v).min(1 << last.trailing_zeros()), 1 << w)
        })
    }

    /// Every (thread, register) of each element.
    fn places(l: &Layout) -> HashMap<Coord, Vec<(u32, usize)>> {
        let mut all: HashMap<Coord, Vec<(u32, usize)>> = HashMap::new();
        for t in 0..l.thread_count() {
            for r in 0..l.register_count() {
                all.entry(l.coord(t, r)).or_default().push((t, r));
            }
        }
        all
    }

    fn inside(l: &Layout, c: &Coord) -> bool {
        c.iter().zip(l.shape()).all(|(c, s)| c < s)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_element_has_its_place(l in any_layout()) {
            let all = places(&l);
            let count = all.keys().filter(|c| inside(&l, c)).count() as u32;
            prop_assert_eq!(count, l.shape().iter().product::<u32>());
            let copies = 1 << l.replicated_bits().count_ones();
            for held in all.values() {
                prop_assert_eq!(held.len(), copies);
                let first = held[0].0 & !l.replicated_bits();
                prop_assert!(held.iter().all(|(t, _)| t & !l.replicated_bits() == first));
            }
            prop_assert!(l.is_disjoint());
        }

        #[test]
        fn a_permuted_tile_has_the_same_registers(l in any_layout(), seed in 0usize..6) {
            let rank = l.rank() as u32;
            let mut order: Vec<u32> = (0..rank).collect();
            if rank > 0 {
                order.rotate_left(seed % rank as usize);
            }
            let p = l.permute(&order);
            for t in [0, l.thread_count() - 1] {
                for r in 0..l.register_count() {
                    let (c, d) = (l.coord(t, r), p.coord(t, r));
                    prop_assert!(order.iter().zip(&d).all(|(a, d)| c[*a as usize] == *d));
                }
            }
        }

        #[test]
        fn dropping_an_axis_forgets_its_coordinate(l in any_layout()) {
            for axis in 0..l.rank() {
                let d = l.without_axis(axis);
                prop_assert_eq!(&d.insert_unit(axis), &l.with_unit(axis));
                for r in 0..l.register_count() {
                    let mut c = l.register_coord(r);
                    c.remove(axis);
                    prop_assert!(d.register_at(&c).is_some());
                }
            }
        }

        #[test]
        fn a_reshape_keeps_row_major_order(l in any_layout(), split in 0usize..5) {
            let n = l.shape().iter().product::<u32>();
            let shape = [n >> (split as u32).min(n.trailing_zeros()), 1 << (split as u32).min(n.trailing_zeros())];
            if let Some(m) = l.reshape(&shape) {
                let linear = |l: &Layout, c: &Coord| l.shape().iter().zip(c).fold(0, |n, (s, c)| n * s + c);
                prop_assert_eq!(m.register_count(), l.register_count());
                for t in 0..l.thread_count() {
                    for r in 0..l.register_count() {
                        let c = l.coord(t, r);
                        prop_assert!(!inside(&l, &c) || linear(&l, &c) == linear(&m, &m.coord(t, r)));
                    }
                }
            }
        }

        #[test]
        fn vectors_are_neighbours_and_aligned(l in any_layout()) {
            let v = l.vector_width(8);
            for r in (0..l.register_count()).step_by(v as usize) {
                for t in 0..l.thread_count() {
                    let first = l.coord(t, r);
                    prop_assert!(v == 1 || first.last().unwrap() % v == 0);
                    for k in 1..v {
                        let mut next = first.clone();
                        *next.last_mut().unwrap() += k;
                        prop_assert_eq!(l.coord(t, r + k as usize), next);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_waste_less_than_a_third() {
        assert_eq!(blocked(&[192], 4, 1).padded().as_slice(), [192]);
        assert_eq!(blocked(&[100], 4, 1).padded().as_slice(), [128]);
        assert_eq!(blocked(&[192], 4, 1).register_count(), 12);
        assert_eq!(blocked(&[4096], 8, 8).register_count(), 16);
        assert_eq!(blocked(&[4096], 8, 8).vector_width(8), 8);
        assert_eq!(blocked(&[7], 1, 1).register_count(), 1);
    }
}

//! The plan of a kernel: what a tile program does, with every operation resolved to code, every
//! value to a place, and elementwise operations put together in groups.
//!
//! A program has a *frame*: bytes that hold its scalars (8 bytes each), the chunks of running groups,
//! and its tiles, row-major. Lengths that are known at run time alone (how far a ragged tile is
//! valid) are numbered *cells* beside it. A tile is not always stored: a constant is one scalar, a
//! load may stand for the tensor's own memory, a transposed or repeated tile for another one's.

mod allocate;
mod control;
mod group;
mod lower;
mod matrix;
mod memory;
mod ports;
mod shapes;

use crate::fault::{FaultKind, PrepareError};
use crate::kernels::map::Kernel as LaneKernel;
use crate::kernels::mma::Multiply;
use crate::kernels::reduce::Reduction;
use cutile_ir::{Element, Kernel, Loc};
use smallvec::SmallVec;

/// Extents of a tile.
pub(crate) type Dims = SmallVec<[usize; 4]>;

/// Where a scalar lies: bytes from the start of the frame.
pub(crate) type Slot = u32;

/// A length known at run time.
pub(crate) type Cell = u32;

/// A tile's storage, by position in [`Plan::buffers`].
pub(crate) type Buffer = u32;

/// The place where the address of one load or store is kept.
pub(crate) type Site = u32;

/// How far an axis is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Valid {
    /// To its extent.
    Full,
    /// To this cell's length.
    To(Cell),
}

/// How far each axis is valid.
pub(crate) type Rect = SmallVec<[Valid; 4]>;

/// Elements that a group works on at a time, so that what it computes stays in the first-level cache.
pub(crate) const CHUNK: usize = 1024;

/// The most bytes that a frame may take.
pub(crate) const FRAME_LIMIT: usize = u32::MAX as usize / 2;

/// A kernel, ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) code: Vec<Instr>,
    /// Scalars that are the same for every launch: slot, bits.
    pub(crate) constants: Vec<(Slot, u64)>,
    /// Scalar parameters: argument, slot.
    pub(crate) scalars: Vec<(usize, Slot)>,
    /// Offsets of tiles in the frame.
    pub(crate) buffers: Vec<usize>,
    pub(crate) frame_bytes: usize,
    pub(crate) cells: usize,
    pub(crate) sites: usize,
    /// The program finds tiles, then runs one group that faults nowhere and leaves nothing in the
    /// frame: programs may run side by side.
    pub(crate) streams: bool,
}

impl Plan {
    pub(crate) fn new(kernel: &Kernel) -> Result<Plan, PrepareError> {
        lower::lower(kernel.function())
    }

    /// The group of a program that only streams, and the steps before it.
    pub(crate) fn stream(&self) -> Option<(&Group, &[Instr])> {
        match self.code.split_last() {
            Some((Instr::Group(g), before)) if self.streams => Some((g, before)),
            _ => None,
        }
    }

    /// Whether `streams` holds.
    fn can_stream(&self) -> bool {
        let Some((Instr::Group(g), before)) = self.code.split_last() else { return false };
        let finds = before.iter().all(|i| {
            matches!(
                i,
                Instr::Scalar(_) | Instr::Query { .. } | Instr::Locate(_) | Instr::Min { .. }
            )
        });
        let launch_wide = |slot: &Slot| {
            self.constants.iter().any(|(s, _)| s == slot)
                || self.scalars.iter().any(|(_, s)| s == slot)
        };
        let keeps_nothing = g.ports.iter().all(|p| match &p.kind {
            PortKind::Uniform(slot) => launch_wide(slot),
            PortKind::Inner { chunk, .. } => chunk.is_some(),
            PortKind::Source { root, .. } => matches!(root, Root::Memory(..)),
            PortKind::Target(_) => false,
            PortKind::Store { .. } => true,
        });
        finds && keeps_nothing && g.rects.len() == 1 && g.ops.iter().all(|op| op.check.is_none())
    }
}

/// The memory behind a tile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Root {
    /// A tile of the frame, row-major with these extents.
    Buffer(Buffer, Dims),
    /// The tensor's own memory from a located tile on; that tile's extents.
    Memory(Site, usize, Dims),
}

/// A tile that can be read: what it is made of, and which axis of it each of its axes is (`None`
/// repeats).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    pub(crate) root: Root,
    pub(crate) map: SmallVec<[Option<u8>; 4]>,
    pub(crate) valid: Rect,
}

impl Tile {
    /// A tile that is all of a buffer.
    pub(crate) fn whole(buffer: Buffer, shape: &Dims, valid: Rect) -> Tile {
        Tile { root: Root::Buffer(buffer, shape.clone()), map: identity(shape.len()), valid }
    }

    /// The axes are the root's, in order.
    pub(crate) fn is_identity(&self) -> bool {
        let (Root::Buffer(_, shape) | Root::Memory(_, _, shape)) = &self.root;
        self.map.len() == shape.len()
            && self.map.iter().enumerate().all(|(i, a)| *a == Some(i as u8))
    }

    /// The buffer, if there is one and the axes are its own.
    pub(crate) fn as_whole(&self) -> Option<Buffer> {
        match &self.root {
            Root::Buffer(b, _) if self.is_identity() => Some(*b),
            _ => None,
        }
    }

    pub(crate) fn buffer(&self) -> Option<Buffer> {
        match &self.root {
            Root::Buffer(b, _) => Some(*b),
            Root::Memory(..) => None,
        }
    }
}

pub(crate) fn identity(rank: usize) -> SmallVec<[Option<u8>; 4]> {
    (0..rank).map(|i| Some(i as u8)).collect()
}

/// One step of a tile program.
#[derive(Debug)]
pub(crate) enum Instr {
    /// An elementwise operation on scalars.
    Scalar(ScalarOp),
    /// A number of the launch or of the program.
    Query { what: Query, dst: Slot, loc: Option<Loc> },
    /// Finds a tile of a tensor: its address, and how far it is valid.
    Locate(Access),
    /// The smallest of lengths.
    Min { dst: Cell, of: SmallVec<[Cell; 3]> },
    /// Elementwise operations on tiles of one shape.
    Group(Box<Group>),
    /// A load whose lanes outside the tensor are filled.
    LoadPadded { access: Box<Access>, fill: Slot, dst: Buffer },
    /// Counts 0, 1, 2, ..
    Iota { dst: Buffer, element: Element, n: usize },
    /// Fills a buffer with zero bytes, unless these lengths are these extents.
    Zero { dst: Buffer, bytes: usize, unless_full: SmallVec<[(Cell, usize); 3]> },
    /// The first element of a tile.
    ToScalar { src: Tile, bytes: usize, dst: Slot },
    /// A reduction of one axis.
    Reduce(Box<Reduce>),
    /// A matrix product, in place in the accumulator.
    Mma(Box<Mma>),
    /// A check of the user's.
    Assert { cond: Slot, message: String, loc: Option<Loc> },
    /// Scalars and lengths that take others' values, all at once.
    Move { slots: Vec<(Slot, Slot)>, cells: Vec<(Cell, Length)> },
    /// A counting loop.
    For(Box<For>),
    /// A loop with a condition, which is computed each time.
    While { cond: Vec<Instr>, holds: Slot, body: Vec<Instr> },
    /// One of two blocks.
    If { cond: Slot, on_true: Vec<Instr>, on_false: Vec<Instr> },
}

/// A length that is moved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Of(Cell),
    Known(usize),
}

/// A number that the launch or the program's position gives, as i32.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Query {
    Extent { tensor: usize, axis: usize },
    TileCount { tensor: usize, axis: usize, tile: usize },
    Id(usize),
    Count(usize),
}

/// What is said when a lane faults.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// The operator's name.
    pub(crate) op: &'static str,
    /// Element type of the operands.
    pub(crate) element: Element,
    pub(crate) loc: Option<Loc>,
}

#[derive(Debug)]
pub(crate) struct ScalarOp {
    pub(crate) kernel: LaneKernel,
    pub(crate) dst: Slot,
    pub(crate) src: [Slot; 3],
    pub(crate) check: Option<Check>,
}

/// A load or a store: which tile of which tensor.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) tensor: usize,
    pub(crate) bytes: usize,
    pub(crate) tile: Dims,
    pub(crate) index: SmallVec<[(Slot, Element); 4]>,
    pub(crate) site: Site,
    /// Where the valid lengths go.
    pub(crate) valid: Rect,
    /// "load" or "store".
    pub(crate) what: &'static str,
    pub(crate) loc: Option<Loc>,
}

/// Elementwise operations on tiles of one shape. Where all results are valid equally far, they run
/// chunk by chunk together; else one after the other.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) shape: Dims,
    pub(crate) ports: Vec<Port>,
    pub(crate) ops: Vec<LaneOp>,
    /// How far results are valid, each different one once; together only if these are equal.
    pub(crate) rects: Vec<Rect>,
}

/// A place that lanes come from or go to.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) bytes: usize,
    pub(crate) kind: PortKind,
}

#[derive(Debug)]
pub(crate) enum PortKind {
    /// One scalar for all lanes.
    Uniform(Slot),
    /// Computed in the group: a chunk's room in the frame, if it is not needed afterwards; a buffer.
    Inner { chunk: Option<u32>, buffer: Buffer },
    /// A tile from elsewhere; room for a chunk where its lanes have to be collected.
    Source { root: Root, map: SmallVec<[Option<u8>; 4]>, chunk: Option<u32> },
    /// All of a buffer.
    Target(Buffer),
    /// A located tile of a tensor.
    Store { site: Site, tensor: usize },
}

/// No port.
pub(crate) const NO_PORT: u16 = u16::MAX;

/// One operation of a group.
#[derive(Debug)]
pub(crate) struct LaneOp {
    pub(crate) kernel: LaneKernel,
    pub(crate) dst: u16,
    pub(crate) src: [u16; 3],
    pub(crate) valid: Rect,
    pub(crate) check: Option<Check>,
}

#[derive(Debug)]
pub(crate) struct Reduce {
    pub(crate) kernel: Reduction,
    pub(crate) axis: usize,
    pub(crate) src: Tile,
    pub(crate) shape: Dims,
    pub(crate) bytes: usize,
    pub(crate) dst: Buffer,
    pub(crate) dst_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Mma {
    pub(crate) kernel: Multiply,
    /// M, N, K.
    pub(crate) extents: [usize; 3],
    pub(crate) bytes: usize,
    pub(crate) a: Tile,
    pub(crate) b: Tile,
    pub(crate) acc: Buffer,
    /// How far M and N are valid.
    pub(crate) valid: [Valid; 2],
    pub(crate) scratch: Option<Buffer>,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) lower: Slot,
    pub(crate) upper: Slot,
    pub(crate) step: Slot,
    pub(crate) counter: Slot,
    pub(crate) element: Element,
    pub(crate) body: Vec<Instr>,
    pub(crate) loc: Option<Loc>,
}

impl Check {
    /// Which fault a division of these operands is.
    pub(crate) fn kind(&self, divisor: i128) -> FaultKind {
        if divisor == 0 { FaultKind::DivisionByZero } else { FaultKind::DivisionOverflow }
    }
}

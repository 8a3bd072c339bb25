//! Runs the plan of a kernel for one position of the grid. Which positions run, and on which thread,
//! is `launch`'s.

mod access;
mod block;
mod control;
mod group;
mod matrix;

use crate::args::Axes64;
use crate::fault::FaultKind;
use crate::plan::{Buffer, Cell, Dims, Instr, Plan, Rect, Root, Slot, Tile, Valid};
use block::Pass;
use cutile_ir::{Element, Loc, MAX_RANK};
use std::sync::atomic::{AtomicU64, Ordering};

/// A tensor of the launch.
pub(crate) struct Tensor {
    pub(crate) base: *mut u8,
    pub(crate) extents: Axes64,
    /// In elements.
    pub(crate) strides: Axes64,
}

/// What all programs of a launch share.
pub(crate) struct Launch<'a> {
    pub(crate) plan: &'a Plan,
    /// By argument; scalars have an empty entry.
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) grid: &'a [u32],
    /// The first program, in the grid's order, that has faulted so far.
    pub(crate) first_fault: AtomicU64,
}

/// A fault, where it happens.
#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) kind: FaultKind,
    pub(crate) loc: Option<Loc>,
    pub(crate) operands: [i128; 2],
    pub(crate) message: String,
}

/// Why a program does not go on.
pub(crate) enum Stop {
    Trap(Box<Trap>),
    /// A program before it in the grid has faulted.
    Cancelled,
}

pub(crate) type Run<T = ()> = Result<T, Stop>;

fn trap<T>(
    kind: FaultKind,
    loc: Option<Loc>,
    operands: [i128; 2],
    message: impl Into<String>,
) -> Run<T> {
    Err(Stop::Trap(Box::new(Trap { kind, loc, operands, message: message.into() })))
}

/// Bytes from one element to the next along each axis.
pub(crate) type Steps = [isize; MAX_RANK];

/// The state of one program. A thread uses one frame for all its programs of a launch.
pub(crate) struct Frame<'a> {
    pub(crate) launch: &'a Launch<'a>,
    /// As many bytes as the plan asks for, all initialised, 64-byte aligned.
    base: *mut u8,
    cells: Vec<usize>,
    /// Addresses of located tiles.
    sites: Vec<*mut u8>,
    /// The running group's lanes.
    pass: Pass,
    /// Lanes of the first of the programs that have joined a stream, and how many have.
    stream: Pass,
    joined: usize,
    /// The program's position, and its place in the grid's order.
    pub(crate) position: [u32; MAX_RANK],
    pub(crate) number: u64,
}

impl<'a> Frame<'a> {
    /// # Safety
    /// `base` is valid for the plan's frame, initialised, 64-byte aligned and used by nobody else
    /// while the frame lives.
    pub(crate) unsafe fn new(launch: &'a Launch<'a>, base: *mut u8) -> Frame<'a> {
        let mut frame = Frame {
            launch,
            base,
            cells: vec![0; launch.plan.cells],
            sites: vec![std::ptr::null_mut(); launch.plan.sites],
            pass: Pass::default(),
            stream: Pass::default(),
            joined: 0,
            position: [0; MAX_RANK],
            number: 0,
        };
        for (slot, bits) in &launch.plan.constants {
            frame.write(*slot, *bits);
        }
        frame
    }

    /// Runs the program at the frame's position; if it only streams, perhaps not before `finish`.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(crate) unsafe fn run(&mut self) -> Run {
        let code = &self.launch.plan.code;
        // SAFETY: the caller's contract, passed on.
        unsafe {
            match self.launch.plan.stream() {
                Some((group, before)) => {
                    self.steps(before)?;
                    self.join_stream(group)
                }
                None => self.steps(code),
            }
        }
    }

    /// Runs what is left of programs that have begun.
    ///
    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(crate) unsafe fn finish(&mut self) -> Run {
        match self.launch.plan.stream() {
            // SAFETY: the caller's contract, passed on.
            Some((group, _)) => unsafe { self.run_stream(group) },
            None => Ok(()),
        }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.launch.plan.frame_bytes.max(1));
        // SAFETY: the plan's offsets lie in the frame.
        unsafe { self.base.add(offset) }
    }

    fn slot(&self, slot: Slot) -> *mut u8 {
        self.at(slot as usize)
    }

    fn buffer(&self, b: Buffer) -> *mut u8 {
        self.at(self.launch.plan.buffers[b as usize])
    }

    /// Writes a scalar's bits.
    pub(crate) fn write(&mut self, slot: Slot, bits: u64) {
        // SAFETY: a slot is 8 aligned bytes of the frame.
        unsafe { self.slot(slot).cast::<u64>().write(bits.to_le()) }
    }

    fn read(&self, slot: Slot) -> u64 {
        // SAFETY: a slot is 8 aligned, initialised bytes of the frame.
        u64::from_le(unsafe { self.slot(slot).cast::<u64>().read() })
    }

    fn holds(&self, slot: Slot) -> bool {
        self.read(slot) as u8 != 0
    }

    fn integer(&self, slot: Slot, element: Element) -> i128 {
        integer(self.read(slot), element)
    }

    fn length(&self, valid: Valid, extent: usize) -> usize {
        match valid {
            Valid::Full => extent,
            Valid::To(c) => self.cells[c as usize],
        }
    }

    fn lengths(&self, rect: &Rect, shape: &Dims) -> Dims {
        rect.iter().zip(shape).map(|(v, n)| self.length(*v, *n)).collect()
    }

    fn set_length(&mut self, valid: Valid, length: usize) {
        if let Valid::To(c) = valid {
            self.set_cell(c, length);
        }
    }

    fn set_cell(&mut self, cell: Cell, length: usize) {
        self.cells[cell as usize] = length;
    }

    /// Where a tile's memory begins, and its steps.
    fn view(&self, root: &Root, map: &[Option<u8>], bytes: usize) -> (*mut u8, Steps) {
        let (base, steps) = match root {
            Root::Buffer(b, shape) => (self.buffer(*b), dense(shape, bytes)),
            Root::Memory(site, tensor, _) => {
                (self.sites[*site as usize], self.tensor_steps(*tensor, bytes))
            }
        };
        let mut mapped = [0; MAX_RANK];
        for (m, axis) in mapped.iter_mut().zip(map) {
            *m = axis.map_or(0, |a| steps[a as usize]);
        }
        (base, mapped)
    }

    fn tile(&self, tile: &Tile, bytes: usize) -> (*mut u8, Steps) {
        self.view(&tile.root, &tile.map, bytes)
    }

    fn tensor_steps(&self, tensor: usize, bytes: usize) -> Steps {
        let mut steps = [0; MAX_RANK];
        for (s, stride) in steps.iter_mut().zip(&self.launch.tensors[tensor].strides) {
            *s = (*stride as isize).wrapping_mul(bytes as isize);
        }
        steps
    }

    /// Whether an earlier program has faulted, so that this one need not go on.
    fn check_cancelled(&self) -> Run {
        if self.launch.first_fault.load(Ordering::Relaxed) < self.number {
            return Err(Stop::Cancelled);
        }
        Ok(())
    }

    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    unsafe fn steps(&mut self, code: &[Instr]) -> Run {
        for instr in code {
            // SAFETY: the caller's contract, passed on.
            unsafe { self.step(instr)? };
        }
        Ok(())
    }

    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    unsafe fn step(&mut self, instr: &Instr) -> Run {
        // SAFETY: the caller's contract, passed on.
        unsafe {
            match instr {
                Instr::Scalar(op) => self.scalar(op),
                Instr::Query { what, dst, loc } => self.query(*what, *dst, *loc),
                Instr::Locate(access) => self.locate(access),
                Instr::Min { dst, of } => {
                    let min = of.iter().map(|c| self.cells[*c as usize]).min();
                    self.set_cell(*dst, min.unwrap_or(0));
                    Ok(())
                }
                Instr::Group(g) => self.group(g),
                Instr::LoadPadded { access, fill, dst } => {
                    self.load_padded(access, *fill, *dst);
                    Ok(())
                }
                Instr::Iota { dst, element, n } => {
                    self.iota(*dst, *element, *n);
                    Ok(())
                }
                Instr::Zero { dst, bytes, unless_full } => {
                    if unless_full.iter().any(|(c, n)| self.cells[*c as usize] != *n) {
                        self.buffer(*dst).write_bytes(0, *bytes);
                    }
                    Ok(())
                }
                Instr::ToScalar { src, bytes, dst } => {
                    let (from, _) = self.tile(src, *bytes);
                    self.slot(*dst).copy_from_nonoverlapping(from, *bytes);
                    Ok(())
                }
                Instr::Reduce(r) => {
                    self.reduce(r);
                    Ok(())
                }
                Instr::Mma(m) => {
                    self.mma(m);
                    Ok(())
                }
                Instr::Assert { cond, message, loc } => self.assert(*cond, message, *loc),
                Instr::Move { slots, cells } => {
                    self.moves(slots, cells);
                    Ok(())
                }
                Instr::For(f) => self.counting(f),
                Instr::While { cond, holds, body } => self.conditional(cond, *holds, body),
                Instr::If { cond, on_true, on_false } => {
                    self.steps(if self.holds(*cond) { on_true } else { on_false })
                }
            }
        }
    }
}

/// An integer of an element type from its bits.
fn integer(bits: u64, element: Element) -> i128 {
    match element {
        Element::I8 => (bits as i8).into(),
        Element::I16 => (bits as i16).into(),
        Element::I32 => (bits as i32).into(),
        Element::I64 => (bits as i64).into(),
        Element::U8 => (bits as u8).into(),
        Element::U16 => (bits as u16).into(),
        Element::U32 => (bits as u32).into(),
        _ => bits.into(),
    }
}

/// The steps of a row-major tile.
fn dense(shape: &[usize], bytes: usize) -> Steps {
    let mut steps = [0; MAX_RANK];
    let mut step = bytes;
    for axis in (0..shape.len()).rev() {
        steps[axis] = step as isize;
        step *= shape[axis];
    }
    steps
}

/// The next index over some axes, the last one fastest; false after the last one.
fn next_index(
    index: &mut [usize; MAX_RANK],
    lengths: &[usize],
    axes: impl DoubleEndedIterator<Item = usize>,
) -> bool {
    for axis in axes.rev() {
        index[axis] += 1;
        if index[axis] < lengths[axis] {
            return true;
        }
        index[axis] = 0;
    }
    false
}

//! Puts elementwise operations on tiles of one shape together. A group is *pending* while it grows;
//! flushing it makes it a step of the plan. Scalar steps and the finding of tiles are emitted ahead
//! of it meanwhile, which nothing can tell: they don't depend on it, and what may fault or store
//! flushes it where the order matters.

use super::lower::{Lower, Lowered, Rep, full};
use super::ports::GroupBuilder;
use super::*;
use crate::kernels::arith;
use cutile_ir::{Op, Value};

/// A group that still grows.
pub(super) struct Pending {
    pub(super) shape: Dims,
    pub(super) ops: Vec<PendingOp>,
    /// Tensors that it stores to, with the tile's extents.
    stores: Vec<(usize, Dims)>,
}

pub(super) struct PendingOp {
    pub(super) kernel: LaneKernel,
    pub(super) dst: Dst,
    pub(super) src: SmallVec<[Operand; 3]>,
    pub(super) valid: Rect,
    pub(super) check: Option<Check>,
}

/// Where an operation's result goes.
pub(super) enum Dst {
    Member(Value),
    Target(Buffer, usize),
    Store { site: Site, tensor: usize, bytes: usize },
}

/// What an operation reads, with the bytes of an element.
pub(super) enum Operand {
    Uniform(Slot, usize),
    Member(usize),
    Source(Tile, usize),
}

impl Pending {
    pub(super) fn has_stores(&self) -> bool {
        !self.stores.is_empty()
    }

    pub(super) fn has_checks(&self) -> bool {
        self.ops.iter().any(|o| o.check.is_some())
    }

    /// Whether an operation reads what `found` picks.
    fn reads(&self, found: impl Fn(&Tile) -> bool) -> bool {
        self.ops.iter().flat_map(|o| &o.src).any(|s| matches!(s, Operand::Source(t, _) if found(t)))
    }
}

/// Whether chunk by chunk, reading this tile and storing tiles of these extents to that tensor do
/// not meet but at the same elements: tiles of one cut are equal or apart.
fn apart(read: &Tile, stored: usize, cut: &Dims) -> bool {
    match &read.root {
        Root::Memory(_, tensor, tile) => *tensor != stored || (tile == cut && read.is_identity()),
        Root::Buffer(..) => true,
    }
}

impl Lower<'_> {
    pub(super) fn flush_if(&mut self, when: impl Fn(&Pending) -> bool) -> Lowered<()> {
        if self.pending.as_ref().is_some_and(when) { self.flush() } else { Ok(()) }
    }

    /// The pending group, of that shape.
    fn group(&mut self, shape: &Dims) -> Lowered<&mut Pending> {
        self.flush_if(|p| p.shape != *shape)?;
        Ok(self.pending.get_or_insert_with(|| Pending {
            shape: shape.clone(),
            ops: Vec::new(),
            stores: Vec::new(),
        }))
    }

    fn operand(&self, op: &Op, v: Value) -> Lowered<Operand> {
        let bytes = self.element(v).bytes();
        match self.rep(op, v)? {
            Rep::Scalar(s) | Rep::Uniform(s) => Ok(Operand::Uniform(s, bytes)),
            Rep::Member(i) => Ok(Operand::Member(i)),
            Rep::Tile(t) => Ok(Operand::Source(t, bytes)),
            Rep::Tensor(_) | Rep::View { .. } => self.refuse(op, "an operand is not a tile"),
        }
    }

    /// How far operands are valid together.
    fn valid(&mut self, rank: usize, operands: &[Operand]) -> Rect {
        let rects: Vec<Rect> = operands
            .iter()
            .filter_map(|o| match o {
                Operand::Uniform(..) => None,
                Operand::Member(i) => self.pending.as_ref().map(|p| p.ops[*i].valid.clone()),
                Operand::Source(t, _) => Some(t.valid.clone()),
            })
            .collect();
        self.min_valid(rank, &rects)
    }

    /// Adds an operation on tiles to the pending group.
    pub(super) fn join(
        &mut self,
        op: &Op,
        result: Value,
        kernel: LaneKernel,
        operands: &[Value],
        check: Option<Check>,
    ) -> Lowered<()> {
        let shape = self.dims(result);
        if check.is_some() {
            self.flush_if(Pending::has_stores)?;
        }
        self.group(&shape)?;
        let src = operands
            .iter()
            .map(|v| self.operand(op, *v))
            .collect::<Lowered<SmallVec<[Operand; 3]>>>()?;
        let valid = self.valid(shape.len(), &src);
        let member =
            self.push(&shape, PendingOp { kernel, dst: Dst::Member(result), src, valid, check })?;
        self.define(result, Rep::Member(member));
        Ok(())
    }

    fn push(&mut self, shape: &Dims, op: PendingOp) -> Lowered<usize> {
        let group = self.group(shape)?;
        group.ops.push(op);
        Ok(group.ops.len() - 1)
    }

    fn copy_kernel(&self, op: &Op, bytes: usize) -> Lowered<LaneKernel> {
        match arith::copy(bytes) {
            Some(k) => Ok(k),
            None => self.refuse(op, format!("elements of {bytes} bytes")),
        }
    }

    /// Adds a copy of a value, or of another tile of its type, to the pending group.
    fn push_copy(
        &mut self,
        op: &Op,
        v: Value,
        other: Option<Tile>,
        dst: Dst,
        limit: &[Rect],
    ) -> Lowered<Rect> {
        let shape = self.dims(v);
        self.group(&shape)?;
        let bytes = self.element(v).bytes();
        let kernel = self.copy_kernel(op, bytes)?;
        let src = match other {
            Some(tile) => Operand::Source(tile, bytes),
            None => self.operand(op, v)?,
        };
        let own = self.valid(shape.len(), std::slice::from_ref(&src));
        let rects: Vec<Rect> = limit.iter().cloned().chain([own]).collect();
        let valid = self.min_valid(shape.len(), &rects);
        let src = SmallVec::from_iter([src]);
        self.push(&shape, PendingOp { kernel, dst, src, valid: valid.clone(), check: None })?;
        Ok(valid)
    }

    /// Copies a tile to a buffer of its size; gives how far it is valid.
    pub(super) fn copy_to(&mut self, op: &Op, v: Value, buffer: Buffer) -> Lowered<Rect> {
        // Chunk by chunk, what is copied may be overwritten before it is read in another order.
        self.flush_if(|p| p.reads(|t| t.buffer() == Some(buffer) && !t.is_identity()))?;
        let bytes = self.element(v).bytes();
        self.push_copy(op, v, None, Dst::Target(buffer, bytes), &[])
    }

    /// Copies a tile that has a value's shape to a buffer of its size.
    pub(super) fn copy_tile_to(
        &mut self,
        op: &Op,
        like: Value,
        tile: Tile,
        buffer: Buffer,
    ) -> Lowered<Rect> {
        let bytes = self.element(like).bytes();
        self.push_copy(op, like, Some(tile), Dst::Target(buffer, bytes), &[])
    }

    /// Copies a tile that stands for a tensor's memory to a buffer, now.
    pub(super) fn keep(&mut self, op: &Op, v: Value) -> Lowered<()> {
        let shape = self.dims(v);
        let kernel = self.copy_kernel(op, self.element(v).bytes())?;
        self.group(&shape)?;
        let src = self.operand(op, v)?;
        let valid = self.valid(shape.len(), std::slice::from_ref(&src));
        let src = SmallVec::from_iter([src]);
        let dst = Dst::Member(v);
        let member = self.push(&shape, PendingOp { kernel, dst, src, valid, check: None })?;
        self.replace(v, Rep::Member(member));
        Ok(())
    }

    /// Stores a tile.
    pub(super) fn store(&mut self, op: &Op, v: Value, access: Access) -> Lowered<()> {
        let (tensor, site) = (access.tensor, access.site);
        let (cut, valid) = (access.tile.clone(), access.valid.clone());
        let bytes = access.bytes;
        self.emit(Instr::Locate(access));
        if let Rep::Tile(t) = self.rep(op, v)?
            && matches!(t.root, Root::Memory(_, read, _) if read == tensor)
        {
            // What is stored is the tensor's own memory: it is put aside first, by chunks if no chunk
            // overwrites what another one reads.
            self.keep(op, v)?;
            if !apart(&t, tensor, &cut) {
                self.flush()?;
            }
        }
        self.flush_if(|p| {
            p.reads(|t| !apart(t, tensor, &cut))
                || p.stores.iter().any(|(t, c)| *t == tensor && *c != cut)
        })?;
        self.push_copy(op, v, None, Dst::Store { site, tensor, bytes }, &[valid])?;
        self.group(&cut)?.stores.push((tensor, cut.clone()));
        Ok(())
    }

    /// A value as a tile that can be read by itself; a uniform one is written out.
    pub(super) fn tile(&mut self, op: &Op, v: Value) -> Lowered<Tile> {
        self.flush()?;
        if let Rep::Tile(t) = self.rep(op, v)? {
            return Ok(t);
        }
        let shape = self.dims(v);
        let buffer = self.new_buffer(v);
        self.copy_to(op, v, buffer)?;
        self.flush()?;
        Ok(Tile::whole(buffer, &shape, full(shape.len())))
    }

    /// Makes the pending group a step of the plan.
    pub(super) fn flush(&mut self) -> Lowered<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let (needed, escapes) = self.needs(&pending);
        let rects = rects(&pending, &needed, &escapes);
        if rects.is_empty() {
            return Ok(());
        }
        let group =
            GroupBuilder::new(&pending, &rects).build(self, &pending, &needed, &escapes, rects);
        self.code.push(Instr::Group(Box::new(group)));
        for (i, op) in pending.ops.iter().enumerate() {
            if let Dst::Member(v) = op.dst
                && let Some(b) = escapes[i]
            {
                let tile = Tile::whole(b, &pending.shape, op.valid.clone());
                self.replace(v, Rep::Tile(tile));
            }
        }
        Ok(())
    }

    /// Which operations have an effect, and which members are needed after the group: their buffer.
    fn needs(&mut self, p: &Pending) -> (Vec<bool>, Vec<Option<Buffer>>) {
        let mut inside = vec![0u32; p.ops.len()];
        for s in p.ops.iter().flat_map(|o| &o.src) {
            if let Operand::Member(i) = s {
                inside[*i] += 1;
            }
        }
        let escapes: Vec<Option<Buffer>> = (p.ops.iter().zip(&inside))
            .map(|(op, inside)| match op.dst {
                Dst::Member(v) if self.uses[v.0 as usize] > *inside => Some(self.new_buffer(v)),
                _ => None,
            })
            .collect();
        let mut needed: Vec<bool> = (p.ops.iter().zip(&escapes))
            .map(|(o, e)| e.is_some() || o.check.is_some() || !matches!(o.dst, Dst::Member(_)))
            .collect();
        for i in (0..p.ops.len()).rev().filter(|i| needed[*i]).collect::<Vec<_>>() {
            mark(&p.ops, i, &mut needed);
        }
        (needed, escapes)
    }
}

/// Marks the members that an operation needs.
fn mark(ops: &[PendingOp], i: usize, needed: &mut [bool]) {
    for s in &ops[i].src {
        if let Operand::Member(j) = s
            && !needed[*j]
        {
            needed[*j] = true;
            mark(ops, *j, needed);
        }
    }
}

/// How far the group's results are valid, each different one once. A member that may fault counts: it
/// faults in all its valid lanes, needed or not.
fn rects(p: &Pending, needed: &[bool], escapes: &[Option<Buffer>]) -> Vec<Rect> {
    let mut rects: Vec<Rect> = Vec::new();
    for (i, op) in p.ops.iter().enumerate().filter(|(i, _)| needed[*i]) {
        let result =
            escapes[i].is_some() || op.check.is_some() || !matches!(op.dst, Dst::Member(_));
        if result && !rects.contains(&op.valid) {
            rects.push(op.valid.clone());
        }
    }
    rects
}

//! From the operations of a kernel to steps of a plan, one operation at a time. Groups of
//! elementwise operations are put together in `group`, control flow stands in `control`, changes of
//! shape in `shapes`.

use super::allocate::{ALIGN, Buffers};
use super::group::Pending;
use super::*;
use crate::kernels::arith;
use crate::kernels::lane::literal_bits;
use cutile_ir::op::*;
use cutile_ir::{Block, ElementType, Function, Op, OpKind, Type, Value};
use std::collections::HashMap;

/// What stands for a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rep {
    Scalar(Slot),
    /// A tile with one scalar in every element, fully valid.
    Uniform(Slot),
    Tile(Tile),
    /// The result of an operation of the pending group.
    Member(usize),
    Tensor(usize),
    View {
        tensor: usize,
        tile: Dims,
    },
}

pub(super) struct Lower<'a> {
    pub(super) f: &'a Function,
    /// How often each value is used.
    pub(super) uses: Vec<u32>,
    reps: Vec<Option<Rep>>,
    /// The block in which each value is defined, and the one being lowered.
    pub(super) homes: Vec<u32>,
    pub(super) block: u32,
    blocks: u32,
    pub(super) code: Vec<Instr>,
    pub(super) pending: Option<Pending>,
    pub(super) buffers: Buffers,
    /// Room that the largest group needs for its chunks.
    pub(super) chunk_bytes: usize,
    /// Minima that are computed already in this block or around it.
    minima: HashMap<SmallVec<[Cell; 3]>, Cell>,
    constants: Vec<(Slot, u64)>,
    slots: u32,
    cells: u32,
    pub(super) sites: u32,
}

pub(super) type Lowered<T> = Result<T, PrepareError>;

/// Plans a verified, specialised function.
pub(super) fn lower(f: &Function) -> Lowered<Plan> {
    let mut l = Lower {
        f,
        uses: f.use_counts(),
        reps: vec![None; f.values.len()],
        homes: vec![0; f.values.len()],
        block: 0,
        blocks: 0,
        code: Vec::new(),
        pending: None,
        buffers: Buffers::default(),
        chunk_bytes: 0,
        minima: HashMap::new(),
        constants: Vec::new(),
        slots: 0,
        cells: 0,
        sites: 0,
    };
    let mut scalars = Vec::new();
    for (i, p) in f.params.iter().enumerate() {
        let rep = match f.ty(p.value) {
            Type::Tensor(_) => Rep::Tensor(i),
            _ => {
                let slot = l.new_slot();
                scalars.push((i, slot));
                Rep::Scalar(slot)
            }
        };
        l.define(p.value, rep);
    }
    l.operations(&f.body)?;
    l.flush()?;
    l.finish(scalars)
}

impl Lower<'_> {
    /// Frame: scalars, then chunks, then tiles.
    fn finish(mut self, scalars: Vec<(usize, Slot)>) -> Lowered<Plan> {
        let chunks_at = (self.slots as usize * 8).next_multiple_of(ALIGN);
        let tiles_at = (chunks_at + self.chunk_bytes).next_multiple_of(ALIGN);
        let (buffers, frame_bytes) =
            self.buffers.place(tiles_at).ok_or_else(|| self.too_large())?;
        shift_chunks(&mut self.code, chunks_at as u32);
        let mut plan = Plan {
            code: self.code,
            constants: self.constants,
            scalars,
            buffers,
            frame_bytes,
            cells: self.cells as usize,
            sites: self.sites as usize,
            streams: false,
        };
        plan.streams = plan.can_stream();
        Ok(plan)
    }

    fn too_large(&self) -> PrepareError {
        PrepareError::TooLarge { kernel: self.f.name.clone(), limit: FRAME_LIMIT }
    }

    pub(super) fn refuse<T>(&self, op: &Op, reason: impl Into<String>) -> Lowered<T> {
        Err(PrepareError::Unsupported {
            kernel: self.f.name.clone(),
            op: op.kind.name().to_string(),
            reason: reason.into(),
        })
    }

    pub(super) fn new_slot(&mut self) -> Slot {
        self.slots += 1;
        (self.slots - 1) * 8
    }

    pub(super) fn new_cell(&mut self) -> Cell {
        self.cells += 1;
        self.cells - 1
    }

    pub(super) fn define(&mut self, v: Value, rep: Rep) {
        self.reps[v.0 as usize] = Some(rep);
        self.homes[v.0 as usize] = self.block;
    }

    pub(super) fn replace(&mut self, v: Value, rep: Rep) {
        self.reps[v.0 as usize] = Some(rep);
    }

    /// What stands for a value that is defined.
    pub(super) fn rep(&self, op: &Op, v: Value) -> Lowered<Rep> {
        match &self.reps[v.0 as usize] {
            Some(r) => Ok(r.clone()),
            None => self.refuse(op, format!("value {} is not defined", v.0)),
        }
    }

    pub(super) fn dims(&self, v: Value) -> Dims {
        match self.f.ty(v) {
            Type::Tile(t) => t.numbers().into_iter().collect(),
            Type::View(t) => t.tile().numbers().into_iter().collect(),
            _ => Dims::new(),
        }
    }

    pub(super) fn element(&self, v: Value) -> Element {
        ElementType::expect(self.f.ty(v).element())
    }

    /// Bytes of a whole tile; more than can be had if there is no such number.
    pub(super) fn tile_bytes(&self, v: Value) -> usize {
        let bytes = self.element(v).bytes();
        self.dims(v).iter().fold(bytes, |n, d| n.saturating_mul(*d))
    }

    pub(super) fn new_buffer(&mut self, v: Value) -> Buffer {
        let bytes = self.tile_bytes(v);
        self.buffers.new_buffer(bytes, Some(v))
    }

    pub(super) fn emit(&mut self, instr: Instr) {
        self.buffers.advance();
        self.code.push(instr);
    }

    /// Lowers the operations of a block in order.
    pub(super) fn operations(&mut self, block: &Block) -> Lowered<()> {
        for (i, op) in block.ops.iter().enumerate() {
            self.operation(block, i, op)?;
        }
        Ok(())
    }

    /// Lowers a nested block with `inside`, and gives its code.
    pub(super) fn nested<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<(Vec<Instr>, T)> {
        let outer = (self.block, std::mem::take(&mut self.code), self.minima.clone());
        self.blocks += 1;
        self.block = self.blocks;
        let result = inside(self);
        let code = std::mem::replace(&mut self.code, outer.1);
        (self.block, self.minima) = (outer.0, outer.2);
        Ok((code, result?))
    }

    fn operation(&mut self, block: &Block, index: usize, op: &Op) -> Lowered<()> {
        match &op.kind {
            OpKind::Create(k) => self.create(op, k),
            OpKind::Arith(k) => self.arith(op, k),
            OpKind::Shape(k) => self.shape(op, k),
            OpKind::Memory(k) => self.memory(block, index, op, k),
            OpKind::Reduce(ReduceOp::Reduce { kind, axis, x }) => {
                self.reduce(op, *kind, *axis as usize, *x)
            }
            OpKind::Matrix(MatrixOp::Mma { a, b, acc }) => self.mma(op, *a, *b, *acc),
            OpKind::Program(k) => self.program(op, k),
            OpKind::Control(k) => self.control(op, k),
        }
    }

    pub(super) fn constant(&mut self, bits: u64) -> Slot {
        if let Some((slot, _)) = self.constants.iter().find(|(_, b)| *b == bits) {
            return *slot;
        }
        let slot = self.new_slot();
        self.constants.push((slot, bits));
        slot
    }

    fn create(&mut self, op: &Op, k: &CreateOp) -> Lowered<()> {
        let result = op.results[0];
        let element = self.element(result);
        let literal = match k {
            CreateOp::Constant { value } => *value,
            CreateOp::Dim { dim } if element == Element::Bool => Literal::Bool(dim.expect() != 0),
            CreateOp::Dim { dim } => Literal::Int(dim.expect().into()),
            CreateOp::Splat { scalar } => {
                let Rep::Scalar(slot) = self.rep(op, *scalar)? else {
                    return self.refuse(op, "the operand is not a scalar");
                };
                self.define(result, Rep::Uniform(slot));
                return Ok(());
            }
            CreateOp::Iota {} => {
                let dst = self.new_buffer(result);
                let shape = self.dims(result);
                self.emit(Instr::Iota { dst, element, n: shape.iter().product() });
                self.buffers.touch(dst);
                let valid = full(shape.len());
                self.define(result, Rep::Tile(Tile::whole(dst, &shape, valid)));
                return Ok(());
            }
        };
        let Some(bits) = literal_bits(literal, element) else {
            return self.refuse(op, format!("there are no literals of {element}"));
        };
        let slot = self.constant(bits);
        let is_tile = self.f.ty(result).as_tile().is_some();
        self.define(result, if is_tile { Rep::Uniform(slot) } else { Rep::Scalar(slot) });
        Ok(())
    }

    /// An elementwise operation: its kernel, and what to say when it faults.
    fn arith(&mut self, op: &Op, k: &ArithOp) -> Lowered<()> {
        let result = op.results[0];
        let operands = op.kind.operands();
        let from = self.element(operands[0]);
        let to = self.element(result);
        let kernel = match k {
            ArithOp::Unary { op, .. } => arith::unary(*op, from),
            ArithOp::Binary { op, .. } => arith::binary(*op, from),
            ArithOp::Compare { op, .. } => arith::compare(*op, from),
            ArithOp::Select { .. } => arith::select(to.bytes()),
            ArithOp::Fma { .. } => arith::fma(from),
            ArithOp::Convert { .. } if from == to => arith::copy(to.bytes()),
            ArithOp::Convert { .. } => arith::convert(from, to),
            ArithOp::Bitcast { .. } => arith::copy(to.bytes()),
        };
        let Some(kernel) = kernel else {
            return self.refuse(op, format!("{from} does not have it"));
        };
        let check = match k {
            ArithOp::Binary { op: b, .. } if b.may_fault() && from.is_integer() => {
                Some(Check { op: b.word(), element: from, loc: op.loc })
            }
            _ => None,
        };
        self.lanes(op, result, kernel, &operands, check)
    }

    /// Scalar operands give a scalar; tiles of one scalar each give such a tile.
    fn lanes(
        &mut self,
        op: &Op,
        result: Value,
        kernel: LaneKernel,
        operands: &[Value],
        check: Option<Check>,
    ) -> Lowered<()> {
        let mut src = [0; 3];
        for (v, s) in operands.iter().zip(&mut src) {
            match self.rep(op, *v)? {
                Rep::Scalar(slot) | Rep::Uniform(slot) => *s = slot,
                _ => return self.join(op, result, kernel, operands, check),
            }
        }
        if check.is_some() {
            self.flush()?;
        }
        let dst = self.new_slot();
        self.emit(Instr::Scalar(ScalarOp { kernel, dst, src, check }));
        let is_tile = self.f.ty(result).as_tile().is_some();
        self.define(result, if is_tile { Rep::Uniform(dst) } else { Rep::Scalar(dst) });
        Ok(())
    }

    /// The axis-wise minimum of valid lengths.
    pub(super) fn min_valid(&mut self, rank: usize, rects: &[Rect]) -> Rect {
        let mut result = Rect::new();
        for axis in 0..rank {
            let mut cells: SmallVec<[Cell; 3]> = rects
                .iter()
                .filter_map(|r| match r[axis] {
                    Valid::Full => None,
                    Valid::To(c) => Some(c),
                })
                .collect();
            cells.sort_unstable();
            cells.dedup();
            result.push(match cells[..] {
                [] => Valid::Full,
                [c] => Valid::To(c),
                _ => match self.minima.get(&cells) {
                    Some(c) => Valid::To(*c),
                    None => {
                        let dst = self.new_cell();
                        self.minima.insert(cells.clone(), dst);
                        self.emit(Instr::Min { dst, of: cells });
                        Valid::To(dst)
                    }
                },
            });
        }
        result
    }

    fn program(&mut self, op: &Op, k: &ProgramOp) -> Lowered<()> {
        match k {
            ProgramOp::Id { axis } => self.query(op, Query::Id(*axis as usize)),
            ProgramOp::Count { axis } => self.query(op, Query::Count(*axis as usize)),
            ProgramOp::Assert { cond, message } => {
                self.flush()?;
                let cond = self.scalar(op, *cond)?;
                let message = message.0.clone();
                self.emit(Instr::Assert { cond, message, loc: op.loc });
            }
        }
        Ok(())
    }

    pub(super) fn scalar(&self, op: &Op, v: Value) -> Lowered<Slot> {
        match self.rep(op, v)? {
            Rep::Scalar(s) => Ok(s),
            _ => self.refuse(op, format!("value {} is not a scalar", v.0)),
        }
    }
}

/// Valid to every extent.
pub(super) fn full(rank: usize) -> Rect {
    Rect::from_elem(Valid::Full, rank)
}

/// Group chunks get their place after the scalars, whose number is known only at the end.
fn shift_chunks(code: &mut [Instr], by: u32) {
    for instr in code {
        match instr {
            Instr::Group(g) => {
                for port in &mut g.ports {
                    match &mut port.kind {
                        PortKind::Inner { chunk: Some(c), .. }
                        | PortKind::Source { chunk: Some(c), .. } => *c += by,
                        _ => {}
                    }
                }
            }
            Instr::For(f) => shift_chunks(&mut f.body, by),
            Instr::While { cond, body, .. } => {
                shift_chunks(cond, by);
                shift_chunks(body, by);
            }
            Instr::If { on_true, on_false, .. } => {
                shift_chunks(on_true, by);
                shift_chunks(on_false, by);
            }
            _ => {}
        }
    }
}

//! Software pipelining: which loads of a loop are copied to shared memory some turns ahead of the product that reads them.

use super::shared::SharedMatrix;
use super::threads::extents;
use cutile_bundle::target::Arch;
use cutile_ir::op::{ArithOp, ControlOp, MatrixOp, MemoryOp, OpKind, Padding, ShapeOp};
use cutile_ir::{Block, Function, Op, ParamRole, Value};
use std::collections::{HashMap, HashSet};

/// The pipeline of one loop.
#[derive(Clone, Debug)]
pub struct Pipeline<'k> {
    /// What is copied.
    pub loads: Vec<Staged<'k>>,
    /// Turns that shared memory has room for.
    pub stages: u32,
    /// Bytes of one turn.
    pub bytes: u32,
    /// The scalar operations of the body that the indices of the loads need, in order.
    pub slice: Vec<&'k Op>,
}

/// A load that is copied ahead.
#[derive(Clone, Copy, Debug)]
pub struct Staged<'k> {
    /// The load.
    pub load: &'k Op,
    /// The permutation between it and the product, if there is one.
    pub turn: Option<&'k Op>,
    /// How the loaded tile, not the turned one, lies in shared memory.
    pub matrix: SharedMatrix,
    /// Where in a stage.
    pub offset: u32,
}

/// Shared memory that four stages may take before fewer must do: two blocks then share a multiprocessor.
const COMFORTABLE: u32 = 100 * 1024;

/// Finds the pipeline of a `for` loop; `None` where no product's operands can be copied ahead.
pub fn find<'k>(
    f: &Function,
    uses: &[u32],
    op: &'k Op,
    arch: Arch,
    limit: u32,
) -> Option<Pipeline<'k>> {
    let OpKind::Control(ControlOp::For { body, .. }) = &op.kind else { return None };
    if (arch.major, arch.minor) < (8, 0) {
        return None;
    }
    let inside = Inside::of(f, body);
    let mut p = Pipeline { loads: Vec::new(), stages: 0, bytes: 0, slice: Vec::new() };
    let mut needed = HashSet::new();
    for op in &body.ops {
        let OpKind::Matrix(MatrixOp::Mma { a, b, .. }) = &op.kind else { continue };
        for operand in [*a, *b] {
            if let Some(mut staged) = inside.staged(uses, operand, &mut needed) {
                staged.offset = p.bytes;
                p.bytes += staged.matrix.size().next_multiple_of(128);
                p.loads.push(staged);
            }
        }
    }
    if p.loads.is_empty() {
        return None;
    }
    p.stages = match p.bytes {
        b if b * 4 <= COMFORTABLE => 4,
        b => (limit / b).min(4),
    };
    p.slice = body.ops.iter().filter(|op| op.results.iter().any(|r| needed.contains(r))).collect();
    (p.stages >= 2).then_some(p)
}

struct Inside<'a, 'k> {
    f: &'a Function,
    definitions: HashMap<Value, &'k Op>,
    /// Everything that the body defines, in nested blocks and by parameters too.
    own: HashSet<Value>,
    counter: Value,
    sources: HashMap<Value, Value>,
}

impl<'a, 'k> Inside<'a, 'k> {
    fn of(f: &'a Function, body: &'k Block) -> Self {
        let mut own: HashSet<Value> = body.params.iter().copied().collect();
        body.for_each_op(&mut |op| own.extend(op.results.iter().copied()));
        let definitions =
            body.ops.iter().flat_map(|op| op.results.iter().map(move |r| (*r, op))).collect();
        let mut sources = HashMap::new();
        f.body.for_each_op(&mut |op| {
            if let OpKind::Memory(MemoryOp::Partition { tensor }) = &op.kind {
                sources.extend(op.results.iter().map(|v| (*v, *tensor)));
            }
        });
        Inside { f, definitions, own, counter: body.params[0], sources }
    }

    fn staged(
        &self,
        uses: &[u32],
        operand: Value,
        needed: &mut HashSet<Value>,
    ) -> Option<Staged<'k>> {
        let once = |v: Value| uses[v.0 as usize] == 1;
        let mut def = *self.definitions.get(&operand).filter(|_| once(operand))?;
        let mut turn = None;
        if let OpKind::Shape(ShapeOp::Permute { order, x }) = &def.kind {
            if order[..] != [1, 0] {
                return None;
            }
            turn = Some(def);
            def = *self.definitions.get(x).filter(|_| once(*x))?;
        }
        let OpKind::Memory(MemoryOp::Load { view, index, padding: Padding::Clip }) = &def.kind
        else {
            return None;
        };
        let tensor = self.sources.get(view).filter(|_| !self.own.contains(view))?;
        let shared =
            self.f.params.iter().any(|p| p.value == *tensor && p.role == ParamRole::Shared);
        let tile = self.f.ty(def.results[0]).as_tile()?;
        let shape = extents(tile);
        let bytes = tile.element.expect().bytes() as u32;
        let [rows, columns] = shape[..] else { return None };
        if !shared || !(columns * bytes).is_multiple_of(16) {
            return None;
        }
        let mut slice = HashSet::new();
        if !index.iter().all(|i| self.scalar_slice(*i, &mut slice)) {
            return None;
        }
        needed.extend(slice);
        let matrix = SharedMatrix::new(rows, columns, bytes);
        Some(Staged { load: def, turn, matrix, offset: 0 })
    }

    /// Whether a scalar follows from the counter and values from outside by operations that can be done at any time.
    fn scalar_slice(&self, v: Value, slice: &mut HashSet<Value>) -> bool {
        if v == self.counter || !self.own.contains(&v) || slice.contains(&v) {
            return true;
        }
        let Some(def) = self.definitions.get(&v) else { return false };
        let simple = match &def.kind {
            OpKind::Arith(ArithOp::Binary { op, .. }) => !op.may_fault(),
            OpKind::Arith(_) | OpKind::Create(_) | OpKind::Program(_) => true,
            _ => false,
        };
        let fits = simple
            && self.f.ty(v).as_tile().is_none()
            && !def.kind.has_effect()
            && def.kind.operands().into_iter().all(|o| self.scalar_slice(o, slice));
        if fits {
            slice.insert(v);
        }
        fits
    }
}

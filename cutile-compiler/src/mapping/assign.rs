//! Layout assignment: one layout for each tile value.
//!
//! Values that an elementwise operation, a loop or a branch ties together share one; such a set is a *class*. Classes with
//! a matrix product take the accumulators' layout, then the largest classes choose one that suits memory, and each smaller
//! class takes the layout in which its values come from, or go to, classes that have one, so that broadcasts, reductions
//! and reshapes move nothing. Where a layout still differs at a use, `codegen` converts.

use super::layout::{Layout, Recipe};
use super::matrix::{self, Product};
use super::threads::{extents, product_sizes, tile_of, warps};
use cutile_ir::op::{ArithOp, ControlOp, MatrixOp, MemoryOp, OpKind, ReduceOp, ShapeOp};
use cutile_ir::{Block, Function, Op, Value};
use std::collections::HashMap;

/// A layout of a [`Mapping`], by position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LayoutId(pub u32);

/// Where the tiles of a function live.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Warps of a block.
    pub warps: u32,
    layouts: Vec<Layout>,
    of: Vec<Option<LayoutId>>,
    products: HashMap<Value, Product>,
}

impl Mapping {
    /// Chooses layouts for every tile of a function.
    pub fn new(f: &Function, vectors: bool) -> Mapping {
        let warps = warps(f);
        let mut m = Mapping {
            warps,
            layouts: Vec::new(),
            of: vec![None; f.values.len()],
            products: HashMap::new(),
        };
        let mut a = Assignment::new(f);
        a.walk(&f.body);
        a.assign(&mut m, vectors);
        m
    }

    /// The layout of a tile value.
    pub fn layout(&self, v: Value) -> Option<LayoutId> {
        self.of[v.0 as usize]
    }

    /// A layout by its number.
    pub fn get(&self, id: LayoutId) -> &Layout {
        &self.layouts[id.0 as usize]
    }

    /// The number of a layout, a new one if need be.
    pub fn intern(&mut self, l: Layout) -> LayoutId {
        let i = self.layouts.iter().position(|k| *k == l).unwrap_or_else(|| {
            self.layouts.push(l);
            self.layouts.len() - 1
        });
        LayoutId(i as u32)
    }

    /// How the product that defines a value is computed.
    pub fn product(&self, result: Value) -> Product {
        self.products.get(&result).copied().unwrap_or(Product::Thread)
    }

    /// The mapping as text: a line for each tile value.
    pub fn describe(&self, f: &Function) -> String {
        let mut out = format!("{} warps\n", self.warps);
        for (i, l) in self.layouts.iter().enumerate() {
            out.push_str(&format!("layout {i}: {l}\n"));
        }
        f.body.for_each_op(&mut |op| {
            for r in &op.results {
                let Some(id) = self.layout(*r) else { continue };
                let text = cutile_ir::print::op_text(op, f);
                let text = text
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .split(" loc ")
                    .next()
                    .unwrap_or_default();
                let how = match self.products.get(r) {
                    Some(product) => format!(", {product:?}"),
                    None => String::new(),
                };
                out.push_str(&format!("{text}    // layout {}{how}\n", id.0));
            }
        });
        out
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.warps * 32
    }
}

/// How the layout of one value follows from another's.
#[derive(Clone, Debug)]
enum Derive {
    Broadcast,
    Reshape,
    Permute(Vec<u32>),
    Reduce(usize),
}

struct Assignment<'a> {
    f: &'a Function,
    parent: Vec<u32>,
    edges: Vec<(Value, Value, Derive)>,
    products: Vec<(Value, Product, matrix::Sizes)>,
    /// Elements narrower than a word ask for longer vectors: the narrowest access of each value.
    accesses: Vec<(Value, usize)>,
}

impl<'a> Assignment<'a> {
    fn new(f: &'a Function) -> Self {
        let parent = (0..f.values.len() as u32).collect();
        Assignment { f, parent, edges: Vec::new(), products: Vec::new(), accesses: Vec::new() }
    }

    fn find(&mut self, v: Value) -> Value {
        let mut i = v.0;
        while self.parent[i as usize] != i {
            self.parent[i as usize] = self.parent[self.parent[i as usize] as usize];
            i = self.parent[i as usize];
        }
        Value(i)
    }

    fn tie(&mut self, a: Value, b: Value) {
        if tile_of(self.f, a).is_some() && tile_of(self.f, b).is_some() {
            let (a, b) = (self.find(a), self.find(b));
            self.parent[a.0.max(b.0) as usize] = a.0.min(b.0);
        }
    }

    fn tie_all(&mut self, a: &[Value], b: &[Value]) {
        for (a, b) in a.iter().zip(b) {
            self.tie(*a, *b);
        }
    }

    fn walk(&mut self, block: &Block) {
        for op in &block.ops {
            self.op(op);
            op.kind.for_each_block(|b| self.walk(b));
        }
    }

    fn op(&mut self, op: &Op) {
        let result = op.results.first().copied();
        match (&op.kind, result) {
            (OpKind::Arith(kind), Some(r)) => self.arith(op, kind, r),
            (OpKind::Shape(kind), Some(r)) => {
                let (x, derive) = match kind {
                    ShapeOp::Reshape { x } => (*x, Derive::Reshape),
                    ShapeOp::Broadcast { x } => (*x, Derive::Broadcast),
                    ShapeOp::Permute { order, x } => (*x, Derive::Permute(order.clone())),
                    ShapeOp::ToScalar { .. } => return,
                };
                self.edges.push((x, r, derive));
            }
            (OpKind::Reduce(ReduceOp::Reduce { axis, x, .. }), Some(r)) => {
                self.edges.push((*x, r, Derive::Reduce(*axis as usize)));
            }
            (OpKind::Matrix(kind @ MatrixOp::Mma { a, acc, .. }), Some(r)) => {
                self.tie(*acc, r);
                if let Some(sizes) = product_sizes(self.f, kind) {
                    let element = |v: Value| self.f.ty(v).element().expect();
                    self.products.push((r, Product::choose(element(*a), element(r), sizes), sizes));
                }
            }
            (OpKind::Memory(MemoryOp::Load { .. }), Some(r)) => self.access(r),
            (OpKind::Memory(MemoryOp::Store { tile, .. }), _) => self.access(*tile),
            (OpKind::Control(kind), _) => self.control(op, kind),
            _ => {}
        }
    }

    fn access(&mut self, v: Value) {
        self.accesses.push((v, self.f.ty(v).element().expect().bytes()));
    }

    fn arith(&mut self, op: &Op, kind: &ArithOp, r: Value) {
        if !matches!(kind, ArithOp::Unary { .. }) || tile_of(self.f, r).is_some() {
            for x in op.kind.operands() {
                self.tie(x, r);
            }
        }
    }

    fn control(&mut self, op: &Op, kind: &ControlOp) {
        match kind {
            ControlOp::For { init, body, .. } => {
                self.tie_all(init, &op.results);
                self.tie_all(&body.params[1..], &op.results);
                self.tie_all(&body.yields, &op.results);
            }
            ControlOp::While { init, cond, body } => {
                self.tie_all(init, &op.results);
                self.tie_all(&cond.params, &op.results);
                self.tie_all(&body.params, &op.results);
                self.tie_all(&body.yields, &op.results);
            }
            ControlOp::If { on_true, on_false, .. } => {
                self.tie_all(&on_true.yields, &op.results);
                self.tie_all(&on_false.yields, &op.results);
            }
            ControlOp::Call { .. } => {}
        }
    }

    fn assign(mut self, m: &mut Mapping, vectors: bool) {
        let tiles: Vec<Value> = (0..self.f.values.len() as u32)
            .map(Value)
            .filter(|v| tile_of(self.f, *v).is_some())
            .collect();
        let roots: Vec<Value> = tiles.iter().map(|v| self.find(*v)).collect();
        let mut chosen: HashMap<Value, Layout> = HashMap::new();
        // Matrix instructions have no choice of layout: they come first.
        self.products.sort_by_key(|(_, product, _)| *product == Product::Thread);
        for (r, product, sizes) in std::mem::take(&mut self.products) {
            m.products.insert(r, product);
            let root = self.find(r);
            let layout = match product {
                Product::Warp(_) => Some(matrix::accumulators(sizes, m.warps)),
                Product::Thread => matrix::thread_accumulators(sizes, m.warps),
            };
            if let Some(layout) = layout {
                chosen.entry(root).or_insert(layout);
            }
        }
        let mut order: Vec<Value> = roots.clone();
        order.sort();
        order.dedup();
        let elements =
            |v: &Value| tile_of(self.f, *v).map_or(0, |t| extents(t).iter().product::<u32>());
        order.sort_by_key(|v| std::cmp::Reverse(elements(v)));
        for root in order {
            if !chosen.contains_key(&root) {
                let layout = self.derived(root, &chosen).unwrap_or_else(|| {
                    let vector = if vectors { self.vector(root) } else { 1 };
                    self.memory_layout(root, m.warps, vector)
                });
                chosen.insert(root, layout);
            }
        }
        for (v, root) in tiles.iter().zip(&roots) {
            let layout = chosen[root].clone();
            m.of[v.0 as usize] = Some(m.intern(layout));
        }
    }

    /// A layout that follows from a neighbouring class that has one.
    fn derived(&mut self, root: Value, chosen: &HashMap<Value, Layout>) -> Option<Layout> {
        for (x, r, derive) in self.edges.clone() {
            let (from, to) = (self.find(x), self.find(r));
            let shape = |v: Value| tile_of(self.f, v).map(extents).unwrap_or_default();
            let layout = if to == root
                && let Some(l) = chosen.get(&from)
            {
                match &derive {
                    Derive::Broadcast => None,
                    Derive::Reshape => l.reshape(&shape(r)),
                    Derive::Permute(order) => Some(l.permute(order)),
                    Derive::Reduce(axis) => Some(l.without_axis(*axis)),
                }
            } else if from == root
                && let Some(l) = chosen.get(&to)
            {
                match &derive {
                    Derive::Broadcast => Some(broadcast_source(l, &shape(x))),
                    Derive::Reshape => l.reshape(&shape(x)),
                    Derive::Permute(order) => Some(l.permute(&inverse(order))),
                    Derive::Reduce(_) => None,
                }
            } else {
                None
            };
            if layout.is_some() {
                return layout;
            }
        }
        None
    }

    /// Elements of one 16-byte access of the class's narrowest tile in memory.
    fn vector(&mut self, root: Value) -> u32 {
        let accesses = std::mem::take(&mut self.accesses);
        let narrowest =
            accesses.iter().filter(|(v, _)| self.find(*v) == root).map(|(_, b)| *b).min();
        self.accesses = accesses;
        let bytes = narrowest.unwrap_or_else(|| self.f.ty(root).element().expect().bytes().max(4));
        (16 / bytes as u32).max(1)
    }

    fn memory_layout(&self, root: Value, warps: u32, vector: u32) -> Layout {
        let shape = tile_of(self.f, root).map(extents).unwrap_or_default();
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let last = shape.last().copied().unwrap_or(1);
        // A vector must divide the row, and is no use where lanes would then idle.
        let all = shape.iter().product::<u32>();
        let fair = (all / (32 * warps)).max(1);
        let fair = 1 << (31 - fair.leading_zeros());
        let vector = vector.min(1 << last.trailing_zeros()).min(fair);
        Layout::blocked(&Recipe { shape: &shape, order: &order, vector, warps })
    }
}

/// The layout that a tile of this shape must have so that its broadcast stands in `l`.
pub fn broadcast_source(l: &Layout, shape: &[u32]) -> Layout {
    let mut source = l.clone();
    for (axis, extent) in shape.iter().enumerate() {
        if *extent == 1 && l.shape()[axis] != 1 {
            source = source.with_unit(axis);
        }
    }
    source
}

/// The order that undoes another one.
pub fn inverse(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    for (i, axis) in order.iter().enumerate() {
        inverse[*axis as usize] = i as u32;
    }
    inverse
}

//! Kernel and mapping to SIMT Rust: a `#![no_std]` file that a person can read.
//!
//! Decides nothing about threads, registers or shared memory; that is `mapping`'s. Every condition that branches is the same
//! in all threads of a block; accesses under a condition of one thread are predicated instructions. So lanes never part,
//! but for loops inside math functions and failing checks, and barriers, shuffles and matrix instructions stay convergent.

mod control;
mod convert;
mod copies;
mod elementwise;
mod entry;
mod fault;
mod lengths;
mod memory;
mod names;
mod product;
mod reduce;
mod scratch;
mod shape;
mod stages;
mod text;
mod view;

use crate::analysis::ragged::Ragged;
use crate::analysis::range::Ranges;
use crate::error::CompileError;
use crate::mapping::assign::{LayoutId, Mapping};
use crate::ptx::{EntryPlan, Origin};
use cutile_bundle::abi::KernelAbi;
use cutile_bundle::key::FactsClass;
use cutile_bundle::target::Arch;
use cutile_ir::op::{CreateOp, OpKind, ShapeOp};
use cutile_ir::print::op_text;
use cutile_ir::{Block, Function, Kernel, Op, Value};
use lengths::Length;
use std::collections::{BTreeSet, HashMap};
use text::Text;

/// A kernel as SIMT Rust.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The file.
    pub text: String,
    /// Which lines come from where.
    pub origins: Vec<Origin>,
    /// What the PTX must look like.
    pub plan: EntryPlan,
    /// How it is called.
    pub abi: KernelAbi,
}

/// What the generated code depends on beside the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What launches promise of their tensors.
    pub facts: FactsClass,
    /// The GPU.
    pub arch: Arch,
}

/// Writes a kernel as SIMT Rust.
pub fn generate(
    kernel: &Kernel,
    mapping: Mapping,
    settings: Settings,
) -> Result<Generated, CompileError> {
    let f = kernel.function();
    let mut e = Emitter {
        kernel,
        f,
        settings,
        mapping,
        ragged: Ragged::of(f),
        ranges: Ranges::of(f),
        uses: f.use_counts(),
        definitions: definitions(f),
        body: Text::at_depth(1),
        head: Text::at_depth(1),
        bindings: vec![None; f.values.len()],
        coordinates: HashMap::new(),
        fragments: BTreeSet::new(),
        oversized: None,
        scratch: scratch::Scratch::default(),
        hazards: memory::Hazards::default(),
        faults: fault::Faults::default(),
        names: 0,
        loops: 0,
    };
    e.parameters();
    e.block(&f.body)?;
    e.file()
}

fn definitions(f: &Function) -> HashMap<Value, &Op> {
    let mut all = HashMap::new();
    f.body.for_each_op(&mut |op| {
        for r in &op.results {
            all.insert(*r, op);
        }
    });
    all
}

/// What a value is in the generated code.
#[derive(Clone, Debug)]
enum Binding {
    /// A Rust expression without effect: a variable or a literal.
    Scalar(String),
    Tile(Tile),
    /// A parameter, by position.
    Tensor(usize),
    View(view::View),
    /// An operand of a product that its loop copies to shared memory on its own; see `stages`.
    Staged(product::Operand),
}

/// A tile value.
#[derive(Clone, Debug)]
struct Tile {
    held: Held,
    /// By axis.
    lengths: Vec<Length>,
}

#[derive(Clone, Debug)]
enum Held {
    /// A scalar expression, the same in every element.
    Uniform(String),
    /// A variable that holds a fragment.
    Fragment(String, LayoutId),
}

pub(crate) struct Emitter<'k> {
    kernel: &'k Kernel,
    f: &'k Function,
    settings: Settings,
    mapping: Mapping,
    ragged: Ragged,
    ranges: Ranges,
    uses: Vec<u32>,
    definitions: HashMap<Value, &'k Op>,
    /// The kernel's body so far.
    body: Text,
    /// What is computed once, before the body: coordinates of threads.
    head: Text,
    bindings: Vec<Option<Binding>>,
    coordinates: HashMap<LayoutId, Vec<String>>,
    /// Register counts of the fragments in use.
    fragments: BTreeSet<usize>,
    /// A layout of more registers than can be.
    oversized: Option<LayoutId>,
    scratch: scratch::Scratch,
    hazards: memory::Hazards,
    faults: fault::Faults,
    names: u32,
    /// How many loops enclose what is being written.
    loops: u32,
}

type Done = Result<(), CompileError>;

/// Elements of a tile that one thread may hold: twice its registers. Spilled as they are they still compile in seconds.
const MOST_ELEMENTS: usize = 512;

impl<'k> Emitter<'k> {
    fn block(&mut self, block: &'k Block) -> Done {
        block.ops.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &'k Op) -> Done {
        self.comment(op);
        match &op.kind {
            OpKind::Create(kind) => self.create(op, kind),
            OpKind::Arith(kind) => self.arith(op, kind),
            OpKind::Shape(ShapeOp::ToScalar { x }) => self.only_element(op, *x),
            OpKind::Shape(kind) => self.shape(op, kind),
            OpKind::Memory(kind) => self.memory(op, kind),
            OpKind::Reduce(kind) => self.reduce(op, kind),
            OpKind::Matrix(kind) => self.product(op, kind),
            OpKind::Program(kind) => self.program(op, kind),
            OpKind::Control(kind) => self.control(op, kind),
        }?;
        match self.oversized {
            Some(layout) => Err(self.tile_too_large(op, layout)),
            None => Ok(()),
        }
    }

    fn tile_too_large(&self, op: &Op, layout: LayoutId) -> CompileError {
        let l = self.mapping.get(layout);
        CompileError::TileTooLarge {
            kernel: self.f.name.clone(),
            place: self.kernel.place(op),
            shape: l.shape().to_vec(),
            elements: l.register_count(),
            threads: l.thread_count(),
            most: MOST_ELEMENTS,
        }
    }

    /// One comment for each operation on tiles, with its place in the source.
    fn comment(&mut self, op: &Op) {
        let tile = |v: &Value| self.f.ty(*v).as_tile().is_some();
        let tiles = op.results.iter().any(tile) || op.kind.operands().iter().any(tile);
        if !tiles || matches!(op.kind, OpKind::Create(_)) {
            return;
        }
        let text = op_text(op, self.f);
        let text = text.lines().next().unwrap_or_default();
        let text = text.split(" loc ").next().unwrap_or_default();
        match self.kernel.place(op) {
            Some(place) => {
                self.body.origin(&place);
                self.body.line(format!("// {text}    {place}"));
            }
            None => self.body.line(format!("// {text}")),
        }
    }

    fn create(&mut self, op: &Op, kind: &CreateOp) -> Done {
        let r = op.results[0];
        let element = self.element(r);
        let scalar = match kind {
            CreateOp::Constant { value } => names::literal(*value, element),
            CreateOp::Dim { dim } => format!("{}{}", dim.expect(), names::repr(element)),
            CreateOp::Splat { scalar } => self.scalar(*scalar),
            CreateOp::Iota {} => {
                self.iota(r);
                return Ok(());
            }
        };
        if let Some(tile) = self.f.ty(r).as_tile() {
            let lengths = vec![Length::Full; tile.shape.len()];
            self.bind_tile(r, Held::Uniform(scalar), lengths);
        } else {
            self.bind(r, Binding::Scalar(scalar));
        }
        Ok(())
    }

    // ---- values ---------------------------------------------------------------------------

    fn element(&self, v: Value) -> cutile_ir::Element {
        self.f.ty(v).element().expect()
    }

    fn bind(&mut self, v: Value, binding: Binding) {
        self.bindings[v.0 as usize] = Some(binding);
    }

    fn bind_tile(&mut self, v: Value, held: Held, lengths: Vec<Length>) {
        self.bind(v, Binding::Tile(Tile { held, lengths }));
    }

    fn binding(&self, v: Value) -> &Binding {
        self.bindings[v.0 as usize].as_ref().expect("verified IR defines values before their uses")
    }

    /// The Rust expression of a scalar.
    fn scalar(&self, v: Value) -> String {
        match self.binding(v) {
            Binding::Scalar(s) => s.clone(),
            other => unreachable!("verified IR: a scalar, not {other:?}"),
        }
    }

    fn tile(&self, v: Value) -> Tile {
        match self.binding(v) {
            Binding::Tile(t) => t.clone(),
            other => unreachable!("verified IR: a tile, not {other:?}"),
        }
    }

    /// A new Rust name for a value, after its name in the source.
    fn name(&mut self, v: Value) -> String {
        match &self.f.values[v.0 as usize].name {
            Some(name) => format!("{}_{}", names::identifier(name), v.0),
            None => format!("v{}", v.0),
        }
    }

    /// A new Rust name.
    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}_{}", self.names)
    }

    /// The fragment type of a layout.
    fn fragment(&mut self, layout: LayoutId) -> String {
        let registers = self.mapping.get(layout).register_count();
        self.fragments.insert(registers);
        if registers > MOST_ELEMENTS {
            self.oversized.get_or_insert(layout);
        }
        format!("Fragment{registers}")
    }

    fn layout(&self, v: Value) -> LayoutId {
        self.mapping.layout(v).expect("every tile has a layout")
    }

    /// A fragment expression from an expression for each register.
    fn fragment_of(&mut self, layout: LayoutId, each: impl IntoIterator<Item = String>) -> String {
        let ty = self.fragment(layout);
        let fields: Vec<String> =
            each.into_iter().enumerate().map(|(i, e)| format!("r{i}: {e}")).collect();
        format!("{ty} {{ {} }}", fields.join(", "))
    }

    /// The variables that hold the part of the coordinates that the thread decides, by axis.
    fn coordinates(&mut self, layout: LayoutId) -> Vec<String> {
        if let Some(names) = self.coordinates.get(&layout) {
            return names.clone();
        }
        let l = self.mapping.get(layout).clone();
        let names: Vec<String> = (0..l.rank())
            .map(|axis| {
                let parts = bit_runs(l.thread_bases().iter().map(|b| b[axis]));
                if parts.is_empty() {
                    return "0i32".to_string();
                }
                let name = format!("at{}_{axis}", layout.0);
                self.head.line(format!("let {name} = ({}) as i32;", parts.join(" | ")));
                name
            })
            .collect();
        self.coordinates.insert(layout, names.clone());
        names
    }

    /// The condition under which a thread speaks for all that hold the same elements; `None` where no two do.
    fn owner(&mut self, layout: LayoutId) -> Option<String> {
        match self.mapping.get(layout).replicated_bits() {
            0 => None,
            mask => Some(format!("thread & {mask:#x} == 0")),
        }
    }
}

/// The sum of bases selected by the bits of `thread`, as few terms: neighbouring bits with doubling bases are one.
fn bit_runs(bases: impl Iterator<Item = u32>) -> Vec<String> {
    let bases: Vec<u32> = bases.collect();
    let mut parts = Vec::new();
    let mut i = 0;
    while i < bases.len() {
        if bases[i] == 0 {
            i += 1;
            continue;
        }
        let mut n = 1;
        while i + n < bases.len() && bases[i + n] == bases[i] << n {
            n += 1;
        }
        let mask = (1u32 << n) - 1;
        let shifted = if i == 0 { "thread".to_string() } else { format!("(thread >> {i})") };
        parts.push(format!("({shifted} & {mask:#x}) * {}", bases[i]));
        i += n;
    }
    parts
}

//! Matrix products: operands lie in shared memory; accumulators in registers.

use super::elementwise::convert;
use super::lengths::sum;
use super::{Binding, Done, Emitter, Held, LayoutId, Length, bit_runs, names};
use crate::mapping::layout::LANE_BITS;
use crate::mapping::matrix::{Product, WarpMma};
use crate::mapping::shared::SharedMatrix;
use crate::mapping::threads::extents;
use cutile_ir::op::MatrixOp;
use cutile_ir::{Element, Op, Value};

/// An operand in shared memory.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// Its address, an expression.
    pub(super) base: String,
    pub(super) matrix: SharedMatrix,
    /// The matrix in memory is the operand's transpose.
    pub(super) turned: bool,
    /// The operand's valid lengths.
    pub(super) lengths: Vec<Length>,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

impl<'k> Emitter<'k> {
    pub(super) fn product(&mut self, op: &'k Op, kind: &MatrixOp) -> Done {
        let MatrixOp::Mma { a, b, acc } = kind;
        let r = op.results[0];
        let (left, right) = self.product_operands(*a, *b);
        let layout = self.layout(r);
        let initial = self.operand(*acc, layout);
        let name = self.name(r);
        let accumulator = self.tile(*acc).lengths;
        let lengths = [
            self.shortest(&[vec![accumulator[0].clone()], vec![left.lengths[0].clone()]]),
            self.shortest(&[vec![accumulator[1].clone()], vec![right.lengths[1].clone()]]),
        ]
        .concat();
        let k = self.f.ty(*a).as_tile().map_or(1, |t| extents(t)[1]);
        match self.mapping.product(r) {
            Product::Warp(mma) => {
                self.body.line(format!("let mut {name} = {initial};"));
                self.warp_product(&name, layout, mma, k, &left, &right);
            }
            Product::Thread => {
                let (operand, acc) = (self.element(*a), self.element(r));
                self.thread_product(&name, &initial, layout, [operand, acc], k, &left, &right);
            }
        }
        self.bind_tile(r, Held::Fragment(name, layout), lengths);
        Ok(())
    }

    /// Both operands as matrices in shared memory, invalid elements along K as zero.
    fn product_operands(&mut self, a: Value, b: Value) -> (Operand, Operand) {
        let staged = |e: &Self, v: Value| match e.binding(v) {
            Binding::Staged(operand) => Some(operand.clone()),
            _ => None,
        };
        let (left, right) = (staged(self, a), staged(self, b));
        let written = left.is_none() || right.is_none();
        let left = left.map_or_else(|| Err(self.masked_operand(a, 1)), Ok);
        let right = right.map_or_else(|| Err(self.masked_operand(b, 0)), Ok);
        if written {
            // Others may still read what the last product left there.
            self.barrier();
        }
        let mut store = |operand: Result<Operand, Written>| match operand {
            Ok(operand) => operand,
            Err(w) => {
                self.write_matrix(
                    &w.value,
                    w.layout,
                    w.element,
                    &w.operand.matrix,
                    &w.operand.base,
                );
                w.operand
            }
        };
        let (left, right) = (store(left), store(right));
        if written {
            self.barrier();
        }
        (left, right)
    }

    /// An operand that stands in registers, and where it shall be written.
    fn masked_operand(&mut self, v: Value, k_axis: usize) -> Written {
        let layout = self.layout(v);
        let element = self.element(v);
        let value = self.operand(v, layout);
        let value = self.in_variable(value, "whole");
        let lengths = self.tile(v).lengths;
        let value =
            self.masked(&value, layout, &lengths, k_axis..k_axis + 1, &names::zero(element));
        let shape = self.mapping.get(layout).shape().to_vec();
        let matrix = SharedMatrix::new(shape[0], shape[1], element.bytes() as u32);
        let place = self.reserve("OPERAND", matrix.size());
        let operand = Operand { base: format!("smem + {place}"), matrix, turned: false, lengths };
        Written { value, layout, element, operand }
    }

    fn warp_product(
        &mut self,
        acc: &str,
        layout: LayoutId,
        mma: WarpMma,
        k: u32,
        left: &Operand,
        right: &Operand,
    ) {
        let l = self.mapping.get(layout).clone();
        let offsets = |axis: usize, step: u32| {
            let mut all: Vec<u32> =
                (0..l.register_count()).map(|r| l.register_coord(r)[axis]).collect();
            all.sort_unstable();
            all.dedup();
            all.retain(|c| c % step == 0);
            all
        };
        let (rows, columns) = (offsets(0, 16), offsets(1, 16));
        let a = self.fragments_at(left, Side::Left, layout, mma);
        let b = self.fragments_at(right, Side::Right, layout, mma);
        let register =
            |m: u32, n: u32| l.register_at(&[m, n]).expect("accumulators of a whole instruction");
        let instruction = match mma.element {
            Element::BF16 => "mma_bf16",
            Element::F16 => "mma_f16",
            _ => "mma_tf32",
        };
        let id = self.fresh("f");
        for step in (0..k).step_by(mma.k as usize) {
            for (i, m) in rows.iter().enumerate() {
                self.body.line(format!("let {id}_a{i} = {};", a.load(*m, step)));
            }
            for (j, n) in columns.iter().enumerate() {
                self.body.line(format!("let {id}_b{j} = {};", b.load(*n, step)));
            }
            for (i, m) in rows.iter().enumerate() {
                for (j, n) in columns.iter().enumerate() {
                    for half in 0..2 {
                        let d: Vec<String> = [(0, 0), (0, 1), (8, 0), (8, 1)]
                            .map(|(dm, dn)| {
                                format!("&mut {acc}.r{}", register(m + dm, n + 8 * half + dn))
                            })
                            .to_vec();
                        let (b0, b1) = (2 * half, 2 * half + 1);
                        self.body.line(format!(
                            "matrix::{instruction}({}, {id}_a{i}, [{id}_b{j}[{b0}], {id}_b{j}[{b1}]]);",
                            d.join(", ")
                        ));
                    }
                }
            }
        }
    }

    /// Addresses of an operand's fragments for this lane: 16 rows of the left or 16 columns of the right operand, one
    /// instruction's K.
    fn fragments_at(
        &mut self,
        operand: &Operand,
        side: Side,
        layout: LayoutId,
        mma: WarpMma,
    ) -> Fragments {
        let axis = if side == Side::Left { 0 } else { 1 };
        let warp = {
            let bases = self.mapping.get(layout).thread_bases();
            let bases =
                bases.iter().enumerate().map(|(i, b)| if i < LANE_BITS { 0 } else { b[axis] });
            let runs = bit_runs(bases);
            if runs.is_empty() { "0".to_string() } else { runs.join(" | ") }
        };
        // In memory a row runs along K, or across it.
        let along = operand.turned == (side == Side::Right);
        // Which of the four matrices a lane addresses: along the operand's own rows or columns, and along K.
        let own = |bit: u32| format!("((thread >> {bit}) & 1)");
        let (outer_bit, k_bit) = if side == Side::Left { (3, 4) } else { (4, 3) };
        let bytes = operand.matrix.bytes;
        let per_chunk = 16 / bytes;
        let name = self.fresh(if side == Side::Left { "left" } else { "right" });
        if !along && bytes != 2 {
            // 32-bit elements cannot be transposed on the way: each is read by itself.
            self.body.line(format!("let {name}_outer = ({warp}) + ((thread >> 2) & 7);"));
            self.body.line(format!("let {name}_k = thread & 3;"));
            return Fragments {
                name,
                operand: operand.clone(),
                side,
                along,
                scattered: true,
                k: mma.k,
            };
        }
        let (row, column) = if along {
            (
                format!("({warp}) + (thread & 7) + {} * 8", own(outer_bit)),
                format!("{} * {per_chunk}", own(k_bit)),
            )
        } else {
            (
                format!("(thread & 7) + {} * 8", own(k_bit)),
                format!("({warp}) + {} * {per_chunk}", own(outer_bit)),
            )
        };
        // Constant offsets are multiples of 8 rows, which no swizzle sees, and whole chunks, which it exchanges.
        self.body.line(format!("let {name}_row = {row};"));
        let m = operand.matrix;
        let swizzle = match m.mask {
            0 => "0".to_string(),
            mask => format!("(({name}_row >> {}) & {mask}) << 4", m.shift),
        };
        self.body.line(format!("let {name}_swizzle = {swizzle};"));
        self.body.line(format!("let {name}_row = {} + {name}_row * {};", operand.base, m.stride));
        self.body.line(format!("let {name}_column = ({column}) * {bytes};"));
        Fragments { name, operand: operand.clone(), side, along, scattered: false, k: mma.k }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one operation")]
    fn thread_product(
        &mut self,
        name: &str,
        initial: &str,
        layout: LayoutId,
        [operand, acc]: [Element; 2],
        k: u32,
        left: &Operand,
        right: &Operand,
    ) {
        let wide = if acc == Element::F16 { Element::F32 } else { acc };
        let sums = if wide == acc { name.to_string() } else { self.fresh("sums") };
        let widened = convert(acc, wide, "a");
        let start =
            if wide == acc { initial.to_string() } else { format!("{initial}.map(|a| {widened})") };
        self.body.line(format!("let mut {sums} = {start};"));
        let l = self.mapping.get(layout).clone();
        let at = self.coordinates(layout);
        let bytes = left.matrix.bytes;
        // Four steps along K at once, read as one vector where a row runs along K.
        let unroll = if k.is_multiple_of(4) { 4 } else { 1 };
        let i = self.fresh("k");
        self.body.line(format!("let mut {i} = 0u32;"));
        self.body.open(format!("while {i} < {k} {{"));
        let place = |axis: usize, c: u32| {
            let e = sum(&at[axis], c);
            let e =
                if l.is_padded(axis) { format!("({e}).min({})", l.shape()[axis] - 1) } else { e };
            format!("({e}) as u32")
        };
        let distinct = |axis: usize| {
            let mut all: Vec<u32> =
                (0..l.register_count()).map(|r| l.register_coord(r)[axis]).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let (rows, columns) = (distinct(0), distinct(1));
        let cast = |v: &str| convert(operand, wide, v);
        for m in &rows {
            self.elements(left, &format!("a{m}_"), &place(0, *m), &i, unroll, bytes, true);
        }
        let width = if l.is_padded(1) { 1 } else { l.vector_width((16 / bytes).max(1)) };
        for n in columns.iter().filter(|n| *n % width == 0) {
            self.elements_across(right, *n, &place(1, *n), &i, unroll, width);
        }
        for u in 0..unroll {
            for r in 0..l.register_count() {
                let c = l.register_coord(r);
                let (a, b) = (cast(&format!("a{}_{u}", c[0])), cast(&format!("b{}_{u}", c[1])));
                let d = format!("{sums}.r{r}");
                self.body.line(if wide.is_float() {
                    format!("{d} = Float::fma({a}, {b}, {d});")
                } else {
                    format!("{d} = {a}.wrapping_mul({b}).wrapping_add({d});")
                });
            }
        }
        self.body.line(format!("{i} += {unroll};"));
        self.body.close("}");
        if wide != acc {
            self.body.line(format!("let {name} = {sums}.map(|a| {});", convert(wide, acc, "a")));
        }
    }

    /// Reads `unroll` elements along K of a row of the left operand.
    #[allow(clippy::too_many_arguments, reason = "the parts of one read")]
    fn elements(
        &mut self,
        o: &Operand,
        prefix: &str,
        row: &str,
        k: &str,
        unroll: u32,
        bytes: u32,
        left: bool,
    ) {
        let along = o.turned != left;
        if along && unroll * bytes <= 16 {
            let names: Vec<String> = (0..unroll).map(|u| format!("{prefix}{u}")).collect();
            let address = format!("{} + {}", o.base, o.matrix.offset_of(row, k));
            self.body.line(format!("let [{}] = shared::load({address});", names.join(", ")));
            return;
        }
        for u in 0..unroll {
            let k = format!("{k} + {u}");
            let (r, c) = if along { (row, k.as_str()) } else { (k.as_str(), row) };
            let address = format!("{} + {}", o.base, o.matrix.offset_of(r, c));
            self.body.line(format!("let [{prefix}{u}] = shared::load({address});"));
        }
    }

    /// Reads `width` neighbouring columns of the right operand at each of `unroll` steps along K.
    fn elements_across(
        &mut self,
        o: &Operand,
        n: u32,
        column: &str,
        k: &str,
        unroll: u32,
        width: u32,
    ) {
        if o.turned || width == 1 {
            for i in 0..width {
                let column = format!("{column} + {i}");
                self.elements(
                    o,
                    &format!("b{}_", n + i),
                    &column,
                    k,
                    unroll,
                    o.matrix.bytes,
                    false,
                );
            }
            return;
        }
        for u in 0..unroll {
            let names: Vec<String> = (0..width).map(|i| format!("b{}_{u}", n + i)).collect();
            let address =
                format!("{} + {}", o.base, o.matrix.offset_of(&format!("{k} + {u}"), column));
            self.body.line(format!("let [{}] = shared::load({address});", names.join(", ")));
        }
    }
}

/// An operand on its way to shared memory.
struct Written {
    value: String,
    layout: LayoutId,
    element: Element,
    operand: Operand,
}

/// How this lane reads an operand's fragments.
struct Fragments {
    name: String,
    operand: Operand,
    side: Side,
    /// A row in memory runs along K.
    along: bool,
    /// Element by element.
    scattered: bool,
    k: u32,
}

impl Fragments {
    /// The four registers of the block at `outer` (a multiple of 16 rows or columns) and `k`.
    fn load(&self, outer: u32, k: u32) -> String {
        let (name, m) = (&self.name, self.operand.matrix);
        if self.scattered {
            return self.load_scattered(outer, k);
        }
        let (row, column) = if self.along { (outer, k) } else { (k, outer) };
        let function = if self.along { "load_matrix" } else { "load_matrix_transposed" };
        let column = match column * m.bytes {
            0 => format!("{name}_column"),
            c => format!("({name}_column + {c})"),
        };
        let row = match row * m.stride {
            0 => format!("{name}_row"),
            r => format!("{name}_row + {r}"),
        };
        format!("matrix::{function}({row} + ({column} ^ {name}_swizzle))")
    }

    fn load_scattered(&self, outer: u32, k: u32) -> String {
        let name = &self.name;
        // Registers of the left operand: rows, rows + 8, then the same four further along K; of the right the other way.
        let half = self.k / 2;
        let parts = match self.side {
            Side::Left => [(0, 0), (8, 0), (0, half), (8, half)],
            Side::Right => [(0, 0), (0, half), (8, 0), (8, half)],
        };
        let each = parts.map(|(o, dk)| {
            let row = format!("{name}_k + {}", k + dk);
            let column = format!("{name}_outer + {}", outer + o);
            let address =
                format!("{} + {}", self.operand.base, self.operand.matrix.offset_of(&row, &column));
            format!("shared::load::<u32, 1>({address})[0]")
        });
        format!("[{}]", each.join(", "))
    }
}

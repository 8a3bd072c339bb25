//! Reductions along an axis: within a thread, then across the lanes of a warp by shuffles, then across warps through shared
//! memory. The order is fixed by the layout, so that results are the same from run to run.

use super::elementwise::convert;
use super::{Done, Emitter, Held, LayoutId, Length, names};
use crate::mapping::layout::LANE_BITS;
use cutile_ir::op::{ReduceKind, ReduceOp};
use cutile_ir::{Element, Op};

/// How partial results combine.
struct Combine {
    /// The Rust type of a partial result.
    ty: String,
    bytes: u32,
    /// What an absent element counts as.
    identity: String,
    /// The same as an element, where there is one.
    absent: Option<String>,
    /// A function of two partial results, as an expression.
    function: String,
}

impl Combine {
    fn apply(&self, a: &str, b: &str) -> String {
        format!("{}({a}, {b})", self.function)
    }
}

impl<'k> Emitter<'k> {
    pub(super) fn reduce(&mut self, op: &'k Op, kind: &ReduceOp) -> Done {
        let ReduceOp::Reduce { kind, axis, x } = kind;
        let axis = *axis as usize;
        let r = op.results[0];
        let element = self.element(*x);
        let tile = self.tile(*x);
        let layout = match &tile.held {
            Held::Fragment(_, layout) => *layout,
            Held::Uniform(_) => self.layout(*x),
        };
        let value = self.operand(*x, layout);
        let value = self.in_variable(value, "whole");
        let combine = combine(*kind, element);
        let (value, lengths) =
            self.settled_padding(&value, layout, axis, element, &combine, &tile.lengths);
        let terms = self.partials(&value, layout, axis, (*kind, element), &combine, &lengths);
        let result = self.mapping.get(layout).without_axis(axis);
        let result = self.mapping.intern(result);
        let value = self.fold_registers(&terms, layout, result, axis, &combine);
        let value = self.fold_lanes(value, layout, axis, &combine);
        let value = self.fold_warps(value, layout, result, axis, &combine);
        let value = finish(*kind, element, &value);
        let wanted = self.layout(r);
        let value = self.in_variable(value, "reduced");
        let value = self.relayout(&value, self.element(r), result, wanted);
        let name = self.name(r);
        self.body.line(format!("let {name} = {value};"));
        let mut lengths = tile.lengths;
        lengths.remove(axis);
        self.bind_tile(r, Held::Fragment(name, wanted), lengths);
        Ok(())
    }

    /// Where the row may be ragged, one branch for the whole block puts the identity in place of absent elements, so that
    /// whole rows pay nothing; candidates are told apart by themselves. The fragment, and what is still to be looked at.
    fn settled_padding(
        &mut self,
        value: &str,
        layout: LayoutId,
        axis: usize,
        element: Element,
        combine: &Combine,
        lengths: &[Length],
    ) -> (String, Vec<Length>) {
        let Some(identity) = &combine.absent else { return (value.to_string(), lengths.to_vec()) };
        let (Length::Variable(n), false) =
            (&lengths[axis], self.mapping.get(layout).is_padded(axis))
        else {
            return (value.to_string(), lengths.to_vec());
        };
        let n = n.clone();
        let extent = self.mapping.get(layout).shape()[axis];
        let name = self.fresh("row");
        let ty = self.fragment(layout);
        let repr = names::repr(element);
        self.body.open(format!("let {name}: {ty}<{repr}> = if {n} == {extent} {{"));
        self.body.line(value);
        self.body.otherwise();
        let masked = self.masked(value, layout, lengths, axis..axis + 1, identity);
        self.body.line(masked);
        self.body.close("};");
        let mut lengths = lengths.to_vec();
        lengths[axis] = Length::Full;
        (name, lengths)
    }

    /// Each register's own partial result as an expression, written where it is folded, so that few are live at once:
    /// converted, with the identity in place of absent elements.
    fn partials(
        &mut self,
        value: &str,
        layout: LayoutId,
        axis: usize,
        (kind, element): (ReduceKind, Element),
        combine: &Combine,
        lengths: &[Length],
    ) -> Vec<String> {
        let at = self.coordinates(layout);
        let l = self.mapping.get(layout).clone();
        let wide = accumulator(kind, element);
        (0..l.register_count())
            .map(|r| {
                let mut term = convert(element, wide, &format!("{value}.r{r}"));
                if is_arg(kind) {
                    let index = super::lengths::sum(&at[axis], l.register_coord(r)[axis]);
                    term = format!("reduce::candidate({term}, ({index}) as u32)");
                }
                match self.valid(layout, r, lengths, axis..axis + 1) {
                    Some(valid) => {
                        format!("if {valid} {{ {term} }} else {{ {} }}", combine.identity)
                    }
                    None => term,
                }
            })
            .collect()
    }

    /// Folds the registers of one thread that differ along the axis alone: halves, so that sums stay exact longer.
    fn fold_registers(
        &mut self,
        terms: &[String],
        layout: LayoutId,
        result: LayoutId,
        axis: usize,
        combine: &Combine,
    ) -> String {
        let (l, to) = (self.mapping.get(layout), self.mapping.get(result));
        let mut groups: Vec<Vec<(u32, usize)>> = vec![Vec::new(); to.register_count()];
        for r in 0..l.register_count() {
            let mut coord = l.register_coord(r);
            let along = coord.remove(axis);
            let group = to.register_at(&coord).expect("the result has every row's register");
            groups[group].push((along, r));
        }
        let each: Vec<String> = groups
            .into_iter()
            .map(|mut group| {
                group.sort();
                let terms: Vec<String> = group.iter().map(|(_, r)| terms[*r].clone()).collect();
                tree(&terms, combine)
            })
            .collect();
        let folded = self.fragment_of(result, each);
        self.in_variable(folded, "partial")
    }

    /// Lane and warp bits that select along the axis.
    fn thread_bits(&self, layout: LayoutId, axis: usize) -> Vec<usize> {
        let bases = self.mapping.get(layout).thread_bases();
        (0..bases.len()).filter(|i| bases[*i][axis] != 0).collect()
    }

    fn fold_lanes(
        &mut self,
        value: String,
        layout: LayoutId,
        axis: usize,
        combine: &Combine,
    ) -> String {
        let mut value = value;
        for bit in self.thread_bits(layout, axis).into_iter().filter(|b| *b < LANE_BITS) {
            let name = self.fresh("partial");
            let with = combine.apply("a", &format!("warp::shuffle_xor(a, {})", 1 << bit));
            self.body.line(format!("let {name} = {value}.map(|a| {with});"));
            value = name;
        }
        value
    }

    /// Every warp leaves its partial results in shared memory; every thread folds them in the order of the warps.
    fn fold_warps(
        &mut self,
        value: String,
        layout: LayoutId,
        result: LayoutId,
        axis: usize,
        combine: &Combine,
    ) -> String {
        let bits = self.thread_bits(layout, axis);
        let warps: Vec<usize> = bits.iter().copied().filter(|b| *b >= LANE_BITS).collect();
        if warps.is_empty() {
            return value;
        }
        // Threads that differ elsewhere than along the axis hold other rows: each has a place of its own.
        let registers = self.mapping.get(result).register_count() as u32;
        let threads = self.mapping.get(layout).thread_count();
        let lanes: u32 = bits.iter().filter(|b| **b < LANE_BITS).map(|b| 1 << b).sum();
        let bytes = combine.bytes;
        let (region, base) = self.scratch(threads * registers * bytes);
        let base = self.in_variable(base, "scratch");
        for r in 0..registers {
            self.body.line(format!(
                "shared::store_if({base} + ({r} * {threads} + thread) * {bytes}, thread & {lanes:#x} == 0, [{value}.r{r}]);"
            ));
        }
        self.barrier();
        let mask: u32 = warps.iter().map(|b| 1 << b).sum::<u32>() | lanes;
        let mine = self.fresh("row");
        self.body.line(format!("let {mine} = {base} + (thread & !{mask:#x}) * {bytes};"));
        let ty = &combine.ty;
        let mut each = Vec::new();
        for r in 0..registers {
            let mut terms = Vec::new();
            for n in 0..1u32 << warps.len() {
                let thread: u32 =
                    (0..warps.len()).filter(|i| n >> i & 1 == 1).map(|i| 1 << warps[i]).sum();
                let name = self.fresh("from");
                let offset = (r * threads + thread) * bytes;
                self.body
                    .line(format!("let [{name}]: [{ty}; 1] = shared::load({mine} + {offset});"));
                terms.push(name);
            }
            each.push(tree(&terms, combine));
        }
        self.scratch_read(region);
        let folded = self.fragment_of(result, each);
        self.in_variable(folded, "all")
    }
}

/// Folds terms pairwise, in order.
fn tree(terms: &[String], combine: &Combine) -> String {
    match terms {
        [] => combine.identity.clone(),
        [one] => one.clone(),
        _ => {
            let (a, b) = terms.split_at(terms.len().div_ceil(2));
            combine.apply(&tree(a, combine), &tree(b, combine))
        }
    }
}

fn is_arg(kind: ReduceKind) -> bool {
    matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin)
}

/// The type in which elements are combined.
fn accumulator(kind: ReduceKind, e: Element) -> Element {
    match (kind, e) {
        (ReduceKind::Any | ReduceKind::All, _) => Element::Bool,
        (_, Element::F16 | Element::BF16) => Element::F32,
        // A candidate has no padding: it is moved word by word.
        (ReduceKind::ArgMax | ReduceKind::ArgMin, Element::I8 | Element::I16) => Element::I32,
        (ReduceKind::ArgMax | ReduceKind::ArgMin, Element::U8 | Element::U16) => Element::U32,
        _ => e,
    }
}

fn combine(kind: ReduceKind, element: Element) -> Combine {
    let e = accumulator(kind, element);
    let repr = names::repr(e);
    let name = match kind {
        ReduceKind::Sum => "sum",
        ReduceKind::Prod => "product",
        ReduceKind::Max => "max",
        ReduceKind::Min => "min",
        ReduceKind::Maximum => "maximum",
        ReduceKind::Minimum => "minimum",
        ReduceKind::Any => "any",
        ReduceKind::All => "all",
        ReduceKind::ArgMax => "first_max",
        ReduceKind::ArgMin => "first_min",
    };
    if is_arg(kind) {
        return Combine {
            ty: format!("reduce::Candidate<{repr}>"),
            bytes: 2 * e.bytes() as u32,
            identity: format!("reduce::nobody({})", names::zero(e)),
            absent: None,
            function: format!("reduce::{name}"),
        };
    }
    let identity = identity(kind, e);
    Combine {
        ty: repr.to_string(),
        bytes: e.bytes() as u32,
        absent: Some(self::identity(kind, element)),
        identity,
        function: format!("reduce::{name}"),
    }
}

/// What does not change a result, as an element of a type.
fn identity(kind: ReduceKind, e: Element) -> String {
    let repr = names::repr(e);
    let largest = |sign: f64| match e {
        e if e.is_float() => names::float(sign * f64::INFINITY, e),
        _ if sign > 0.0 => format!("{repr}::MAX"),
        _ => format!("{repr}::MIN"),
    };
    match kind {
        ReduceKind::Sum => names::zero(e),
        ReduceKind::Prod if e.is_float() => names::float(1.0, e),
        ReduceKind::Prod => format!("1{repr}"),
        // Ignored beside any number, and what a row of NaN alone gives.
        ReduceKind::Max | ReduceKind::Min if e.is_float() => names::float(f64::NAN, e),
        ReduceKind::Max | ReduceKind::Maximum => largest(-1.0),
        ReduceKind::Min | ReduceKind::Minimum => largest(1.0),
        ReduceKind::Any => "false".into(),
        _ => "true".into(),
    }
}

/// What the combined partial results become.
fn finish(kind: ReduceKind, element: Element, value: &str) -> String {
    match kind {
        _ if is_arg(kind) => format!("{value}.map(|a| reduce::index(a))"),
        _ if accumulator(kind, element) != element => {
            format!("{value}.map(|a| {})", convert(accumulator(kind, element), element, "a"))
        }
        _ => value.to_string(),
    }
}

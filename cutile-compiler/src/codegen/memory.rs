//! Loads and stores of tiles: vectors as wide as layout and promises allow; where a tile is ragged, predicated.

use super::lengths::{Length, sum};
use super::view::{Place, tile_count};
use super::{Binding, Done, Emitter, Held, LayoutId, names};
use cutile_ir::op::{MemoryOp, Padding};
use cutile_ir::{Element, Op, Value};

/// Accesses of tensors that the kernel writes, since the last barrier: one that a thread makes where another thread made
/// one needs a barrier between.
#[derive(Clone, Default, Debug)]
pub(super) struct Hazards {
    since: Vec<Accessed>,
    /// In a loop the accesses of the turn before count too.
    any: Vec<usize>,
}

#[derive(Clone, PartialEq, Debug)]
struct Accessed {
    param: usize,
    tile: Vec<u32>,
    layout: LayoutId,
    writes: bool,
    /// Several threads hold the same elements: all of them load, one stores.
    replicated: bool,
}

impl Hazards {
    /// A barrier settles everything.
    pub(super) fn clear(&mut self) {
        self.since.clear();
        self.any.clear();
    }

    /// After a branch: what either arm, or neither, left.
    pub(super) fn merge(&mut self, other: Hazards) {
        for old in other.since {
            if !self.since.contains(&old) {
                self.since.push(old);
            }
        }
        self.any.extend(other.any);
    }

    /// From here on nothing is known about these parameters.
    pub(super) fn forget(&mut self, params: impl IntoIterator<Item = usize>) {
        self.any.extend(params);
    }

    /// Accesses by the same layout on tiles of the same shape meet in the same thread or not at all, unless threads hold the
    /// same elements.
    fn conflict(&self, new: &Accessed) -> bool {
        self.any.contains(&new.param)
            || self.since.iter().any(|old| {
                let same = (&old.tile, old.layout) == (&new.tile, new.layout);
                let apart = same && !(new.replicated && old.writes != new.writes);
                old.param == new.param && (old.writes || new.writes) && !apart
            })
    }
}

impl<'k> Emitter<'k> {
    pub(super) fn memory(&mut self, op: &'k Op, kind: &'k MemoryOp) -> Done {
        match kind {
            MemoryOp::Extent { tensor, axis } => {
                let extent = self.extent(self.param_of(*tensor), *axis as usize);
                self.bind(op.results[0], Binding::Scalar(extent));
            }
            MemoryOp::Partition { tensor } => {
                let view = self.view_of(self.param_of(*tensor), op.results[0]);
                self.bind(op.results[0], Binding::View(view));
            }
            MemoryOp::TileCount { view, axis } => {
                let v = self.view(*view);
                let count =
                    tile_count(&self.extent(v.param, *axis as usize), v.tile[*axis as usize]);
                let name = self.name(op.results[0]);
                self.body.line(format!("let {name} = {count};"));
                self.bind(op.results[0], Binding::Scalar(name));
            }
            MemoryOp::Load { view, index, padding } => self.load(op, *view, index, padding),
            MemoryOp::Store { tile, view, index } => self.store(op, *tile, *view, index),
        }
        Ok(())
    }

    fn param_of(&self, tensor: Value) -> usize {
        match self.binding(tensor) {
            Binding::Tensor(i) => *i,
            other => unreachable!("verified IR: a tensor, not {other:?}"),
        }
    }

    /// A barrier where this access may meet another thread's.
    fn order(&mut self, view: Value, layout: LayoutId, writes: bool) {
        let v = self.view(view);
        if !self.is_written(v.param) {
            return;
        }
        let replicated = self.mapping.get(layout).replicated_bits() != 0;
        let new = Accessed { param: v.param, tile: v.tile, layout, writes, replicated };
        if self.hazards.conflict(&new) {
            self.barrier();
        }
        if !self.hazards.since.contains(&new) {
            self.hazards.since.push(new);
        }
    }

    fn load(&mut self, op: &Op, view: Value, index: &[Value], padding: &Padding) {
        let r = op.results[0];
        if let Some(Binding::Staged(operand)) = self.bindings[r.0 as usize].clone() {
            let lengths = self.staged_lengths(view, index);
            self.bind(r, Binding::Staged(super::product::Operand { lengths, ..operand }));
            return;
        }
        let layout = self.layout(r);
        self.order(view, layout, false);
        let place = self.locate(op, view, index, padding);
        let other = match padding {
            Padding::Clip => memory_zero(place.element),
            Padding::Fill(v) => {
                let value = self.scalar(*v);
                if place.element == Element::Bool { format!("{value} as u8") } else { value }
            }
        };
        let name = self.name(r);
        self.load_fragment(&name, &place, layout, &other);
        let lengths = match padding {
            Padding::Clip => place.lengths,
            Padding::Fill(_) => vec![Length::Full; place.lengths.len()],
        };
        self.bind_tile(r, Held::Fragment(name, layout), lengths);
    }

    /// The registers that one vector access fills, by the first one's number.
    fn vectors(&self, place: &Place, layout: LayoutId) -> (u32, Vec<usize>) {
        let l = self.mapping.get(layout);
        let width = l.vector_width(self.vector_limit(place.param));
        (width, (0..l.register_count()).step_by(width as usize).collect())
    }

    /// A variable: pointer to the first element of this thread.
    fn thread_start(&mut self, place: &Place, layout: LayoutId) -> String {
        let at = self.coordinates(layout);
        let terms: Vec<(String, usize)> = at
            .iter()
            .enumerate()
            .filter(|(_, at)| *at != "0i32")
            .map(|(axis, at)| (format!("{at} as i64"), axis))
            .collect();
        let Some(offset) = self.offset(place.param, &terms) else { return place.start.clone() };
        let name = self.fresh("here");
        self.body
            .line(format!("let {name} = {}.wrapping_offset(({offset}) as isize);", place.start));
        name
    }

    /// The pointer to a register's element.
    fn register_start(
        &self,
        here: &str,
        place: &Place,
        layout: LayoutId,
        register: usize,
    ) -> String {
        let coord = self.mapping.get(layout).register_coord(register);
        let terms: Vec<(String, usize)> = coord
            .iter()
            .enumerate()
            .filter(|(_, c)| **c != 0)
            .map(|(axis, c)| (c.to_string(), axis))
            .collect();
        match self.offset(place.param, &terms) {
            Some(offset) => format!("{here}.wrapping_offset(({offset}) as isize)"),
            None => here.to_string(),
        }
    }

    /// How many elements of a vector exist, as an `i32` expression, at most its width or more.
    fn present(
        &mut self,
        layout: LayoutId,
        register: usize,
        width: u32,
        lengths: &[Length],
        owner: Option<&str>,
    ) -> String {
        let rank = lengths.len();
        let outer = rank.saturating_sub(1);
        let rows = self.valid(layout, register, lengths, 0..outer);
        let left = match rank {
            0 => width.to_string(),
            _ => {
                let at = self.coordinates(layout);
                let l = self.mapping.get(layout);
                let at = sum(&at[outer], l.register_coord(register)[outer]);
                match &lengths[outer] {
                    Length::Variable(n) => format!("{n} - ({at})"),
                    Length::Full if l.is_padded(outer) => format!("{} - ({at})", l.shape()[outer]),
                    Length::Full => width.to_string(),
                }
            }
        };
        let conditions: Vec<String> = rows.into_iter().chain(owner.map(str::to_owned)).collect();
        if conditions.is_empty() {
            left
        } else {
            format!("if {} {{ {left} }} else {{ 0 }}", conditions.join(" && "))
        }
    }

    /// The condition that a tile is whole, where that is known only at run time; `None` where predicates are always needed.
    fn whole(&self, layout: LayoutId, lengths: &[Length]) -> Option<String> {
        let l = self.mapping.get(layout);
        let mut conditions = Vec::new();
        for (axis, length) in lengths.iter().enumerate() {
            if l.is_padded(axis) {
                return None;
            }
            if let Length::Variable(n) = length {
                conditions.push(format!("{n} == {}", l.shape()[axis]));
            }
        }
        Some(conditions.join(" && "))
    }

    fn load_fragment(&mut self, name: &str, place: &Place, layout: LayoutId, other: &str) {
        let here = self.thread_start(place, layout);
        let (width, vectors) = self.vectors(place, layout);
        let ty = self.fragment(layout);
        let count = self.mapping.get(layout).register_count();
        let names: Vec<String> = (0..count).map(|i| format!("r{i}")).collect();
        let fragment = format!("{ty} {{ {} }}", names.join(", "));
        let pattern = |r: usize| names[r..r + width as usize].join(", ");
        let suffix = if place.element == Element::Bool { ".map(|b| b != 0)" } else { "" };
        let whole = self.whole(layout, &place.lengths);
        let mut plain = Vec::new();
        if whole.is_some() {
            for &r in &vectors {
                let p = self.register_start(&here, place, layout, r);
                plain.push(format!("let [{}] = global::load({p});", pattern(r)));
            }
        }
        let mut careful = Vec::new();
        if whole.as_deref() != Some("") {
            for &r in &vectors {
                let p = self.register_start(&here, place, layout, r);
                let present = self.present(layout, r, width, &place.lengths, None);
                careful.push(format!(
                    "let [{}] = global::load_first({p}, {present}, {other});",
                    pattern(r)
                ));
            }
        }
        match whole.as_deref() {
            Some("") => {
                self.body.open(format!("let {name} = {{"));
                plain.iter().for_each(|l| self.body.line(l));
            }
            Some(condition) => {
                self.body.open(format!("let {name} = if {condition} {{"));
                plain.iter().for_each(|l| self.body.line(l));
                self.body.line(format!("{fragment}{suffix}"));
                self.body.otherwise();
                careful.iter().for_each(|l| self.body.line(l));
            }
            None => {
                self.body.open(format!("let {name} = {{"));
                careful.iter().for_each(|l| self.body.line(l));
            }
        }
        self.body.line(format!("{fragment}{suffix}"));
        self.body.close("};");
    }

    fn store(&mut self, op: &Op, tile: Value, view: Value, index: &[Value]) {
        let layout = self.layout(tile);
        let value = self.operand(tile, layout);
        let value = self.in_variable(value, "out");
        let mut place = self.locate(op, view, index, &Padding::Clip);
        place.lengths = self.shortest(&[place.lengths.clone(), self.tile(tile).lengths]);
        if let Held::Fragment(..) = self.tile(tile).held
            && let Some(matrix) = self.store_matrix(&place, layout)
        {
            self.store_rows(&place, &value, layout, &matrix);
            return;
        }
        self.order(view, layout, true);
        let here = self.thread_start(&place, layout);
        let (width, vectors) = self.vectors(&place, layout);
        let owner = self.owner(layout);
        let whole = if owner.is_some() { None } else { self.whole(layout, &place.lengths) };
        let cast = if place.element == Element::Bool { " as u8" } else { "" };
        let registers = |r: usize| {
            let all: Vec<String> =
                (r..r + width as usize).map(|i| format!("{value}.r{i}{cast}")).collect();
            all.join(", ")
        };
        if let Some(condition) = &whole {
            if !condition.is_empty() {
                self.body.open(format!("if {condition} {{"));
            }
            for &r in &vectors {
                let p = self.register_start(&here, &place, layout, r);
                self.body.line(format!("global::store({p}, [{}]);", registers(r)));
            }
            if condition.is_empty() {
                return;
            }
            self.body.otherwise();
        }
        for &r in &vectors {
            let p = self.register_start(&here, &place, layout, r);
            let present = self.present(layout, r, width, &place.lengths, owner.as_deref());
            self.body.line(format!("global::store_first({p}, {present}, [{}]);", registers(r)));
        }
        if whole.is_some() {
            self.body.close("}");
        }
    }

    /// A variable for an expression that is not one yet.
    pub(super) fn in_variable(&mut self, expression: String, prefix: &str) -> String {
        if expression.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return expression;
        }
        let name = self.fresh(prefix);
        self.body.line(format!("let {name} = {expression};"));
        name
    }
}

/// Zero of an element type as it stands in memory.
fn memory_zero(e: Element) -> String {
    if e == Element::Bool { "0u8".into() } else { names::zero(e) }
}

//! A tile in the layout in which it is wanted: as it is, by naming registers anew, or through shared memory.

use super::lengths::sum;
use super::{Emitter, Held, LayoutId, names};
use cutile_ir::{Element, Value};

impl Emitter<'_> {
    /// A tile as a fragment expression in a layout.
    pub(super) fn operand(&mut self, v: Value, layout: LayoutId) -> String {
        let element = self.element(v);
        match self.tile(v).held {
            Held::Uniform(scalar) => format!("{}::splat({scalar})", self.fragment(layout)),
            Held::Fragment(name, from) => self.relayout(&name, element, from, layout),
        }
    }

    /// A fragment in another layout of the same shape.
    pub(super) fn relayout(
        &mut self,
        name: &str,
        e: Element,
        from: LayoutId,
        to: LayoutId,
    ) -> String {
        if from == to {
            return name.to_string();
        }
        match self.mapping.get(to).registers_from(self.mapping.get(from)) {
            Some(registers) => {
                self.fragment_of(to, registers.into_iter().map(|r| format!("{name}.r{r}")))
            }
            None => self.through_shared(name, e, from, to),
        }
    }

    /// Elements in row-major order through shared memory: also a reshape, since that order is what it keeps.
    pub(super) fn through_shared(
        &mut self,
        name: &str,
        e: Element,
        from: LayoutId,
        to: LayoutId,
    ) -> String {
        let count = self.mapping.get(from).shape().iter().product::<u32>();
        let bytes = e.bytes() as u32;
        let ty = names::memory_repr(e);
        let cast = if e == Element::Bool { " as u8" } else { "" };
        let (region, base) = self.scratch(padded(count) * bytes);
        let base = self.in_variable(base, "scratch");
        let owner = self.owner(from);
        for r in 0..self.mapping.get(from).register_count() {
            let address = self.linear_address(&base, bytes, from, r);
            let inside: Vec<String> =
                owner.clone().into_iter().chain(self.inside(from, r)).collect();
            let present = if inside.is_empty() { "true".to_string() } else { inside.join(" && ") };
            self.body.line(format!("shared::store_if({address}, {present}, [{name}.r{r}{cast}]);"));
        }
        self.barrier();
        let mut each = Vec::new();
        for r in 0..self.mapping.get(to).register_count() {
            let address = self.linear_address(&base, bytes, to, r);
            let value = self.fresh("moved");
            self.body.line(format!("let [{value}]: [{ty}; 1] = shared::load({address});"));
            each.push(if e == Element::Bool { format!("{value} != 0") } else { value });
        }
        self.scratch_read(region);
        self.fragment_of(to, each)
    }

    /// The condition that a register holds an element at all.
    fn inside(&mut self, layout: LayoutId, register: usize) -> Option<String> {
        let rank = self.mapping.get(layout).rank();
        self.valid(layout, register, &vec![super::Length::Full; rank], 0..rank)
    }

    /// Where an element stands in row-major order, skewed so that columns do not meet in one bank. Padding stands at some
    /// element's place.
    fn linear_address(
        &mut self,
        base: &str,
        bytes: u32,
        layout: LayoutId,
        register: usize,
    ) -> String {
        let at = self.coordinates(layout);
        let l = self.mapping.get(layout);
        let coord = l.register_coord(register);
        let mut terms = Vec::new();
        let mut stride = 1;
        for axis in (0..l.rank()).rev() {
            let mut c = sum(&at[axis], coord[axis]);
            if l.is_padded(axis) {
                c = format!("({c}).min({})", l.shape()[axis] - 1);
            }
            if c != "0" {
                terms.push(format!("({c}) * {stride}"));
            }
            stride *= l.shape()[axis];
        }
        if terms.is_empty() {
            return base.to_string();
        }
        let linear = self.fresh("linear");
        self.body.line(format!("let {linear} = ({}) as u32;", terms.join(" + ")));
        format!("{base} + ({linear} + {linear} / 32) * {bytes}")
    }
}

/// Elements with the skew.
fn padded(count: u32) -> u32 {
    count + count / 32
}

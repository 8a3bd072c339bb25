//! Tiles in global memory: which parameter, where a tile starts, how much of it exists.

use super::lengths::Length;
use super::{Emitter, fault};
use crate::mapping::threads::extents;
use cutile_ir::op::Padding;
use cutile_ir::{Element, Op, ParamRole, Value};

/// A tensor parameter cut into tiles.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// By position.
    pub(super) param: usize,
    /// The tile's extents.
    pub(super) tile: Vec<u32>,
}

/// A tile of a view, located.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) param: usize,
    pub(super) element: Element,
    /// A variable: pointer to the tile's first element.
    pub(super) start: String,
    /// How much of the tile is inside the tensor.
    pub(super) lengths: Vec<Length>,
}

impl Emitter<'_> {
    /// Computes where a tile starts and how much of it is inside the tensor; checks the index unless lanes outside are
    /// filled.
    pub(super) fn locate(
        &mut self,
        op: &Op,
        view: Value,
        index: &[Value],
        padding: &Padding,
    ) -> Place {
        let v = self.view(view);
        let element = self.element(view);
        let mut terms = Vec::new();
        let mut lengths = Vec::new();
        for (axis, i) in index.iter().enumerate() {
            let start = match padding {
                Padding::Clip => self.checked_start(op, &v, axis, *i),
                Padding::Fill(_) => self.free_start(&v, axis, *i),
            };
            lengths.push(self.clipped(&v, axis, &start, padding));
            terms.push((format!("{start} as i64"), axis));
        }
        let offset = self.offset(v.param, &terms);
        let start = self.fresh("start");
        let base = self.parameter(v.param);
        match offset {
            Some(offset) => self
                .body
                .line(format!("let {start} = {base}.wrapping_offset(({offset}) as isize);")),
            None => self.body.line(format!("let {start} = {base};")),
        }
        Place { param: v.param, element, start, lengths }
    }

    /// The first coordinate of a tile whose index must be in range: an `i32` variable.
    fn checked_start(&mut self, op: &Op, v: &View, axis: usize, index: Value) -> String {
        if !self.is_settled(op, axis) {
            let i = self.scalar(index);
            self.check_index(op, v, axis, index, &i);
        }
        let i = self.scalar(index);
        let extent = v.tile[axis];
        let start = self.fresh("at");
        self.body.line(format!("let {start} = ({i} as i32).wrapping_mul({extent});"));
        start
    }

    /// A fault unless an index, or the largest of several, is that of a tile; nothing where that is proved.
    pub(super) fn check_index(&mut self, op: &Op, v: &View, axis: usize, index: Value, i: &str) {
        let extent = v.tile[axis];
        let tensor = self.f.params[v.param].value;
        if self.ranges.proves(self.f, tensor, axis, extent.into(), index) {
            return;
        }
        let count = tile_count(&self.extent(v.param, axis), extent);
        let (index, count) = (format!("{i} as i64"), format!("{count} as i64"));
        let name = &self.f.params[v.param].name;
        let text = format!("tile index out of range along axis {axis} of `{name}`");
        let failed = format!("({index}) as u64 >= ({count}) as u64");
        self.check(op, &failed, text, Some(fault::Operands(index, count)));
    }

    /// The first coordinate of a tile at any index: an `i64` variable.
    fn free_start(&mut self, v: &View, axis: usize, index: Value) -> String {
        let start = self.fresh("at");
        let i = self.scalar(index);
        // An index beyond 2^32 tiles is beyond every tensor; so is its clamped neighbour.
        let wide = format!("({i} as i128).max(-1).min(1 << 32) as i64");
        let wide = if self.element(index).bytes() < 8 {
            format!("({i} as i64)")
        } else {
            format!("({wide})")
        };
        self.body.line(format!("let {start} = {wide} * {};", v.tile[axis]));
        start
    }

    /// How much of a tile is inside the tensor along an axis.
    pub(super) fn clipped(
        &mut self,
        v: &View,
        axis: usize,
        start: &str,
        padding: &Padding,
    ) -> Length {
        let tile = v.tile[axis];
        let extent = self.extent(v.param, axis);
        let inside = match padding {
            Padding::Clip if tile == 1 => return Length::Full,
            Padding::Clip => {
                let tensor = self.f.ty(self.f.params[v.param].value).as_tensor();
                let known = tensor.and_then(|t| t.extents[axis].as_ref()?.known());
                if known.is_some_and(|e| e % i64::from(tile) == 0) {
                    return Length::Full;
                }
                format!("({extent} - {start}).min({tile})")
            }
            Padding::Fill(_) => format!(
                "if {start} < 0 {{ 0 }} else {{ ({extent} as i64 - {start}).max(0).min({tile}) as i32 }}"
            ),
        };
        let name = self.fresh("len");
        self.body.line(format!("let {name} = {inside};"));
        Length::Variable(name)
    }

    /// The sum of coordinates times strides, in elements, as an `i64` expression; `None` for no terms.
    pub(super) fn offset(&self, param: usize, terms: &[(String, usize)]) -> Option<String> {
        let parts: Vec<String> = terms
            .iter()
            .map(|(at, axis)| match self.stride(param, *axis).as_str() {
                "1" => format!("({at})"),
                stride => format!("({at}) * {stride}"),
            })
            .collect();
        (!parts.is_empty()).then(|| parts.join(" + "))
    }

    /// Whether vectors along the last axis of a tensor's tiles are aligned to their size.
    pub(super) fn vector_limit(&self, param: usize) -> u32 {
        let element = self.f.ty(self.f.params[param].value).element().expect();
        match self.settings.facts {
            cutile_bundle::key::FactsClass::Aligned => (16 / element.bytes() as u32).max(1),
            cutile_bundle::key::FactsClass::General => 1,
        }
    }

    /// Whether a kernel may write a parameter's tensor.
    pub(super) fn is_written(&self, param: usize) -> bool {
        matches!(self.f.params[param].role, ParamRole::Partitioned { .. })
    }

    /// The extents of a view's tile.
    pub(super) fn view_of(&self, param: usize, view: Value) -> View {
        let tile = self.f.ty(view).as_view().map(|v| extents(&v.tile())).unwrap_or_default();
        View { param, tile }
    }
}

/// The number of tiles along an axis, as an `i32` expression.
pub(super) fn tile_count(extent: &str, tile: u32) -> String {
    match tile {
        1 => extent.to_string(),
        t => format!("({extent} as u32).div_ceil({t}) as i32"),
    }
}

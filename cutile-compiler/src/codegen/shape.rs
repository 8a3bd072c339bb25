//! Broadcast, reshape, permute: other names for the same registers wherever the layouts allow it.

use super::lengths::Length;
use super::{Binding, Done, Emitter, Held, LayoutId, names};
use crate::analysis::ragged::kept_axes;
use crate::mapping::assign::{broadcast_source, inverse};
use cutile_ir::op::ShapeOp;
use cutile_ir::{Op, Value};

impl<'k> Emitter<'k> {
    pub(super) fn shape(&mut self, op: &'k Op, kind: &ShapeOp) -> Done {
        let r = op.results[0];
        if let (Some(Binding::Staged(operand)), ShapeOp::Permute { order, x }) =
            (self.bindings[r.0 as usize].clone(), kind)
            && let Binding::Staged(source) = self.binding(*x)
        {
            let lengths = order.iter().map(|a| source.lengths[*a as usize].clone()).collect();
            self.bind(r, Binding::Staged(super::product::Operand { lengths, ..operand }));
            return Ok(());
        }
        match kind {
            ShapeOp::Broadcast { x } => self.broadcast(r, *x),
            ShapeOp::Reshape { x } => self.reshape(r, *x),
            ShapeOp::Permute { order, x } => self.permute(r, *x, order),
            ShapeOp::ToScalar { .. } => {}
        }
        Ok(())
    }

    fn shape_of(&self, v: Value) -> Vec<usize> {
        self.f.ty(v).as_tile().map(|t| t.numbers().to_vec()).unwrap_or_default()
    }

    fn broadcast(&mut self, r: Value, x: Value) {
        let (from, to) = (self.shape_of(x), self.shape_of(r));
        let tile = self.tile(x);
        let lengths = (0..to.len())
            .map(|a| if from[a] == to[a] { tile.lengths[a].clone() } else { Length::Full })
            .collect();
        if let Held::Uniform(scalar) = tile.held {
            self.bind_tile(r, Held::Uniform(scalar), lengths);
            return;
        }
        let layout = self.layout(r);
        let small: Vec<u32> = from.iter().map(|n| *n as u32).collect();
        let source = broadcast_source(self.mapping.get(layout), &small);
        let source = self.mapping.intern(source);
        let value = self.operand(x, source);
        let value = self.in_variable(value, "small");
        let (l, s) = (self.mapping.get(layout), self.mapping.get(source));
        let registers: Vec<String> = (0..l.register_count())
            .map(|i| {
                let mut coord = l.register_coord(i);
                for axis in (0..to.len()).filter(|a| from[*a] != to[*a]) {
                    coord[axis] = 0;
                }
                let register =
                    s.register_at(&coord).expect("the source layout has every row's register");
                format!("{value}.r{register}")
            })
            .collect();
        let fragment = self.fragment_of(layout, registers);
        let name = self.name(r);
        self.body.line(format!("let {name} = {fragment};"));
        self.bind_tile(r, Held::Fragment(name, layout), lengths);
    }

    fn permute(&mut self, r: Value, x: Value, order: &[u32]) {
        let tile = self.tile(x);
        let lengths = order.iter().map(|a| tile.lengths[*a as usize].clone()).collect();
        let held = match tile.held {
            Held::Uniform(scalar) => Held::Uniform(scalar),
            Held::Fragment(..) => {
                let layout = self.layout(r);
                let source = self.mapping.get(layout).permute(&inverse(order));
                let source = self.mapping.intern(source);
                let value = self.operand(x, source);
                Held::Fragment(self.in_variable(value, "turned"), layout)
            }
        };
        self.bind_tile(r, held, lengths);
    }

    fn reshape(&mut self, r: Value, x: Value) {
        let (from, to) = (self.shape_of(x), self.shape_of(r));
        let tile = self.tile(x);
        let kept = kept_axes(&from, &to);
        let lengths = match &kept {
            Some(kept) => {
                kept.iter().map(|k| k.map_or(Length::Full, |a| tile.lengths[a].clone())).collect()
            }
            None => vec![Length::Full; to.len()],
        };
        let ragged = tile.lengths.iter().any(|l| *l != Length::Full);
        let held = match tile.held {
            Held::Uniform(scalar) if kept.is_some() || !ragged => Held::Uniform(scalar),
            held => {
                let (mut name, own) = match held {
                    Held::Fragment(name, own) => (name, own),
                    Held::Uniform(_) => {
                        let own = self.layout(x);
                        let value = self.operand(x, own);
                        (self.in_variable(value, "whole"), own)
                    }
                };
                if kept.is_none() && ragged {
                    let zero = names::zero(self.element(x));
                    name = self.masked(&name, own, &tile.lengths, 0..from.len(), &zero);
                }
                self.reshaped(r, x, &name, own)
            }
        };
        self.bind_tile(r, held, lengths);
    }

    /// The same registers where the wanted layout is one of the old shape too; shared memory otherwise.
    fn reshaped(&mut self, r: Value, x: Value, name: &str, own: LayoutId) -> Held {
        let layout = self.layout(r);
        let element = self.element(x);
        let old: Vec<u32> = self.mapping.get(own).shape().to_vec();
        let value = match self.mapping.get(layout).reshape(&old) {
            Some(source) => {
                let source = self.mapping.intern(source);
                self.relayout(name, element, own, source)
            }
            None => self.through_shared(name, element, own, layout),
        };
        Held::Fragment(self.in_variable(value, "reshaped"), layout)
    }

    /// A fragment with another value in place of what is invalid or padding along some axes.
    pub(super) fn masked(
        &mut self,
        name: &str,
        layout: LayoutId,
        lengths: &[Length],
        axes: std::ops::Range<usize>,
        other: &str,
    ) -> String {
        let conditions: Vec<Option<String>> = (0..self.mapping.get(layout).register_count())
            .map(|r| self.valid(layout, r, lengths, axes.clone()))
            .collect();
        if conditions.iter().all(Option::is_none) {
            return name.to_string();
        }
        let registers: Vec<String> = conditions
            .into_iter()
            .enumerate()
            .map(|(r, condition)| match condition {
                Some(c) => format!("if {c} {{ {name}.r{r} }} else {{ {other} }}"),
                None => format!("{name}.r{r}"),
            })
            .collect();
        let value = self.fragment_of(layout, registers);
        self.in_variable(value, "masked")
    }

    pub(super) fn only_element(&mut self, op: &Op, x: Value) -> Done {
        let scalar = match self.tile(x).held {
            Held::Uniform(scalar) => scalar,
            Held::Fragment(name, layout) => {
                // One element that every thread holds: other layouts of a tile of one element do not exist.
                debug_assert_eq!(self.mapping.get(layout).register_count(), 1);
                format!("{name}.r0")
            }
        };
        let name = self.name(op.results[0]);
        self.body.line(format!("let {name} = {scalar};"));
        self.bind(op.results[0], Binding::Scalar(name));
        Ok(())
    }
}

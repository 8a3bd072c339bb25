//! Loops and branches. Their conditions are the same in every thread; carried values are variables.

use super::memory::Hazards;
use super::{Binding, Done, Emitter, Held, Length, Tile, names};
use cutile_ir::op::{ControlOp, OpKind};
use cutile_ir::{Block, Op, Type, Value};

/// A carried value as Rust variables.
struct Carried {
    name: String,
    /// Variables of valid lengths, with the axis.
    lengths: Vec<(usize, String)>,
}

impl<'k> Emitter<'k> {
    pub(super) fn control(&mut self, op: &'k Op, kind: &'k ControlOp) -> Done {
        match kind {
            ControlOp::For { lower, upper, step, init, body } => {
                self.for_loop(op, [*lower, *upper, *step], init, body)
            }
            ControlOp::While { init, cond, body } => self.while_loop(op, init, cond, body),
            ControlOp::If { cond, on_true, on_false } => self.branch(op, *cond, on_true, on_false),
            ControlOp::Call { .. } => unreachable!("specialised IR has no calls"),
        }
    }

    /// Variables for carried values, with their initial values; the parameters and results become them.
    fn carry(&mut self, op: &Op, init: &[Value], params: &[Value]) -> Vec<Carried> {
        let mut all = Vec::new();
        for ((init, param), result) in init.iter().zip(params).zip(&op.results) {
            let name = self.name(*result);
            let mut lengths = Vec::new();
            match self.f.ty(*result) {
                Type::Tile(t) => {
                    let rank = t.shape.len();
                    let layout = self.layout(*result);
                    let value = self.operand(*init, layout);
                    self.body.line(format!("let mut {name} = {value};"));
                    let initial = self.tile(*init).lengths;
                    let extents = crate::mapping::threads::extents(t);
                    for axis in (0..rank).filter(|a| self.ragged.is(*param, *a)) {
                        let variable = format!("{name}_len{axis}");
                        let value = length_value(&initial[axis], extents[axis]);
                        self.body.line(format!("let mut {variable} = {value};"));
                        lengths.push((axis, variable));
                    }
                }
                _ => {
                    let value = self.scalar(*init);
                    self.body.line(format!("let mut {name} = {value};"));
                }
            }
            let carried = Carried { name, lengths };
            self.bind_carried(*param, &carried);
            all.push(carried);
        }
        all
    }

    fn bind_carried(&mut self, v: Value, carried: &Carried) {
        let binding = match self.f.ty(v) {
            Type::Tile(t) => {
                let mut lengths = vec![Length::Full; t.shape.len()];
                for (axis, name) in &carried.lengths {
                    lengths[*axis] = Length::Variable(name.clone());
                }
                Binding::Tile(Tile {
                    held: Held::Fragment(carried.name.clone(), self.layout(v)),
                    lengths,
                })
            }
            _ => Binding::Scalar(carried.name.clone()),
        };
        self.bind(v, binding);
    }

    /// Assigns the values that a turn yields to the carried variables, all at once.
    fn hand_over(&mut self, carried: &[Carried], yields: &[Value]) {
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for (c, v) in carried.iter().zip(yields) {
            match self.f.ty(*v) {
                Type::Tile(t) => {
                    let extents = crate::mapping::threads::extents(t);
                    let layout = self.layout(*v);
                    values.push(self.operand(*v, layout));
                    targets.push(c.name.clone());
                    let lengths = self.tile(*v).lengths;
                    for (axis, variable) in &c.lengths {
                        values.push(length_value(&lengths[*axis], extents[*axis]));
                        targets.push(variable.clone());
                    }
                }
                _ => {
                    values.push(self.scalar(*v));
                    targets.push(c.name.clone());
                }
            }
        }
        let changed: Vec<(String, String)> =
            targets.into_iter().zip(values).filter(|(t, v)| t != v).collect();
        let crossed = changed.iter().any(|(t, _)| changed.iter().any(|(_, v)| mentions(v, t)));
        if crossed && changed.len() > 1 {
            let (targets, values): (Vec<String>, Vec<String>) = changed.into_iter().unzip();
            self.body.line(format!("({}) = ({});", targets.join(", "), values.join(", ")));
        } else {
            for (target, value) in changed {
                self.body.line(format!("{target} = {value};"));
            }
        }
    }

    fn bind_results(&mut self, op: &Op, carried: &[Carried]) {
        for (result, c) in op.results.iter().zip(carried) {
            self.bind_carried(*result, c);
        }
    }

    /// What earlier turns may have left is unknown inside a loop, and what the last one left after it.
    fn enter_loop(&mut self, blocks: &[&'k Block]) {
        self.loops += 1;
        self.scratch_unknown();
        self.forget_written(blocks);
    }

    fn leave_loop(&mut self, blocks: &[&'k Block], before: Hazards) {
        self.loops -= 1;
        self.scratch_unknown();
        self.forget_written(blocks);
        // The body may not have run at all.
        self.hazards.merge(before);
    }

    /// Tensors that these blocks write: nothing is known of who accesses them.
    fn forget_written(&mut self, blocks: &[&'k Block]) {
        let mut written = Vec::new();
        for b in blocks {
            b.for_each_op(&mut |op| {
                if let OpKind::Memory(cutile_ir::op::MemoryOp::Store { view, .. }) = &op.kind {
                    written.push(*view);
                }
            });
        }
        let params: Vec<usize> = written.into_iter().filter_map(|v| self.source_of(v)).collect();
        self.hazards.forget(params);
    }

    /// The parameter that a view cuts.
    pub(super) fn source_of(&self, view: Value) -> Option<usize> {
        match &self.definitions.get(&view)?.kind {
            OpKind::Memory(cutile_ir::op::MemoryOp::Partition { tensor }) => {
                self.f.params.iter().position(|p| p.value == *tensor)
            }
            _ => None,
        }
    }

    fn for_loop(
        &mut self,
        op: &'k Op,
        [lower, upper, step]: [Value; 3],
        init: &'k [Value],
        body: &'k Block,
    ) -> Done {
        let counter = body.params[0];
        let ty = names::repr(self.element(counter));
        let (first, end, by) = (self.scalar(lower), self.scalar(upper), self.scalar(step));
        let constant_step = self.ranges.constant(step);
        if constant_step.is_none_or(|n| n < 1) {
            self.check(op, &format!("{by} < 1"), "the step of a loop is less than 1".into(), None);
        }
        let carried = self.carry(op, init, &body.params[1..]);
        let i = self.name(counter);
        let plan = self.stages(op, [lower, upper, step], body);
        if let Some(plan) = &plan {
            self.begin_stages(plan)?;
        }
        self.bind(counter, Binding::Scalar(i.clone()));
        let before = self.hazards.clone();
        self.enter_loop(&[body]);
        self.body.line(format!("let mut {i}: {ty} = {first};"));
        if constant_step == Some(1) {
            self.body.open(format!("while {i} < {end} {{"));
        } else {
            // Counted, since the counter may not reach past the end of its type.
            self.body.line(format!("core::hint::assert_unchecked({by} > 0);"));
            self.body.line(format!(
                "let mut {i}_left = if {first} < {end} {{ {end}.abs_diff({first}).div_ceil({by} as _) }} else {{ 0 }};"
            ));
            self.body.open(format!("while {i}_left != 0 {{"));
        }
        if let Some(plan) = &plan {
            self.turn_stages(plan)?;
        }
        self.block(body)?;
        self.hand_over(&carried, &body.yields);
        self.body.line(format!("{i} = {i}.wrapping_add({by});"));
        if constant_step != Some(1) {
            self.body.line(format!("{i}_left -= 1;"));
        }
        self.body.close("}");
        if let Some(plan) = &plan {
            self.end_stages(plan);
        }
        self.leave_loop(&[body], before);
        self.bind_results(op, &carried);
        Ok(())
    }

    fn while_loop(
        &mut self,
        op: &'k Op,
        init: &'k [Value],
        cond: &'k Block,
        body: &'k Block,
    ) -> Done {
        let carried = self.carry(op, init, &cond.params);
        for (param, c) in body.params.iter().zip(&carried) {
            self.bind_carried(*param, c);
        }
        let before = self.hazards.clone();
        self.enter_loop(&[cond, body]);
        self.body.open("loop {");
        self.block(cond)?;
        let holds = self.scalar(cond.yields[0]);
        self.body.line(format!("if !{holds} {{ break; }}"));
        self.block(body)?;
        self.hand_over(&carried, &body.yields);
        self.body.close("}");
        self.leave_loop(&[cond, body], before);
        self.bind_results(op, &carried);
        Ok(())
    }

    fn branch(&mut self, op: &'k Op, cond: Value, on_true: &'k Block, on_false: &'k Block) -> Done {
        let cond = self.scalar(cond);
        let mut carried = Vec::new();
        for r in &op.results {
            let name = self.name(*r);
            let rank = self.f.ty(*r).as_tile().map_or(0, |t| t.shape.len());
            let lengths: Vec<(usize, String)> = (0..rank)
                .filter(|a| self.ragged.is(*r, *a))
                .map(|a| (a, format!("{name}_len{a}")))
                .collect();
            self.body.line(format!("let {name};"));
            lengths.iter().for_each(|(_, l)| self.body.line(format!("let {l};")));
            carried.push(Carried { name, lengths });
        }
        let before = (self.scratch.state(), self.hazards.clone());
        self.body.open(format!("if {cond} {{"));
        self.block(on_true)?;
        self.hand_over(&carried, &on_true.yields);
        self.body.otherwise();
        self.scratch.restore(before.0);
        let after_true = std::mem::replace(&mut self.hazards, before.1);
        self.block(on_false)?;
        self.hand_over(&carried, &on_false.yields);
        self.body.close("}");
        self.scratch_unknown();
        self.hazards.merge(after_true);
        self.bind_results(op, &carried);
        Ok(())
    }
}

fn length_value(length: &Length, extent: u32) -> String {
    match length {
        Length::Full => format!("{extent}i32"),
        Length::Variable(name) => name.clone(),
    }
}

/// Whether an expression refers to a variable.
fn mentions(expression: &str, variable: &str) -> bool {
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .any(|word| word == variable)
}

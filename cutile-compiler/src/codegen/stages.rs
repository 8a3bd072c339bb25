//! Pipelined loops: the copies of later turns are under way while one turn computes.
//!
//! Before the loop all stages but one are filled. Each turn waits for its own stage, meets all threads at a barrier (the
//! stage that the turn before read is free then), starts the copy of the turn that will use that stage, and computes.

use super::product::Operand;
use super::{Binding, Done, Emitter, Length};
use crate::mapping::stages::{self, Pipeline, Staged};
use cutile_bundle::key::FactsClass;
use cutile_ir::op::{MemoryOp, OpKind, Padding};
use cutile_ir::{Block, Op, Value};

/// A pipeline being written.
pub(super) struct Stages<'k> {
    pipeline: Pipeline<'k>,
    bounds: [Value; 3],
    counter: Value,
    /// A prefix of its variables.
    name: String,
    /// The constant that is its place in shared memory.
    place: String,
}

impl<'k> Emitter<'k> {
    /// The pipeline of a loop, if it has one.
    pub(super) fn stages(
        &mut self,
        op: &'k Op,
        bounds: [Value; 3],
        body: &'k Block,
    ) -> Option<Stages<'k>> {
        if self.settings.facts != FactsClass::Aligned {
            return None;
        }
        let limit = super::scratch::shared_memory_limit(self.settings.arch) - 8 * 1024;
        let pipeline = stages::find(self.f, &self.uses, op, self.settings.arch, limit)?;
        let place = self.reserve("STAGES", pipeline.bytes * pipeline.stages);
        let name = self.fresh("copy");
        Some(Stages { pipeline, bounds, counter: body.params[0], name, place })
    }

    /// The number of turns, and the first copies.
    pub(super) fn begin_stages(&mut self, s: &Stages<'k>) -> Done {
        let [lower, upper, step] = s.bounds.map(|v| self.scalar(v));
        let n = &s.name;
        self.body
            .line(format!("// copies to shared memory, {} turns ahead", s.pipeline.stages - 1));
        if self.loops > 0 {
            self.barrier();
        }
        self.body.line(format!("core::hint::assert_unchecked({step} > 0);"));
        self.body.line(format!(
            "let {n}_turns = if {lower} < {upper} {{ {upper}.abs_diff({lower}).div_ceil({step} as _) }} else {{ 0 }};"
        ));
        self.settle_checks(s, &lower, &upper);
        self.body.line(format!("let mut {n}_next = {lower};"));
        self.body.line(format!("let mut {n}_started = 0;"));
        self.body.line(format!("let mut {n}_fill = 0u32;"));
        self.body.open(format!("while {n}_fill < {} {{", s.pipeline.stages - 1));
        self.start_turn(s)?;
        self.body.line(format!("{n}_fill += 1;"));
        self.body.close("}");
        self.body.line(format!("let mut {n}_use = 0u32;"));
        Ok(())
    }

    /// Index checks that no turn changes, or that the last turn decides, stand before the loop: it is entered if there is a
    /// turn, and every turn makes them.
    fn settle_checks(&mut self, s: &Stages<'k>, lower: &str, upper: &str) {
        self.body.open(format!("if {}_turns != 0 {{", s.name));
        let counts_up = self.ranges.constant(s.bounds[0]).is_some_and(|n| n >= 0)
            && self.ranges.constant(s.bounds[2]) == Some(1);
        for staged in &s.pipeline.loads {
            let OpKind::Memory(MemoryOp::Load { view, index, .. }) = &staged.load.kind else {
                continue;
            };
            let v = self.view(*view);
            for (axis, i) in index.iter().enumerate() {
                let fixed = self.bindings[i.0 as usize].is_some() && *i != s.counter;
                if fixed {
                    let at = self.scalar(*i);
                    self.check_index(staged.load, &v, axis, *i, &at);
                } else if *i == s.counter && counts_up {
                    let last = format!("({upper} - 1).max({lower})");
                    self.check_index(staged.load, &v, axis, *i, &last);
                } else {
                    continue;
                }
                self.settle(staged.load, axis);
            }
        }
        self.body.close("}");
    }

    /// Starts the copies of the next turn that has none, into the stage `fill`; closes their group in any case.
    fn start_turn(&mut self, s: &Stages<'k>) -> Done {
        let n = &s.name;
        let step = self.scalar(s.bounds[2]);
        self.body.open(format!("if {n}_started < {n}_turns {{"));
        self.body
            .line(format!("let stage = smem + {} + {n}_fill * {};", s.place, s.pipeline.bytes));
        self.bind(s.counter, Binding::Scalar(format!("{n}_next")));
        for op in &s.pipeline.slice {
            self.op(op)?;
        }
        for staged in &s.pipeline.loads {
            let OpKind::Memory(MemoryOp::Load { view, index, .. }) = &staged.load.kind else {
                continue;
            };
            let place = self.locate(staged.load, *view, index, &Padding::Clip);
            let to = format!("stage + {}", staged.offset);
            self.start_copies(&place, &staged.matrix, &to);
        }
        self.body.close("}");
        self.body.line("copy::commit();");
        self.body.line(format!("{n}_started += 1;"));
        self.body.line(format!("{n}_next = {n}_next.wrapping_add({step});"));
        Ok(())
    }

    /// The start of a turn.
    pub(super) fn turn_stages(&mut self, s: &Stages<'k>) -> Done {
        let (n, stages) = (&s.name, s.pipeline.stages);
        let next = |v: &str| format!("{v} = if {v} + 1 == {stages} {{ 0 }} else {{ {v} + 1 }};");
        let counter = self.scalar(s.counter);
        self.body.line(format!("copy::wait::<{}>();", stages - 2));
        self.barrier();
        self.start_turn(s)?;
        self.bind(s.counter, Binding::Scalar(counter));
        self.body.line(next(&format!("{n}_fill")));
        let stage = format!("{n}_stage");
        self.body
            .line(format!("let {stage} = smem + {} + {n}_use * {};", s.place, s.pipeline.bytes));
        self.body.line(next(&format!("{n}_use")));
        for staged in &s.pipeline.loads {
            self.bind_staged(staged, &stage);
        }
        Ok(())
    }

    /// From here on the load and its permutation are a matrix in shared memory.
    fn bind_staged(&mut self, staged: &Staged<'k>, stage: &str) {
        let operand = |turned| Operand {
            base: format!("{stage} + {}", staged.offset),
            matrix: staged.matrix,
            turned,
            lengths: vec![Length::Full; 2],
        };
        self.bind(staged.load.results[0], Binding::Staged(operand(false)));
        if let Some(turn) = staged.turn {
            self.bind(turn.results[0], Binding::Staged(operand(true)));
        }
    }

    /// The valid lengths of a staged load, at its place in the body.
    pub(super) fn staged_lengths(&mut self, view: Value, index: &[Value]) -> Vec<Length> {
        let v = self.view(view);
        let mut lengths = Vec::new();
        for (axis, i) in index.iter().enumerate() {
            let start = self.fresh("at");
            let i = self.scalar(*i);
            self.body.line(format!("let {start} = ({i} as i32).wrapping_mul({});", v.tile[axis]));
            lengths.push(self.clipped(&v, axis, &start, &Padding::Clip));
        }
        lengths
    }

    /// After the loop: no copy may be under way when others use the memory.
    pub(super) fn end_stages(&mut self, s: &Stages<'k>) {
        self.body.line("copy::wait::<0>();");
        self.release(&s.place, s.pipeline.bytes * s.pipeline.stages);
    }
}

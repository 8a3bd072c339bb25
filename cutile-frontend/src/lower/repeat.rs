//! Loops. A `for` that runs to its end is the IR's `for`; every other loop is the IR's `while`, with a flag for each way to
//! leave it early.

use cutile_ir::{
    Element, Type, Value,
    op::{ArithOp, BinaryOp, CompareOp, ControlOp, CreateOp, Literal, Message, ProgramOp},
};

use super::{
    Lower, Val,
    effects::{Effects, Exit},
};
use crate::{
    ast::{Expr, ExprId, ExprKind, Loop, LoopKind, Pattern, Range},
    messages,
    typing::{LocalId, types::Ty},
};

/// The parts of a counted loop.
struct Counter<'l> {
    pattern: &'l Pattern,
    lower: Value,
    upper: Value,
    step: Value,
    reversed: bool,
    ty: Type,
}

impl Lower<'_> {
    /// Lowers a loop; its value has type `ty`.
    pub(super) fn loop_expr(&mut self, id: ExprId, l: &Loop, ty: &Ty) -> Val {
        let mut effects = Effects::of_block(self.typed, &l.body);
        if let LoopKind::While(cond) = &l.kind {
            let of_cond = Effects::of(self.typed, cond);
            if !of_cond.assigned.is_empty() || !of_cond.exits.is_empty() {
                self.report.error(cond.span, messages::assignment_in_condition());
            }
            effects = effects.join(of_cond);
        }
        let breaks = effects.exits.contains(&Exit::Break(id.0));
        let continues = effects.exits.contains(&Exit::Continue(id.0));
        if breaks {
            self.new_flag(Exit::Break(id.0));
            if !self.types(ty).is_empty() {
                let slot = self.synthetic(ty.clone());
                self.loop_values.insert(id.0, slot);
            }
        }
        effects.exits.remove(&Exit::Continue(id.0));
        let leaves: Vec<Exit> = effects.exits.iter().copied().collect();
        let carried = self.carried(&effects);
        let body = |s: &mut Self| {
            if continues {
                s.new_flag(Exit::Continue(id.0));
            }
            s.block(&l.body, &Ty::unit());
        };
        match &l.kind {
            LoopKind::For(range) => {
                let counter = self.counter(range);
                if leaves.is_empty() {
                    self.counted(&counter, &carried, body);
                } else {
                    self.counted_with_exits(&counter, &carried, &leaves, body);
                }
            }
            LoopKind::While(cond) => self.conditional(Some(cond), &carried, &leaves, body),
            LoopKind::Forever => self.conditional(None, &carried, &leaves, body),
        }
        match self.loop_values.get(&id.0).copied() {
            Some(slot) => self.read(slot),
            None => Val::None,
        }
    }

    fn counter<'l>(&mut self, range: &'l Range) -> Counter<'l> {
        range.bounds().for_each(|e| self.no_exit(e));
        let lower_ty = self.typed.ty(range.lower.id).clone();
        let ty = self.types(&lower_ty).pop().unwrap_or(Type::scalar(Element::I32));
        let (lower, upper) = (self.one(&range.lower), self.one(&range.upper));
        let step = match &range.step {
            None => self.b.value(CreateOp::Constant { value: Literal::Int(1) }, ty.clone()),
            Some(e) => match &e.kind {
                ExprKind::Int(n, _) => {
                    self.at(e.span);
                    let value = Literal::Int(i128::try_from(*n).unwrap_or(i128::MAX));
                    self.b.value(CreateOp::Constant { value }, ty.clone())
                }
                _ => {
                    let step = self.one(e);
                    self.convert_to(step, &ty)
                }
            },
        };
        Counter { pattern: &range.pattern, lower, upper, step, reversed: range.reversed, ty }
    }

    /// Gives the loop's variable its value in the body.
    fn bind_counter(&mut self, c: &Counter<'_>, i: Value) {
        let value = if c.reversed {
            // upper - 1 - (i - lower), which wraps as a whole to the right number.
            let one = self.b.value(CreateOp::Constant { value: Literal::Int(1) }, c.ty.clone());
            let last = self.arith(BinaryOp::Sub, c.upper, one);
            let done = self.arith(BinaryOp::Sub, i, c.lower);
            self.arith(BinaryOp::Sub, last, done)
        } else {
            i
        };
        self.bind(c.pattern, Val::One(value));
    }

    pub(super) fn arith(&mut self, op: BinaryOp, lhs: Value, rhs: Value) -> Value {
        let ty = self.b.ty(lhs).clone();
        self.b.value(ArithOp::Binary { op, lhs, rhs }, ty)
    }

    fn compare(&mut self, op: CompareOp, lhs: Value, rhs: Value) -> Value {
        self.b.value(ArithOp::Compare { op, lhs, rhs }, Type::scalar(Element::Bool))
    }

    fn counted(&mut self, c: &Counter<'_>, carried: &[LocalId], body: impl FnOnce(&mut Self)) {
        let loc = self.b.loc();
        let init = self.values_of(carried);
        let before = self.slots.clone();
        let types = self.types_of(carried);
        let params = self.b.open(std::iter::once(c.ty.clone()).chain(types));
        let mut params = params.into_iter();
        let i = params.next().unwrap_or(c.lower);
        self.set_all(carried, &mut params);
        self.bind_counter(c, i);
        body(self);
        let yields = self.values_of(carried);
        let block = self.b.close(yields);
        self.restore(before);
        self.b.set_loc(loc);
        let results = self.b.control(ControlOp::For {
            lower: c.lower,
            upper: c.upper,
            step: c.step,
            init,
            body: block,
        });
        self.set_all(carried, &mut results.into_iter());
    }

    /// A counted loop that may be left early. `more` says that the counter has not reached the end: asked of the counter
    /// alone, it would go wrong where the last step wraps.
    fn counted_with_exits(
        &mut self,
        c: &Counter<'_>,
        carried: &[LocalId],
        leaves: &[Exit],
        body: impl FnOnce(&mut Self),
    ) {
        let zero = self.b.value(CreateOp::Constant { value: Literal::Int(0) }, c.ty.clone());
        let positive = self.compare(CompareOp::Gt, c.step, zero);
        self.b.effect(ProgramOp::Assert {
            cond: positive,
            message: Message(messages::step().into()),
        });
        let more = self.compare(CompareOp::Lt, c.lower, c.upper);
        let mut init = vec![c.lower, more];
        init.extend(self.values_of(carried));
        let mut types = vec![c.ty.clone(), Type::scalar(Element::Bool)];
        types.extend(self.types_of(carried));
        self.while_loop(
            carried,
            init,
            types,
            |s, own| {
                let left = s.any_flag(leaves.iter().copied());
                let stays = s.not(left);
                s.arith(BinaryOp::And, own[1], stays)
            },
            |s, own| {
                s.bind_counter(c, own[0]);
                body(s);
                let next = s.arith(BinaryOp::Add, own[0], c.step);
                let below = s.compare(CompareOp::Lt, next, c.upper);
                let grown = s.compare(CompareOp::Gt, next, own[0]);
                vec![next, s.arith(BinaryOp::And, below, grown)]
            },
        );
    }

    fn conditional(
        &mut self,
        cond: Option<&Expr>,
        carried: &[LocalId],
        leaves: &[Exit],
        body: impl FnOnce(&mut Self),
    ) {
        let init = self.values_of(carried);
        let types = self.types_of(carried);
        self.while_loop(
            carried,
            init,
            types,
            |s, _| match (cond, leaves.is_empty()) {
                (None, true) => s.bool(true),
                (None, false) => {
                    let left = s.any_flag(leaves.iter().copied());
                    s.not(left)
                }
                (Some(cond), true) => s.one(cond),
                (Some(cond), false) => {
                    // The condition is not asked again once the loop is left.
                    let left = s.any_flag(leaves.iter().copied());
                    let val = s.branch(
                        left,
                        Effects::default(),
                        &Ty::bool(),
                        |s| Val::One(s.bool(false)),
                        |s| s.expr(cond),
                    );
                    s.unwrap_one(&val)
                }
            },
            |s, _| {
                body(s);
                Vec::new()
            },
        );
    }

    pub(super) fn not(&mut self, x: Value) -> Value {
        let ty = self.b.ty(x).clone();
        self.b.value(ArithOp::Unary { op: cutile_ir::op::UnaryOp::Not, x }, ty)
    }

    /// The IR's `while`: `init` holds the loop's own values and then those of the carried variables. `cond` and `body` see
    /// the own ones; `body` gives the next ones.
    fn while_loop(
        &mut self,
        carried: &[LocalId],
        init: Vec<Value>,
        types: Vec<Type>,
        cond: impl FnOnce(&mut Self, &[Value]) -> Value,
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) {
        let loc = self.b.loc();
        let before = self.slots.clone();
        let own = init.len() - self.types_of(carried).len();

        let params = self.b.open(types.clone());
        self.set_all(carried, &mut params[own..].iter().copied());
        let go = cond(self, &params[..own]);
        let cond = self.b.close([go]);
        self.restore(before.clone());

        let params = self.b.open(types);
        self.set_all(carried, &mut params[own..].iter().copied());
        let mut yields = body(self, &params[..own]);
        yields.extend(self.values_of(carried));
        let body = self.b.close(yields);
        self.restore(before);

        self.b.set_loc(loc);
        let results = self.b.control(ControlOp::While { init, cond, body });
        self.set_all(carried, &mut results.into_iter().skip(own));
    }
}

//! What running an expression may do to the surroundings: variables that it assigns, and ways in which it leaves.

use std::collections::BTreeSet;

use crate::{
    ast::{Block, Expr, ExprId, ExprKind, LoopKind, Stmt},
    typing::{LocalId, Meaning, Typed},
};

/// A way to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Exit {
    /// `return`.
    Return,
    /// `break` out of this loop.
    Break(u32),
    /// `continue` of this loop.
    Continue(u32),
}

/// What an expression may do.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub(super) assigned: BTreeSet<LocalId>,
    pub(super) exits: BTreeSet<Exit>,
}

impl Effects {
    /// The effects of an expression.
    pub(super) fn of(typed: &Typed, e: &Expr) -> Effects {
        let mut effects = Effects::default();
        effects.expr(typed, e);
        effects
    }

    /// The effects of a block.
    pub(super) fn of_block(typed: &Typed, b: &Block) -> Effects {
        Effects::of_parts(typed, &b.statements, b.value.as_deref())
    }

    /// The effects of statements and a value after them.
    pub(super) fn of_parts(typed: &Typed, statements: &[Stmt], value: Option<&Expr>) -> Effects {
        let mut effects = Effects::default();
        statements.iter().for_each(|s| effects.statement(typed, s));
        value.iter().for_each(|e| effects.expr(typed, e));
        effects
    }

    pub(super) fn of_statement(typed: &Typed, s: &Stmt) -> Effects {
        let mut effects = Effects::default();
        effects.statement(typed, s);
        effects
    }

    pub(super) fn join(mut self, other: Effects) -> Effects {
        self.assigned.extend(other.assigned);
        self.exits.extend(other.exits);
        self
    }

    fn statement(&mut self, typed: &Typed, s: &Stmt) {
        match s {
            Stmt::Expr(e) => self.expr(typed, e),
            Stmt::Let { pattern, value, .. } => {
                value.iter().for_each(|e| self.expr(typed, e));
                // `let x;` is set by a later assignment, which counts there.
                let _ = pattern;
            }
        }
    }

    fn block(&mut self, typed: &Typed, b: &Block) {
        b.statements.iter().for_each(|s| self.statement(typed, s));
        b.value.iter().for_each(|e| self.expr(typed, e));
    }

    fn expr(&mut self, typed: &Typed, e: &Expr) {
        match &e.kind {
            ExprKind::Assign(place, value) | ExprKind::AssignOp(_, place, value) => {
                places(place).into_iter().for_each(|p| self.assigned.extend(place_local(typed, p)));
                self.expr(typed, value);
            }
            ExprKind::Return(value) => {
                self.exits.insert(Exit::Return);
                value.iter().for_each(|e| self.expr(typed, e));
            }
            ExprKind::Break(_, value) => {
                self.exits.extend(typed.loops.get(&e.id).map(|l| Exit::Break(l.0)));
                value.iter().for_each(|e| self.expr(typed, e));
            }
            ExprKind::Continue(_) => {
                self.exits.extend(typed.loops.get(&e.id).map(|l| Exit::Continue(l.0)))
            }
            ExprKind::Loop(l) => {
                let mut inner = Effects::default();
                inner.block(typed, &l.body);
                match &l.kind {
                    LoopKind::Forever => {}
                    LoopKind::While(cond) => inner.expr(typed, cond),
                    LoopKind::For(range) => range.bounds().for_each(|e| self.expr(typed, e)),
                }
                inner.leave_loop(e.id);
                self.assigned.extend(inner.assigned);
                self.exits.extend(inner.exits);
            }
            ExprKind::If(cond, on_true, on_false) => {
                self.expr(typed, cond);
                self.block(typed, on_true);
                on_false.iter().for_each(|e| self.expr(typed, e));
            }
            ExprKind::Block(b) => self.block(typed, b),
            _ => operands(e).into_iter().for_each(|e| self.expr(typed, e)),
        }
    }

    /// Takes away the exits that only leave the loop itself.
    pub(super) fn leave_loop(&mut self, id: ExprId) {
        self.exits.remove(&Exit::Break(id.0));
        self.exits.remove(&Exit::Continue(id.0));
    }
}

/// The places that `(a, b) = ..` assigns, innermost in order.
fn places(place: &Expr) -> Vec<&Expr> {
    match &place.kind {
        ExprKind::Tuple(list) | ExprKind::Array(list) => list.iter().flat_map(places).collect(),
        _ => vec![place],
    }
}

/// The variable that an assigned place is or belongs to.
pub(super) fn place_local(typed: &Typed, place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Field(base, _) | ExprKind::Index(base, _) => place_local(typed, base),
        _ => match typed.meanings.get(&place.id) {
            Some(Meaning::Local(local)) => Some(*local),
            _ => None,
        },
    }
}

/// The expressions that are evaluated as parts of this one, where it is neither control flow nor an assignment.
pub(super) fn operands(e: &Expr) -> Vec<&Expr> {
    match &e.kind {
        ExprKind::Neg(x)
        | ExprKind::Not(x)
        | ExprKind::Field(x, _)
        | ExprKind::Cast(x, _)
        | ExprKind::Ref(_, x) => vec![x],
        ExprKind::Repeat(x, _) => vec![x],
        ExprKind::Binary(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Index(a, b) => vec![a, b],
        ExprKind::Call(_, list) | ExprKind::Tuple(list) | ExprKind::Array(list) => {
            list.iter().collect()
        }
        ExprKind::Method { receiver, args, .. } => {
            std::iter::once(&**receiver).chain(args).collect()
        }
        ExprKind::Assert(cond, _) => vec![cond],
        _ => Vec::new(),
    }
}

/// Whether there is any `return`, `break` or `continue` in a block.
pub(super) fn has_exits(b: &Block) -> bool {
    let mut found = Vec::new();
    exits_of_block(b, &mut found);
    !found.is_empty()
}

/// Every `return`, `break` and `continue` in an expression, with its keyword.
pub(super) fn exits_of(e: &Expr) -> Vec<(&'static str, &Expr)> {
    let mut found = Vec::new();
    exits_of_expr(e, &mut found);
    found
}

fn exits_of_block<'e>(b: &'e Block, found: &mut Vec<(&'static str, &'e Expr)>) {
    for s in &b.statements {
        match s {
            Stmt::Expr(e) | Stmt::Let { value: Some(e), .. } => exits_of_expr(e, found),
            Stmt::Let { value: None, .. } => {}
        }
    }
    b.value.iter().for_each(|e| exits_of_expr(e, found));
}

fn exits_of_expr<'e>(e: &'e Expr, found: &mut Vec<(&'static str, &'e Expr)>) {
    match &e.kind {
        ExprKind::Return(_) => found.push(("return", e)),
        ExprKind::Break(..) => found.push(("break", e)),
        ExprKind::Continue(_) => found.push(("continue", e)),
        ExprKind::Assign(a, b) | ExprKind::AssignOp(_, a, b) => {
            [a, b].into_iter().for_each(|e| exits_of_expr(e, found))
        }
        ExprKind::If(cond, on_true, on_false) => {
            exits_of_expr(cond, found);
            exits_of_block(on_true, found);
            on_false.iter().for_each(|e| exits_of_expr(e, found));
        }
        ExprKind::Block(b) => exits_of_block(b, found),
        ExprKind::Loop(l) => {
            match &l.kind {
                LoopKind::Forever => {}
                LoopKind::While(cond) => exits_of_expr(cond, found),
                LoopKind::For(range) => range.bounds().for_each(|e| exits_of_expr(e, found)),
            }
            exits_of_block(&l.body, found);
        }
        _ => operands(e).into_iter().for_each(|e| exits_of_expr(e, found)),
    }
}

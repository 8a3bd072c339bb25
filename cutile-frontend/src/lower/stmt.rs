//! Blocks, statements, branches. After a statement that may leave, the rest of its block runs only if it has not.

use cutile_ir::{
    Value,
    op::{ArithOp, BinaryOp, ControlOp},
};

use super::{
    Lower, Slot, Val,
    effects::{Effects, Exit},
    flat, rebuild,
};
use crate::{
    ast::{Block, Expr, Pattern, Stmt},
    typing::{LocalId, types::Ty},
};

impl Lower<'_> {
    /// Lowers a block whose value has type `ty`.
    pub(super) fn block(&mut self, block: &Block, ty: &Ty) -> Val {
        self.statements(&block.statements, block.value.as_deref(), ty)
    }

    fn statements(&mut self, statements: &[Stmt], value: Option<&Expr>, ty: &Ty) -> Val {
        for (i, statement) in statements.iter().enumerate() {
            let never = self.statement(statement);
            if never {
                return Val::None;
            }
            if !self.has_exits {
                continue;
            }
            let exits = Effects::of_statement(self.typed, statement).exits;
            let rest = &statements[i + 1..];
            let nothing_follows = rest.is_empty() && value.is_none();
            if !exits.is_empty() && !nothing_follows {
                let left = self.any_flag(exits.iter().copied());
                let effects = Effects::of_parts(self.typed, rest, value);
                return self.branch(
                    left,
                    effects,
                    ty,
                    |_| Val::None,
                    |s| s.statements(rest, value, ty),
                );
            }
        }
        value.map_or(Val::None, |e| self.tail(e))
    }

    /// Lowers the value of a block: an exit in it leaves the block with it.
    fn tail(&mut self, e: &Expr) -> Val {
        self.expr(e)
    }

    /// Whether control never goes past the statement.
    fn statement(&mut self, statement: &Stmt) -> bool {
        match statement {
            Stmt::Expr(e) => {
                self.expr(e);
                *self.typed.ty(e.id) == Ty::Never
            }
            Stmt::Let { pattern, value, .. } => {
                let Some(e) = value else {
                    if let Pattern::Name { id, .. } = pattern
                        && let Some(local) = self.typed.bindings.get(id)
                    {
                        self.slots[local.0 as usize] = Slot::Unset;
                    }
                    return false;
                };
                let val = self.expr(e);
                let ty = self.typed.ty(e.id).clone();
                if ty == Ty::Never {
                    return true;
                }
                let val = self.or_default(val, &ty);
                self.bind(pattern, val);
                false
            }
        }
    }

    /// Binds a pattern.
    pub(super) fn bind(&mut self, pattern: &Pattern, val: Val) {
        match (pattern, val) {
            (Pattern::Wild, _) => {}
            (Pattern::Name { id, .. }, val) => {
                if let Some(local) = self.typed.bindings.get(id).copied() {
                    self.set(local, val);
                }
            }
            (Pattern::Tuple(list, _), Val::List(vals)) => {
                list.iter().zip(vals).for_each(|(p, v)| self.bind(p, v))
            }
            (Pattern::Tuple(list, _), _) => list.iter().for_each(|p| self.bind(p, Val::None)),
        }
    }

    /// Whether any of these flags is up.
    pub(super) fn any_flag(&mut self, exits: impl IntoIterator<Item = Exit>) -> Value {
        let mut all: Option<Value> = None;
        for exit in exits {
            let flag = self.flag_value(exit);
            all = Some(match all {
                None => flag,
                Some(lhs) => {
                    let ty = self.b.ty(lhs).clone();
                    self.b.value(ArithOp::Binary { op: BinaryOp::Or, lhs, rhs: flag }, ty)
                }
            });
        }
        match all {
            Some(v) => v,
            None => self.bool(false),
        }
    }

    /// An `if` whose branches together have these effects and give a value of type `ty`.
    pub(super) fn branch(
        &mut self,
        cond: Value,
        effects: Effects,
        ty: &Ty,
        on_true: impl FnOnce(&mut Self) -> Val,
        on_false: impl FnOnce(&mut Self) -> Val,
    ) -> Val {
        let carried = self.carried(&effects);
        let loc = self.b.loc();
        let before = self.slots.clone();
        let on_true = self.branch_block(&carried, ty, on_true);
        self.restore(before.clone());
        let on_false = self.branch_block(&carried, ty, on_false);
        self.restore(before);
        self.b.set_loc(loc);
        if on_true.yields.is_empty() && on_true.ops.is_empty() && on_false.ops.is_empty() {
            return rebuild(ty, &mut std::iter::empty());
        }
        let mut results = self.b.control(ControlOp::If { cond, on_true, on_false }).into_iter();
        self.set_all(&carried, &mut results);
        rebuild(ty, &mut results)
    }

    fn branch_block(
        &mut self,
        carried: &[LocalId],
        ty: &Ty,
        body: impl FnOnce(&mut Self) -> Val,
    ) -> cutile_ir::Block {
        self.b.open([]);
        let val = body(self);
        let val = self.or_default(val, ty);
        let mut yields = self.values_of(carried);
        if !self.types(ty).is_empty() {
            yields.extend(flat(&val));
        }
        self.b.close(yields)
    }

    /// Back to the variables as they were, with what was declared since then out of sight.
    pub(super) fn restore(&mut self, before: Vec<Slot>) {
        let len = self.slots.len();
        self.slots = before;
        self.slots.resize(len, Slot::Absent);
    }

    pub(super) fn if_else(
        &mut self,
        cond: &Expr,
        on_true: &Block,
        on_false: Option<&Expr>,
        ty: &Ty,
    ) -> Val {
        self.no_exit(cond);
        let cond = self.one(cond);
        let mut effects = Effects::of_block(self.typed, on_true);
        if let Some(e) = on_false {
            effects = effects.join(Effects::of(self.typed, e));
        }
        self.branch(
            cond,
            effects,
            ty,
            |s| s.block(on_true, ty),
            |s| on_false.map_or(Val::None, |e| s.expr(e)),
        )
    }
}

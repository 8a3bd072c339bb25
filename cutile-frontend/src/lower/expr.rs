//! Expressions other than calls, branches and loops.

use cutile_ir::{
    Dim, Element, Type, Value,
    op::{ArithOp, BinaryOp, ControlOp, CreateOp, Literal, MemoryOp, Message, ProgramOp, UnaryOp},
};

use super::{
    Extent, Lower, Slot, Val,
    effects::{Exit, operands, place_local},
    element,
};
use crate::{
    ast::{Expr, ExprKind, Operator},
    consts::ConstValue,
    typing::{Meaning, types::Ty},
};

impl Lower<'_> {
    /// Lowers an expression.
    pub(super) fn expr(&mut self, e: &Expr) -> Val {
        for operand in operands(e) {
            self.no_exit(operand);
        }
        let ty = self.typed.ty(e.id).clone();
        self.at(e.span);
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_) => {
                self.literal(e, false, &ty)
            }
            ExprKind::Path(_) => self.path(e, &ty),
            ExprKind::Neg(x) if is_number(x) => self.literal(x, true, &ty),
            ExprKind::Neg(x) => self.unary(UnaryOp::Neg, x, e, &ty),
            ExprKind::Not(x) => self.unary(UnaryOp::Not, x, e, &ty),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e, &ty),
            ExprKind::And(a, b) if self.lanes > 0 => self.lane_logic(e, BinaryOp::And, a, b, &ty),
            ExprKind::Or(a, b) if self.lanes > 0 => self.lane_logic(e, BinaryOp::Or, a, b, &ty),
            ExprKind::If(cond, a, Some(b)) if self.lanes > 0 => {
                self.lane_choice(e, cond, a, b, &ty)
            }
            ExprKind::And(a, b) => self.short_circuit(a, b, e, true),
            ExprKind::Or(a, b) => self.short_circuit(a, b, e, false),
            ExprKind::Assign(place, value) => {
                self.no_exit(value);
                let val = self.expr(value);
                self.assign(place, val);
                Val::List(Vec::new())
            }
            ExprKind::AssignOp(op, place, value) => {
                self.no_exit(value);
                let ty = self.typed.ty(place.id).clone();
                // As Rust does: the right side first.
                let rhs = self.operand(value, &ty);
                let lhs = self.operand(place, &ty);
                let val = self.binary_value(Operator::Binary(*op), lhs, rhs, e, &ty);
                self.assign(place, val);
                Val::List(Vec::new())
            }
            ExprKind::Call(_, args) => self.call(e, &args.iter().collect::<Vec<_>>(), &ty),
            ExprKind::Method { receiver, args, .. } => {
                self.call(e, &std::iter::once(&**receiver).chain(args).collect::<Vec<_>>(), &ty)
            }
            ExprKind::Field(base, _) => self.part(e, base),
            ExprKind::Index(base, _) => self.part(e, base),
            ExprKind::Cast(x, _) => {
                let value = self.one(x);
                self.at(e.span);
                match self.types(&ty).pop() {
                    Some(ty) => Val::One(self.cast(value, &ty)),
                    None => Val::None,
                }
            }
            ExprKind::Tuple(list) | ExprKind::Array(list) => {
                Val::List(list.iter().map(|e| self.expr(e)).collect())
            }
            ExprKind::Repeat(x, _) => self.repeat(x, &ty),
            ExprKind::If(cond, on_true, on_false) => {
                self.if_else(cond, on_true, on_false.as_deref(), &ty)
            }
            ExprKind::Block(block) => self.block(block, &ty),
            ExprKind::Loop(l) => self.loop_expr(e.id, l, &ty),
            ExprKind::Break(_, value) => self.break_expr(e, value.as_deref()),
            ExprKind::Continue(_) => self.continue_expr(e),
            ExprKind::Return(value) => self.return_expr(value.as_deref()),
            ExprKind::Ref(_, x) => self.expr(x),
            ExprKind::ConstShape(_) => match &ty {
                Ty::Shape(extents) => {
                    Val::Shape(extents.iter().flatten().cloned().map(Extent::Known).collect())
                }
                _ => Val::None,
            },
            ExprKind::Assert(cond, message) => self.assert(e, cond, message),
            ExprKind::ConstArray(_) | ExprKind::Closure(..) | ExprKind::Wild | ExprKind::Error => {
                Val::None
            }
        }
    }

    fn repeat(&mut self, x: &Expr, ty: &Ty) -> Val {
        let val = self.expr(x);
        match ty {
            Ty::Array(_, n) => Val::List(vec![val; *n]),
            _ => Val::None,
        }
    }

    fn assert(&mut self, e: &Expr, cond: &Expr, message: &str) -> Val {
        let cond = self.one(cond);
        self.at(e.span);
        self.b.effect(ProgramOp::Assert { cond, message: Message(message.into()) });
        Val::List(Vec::new())
    }

    fn continue_expr(&mut self, e: &Expr) -> Val {
        if let Some(l) = self.typed.loops.get(&e.id) {
            self.set_flag(Exit::Continue(l.0), true);
        }
        Val::None
    }

    /// Lowers an expression that is one value.
    pub(super) fn one(&mut self, e: &Expr) -> Value {
        let val = self.expr(e);
        let ty = self.typed.ty(e.id).clone();
        let val = self.or_default(val, &ty);
        self.unwrap_one(&val)
    }

    pub(super) fn unwrap_one(&mut self, val: &Val) -> Value {
        match val {
            Val::One(v) | Val::SubView(v, _) => *v,
            // Typing has refused what is not one value; what stands here is never read.
            _ => self.bool(false),
        }
    }

    /// Lowers an operand to the type `target`: a scalar is repeated to a tile's shape.
    pub(super) fn operand(&mut self, e: &Expr, target: &Ty) -> Value {
        let is_tile = matches!(target, Ty::Tile(..));
        if is_tile && is_number(e) {
            self.at(e.span);
            let val = self.literal(e, false, target);
            return self.unwrap_one(&val);
        }
        if let (true, ExprKind::Neg(x)) = (is_tile, &e.kind)
            && is_number(x)
        {
            self.at(e.span);
            let val = self.literal(x, true, target);
            return self.unwrap_one(&val);
        }
        let value = self.one(e);
        self.splat(value, target)
    }

    /// Repeats a scalar to a tile's shape, if the target is a tile.
    pub(super) fn splat(&mut self, value: Value, target: &Ty) -> Value {
        match (self.b.ty(value), target) {
            (Type::Scalar(e), Ty::Tile(_, shape)) => {
                let ty = Type::tile(*e, shape.iter().cloned());
                self.b.value(CreateOp::Splat { scalar: value }, ty)
            }
            _ => value,
        }
    }

    /// A number, perhaps negated, as a constant of a scalar or tile type.
    fn literal(&mut self, e: &Expr, negated: bool, ty: &Ty) -> Val {
        let value = match &e.kind {
            ExprKind::Bool(b) => Literal::Bool(*b),
            ExprKind::Int(n, _) => {
                let n = i128::try_from(*n).unwrap_or(i128::MAX);
                Literal::Int(if negated { -n } else { n })
            }
            ExprKind::Float(x, _) => {
                let x =
                    if element(ty) == Some(Element::F32) { f64::from(x.single) } else { x.double };
                Literal::float(if negated { -x } else { x })
            }
            _ => return Val::None,
        };
        self.constant(value, ty)
    }

    pub(super) fn constant(&mut self, value: Literal, ty: &Ty) -> Val {
        match self.types(ty).pop() {
            Some(ty) => Val::One(self.b.value(CreateOp::Constant { value }, ty)),
            None => Val::None,
        }
    }

    fn path(&mut self, e: &Expr, ty: &Ty) -> Val {
        match self.typed.meanings.get(&e.id) {
            Some(Meaning::Local(local)) => match &self.slots[local.0 as usize] {
                Slot::Set(val) => val.clone(),
                _ => self.read(*local),
            },
            Some(Meaning::Dim(d)) => {
                let dim = d.clone();
                self.dim(dim, ty)
            }
            Some(Meaning::Const(value)) => {
                let value = match value {
                    ConstValue::Int(n) => Literal::Int(*n),
                    ConstValue::Float(x) => Literal::float(*x),
                    ConstValue::Bool(b) => Literal::Bool(*b),
                    ConstValue::Array(_) | ConstValue::Unknown => return Val::None,
                };
                self.constant(value, ty)
            }
            _ => Val::None,
        }
    }

    /// A number known before the launch, as a scalar.
    pub(super) fn dim(&mut self, dim: Dim, ty: &Ty) -> Val {
        if let Dim::Const(n) = dim {
            return self.constant(Literal::Int(i128::from(n)), ty);
        }
        match self.types(ty).pop() {
            Some(ty) => Val::One(self.b.value(CreateOp::Dim { dim }, ty)),
            None => Val::None,
        }
    }

    fn unary(&mut self, op: UnaryOp, x: &Expr, e: &Expr, ty: &Ty) -> Val {
        let x = self.one(x);
        self.at(e.span);
        match self.types(ty).pop() {
            Some(ty) => Val::One(self.b.value(ArithOp::Unary { op, x }, ty)),
            None => Val::None,
        }
    }

    fn binary(&mut self, op: Operator, a: &Expr, b: &Expr, e: &Expr, ty: &Ty) -> Val {
        // The operands' common type: the result's, except that a comparison gives bool.
        let (left, right) = (self.typed.ty(a.id).clone(), self.typed.ty(b.id).clone());
        let common = match (&left, &right) {
            (_, Ty::Tile(..)) => right.clone(),
            _ => left.clone(),
        };
        let lhs = self.operand(a, &common);
        let rhs = self.operand(b, &common);
        self.binary_value(op, lhs, rhs, e, ty)
    }

    fn binary_value(&mut self, op: Operator, lhs: Value, mut rhs: Value, e: &Expr, ty: &Ty) -> Val {
        self.at(e.span);
        if matches!(op, Operator::Binary(BinaryOp::Shl | BinaryOp::Shr)) {
            let ty = self.b.ty(lhs).clone();
            rhs = self.convert_to(rhs, &ty);
        }
        let Some(ty) = self.types(ty).pop() else { return Val::None };
        Val::One(match op {
            Operator::Binary(op) => self.b.value(ArithOp::Binary { op, lhs, rhs }, ty),
            Operator::Compare(op) => self.b.value(ArithOp::Compare { op, lhs, rhs }, ty),
        })
    }

    /// Converts to a type of the same shape, if the element type differs.
    pub(super) fn convert_to(&mut self, x: Value, ty: &Type) -> Value {
        if self.b.ty(x).element() == ty.element() {
            return x;
        }
        self.b.value(ArithOp::Convert { x }, ty.clone())
    }

    /// Rust's `as`.
    fn cast(&mut self, x: Value, ty: &Type) -> Value {
        self.convert_to(x, ty)
    }

    /// `a && b`, `a || b`: `b` is not evaluated where `a` decides.
    fn short_circuit(&mut self, a: &Expr, b: &Expr, e: &Expr, and: bool) -> Val {
        let cond = self.one(a);
        self.at(e.span);
        let effects = super::Effects::of(self.typed, b);
        let decided = |s: &mut Self| Val::One(s.bool(!and));
        let asked = |s: &mut Self| Val::One(s.one(b));
        if and {
            self.branch(cond, effects, &Ty::bool(), asked, decided)
        } else {
            self.branch(cond, effects, &Ty::bool(), decided, asked)
        }
    }

    fn assign(&mut self, place: &Expr, val: Val) {
        if let (ExprKind::Tuple(places) | ExprKind::Array(places), Val::List(list)) =
            (&place.kind, &val)
        {
            places.iter().zip(list).for_each(|(p, v)| self.assign(p, v.clone()));
            return;
        }
        let Some(local) = place_local(self.typed, place) else { return };
        let mut path = Vec::new();
        let mut at = place;
        while let ExprKind::Field(base, _) | ExprKind::Index(base, _) = &at.kind {
            match self.typed.meanings.get(&at.id) {
                Some(Meaning::Position(i)) => path.push(*i),
                _ => return,
            }
            at = base;
        }
        if path.is_empty() {
            self.set(local, val);
            return;
        }
        let mut whole = self.read(local);
        let mut part = &mut whole;
        for i in path.into_iter().rev() {
            match part {
                Val::List(list) if i < list.len() => part = &mut list[i],
                _ => return,
            }
        }
        *part = val;
        self.set(local, whole);
    }

    /// An element of a tuple, an array or a shape.
    fn part(&mut self, e: &Expr, base: &Expr) -> Val {
        let position = match self.typed.meanings.get(&e.id) {
            Some(Meaning::Dim(d)) => {
                let dim = d.clone();
                return self.dim(dim, &Ty::i32());
            }
            Some(Meaning::Position(i)) => *i,
            _ => return Val::None,
        };
        let val = self.expr(base);
        self.at(e.span);
        match val {
            Val::List(mut list) if position < list.len() => list.swap_remove(position),
            Val::Shape(mut extents) if position < extents.len() => {
                match extents.swap_remove(position) {
                    Extent::Known(dim) => self.dim(dim, &Ty::i32()),
                    Extent::Of(tensor, axis) => Val::One(
                        self.b.value(MemoryOp::Extent { tensor, axis }, Type::scalar(Element::I32)),
                    ),
                }
            }
            _ => Val::None,
        }
    }

    fn break_expr(&mut self, e: &Expr, value: Option<&Expr>) -> Val {
        let Some(l) = self.typed.loops.get(&e.id).copied() else { return Val::None };
        if let Some(value) = value {
            self.no_exit(value);
            let val = self.expr(value);
            if let Some(slot) = self.loop_values.get(&l.0).copied() {
                self.set(slot, val);
            }
        }
        self.at(e.span);
        self.set_flag(Exit::Break(l.0), true);
        Val::None
    }

    fn return_expr(&mut self, value: Option<&Expr>) -> Val {
        if let Some(value) = value {
            self.no_exit(value);
            let val = self.expr(value);
            if let Some(slot) = self.return_value {
                self.set(slot, val);
            }
        }
        self.set_flag(Exit::Return, true);
        Val::None
    }

    /// A call of a helper.
    pub(super) fn helper(&mut self, call: ControlOp, ty: &Ty) -> Val {
        let types = self.types(ty);
        let results = self.b.emit(call, types);
        super::rebuild(ty, &mut results.into_iter())
    }
}

/// An integer or a float literal.
fn is_number(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Int(..) | ExprKind::Float(..))
}

//! Expressions other than calls, branches and loops.

use cutile_ir::{Dim, Element, ElementType, op::BinaryOp};
use proc_macro2::Span;

use super::{
    Checker, ElementRule, Kind, Meaning,
    types::{El, Ty},
};
use crate::{
    ast::{Expr, ExprKind, GenericKind, Operator, PathExpr, Type},
    consts::{ConstValue, associated_const},
    messages,
    resolve::{GenericRef, element_name},
};

/// The longest array: each element is a value of its own.
pub(super) const MAX_ARRAY: i64 = 1024;

impl Checker<'_, '_, '_> {
    /// The type of an expression. `expected` guides literals, helpers and conversions; it is not enforced.
    pub(super) fn expr(&mut self, e: &Expr, expected: Option<&Ty>) -> Ty {
        let ty = self.expr_kind(e, expected);
        self.typed.types.insert(e.id, ty.clone());
        ty
    }

    /// The type of an expression that must have type `expected`.
    pub(super) fn expect(&mut self, e: &Expr, expected: &Ty) -> Ty {
        let got = self.expr(e, Some(expected));
        self.unify(expected, &got, e.span);
        got
    }

    fn expr_kind(&mut self, e: &Expr, expected: Option<&Ty>) -> Ty {
        match &e.kind {
            ExprKind::If(_, _, None)
            | ExprKind::Loop(_)
            | ExprKind::Return(_)
            | ExprKind::Assert(..)
            | ExprKind::Assign(..)
            | ExprKind::AssignOp(..)
                if self.lanes > 0 =>
            {
                let what = "statements other than `let`, and `if` without `else`";
                self.report.error(e.span, messages::closure_content(what));
                Ty::Error
            }
            ExprKind::Error => Ty::Error,
            ExprKind::Int(n, suffix) => self.integer(i128::try_from(*n).ok(), *suffix, e.span),
            ExprKind::Float(_, Some(element)) => Ty::scalar(*element),
            ExprKind::Float(_, None) => {
                let ty = Ty::Scalar(self.infer.el(Kind::Float));
                self.rule(e.span, &ty, ElementRule::Literal);
                ty
            }
            ExprKind::Bool(_) => Ty::bool(),
            ExprKind::Path(path) => self.path(e, path, expected),
            ExprKind::Neg(x) if matches!(x.kind, ExprKind::Int(..)) => self.negative(x, e.span),
            ExprKind::Neg(x) => {
                self.unary(x, ElementRule::Unary(cutile_ir::op::UnaryOp::Neg), expected, e.span)
            }
            ExprKind::Not(x) => {
                self.unary(x, ElementRule::Unary(cutile_ir::op::UnaryOp::Not), expected, e.span)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, expected, e.span),
            ExprKind::And(a, b) | ExprKind::Or(a, b) if self.lanes > 0 => {
                self.lane_logic(a, b, e.span)
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.expect(a, &Ty::bool());
                self.expect(b, &Ty::bool());
                Ty::bool()
            }
            ExprKind::Assign(place, value) => self.assign(place, value, e.span),
            // Left of `=` only; elsewhere parsing has reported it.
            ExprKind::Wild => Ty::Error,
            ExprKind::AssignOp(op, place, value) => self.assign_op(*op, place, value, e.span),
            ExprKind::Call(path, args) => self.call(e, path, args, expected),
            ExprKind::Method { receiver, name, generics, args } => {
                self.method(e, receiver, name, generics, args, expected)
            }
            ExprKind::Field(base, index) => self.field(e, base, *index as usize),
            ExprKind::Index(base, index) => self.index(e, base, index),
            ExprKind::Cast(x, ty) => self.cast(x, ty, e.span),
            ExprKind::Tuple(list) => self.tuple(list, expected),
            ExprKind::Array(list) => self.array(list, expected),
            ExprKind::Repeat(x, len) => self.repeat(x, len, expected),
            ExprKind::If(cond, on_true, Some(on_false)) if self.lanes > 0 => {
                self.lane_choice(cond, on_true, on_false, e.span)
            }
            ExprKind::If(cond, on_true, on_false) => {
                self.if_else(cond, on_true, on_false.as_deref(), expected)
            }
            ExprKind::Block(block) => self.block(block, expected),
            ExprKind::Loop(l) => self.loop_expr(e.id, l, expected),
            ExprKind::Break(label, value) => {
                self.break_expr(e.id, label.as_ref(), value.as_deref(), e.span)
            }
            ExprKind::Continue(label) => self.continue_expr(e.id, label.as_ref(), e.span),
            ExprKind::Return(value) => self.return_expr(value.as_deref(), e.span),
            ExprKind::Ref(_, x) => self.reference(x, expected, e.span),
            ExprKind::Closure(..) => {
                self.report.error(e.span, messages::closure());
                Ty::Error
            }
            ExprKind::ConstShape(list) => self.extent_list(list).map_or(Ty::Error, Ty::Shape),
            ExprKind::ConstArray(list) => self.order(list),
            ExprKind::Assert(cond, _) => {
                self.expect(cond, &Ty::bool());
                Ty::unit()
            }
        }
    }

    /// An integer literal; `n` is `None` where it is larger than any type's.
    fn integer(&mut self, n: Option<i128>, suffix: Option<Element>, span: Span) -> Ty {
        let ty = Ty::Scalar(suffix.map_or_else(|| self.infer.el(Kind::Int), El::known));
        self.rule(span, &ty, ElementRule::Holds(n));
        ty
    }

    /// `-1`: one number, since the least integer without its sign is none.
    fn negative(&mut self, x: &Expr, span: Span) -> Ty {
        let ExprKind::Int(n, suffix) = &x.kind else { return Ty::Error };
        let ty = self.integer(i128::try_from(*n).ok().map(|n| -n), *suffix, span);
        self.typed.types.insert(x.id, ty.clone());
        self.rule(span, &ty, ElementRule::Unary(cutile_ir::op::UnaryOp::Neg));
        ty
    }

    /// `t * 2.0` where `t` has elements of a type parameter: rustc says that they don't go together, this what to write.
    fn literal_beside_parameter(&mut self, left: &Ty, right: &Ty, span: Span) {
        for (one, other) in [(left, right), (right, left)] {
            if let Some(El::Is(ElementType::Param(_))) = one.element()
                && let Ty::Scalar(el) = other
                && let Some(kind @ (Kind::Int | Kind::Float)) = self.infer.kind(*el)
            {
                let name = self.show(&Ty::Scalar(one.element().unwrap_or(*el)));
                let number = if kind == Kind::Int { "2i32" } else { "2.0f32" };
                self.report.error(span, messages::literal_of_parameter(&name, number));
            }
        }
    }

    fn return_expr(&mut self, value: Option<&Expr>, span: Span) -> Ty {
        let result = self.result.clone();
        self.only_values(&result, span);
        match value {
            Some(v) => {
                self.expect(v, &result);
            }
            None => {
                self.unify(&result, &Ty::unit(), span);
            }
        }
        Ty::Never
    }

    fn reference(&mut self, x: &Expr, expected: Option<&Ty>, span: Span) -> Ty {
        let ty = self.expr(x, expected);
        let refers = matches!(
            self.infer.resolve(&ty),
            Ty::Tensor { .. } | Ty::View { .. } | Ty::Error | Ty::Never
        );
        if !refers {
            self.report.error(span, messages::reference_to_value());
        }
        ty
    }

    fn path(&mut self, e: &Expr, path: &PathExpr, expected: Option<&Ty>) -> Ty {
        let Some(name) = path.single() else {
            if let Some((element, value)) = associated_const(&path.path) {
                self.typed.meanings.insert(e.id, Meaning::Const(value));
                return Ty::scalar(element);
            }
            if is_element_path(&path.path) {
                self.report.error(e.span, messages::unknown_associated(&path.path));
                return Ty::Error;
            }
            return self.foreign_const(e, expected);
        };
        if let Some(local) = self.local(name) {
            self.typed.meanings.insert(e.id, Meaning::Local(local));
            return self.typed.locals[local.0 as usize].ty.clone();
        }
        match self.names.generic(name) {
            Some(GenericRef::Const(param, GenericKind::Int)) => {
                self.typed.meanings.insert(e.id, Meaning::Dim(Dim::Param { param, axis: None }));
                return Ty::i32();
            }
            Some(GenericRef::Const(param, GenericKind::Bool)) => {
                self.typed.meanings.insert(e.id, Meaning::Dim(Dim::Param { param, axis: None }));
                return Ty::bool();
            }
            Some(GenericRef::Const(..)) => {
                self.report.error(e.span, messages::array_parameter_as_value(name));
                return Ty::Error;
            }
            Some(GenericRef::Element(_)) => {
                self.report.rustc_error(e.span, format!("`{name}` is a type"));
                return Ty::Error;
            }
            None => {}
        }
        if let Some(c) = self.names.names.consts.get(&name.to_string()) {
            let (element, value) = (c.element, c.value.clone());
            return match value {
                ConstValue::Unknown if element.is_integer() || element == Element::Bool => {
                    let dim = Dim::Extern(self.names.extern_const(name.to_string(), e.span));
                    self.typed.meanings.insert(e.id, Meaning::Dim(dim));
                    Ty::scalar(element)
                }
                // Reported where it is declared.
                ConstValue::Unknown => Ty::Error,
                ConstValue::Array(_) => {
                    self.report.error(e.span, messages::array_parameter_as_value(name));
                    Ty::Error
                }
                value => {
                    self.typed.meanings.insert(e.id, Meaning::Const(value));
                    Ty::scalar(element)
                }
            };
        }
        if self.names.may_be_foreign(name) {
            return self.foreign_const(e, expected);
        }
        self.report.rustc_error(e.span, messages::unknown_name(name));
        Ty::Error
    }

    /// A const of another module, whose declaration is not seen: an i32.
    fn foreign_const(&mut self, e: &Expr, expected: Option<&Ty>) -> Ty {
        if let Some(wanted @ Ty::Scalar(El::Is(_))) = expected.map(|t| self.infer.resolve(t))
            && wanted != Ty::i32()
        {
            self.report.error(e.span, messages::foreign_const(&self.show(&wanted)));
            return Ty::Error;
        }
        match self.names.dim(e) {
            Some(d) => {
                self.typed.meanings.insert(e.id, Meaning::Dim(d));
                Ty::i32()
            }
            None => Ty::Error,
        }
    }

    fn unary(&mut self, x: &Expr, rule: ElementRule, expected: Option<&Ty>, span: Span) -> Ty {
        let ty = self.expr(x, expected);
        let ty = self.infer.resolve(&ty);
        if !ty.is_elementwise() && !matches!(ty, Ty::Error | Ty::Never) {
            self.report.rustc_error(span, messages::operand(&self.show(&ty)));
            return Ty::Error;
        }
        self.rule(span, &ty, rule);
        ty
    }

    fn binary(
        &mut self,
        op: Operator,
        a: &Expr,
        b: &Expr,
        expected: Option<&Ty>,
        span: Span,
    ) -> Ty {
        let left = self.expr(a, None);
        let right = self.expr(b, None);
        self.binary_types(op, [(a, &left), (b, &right)], expected, span)
    }

    /// The type of an operation on operands that are checked already.
    pub(super) fn binary_types(
        &mut self,
        op: Operator,
        [(a, left), (b, right)]: [(&Expr, &Ty); 2],
        expected: Option<&Ty>,
        span: Span,
    ) -> Ty {
        if let Operator::Binary(
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem,
        ) = op
        {
            self.import_operand(a, left, right, expected);
            self.import_operand(b, right, left, expected);
        }
        let ty = self.elementwise(
            left,
            right,
            matches!(op, Operator::Binary(BinaryOp::Shl | BinaryOp::Shr)),
            span,
        );
        match op {
            Operator::Binary(op) => {
                if self.lane_branches > 0 && op.may_fault() {
                    self.rule(span, &ty, ElementRule::NoFault);
                }
                self.rule(span, &ty, ElementRule::Binary(op));
                ty
            }
            Operator::Compare(_) => ty.with_element(El::known(Element::Bool)),
        }
    }

    /// The type of an operation on two operands, of which a scalar is repeated to the other's shape. The amount of a
    /// shift of a scalar may have another type.
    pub(super) fn elementwise(&mut self, left: &Ty, right: &Ty, shift: bool, span: Span) -> Ty {
        let (left, right) = (self.infer.resolve(left), self.infer.resolve(right));
        let fits = match (&left, &right) {
            (Ty::Error | Ty::Never, _) | (_, Ty::Error | Ty::Never) => return Ty::Error,
            (Ty::Var(_), _) | (_, Ty::Var(_)) => {
                // The call that gives it is reported in `finish`.
                return Ty::Error;
            }
            (Ty::Scalar(a), Ty::Scalar(b)) if shift => {
                if self.infer.kind(*b).is_some() && self.infer.kind(*a).is_none() {
                    self.infer.unify_el(*a, *b);
                }
                true
            }
            (Ty::Tile(a, s), Ty::Tile(b, t)) => s == t && self.infer.unify_el(*a, *b),
            (Ty::Scalar(a) | Ty::Tile(a, _), Ty::Scalar(b) | Ty::Tile(b, _)) => {
                self.infer.unify_el(*a, *b)
            }
            _ => false,
        };
        if !fits {
            let message = messages::operands(&self.show(&left), &self.show(&right));
            self.report.rustc_error(span, message);
            self.literal_beside_parameter(&left, &right, span);
            return Ty::Error;
        }
        if matches!(left, Ty::Tile(..)) {
            left
        } else if matches!(right, Ty::Tile(..)) {
            right
        } else {
            left
        }
    }

    fn field(&mut self, e: &Expr, base: &Expr, index: usize) -> Ty {
        let ty = self.expr(base, None);
        match self.infer.resolve(&ty) {
            Ty::Tuple(list) if index < list.len() => {
                self.typed.meanings.insert(e.id, Meaning::Position(index));
                list[index].clone()
            }
            Ty::Error | Ty::Never => Ty::Error,
            other => {
                self.report
                    .rustc_error(e.span, format!("`{}` has no field `{index}`", self.show(&other)));
                Ty::Error
            }
        }
    }

    fn index(&mut self, e: &Expr, base: &Expr, index: &Expr) -> Ty {
        if let ExprKind::Path(p) = &base.kind
            && let Some(name) = p.single()
            && self.local(name).is_none()
            && self.names.array(name).is_some()
        {
            return match self.names.dim(e) {
                Some(d) => {
                    self.typed.meanings.insert(e.id, Meaning::Dim(d));
                    Ty::i32()
                }
                None => {
                    self.report.error(index.span, messages::constant_index());
                    Ty::Error
                }
            };
        }
        let ty = self.expr(base, None);
        let (len, element) = match self.infer.resolve(&ty) {
            Ty::Array(element, n) => (n, *element),
            Ty::Shape(list) => (list.len(), Ty::i32()),
            Ty::Error | Ty::Never => return Ty::Error,
            Ty::Tile(..) => {
                self.report.error(e.span, messages::tile_index());
                return Ty::Error;
            }
            other => {
                self.report
                    .rustc_error(e.span, format!("`{}` can't be indexed", self.show(&other)));
                return Ty::Error;
            }
        };
        // Rust indexes by `usize`, and consts of shapes are `i32`.
        let index = match &index.kind {
            ExprKind::Cast(x, _) => x,
            _ => index,
        };
        match self.names.dim(index) {
            Some(Dim::Const(n)) if usize::try_from(n).is_ok_and(|n| n < len) => {
                self.typed.meanings.insert(e.id, Meaning::Position(n as usize));
            }
            Some(Dim::Const(n)) => {
                self.report.error(index.span, messages::index_out_of_range(n, len))
            }
            _ => self.report.error(index.span, messages::constant_index()),
        }
        element
    }

    fn cast(&mut self, x: &Expr, ty: &Type, span: Span) -> Ty {
        let from = self.expr(x, None);
        let to = self.ty(ty);
        match (self.infer.resolve(&from), self.infer.resolve(&to)) {
            (Ty::Scalar(a), Ty::Scalar(El::Is(b)))
                if b.known().is_some_and(Element::is_integer) =>
            {
                // A literal takes the type that it is cast to.
                let is_literal = self.infer.kind(a) == Some(Kind::Int);
                let _ = is_literal && self.infer.unify_el(a, El::Is(b));
            }
            (tile @ Ty::Tile(..), Ty::Scalar(el)) if self.lanes > 0 => {
                return tile.with_element(el);
            }
            (Ty::Tile(..), _) => self.report.error(span, messages::cast_of_tile()),
            (Ty::Scalar(a), Ty::Scalar(b)) if is_foreign(a) || is_foreign(b) => {
                let to = self.show(&to);
                self.report.error(span, messages::cast_of_foreign(&to));
            }
            _ => {}
        }
        to
    }

    fn tuple(&mut self, list: &[Expr], expected: Option<&Ty>) -> Ty {
        let expected = expected.map(|t| self.infer.resolve(t));
        let hints = match &expected {
            Some(Ty::Tuple(types)) if types.len() == list.len() => Some(types),
            _ => None,
        };
        Ty::Tuple(
            list.iter().enumerate().map(|(i, e)| self.expr(e, hints.map(|h| &h[i]))).collect(),
        )
    }

    fn array(&mut self, list: &[Expr], expected: Option<&Ty>) -> Ty {
        let element = match expected.map(|t| self.infer.resolve(t)) {
            Some(Ty::Array(element, _)) => *element,
            _ => self.infer.ty(),
        };
        for e in list {
            self.expect(e, &element);
        }
        Ty::Array(Box::new(self.infer.resolve(&element)), list.len())
    }

    fn repeat(&mut self, x: &Expr, len: &Expr, expected: Option<&Ty>) -> Ty {
        let hint = match expected.map(|t| self.infer.resolve(t)) {
            Some(Ty::Array(element, _)) => Some(*element),
            _ => None,
        };
        let element = self.expr(x, hint.as_ref());
        match self.names.dim(len) {
            Some(Dim::Const(n)) if (0..=MAX_ARRAY).contains(&n) => {
                Ty::Array(Box::new(element), n as usize)
            }
            _ => {
                self.report.error(len.span, messages::array_length());
                Ty::Error
            }
        }
    }

    fn order(&mut self, list: &[Expr]) -> Ty {
        let mut axes = Vec::new();
        for e in list {
            match self.names.dim(e) {
                Some(Dim::Const(n))
                    if (0..list.len() as i64).contains(&n) && !axes.contains(&(n as u32)) =>
                {
                    axes.push(n as u32);
                }
                _ => {
                    self.report.error(e.span, messages::axis_order(list.len()));
                    return Ty::Error;
                }
            }
        }
        Ty::Order(axes)
    }
}

/// The path leads to something of an element type, as in `f32::RADIX`, or of a module like `std::f32::consts`.
fn is_element_path(path: &syn::Path) -> bool {
    let mut owners = path.segments.iter().rev().skip(1);
    match owners.next() {
        Some(owner) if owner.ident == "consts" => {
            owners.next().is_some_and(|s| element_name(&s.ident).is_some())
        }
        Some(owner) => element_name(&owner.ident).is_some(),
        None => false,
    }
}

/// Rust has no such number, so `as` doesn't know it.
fn is_foreign(el: El) -> bool {
    matches!(el, El::Is(e) if e.known().is_some_and(|e| {
        e.is_float() && !matches!(e, Element::F32 | Element::F64)
    }))
}

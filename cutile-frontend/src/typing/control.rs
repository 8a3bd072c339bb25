//! Blocks, statements, branches and loops.

use std::collections::HashMap;

use proc_macro2::Span;
use syn::Ident;

use super::{Checker, LoopScope, types::Ty};
use crate::{
    ast::{Block, Expr, ExprId, ExprKind, Loop, LoopKind, Pattern, Stmt},
    messages,
};

impl Checker<'_, '_, '_> {
    pub(super) fn block(&mut self, block: &Block, expected: Option<&Ty>) -> Ty {
        self.scopes.push(HashMap::new());
        let mut never = false;
        for stmt in &block.statements {
            never |= self.statement(stmt);
        }
        let ty = match &block.value {
            Some(e) => self.expr(e, expected),
            None => Ty::unit(),
        };
        self.scopes.pop();
        if never { Ty::Never } else { ty }
    }

    /// Whether control never goes past the statement.
    fn statement(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Expr(e) => {
                let unit = Ty::unit();
                let wants_unit =
                    matches!(&e.kind, ExprKind::Call(path, _) if !path.path.segments.is_empty());
                let ty = self.expr(e, wants_unit.then_some(&unit));
                if matches!(self.infer.resolve(&ty), Ty::Var(_)) {
                    self.infer.unify(&ty, &unit);
                }
                self.infer.resolve(&ty) == Ty::Never
            }
            Stmt::Let { pattern, ty, value } => {
                let annotated = ty.as_ref().map(|t| self.ty(t));
                let declared = match &annotated {
                    Some(t) => t.clone(),
                    None => self.infer.ty(),
                };
                let mut never = false;
                if let Some(e) = value {
                    let got = self.expr(e, annotated.as_ref());
                    never = self.infer.resolve(&got) == Ty::Never;
                    self.unify(&declared, &got, e.span);
                } else if !matches!(pattern, Pattern::Name { .. }) {
                    self.report.rustc_error(Span::call_site(), "a pattern needs a value");
                }
                let declared = self.infer.resolve(&declared);
                self.bind(pattern, &declared);
                never
            }
        }
    }

    pub(super) fn if_else(
        &mut self,
        cond: &Expr,
        on_true: &Block,
        on_false: Option<&Expr>,
        expected: Option<&Ty>,
    ) -> Ty {
        self.expect(cond, &Ty::bool());
        let a = self.block(on_true, expected.filter(|_| on_false.is_some()));
        let Some(on_false) = on_false else {
            self.unify(&Ty::unit(), &a, on_true.value.as_ref().map_or(cond.span, |e| e.span));
            return Ty::unit();
        };
        let a = self.infer.resolve(&a);
        let b = self.expr(on_false, if a == Ty::Never { expected } else { Some(&a) });
        let b = self.infer.resolve(&b);
        self.unify(&a, &b, on_false.span);
        let ty = if a == Ty::Never { b } else { a };
        self.only_values(&ty, cond.span);
        ty
    }

    /// Reports a tensor or view that only running the kernel could choose.
    pub(super) fn only_values(&mut self, ty: &Ty, span: Span) {
        if !self.infer.resolve(ty).is_value() {
            self.report.error(span, messages::chosen_view());
        }
    }

    pub(super) fn loop_expr(&mut self, id: ExprId, l: &Loop, expected: Option<&Ty>) -> Ty {
        let mut value = None;
        self.scopes.push(HashMap::new());
        match &l.kind {
            LoopKind::Forever => value = Some(expected.cloned().unwrap_or_else(|| self.infer.ty())),
            LoopKind::While(cond) => {
                self.expect(cond, &Ty::bool());
            }
            LoopKind::For(range) => {
                let (lower, upper) = (&range.lower, &range.upper);
                let ty = self.expr(lower, None);
                let upper_ty = self.expr(upper, Some(&ty));
                self.unify(&ty, &upper_ty, upper.span);
                if let Some(step) = &range.step {
                    // Rust takes a `usize`; the language takes any integer and converts it to the counter's type.
                    // A const of another module is an i32, which is converted too.
                    let hint = (!matches!(step.kind, ExprKind::Path(_))).then_some(&ty);
                    let step_ty = self.expr(step, hint);
                    if self
                        .infer
                        .kind(
                            step_ty.element().unwrap_or(super::El::known(cutile_ir::Element::I32)),
                        )
                        .is_some()
                    {
                        self.infer.unify(&ty, &step_ty);
                    }
                }
                let ty = self.infer.resolve(&ty);
                if !matches!(ty, Ty::Scalar(_) | Ty::Error) {
                    self.report.rustc_error(lower.span, messages::for_over());
                }
                self.bind(&range.pattern, &ty);
            }
        }
        let label = l.label.as_ref().map(Ident::to_string);
        self.loops.push(LoopScope { id, label, value: value.clone(), breaks: false });
        let body = self.block(&l.body, Some(&Ty::unit()));
        self.unify(&Ty::unit(), &body, l.body.value.as_ref().map_or(l.body.end, |e| e.span));
        let scope = self.loops.pop().expect("pushed above");
        self.scopes.pop();
        match value {
            Some(_) if !scope.breaks => Ty::Never,
            Some(ty) => {
                let ty = self.infer.resolve(&ty);
                if let Ty::Var(_) = ty {
                    self.infer.unify(&ty, &Ty::unit());
                    return Ty::unit();
                }
                ty
            }
            None => Ty::unit(),
        }
    }

    pub(super) fn break_expr(
        &mut self,
        id: ExprId,
        label: Option<&Ident>,
        value: Option<&Expr>,
        span: Span,
    ) -> Ty {
        let Some(position) = self.find_loop(id, label, span) else { return Ty::Never };
        self.loops[position].breaks = true;
        let expected = self.loops[position].value.clone();
        match (value, expected) {
            (Some(e), Some(ty)) => {
                let got = self.expect(e, &ty);
                self.only_values(&got, span);
            }
            (None, Some(ty)) => {
                self.unify(&ty, &Ty::unit(), span);
            }
            (Some(e), None) => {
                self.expr(e, None);
                self.report.rustc_error(e.span, "`break` with a value leaves `loop` only");
            }
            (None, None) => {}
        }
        Ty::Never
    }

    pub(super) fn continue_expr(&mut self, id: ExprId, label: Option<&Ident>, span: Span) -> Ty {
        self.find_loop(id, label, span);
        Ty::Never
    }

    fn find_loop(&mut self, id: ExprId, label: Option<&Ident>, span: Span) -> Option<usize> {
        let label = label.map(Ident::to_string);
        let found = self.loops.iter().rposition(|l| label.is_none() || l.label == label);
        match found {
            Some(position) => {
                self.typed.loops.insert(id, self.loops[position].id);
            }
            None => self.report.rustc_error(span, "there is no such loop here"),
        }
        found
    }
}

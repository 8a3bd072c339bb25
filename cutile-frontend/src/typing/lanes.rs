//! Closures of `map`. An element is typed as the tile that it stands for, so that the body is ordinary tile code: an `if`
//! chooses elementwise, `&&` and `||` are `&` and `|`. Both sides of a choice are evaluated, so nothing in them may fault.

use cutile_ir::Element;
use proc_macro2::Span;

use super::{
    Checker, Target,
    types::{El, Ty},
};
use crate::{
    ast::{Block, Expr, ExprKind},
    messages,
    vocabulary::Word,
};

impl Checker<'_, '_, '_> {
    /// `x.map(|v| body)`.
    pub(super) fn map(&mut self, e: &Expr, args: &[&Expr]) -> Ty {
        let Some((element, shape)) = self.tile(args[0]) else { return Ty::Error };
        let ExprKind::Closure(params, body) = &args[1].kind else {
            self.report.error(args[1].span, messages::closure_parameters());
            return Ty::Error;
        };
        let [param] = params.as_slice() else {
            self.report.error(args[1].span, messages::closure_parameters());
            return Ty::Error;
        };
        let outer = std::mem::take(&mut self.lane_branches);
        self.lanes += 1;
        self.scopes.push(Default::default());
        self.bind(param, &Ty::Tile(element, shape.clone()));
        let result = self.expr(body, None);
        self.scopes.pop();
        self.lanes -= 1;
        self.lane_branches = outer;
        self.typed.targets.insert(e.id, Target::Word(Word::Map, None));
        match self.infer.resolve(&result) {
            Ty::Scalar(el) => Ty::Tile(el, shape),
            ty @ (Ty::Tile(..) | Ty::Error) => ty,
            _ => {
                self.report.rustc_error(body.span, "a closure of `map` gives an element");
                Ty::Error
            }
        }
    }

    /// `a && b`, `a || b` in a closure.
    pub(super) fn lane_logic(&mut self, a: &Expr, b: &Expr, span: Span) -> Ty {
        let left = self.expr(a, None);
        self.lane_branches += 1;
        let right = self.expr(b, None);
        self.lane_branches -= 1;
        let ty = self.elementwise(&left, &right, false, span);
        if !matches!(self.infer.resolve(&ty).element(), Some(el) if self.infer.unify_el(el, El::known(Element::Bool)))
        {
            self.report.rustc_error(span, messages::mismatch("bool", &self.show(&ty)));
        }
        ty
    }

    /// `if cond { a } else { b }` in a closure.
    pub(super) fn lane_choice(&mut self, cond: &Expr, a: &Block, b: &Expr, span: Span) -> Ty {
        let cond_ty = self.expr(cond, None);
        self.lane_branches += 1;
        let left = self.block(a, None);
        let right = self.expr(b, None);
        self.lane_branches -= 1;
        let ty = self.elementwise(&left, &right, false, span);
        match (self.infer.resolve(&cond_ty), self.infer.resolve(&ty)) {
            (Ty::Tile(el, shape), ty) if el.is(Element::Bool) => match ty.element() {
                Some(el) => Ty::Tile(el, shape),
                None => Ty::Error,
            },
            (Ty::Scalar(el), ty) if el.is(Element::Bool) => ty,
            (other, _) => {
                let message = messages::mismatch("bool", &self.show(&other));
                self.report.rustc_error(cond.span, message);
                Ty::Error
            }
        }
    }
}

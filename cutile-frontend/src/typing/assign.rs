//! Assignments, and what may stand left of `=`.

use cutile_ir::op::BinaryOp;
use proc_macro2::Span;

use super::{Checker, Meaning, types::Ty};
use crate::{
    ast::{Expr, ExprKind, Operator},
    messages,
};

impl Checker<'_, '_, '_> {
    pub(super) fn assign(&mut self, place: &Expr, value: &Expr, span: Span) -> Ty {
        let ty = self.place(place, span);
        let resolved = self.infer.resolve(&ty);
        let got = self.expr(value, Some(&resolved));
        if !self.infer.resolve(&got).is_value() {
            self.report.error(span, messages::assign_view());
        }
        self.unify(&ty, &got, value.span);
        Ty::unit()
    }

    pub(super) fn assign_op(&mut self, op: BinaryOp, place: &Expr, value: &Expr, span: Span) -> Ty {
        let ty = self.place(place, span);
        let right = self.expr(value, None);
        let operands = [(place, &ty), (value, &right)];
        let result = self.binary_types(Operator::Binary(op), operands, Some(&ty), span);
        self.unify(&ty, &result, span);
        Ty::unit()
    }

    /// The type of what stands left of `=`: a variable, or a part of one.
    fn place(&mut self, place: &Expr, span: Span) -> Ty {
        match &place.kind {
            ExprKind::Path(_) => {
                let ty = self.expr(place, None);
                if !matches!(self.typed.meanings.get(&place.id), Some(Meaning::Local(_)) | None) {
                    self.report.rustc_error(span, "only variables can be assigned to");
                }
                ty
            }
            ExprKind::Field(base, _) | ExprKind::Index(base, _) => {
                self.place(base, span);
                let ty = self.expr(place, None);
                if !matches!(
                    self.infer.resolve(self.typed.ty(base.id)),
                    Ty::Tuple(_) | Ty::Array(..) | Ty::Error
                ) {
                    self.report.error(span, messages::assign_place());
                }
                ty
            }
            ExprKind::Tuple(list) => {
                let ty = Ty::Tuple(list.iter().map(|p| self.place(p, span)).collect());
                self.typed.types.insert(place.id, ty.clone());
                ty
            }
            ExprKind::Array(list) => {
                let element = self.infer.ty();
                for p in list {
                    let ty = self.place(p, span);
                    self.unify(&element, &ty, p.span);
                }
                let ty = Ty::Array(Box::new(self.infer.resolve(&element)), list.len());
                self.typed.types.insert(place.id, ty.clone());
                ty
            }
            ExprKind::Wild => {
                let ty = self.infer.ty();
                self.typed.types.insert(place.id, ty.clone());
                ty
            }
            ExprKind::Error => Ty::Error,
            _ => {
                self.report.error(place.span, messages::assign_place());
                Ty::Error
            }
        }
    }
}

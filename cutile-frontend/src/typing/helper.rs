//! Calls of helpers of the same module: their generic parameters are found from a turbofish, the arguments, and the
//! expected result, in this order.

use cutile_ir::{ConstParam, Dim, ElementType, Shape, TypeParam, op::ConstArg};

use super::{
    Checker, Kind, Target,
    types::{El, Ty},
};
use crate::{
    ast::{Expr, Function, GenericArg, GenericKind},
    messages,
    resolve::FunctionNames,
};

/// What a helper's generic parameters stand for in one call.
struct Bindings {
    /// By [`TypeParam`].
    types: Vec<El>,
    /// By [`ConstParam`]: the kind, and a slot for each number.
    consts: Vec<(GenericKind, Vec<Option<Dim>>)>,
}

/// A helper's declared types, in terms of its own parameters.
struct Signature {
    params: Vec<Ty>,
    result: Ty,
}

impl Checker<'_, '_, '_> {
    pub(super) fn helper_call(
        &mut self,
        e: &Expr,
        helper: &Function,
        generics: &[GenericArg],
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        if helper.entry.is_some() {
            self.report.error(e.span, messages::call_of_entry(&helper.name));
        }
        let signature = self.signature(helper);
        let mut bindings = self.fresh_bindings(helper);
        self.turbofish(helper, generics, &mut bindings);
        if args.len() != signature.params.len() {
            self.report.rustc_error(
                e.span,
                messages::argument_count(&helper.name, signature.params.len(), args.len()),
            );
        }
        for (arg, declared) in args.iter().zip(&signature.params) {
            let hint = bindings.substitute(declared);
            let got = self.expr(arg, hint.as_ref());
            let got = self.infer.resolve(&got);
            if let (Ty::Tensor { mutable: false, .. }, Ty::Tensor { mutable: true, .. }) =
                (declared, &got)
            {
                self.report.error(arg.span, messages::sub_tensor_as_shared(&helper.name));
            }
            if let (true, Ty::Scalar(_), Ty::Tile(..)) = (self.lanes > 0, declared, &got) {
                self.report.error(arg.span, messages::closure_content("calls of helpers"));
            }
            let fits = self.matches(declared, &got, &mut bindings)
                && bindings.substitute(declared).is_none_or(|ty| self.infer.unify(&ty, &got));
            if !fits {
                let message = messages::mismatch(
                    &messages::type_text(declared, self.names),
                    &self.show(&got),
                );
                self.report.rustc_error(arg.span, message);
            }
        }
        if let Some(expected) = expected {
            let expected = self.infer.resolve(expected);
            self.matches(&signature.result, &expected, &mut bindings);
        }
        let Some(consts) = bindings.const_args() else {
            self.report.rustc_error(e.span, messages::helper_parameters(&helper.name));
            return Ty::Error;
        };
        let result = bindings.substitute(&signature.result).unwrap_or(Ty::Error);
        let types = bindings.types;
        self.typed
            .targets
            .insert(e.id, Target::Helper { path: helper.path.clone(), types, consts });
        result
    }

    /// The declared types of a helper, in terms of its own parameters.
    fn signature(&mut self, helper: &Function) -> Signature {
        let externs = std::mem::take(&mut self.names.externs);
        let imports = std::mem::take(&mut self.names.imports);
        let mut names = FunctionNames::new(self.names.names, helper, externs, imports);
        // What is wrong with a signature is reported when the helper itself is checked.
        let mut unheard = crate::report::Report::default();
        let mut checker = Checker {
            names: &mut names,
            report: &mut unheard,
            infer: Default::default(),
            typed: Default::default(),
            scopes: Vec::new(),
            loops: Vec::new(),
            result: Ty::unit(),
            rules: Vec::new(),
            lanes: 0,
            lane_branches: 0,
            unknown_results: Vec::new(),
        };
        let params = helper.params.iter().map(|p| checker.ty(&p.ty)).collect();
        let result = helper.result.as_ref().map_or(Ty::unit(), |ty| checker.ty(ty));
        self.names.externs = names.externs;
        self.names.imports = names.imports;
        Signature { params, result }
    }

    fn fresh_bindings(&mut self, helper: &Function) -> Bindings {
        let mut bindings = Bindings { types: Vec::new(), consts: Vec::new() };
        for g in &helper.generics {
            match g.kind {
                GenericKind::Element => bindings.types.push(self.infer.el(Kind::Any)),
                GenericKind::Array(rank) => {
                    bindings.consts.push((g.kind, vec![None; rank as usize]))
                }
                kind => bindings.consts.push((kind, vec![None])),
            }
        }
        bindings
    }

    fn turbofish(&mut self, helper: &Function, generics: &[GenericArg], bindings: &mut Bindings) {
        let (mut type_index, mut const_index) = (0, 0);
        for (declared, given) in helper.generics.iter().zip(generics) {
            if declared.kind == GenericKind::Element {
                if let GenericArg::Name(name) = given
                    && let Some(el) = self.names.element(name)
                {
                    self.infer.unify_el(bindings.types[type_index], El::Is(el));
                }
                type_index += 1;
            } else {
                let numbers = self.const_argument(given);
                let slots = &mut bindings.consts[const_index].1;
                if let Some(numbers) = numbers {
                    if numbers.len() == slots.len() {
                        *slots = numbers.into_iter().map(Some).collect();
                    } else {
                        self.report
                            .rustc_error(helper.name.span(), "an array argument of another length");
                    }
                }
                const_index += 1;
            }
        }
    }

    /// The numbers that a const argument stands for; `None` for `_` and for what is no const.
    fn const_argument(&mut self, given: &GenericArg) -> Option<Vec<Dim>> {
        match given {
            GenericArg::Name(name) => match self.names.array(name) {
                Some(list) => Some(list),
                None => {
                    let path = syn::Path::from(name.clone());
                    let expr = Expr {
                        kind: crate::ast::ExprKind::Path(crate::ast::PathExpr {
                            path,
                            generics: Vec::new(),
                        }),
                        id: crate::ast::ExprId(u32::MAX),
                        span: name.span(),
                    };
                    self.names.dim(&expr).map(|d| vec![d])
                }
            },
            GenericArg::Value(Expr { kind: crate::ast::ExprKind::Bool(b), .. }) => {
                Some(vec![Dim::Const(i64::from(*b))])
            }
            GenericArg::Value(e) => {
                let dim = self.names.dim(e);
                if dim.is_none() {
                    self.report.error(e.span, messages::extent());
                }
                dim.map(|d| vec![d])
            }
            GenericArg::Array(list, _) => list.iter().map(|e| self.names.dim(e)).collect(),
            GenericArg::Type(_) => None,
        }
    }

    /// The arguments of a turbofish as they are written, for a helper whose declaration is not known.
    pub(super) fn given_arguments(&mut self, generics: &[GenericArg]) -> (Vec<El>, Vec<ConstArg>) {
        let (mut types, mut consts) = (Vec::new(), Vec::new());
        for g in generics {
            if let GenericArg::Name(name) = g
                && let Some(el) = self.names.element(name)
            {
                types.push(El::Is(el));
                continue;
            }
            let is_array = match g {
                GenericArg::Array(..) => true,
                GenericArg::Name(name) => self.names.array(name).is_some(),
                _ => false,
            };
            match self.const_argument(g) {
                Some(list) if is_array => consts.push(ConstArg::Array(list)),
                Some(mut list) => consts.extend(list.pop().map(ConstArg::One)),
                None => {}
            }
        }
        (types, consts)
    }

    /// Binds what `declared` leaves open to what `got` shows; `false` where they can't agree.
    fn matches(&mut self, declared: &Ty, got: &Ty, bindings: &mut Bindings) -> bool {
        match (declared, got) {
            (_, Ty::Error | Ty::Never | Ty::Var(_)) | (Ty::Error, _) => true,
            (Ty::Scalar(a), Ty::Scalar(b)) => self.matches_el(*a, *b, bindings),
            (Ty::Tile(a, s), Ty::Tile(b, t)) => {
                self.matches_el(*a, *b, bindings) && bindings.matches_shape(s, t)
            }
            (
                Ty::Tensor { element: a, extents: s, .. },
                Ty::Tensor { element: b, extents: t, .. },
            ) => self.matches_el(*a, *b, bindings) && bindings.matches_extents(s, t),
            (Ty::View { element: a, shape: s, .. }, Ty::View { element: b, shape: t, .. }) => {
                self.matches_el(*a, *b, bindings) && bindings.matches_shape(s, t)
            }
            (Ty::Shape(s), Ty::Shape(t)) => bindings.matches_extents(s, t),
            (Ty::Order(a), Ty::Order(b)) => a == b,
            (Ty::Tuple(a), Ty::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.matches(a, b, bindings))
            }
            (Ty::Array(a, n), Ty::Array(b, m)) => n == m && self.matches(a, b, bindings),
            _ => false,
        }
    }

    fn matches_el(&mut self, declared: El, got: El, bindings: &Bindings) -> bool {
        match declared {
            El::Is(ElementType::Param(TypeParam(p))) => {
                self.infer.unify_el(bindings.types[p as usize], got)
            }
            other => self.infer.unify_el(other, got),
        }
    }
}

impl Bindings {
    fn matches_shape(&mut self, declared: &Shape, got: &Shape) -> bool {
        declared.len() == got.len() && declared.iter().zip(got).all(|(d, g)| self.matches_dim(d, g))
    }

    fn matches_extents(&mut self, declared: &[Option<Dim>], got: &[Option<Dim>]) -> bool {
        declared.len() == got.len()
            && declared.iter().zip(got).all(|(d, g)| match (d, g) {
                (Some(d), Some(g)) => self.matches_dim(d, g),
                (d, g) => d == g,
            })
    }

    fn matches_dim(&mut self, declared: &Dim, got: &Dim) -> bool {
        if let Dim::Param { param, axis } = declared {
            let slot = self.slot(*param, *axis);
            return match slot {
                Some(bound) => bound == got,
                None => {
                    *slot = Some(got.clone());
                    true
                }
            };
        }
        // Arithmetic on parameters that are not bound yet is compared once they are.
        self.dim(declared).is_none_or(|d| d == *got)
    }

    fn slot(&mut self, ConstParam(param): ConstParam, axis: Option<u32>) -> &mut Option<Dim> {
        &mut self.consts[param as usize].1[axis.unwrap_or(0) as usize]
    }

    fn dim(&self, declared: &Dim) -> Option<Dim> {
        match declared {
            Dim::Param { param, axis } => {
                self.consts[param.0 as usize].1[axis.unwrap_or(0) as usize].clone()
            }
            Dim::Expr(op, a, b) => Some(Dim::combine(*op, self.dim(a)?, self.dim(b)?)),
            other => Some(other.clone()),
        }
    }

    fn el(&self, declared: El) -> El {
        match declared {
            El::Is(ElementType::Param(TypeParam(p))) => self.types[p as usize],
            other => other,
        }
    }

    /// A declared type in the caller's terms; `None` while something in it is not bound.
    fn substitute(&self, declared: &Ty) -> Option<Ty> {
        let shape = |s: &Shape| s.iter().map(|d| self.dim(d)).collect::<Option<Shape>>();
        let extents = |s: &[Option<Dim>]| {
            s.iter()
                .map(|d| match d {
                    Some(d) => self.dim(d).map(Some),
                    None => Some(None),
                })
                .collect::<Option<Vec<_>>>()
        };
        Some(match declared {
            Ty::Scalar(e) => Ty::Scalar(self.el(*e)),
            Ty::Tile(e, s) => Ty::Tile(self.el(*e), shape(s)?),
            Ty::Tensor { mutable, element, extents: s } => {
                Ty::Tensor { mutable: *mutable, element: self.el(*element), extents: extents(s)? }
            }
            Ty::View { mutable, element, shape: s } => {
                Ty::View { mutable: *mutable, element: self.el(*element), shape: shape(s)? }
            }
            Ty::Shape(s) => Ty::Shape(extents(s)?),
            Ty::Tuple(list) => {
                Ty::Tuple(list.iter().map(|t| self.substitute(t)).collect::<Option<_>>()?)
            }
            Ty::Array(t, n) => Ty::Array(Box::new(self.substitute(t)?), *n),
            other => other.clone(),
        })
    }

    fn const_args(&self) -> Option<Vec<ConstArg>> {
        self.consts
            .iter()
            .map(|(kind, slots)| {
                let numbers: Option<Vec<Dim>> = slots.iter().cloned().collect();
                Some(match kind {
                    GenericKind::Array(_) => ConstArg::Array(numbers?),
                    _ => ConstArg::One(numbers?.pop()?),
                })
            })
            .collect()
    }
}

//! Gives every expression of a function its type, every name and call its meaning. Lowering takes the result; rustc
//! checks the same program in its own way, so an error that rustc gives is left to it.

mod assign;
mod call;
mod control;
mod expr;
mod helper;
mod infer;
mod lanes;
mod memory;
pub mod types;
mod word;

use std::collections::HashMap;

use cutile_ir::{
    Dim, Element, ElementType, ImportId, Shape,
    op::{BinaryOp, ConstArg, UnaryOp},
};
use proc_macro2::Span;
use syn::{Ident, ext::IdentExt};

pub use self::infer::{Infer, Kind};
use self::types::{El, Ty};
use crate::{
    ast::{ExprId, Pattern, ShapeSpec, Type, TypeKind},
    consts::{self, ConstValue},
    messages,
    report::Report,
    resolve::FunctionNames,
    vocabulary::Word,
};

/// A variable of a function, by position in [`Typed::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// A variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Where it is bound.
    pub span: Span,
}

/// What a name or an index expression means.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// A variable.
    Local(LocalId),
    /// A number known before the launch.
    Dim(Dim),
    /// A const.
    Const(ConstValue),
    /// The element at this position of a tuple, an array or a shape.
    Position(usize),
}

/// What a call means.
#[derive(Clone, Debug)]
pub enum Target {
    /// An operation of the vocabulary; an axis, where it takes one.
    Word(Word, Option<u32>),
    /// A helper of this module.
    Helper {
        /// Its IR name.
        path: String,
        /// Its type arguments.
        types: Vec<El>,
        /// Its const arguments.
        consts: Vec<ConstArg>,
    },
    /// A helper of another module.
    Import {
        /// Which.
        id: ImportId,
        /// Its type arguments, if given.
        types: Vec<El>,
        /// Its const arguments, if given.
        consts: Vec<ConstArg>,
    },
}

/// A checked function.
#[derive(Debug, Default)]
pub struct Typed {
    /// Variables; the parameters first.
    pub locals: Vec<Local>,
    /// What patterns bind.
    pub bindings: HashMap<ExprId, LocalId>,
    /// What names and indices mean.
    pub meanings: HashMap<ExprId, Meaning>,
    /// What calls mean.
    pub targets: HashMap<ExprId, Target>,
    /// The loop that a `break` or `continue` leaves.
    pub loops: HashMap<ExprId, ExprId>,
    /// The result's type.
    pub result: Option<Ty>,
    types: HashMap<ExprId, Ty>,
}

impl Typed {
    /// The type of an expression.
    pub fn ty(&self, id: ExprId) -> &Ty {
        self.types.get(&id).unwrap_or(&Ty::Error)
    }
}

/// A rule about the element type of an operation, tested once inference is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ElementRule {
    /// An operator of one operand.
    Unary(UnaryOp),
    /// An operator of two operands.
    Binary(BinaryOp),
    /// A function of one operand.
    UnaryFunction(UnaryOp),
    /// A function of two operands.
    BinaryFunction(BinaryOp),
    /// May not fault: the elements for which it would may be those that a branch excludes.
    NoFault,
    /// Must hold this literal; `None` is larger than any.
    Holds(Option<i128>),
    /// A float literal: only Rust's own floats have them.
    Literal,
    Float(&'static str),
    Bool(&'static str),
    /// The result of `iota`, conversions: anything numeric.
    LiteralGiven(&'static str),
}

struct LoopScope {
    id: ExprId,
    label: Option<String>,
    /// The type of `break`'s value; `None` for `for` and `while`.
    value: Option<Ty>,
    breaks: bool,
}

/// Checks one function.
pub struct Checker<'a, 'n, 'm> {
    names: &'a mut FunctionNames<'n, 'm>,
    report: &'a mut Report,
    infer: Infer,
    typed: Typed,
    scopes: Vec<HashMap<String, LocalId>>,
    loops: Vec<LoopScope>,
    result: Ty,
    rules: Vec<(Span, El, bool, ElementRule)>,
    /// How many closures of `map` are around: in them an element is typed as the tile that it stands for.
    lanes: u32,
    /// How many `if`s and right sides of `&&` and `||` are around in the innermost closure.
    lane_branches: u32,
    /// Calls whose result type must come from elsewhere.
    unknown_results: Vec<(ExprId, Span, String)>,
}

/// Checks the function that `names` belongs to.
pub fn check(names: &mut FunctionNames<'_, '_>, report: &mut Report) -> Typed {
    let function = names.function;
    let mut checker = Checker {
        names,
        report,
        infer: Infer::default(),
        typed: Typed::default(),
        scopes: vec![HashMap::new()],
        loops: Vec::new(),
        result: Ty::unit(),
        rules: Vec::new(),
        lanes: 0,
        lane_branches: 0,
        unknown_results: Vec::new(),
    };
    let errors = checker.report.count();
    for param in &function.params {
        let ty = checker.ty(&param.ty);
        checker.declare(&param.name, ty);
    }
    checker.result = match &function.result {
        Some(ty) => checker.ty(ty),
        None => Ty::unit(),
    };
    let result = checker.result.clone();
    let body = checker.block(&function.body, Some(&result));
    let span = function.body.value.as_ref().map_or(function.name.span(), |e| e.span);
    checker.unify(&result, &body, span);
    checker.finish(errors)
}

impl Checker<'_, '_, '_> {
    fn declare(&mut self, name: &Ident, ty: Ty) -> LocalId {
        let id = LocalId(self.typed.locals.len() as u32);
        let text = name.unraw().to_string();
        self.typed.locals.push(Local { name: text.clone(), ty, span: name.span() });
        self.scopes.last_mut().expect("the function's scope is open").insert(text, id);
        id
    }

    fn local(&self, name: &Ident) -> Option<LocalId> {
        let name = name.unraw().to_string();
        self.scopes.iter().rev().find_map(|scope| scope.get(&name).copied())
    }

    /// Binds a pattern to a value of type `ty`.
    fn bind(&mut self, pattern: &Pattern, ty: &Ty) {
        match pattern {
            Pattern::Wild => {}
            Pattern::Name { name, id, .. } => {
                if self.names.generic(name).is_some() {
                    self.report.error(name.span(), messages::shadows_parameter(name));
                }
                let local = self.declare(name, ty.clone());
                self.typed.bindings.insert(*id, local);
            }
            Pattern::Tuple(list, span) => match self.infer.resolve(ty) {
                Ty::Tuple(types) if types.len() == list.len() => {
                    list.iter().zip(&types).for_each(|(p, t)| self.bind(p, t));
                }
                Ty::Array(element, n) if n == list.len() => {
                    list.iter().for_each(|p| self.bind(p, &element));
                }
                other => {
                    self.report.rustc_error(
                        *span,
                        messages::tuple_pattern(list.len(), &self.show(&other)),
                    );
                    list.iter().for_each(|p| self.bind(p, &Ty::Error));
                }
            },
        }
    }

    /// The type that an annotation means.
    fn ty(&mut self, ty: &Type) -> Ty {
        match &ty.kind {
            TypeKind::Error => Ty::Error,
            TypeKind::Infer => self.infer.ty(),
            TypeKind::Name(name) => match self.names.element(name) {
                Some(e) => Ty::Scalar(El::Is(e)),
                None => {
                    let message = messages::unknown_type(name);
                    if self.names.names.open || self.names.may_be_foreign(name) {
                        // An alias, perhaps, which rustc sees through.
                        self.report.error(name.span(), message);
                    } else {
                        self.report.rustc_error(name.span(), message);
                    }
                    Ty::Error
                }
            },
            TypeKind::Tuple(list) => Ty::Tuple(list.iter().map(|t| self.ty(t)).collect()),
            TypeKind::Array(element, len) => {
                let element = self.ty(element);
                match self.names.dim(len) {
                    Some(Dim::Const(n)) if (0..=expr::MAX_ARRAY).contains(&n) => {
                        Ty::Array(Box::new(element), n as usize)
                    }
                    _ => {
                        self.report.error(len.span, messages::array_length());
                        Ty::Error
                    }
                }
            }
            TypeKind::Tile(element, shape) => {
                match (self.element(element), self.static_shape(shape)) {
                    (Some(e), Some(s)) => Ty::Tile(e, s),
                    _ => Ty::Error,
                }
            }
            TypeKind::View { mutable, element, shape } => {
                match (self.element(element), self.static_shape(shape)) {
                    (Some(element), Some(shape)) => Ty::View { mutable: *mutable, element, shape },
                    _ => Ty::Error,
                }
            }
            TypeKind::Tensor { mutable, element, shape } => {
                match (self.element(element), self.extents(shape)) {
                    (Some(element), Some(extents)) => {
                        if *mutable && extents.iter().any(Option::is_none) {
                            self.report.error(ty.span, messages::dynamic_sub_tensor());
                            return Ty::Error;
                        }
                        Ty::Tensor { mutable: *mutable, element, extents }
                    }
                    _ => Ty::Error,
                }
            }
            TypeKind::Shape(shape) => self.extents(shape).map_or(Ty::Error, Ty::Shape),
        }
    }

    fn element(&mut self, ty: &Type) -> Option<El> {
        match self.ty(ty) {
            Ty::Scalar(e) => Some(e),
            Ty::Var(_) => Some(self.infer.el(Kind::Any)),
            Ty::Error => None,
            _ => {
                self.report.rustc_error(ty.span, "an element type is expected");
                None
            }
        }
    }

    /// A shape without `-1`.
    fn static_shape(&mut self, shape: &ShapeSpec) -> Option<Shape> {
        let extents = self.extents(shape)?;
        let known: Option<Shape> = extents.into_iter().collect();
        if let (None, ShapeSpec::List(_, span)) = (&known, shape) {
            self.report.error(*span, messages::dynamic_tile());
        }
        known
    }

    /// A shape as extents; `-1` is `None`.
    fn extents(&mut self, shape: &ShapeSpec) -> Option<Vec<Option<Dim>>> {
        match shape {
            ShapeSpec::Error => None,
            ShapeSpec::Name(name) => match self.names.array(name) {
                Some(list) => Some(list.into_iter().map(some_extent).collect()),
                None => {
                    self.report.error(name.span(), messages::not_a_shape(name));
                    None
                }
            },
            ShapeSpec::List(list, span) => {
                if list.len() > cutile_ir::MAX_RANK {
                    self.report.error(*span, messages::rank_too_high(list.len()));
                    return None;
                }
                self.extent_list(list)
            }
        }
    }

    /// Extents of a shape, each checked.
    fn extent_list(&mut self, list: &[crate::ast::Expr]) -> Option<Vec<Option<Dim>>> {
        let mut extents = Vec::new();
        for e in list {
            match self.names.dim(e) {
                Some(Dim::Const(n)) if n < -1 || n == 0 => {
                    self.report.error(e.span, messages::extent_value(n));
                    return None;
                }
                Some(d) => extents.push(some_extent(d)),
                None => {
                    self.report.error(e.span, messages::extent());
                    return None;
                }
            }
        }
        Some(extents)
    }

    fn unify(&mut self, expected: &Ty, got: &Ty, span: Span) -> bool {
        let fits = self.infer.unify(expected, got);
        if !fits {
            let message = messages::mismatch(&self.show(expected), &self.show(got));
            self.report.rustc_error(span, message);
        }
        fits
    }

    /// A type as messages show it.
    fn show(&self, ty: &Ty) -> String {
        messages::type_text(&self.infer.finish(ty), self.names)
    }

    /// Checks a rule once inference is done; `tile` says that the operand is a tile, which rustc doesn't judge.
    fn rule(&mut self, span: Span, ty: &Ty, rule: ElementRule) {
        let ty = self.infer.resolve(ty);
        if let Some(el) = ty.element() {
            self.rules.push((span, el, matches!(ty, Ty::Tile(..)), rule));
        }
    }

    /// `errors` is how many there were before this function.
    fn finish(mut self, errors: usize) -> Typed {
        for (span, el, tile, rule) in std::mem::take(&mut self.rules) {
            self.apply_rule(span, el, tile, rule);
        }
        for (id, span, name) in std::mem::take(&mut self.unknown_results) {
            if matches!(self.infer.resolve(self.typed.ty(id)), Ty::Var(_)) {
                self.report.error(span, messages::import_result(&name));
            }
        }
        for ty in self.typed.types.values_mut() {
            *ty = self.infer.finish(ty);
        }
        for local in &mut self.typed.locals {
            local.ty = self.infer.finish(&local.ty);
            if matches!(local.ty.element(), Some(El::Var(_))) {
                self.report.rustc_error(local.span, messages::unknown_element(&local.name));
            }
        }
        for target in self.typed.targets.values_mut() {
            if let Target::Helper { types, .. } | Target::Import { types, .. } = target {
                for el in types {
                    if let Ty::Scalar(e) = self.infer.finish(&Ty::Scalar(*el)) {
                        *el = e;
                    }
                }
            }
        }
        self.typed.result = Some(self.infer.finish(&self.result));
        let known = self
            .typed
            .types
            .values()
            .chain(self.typed.locals.iter().map(|l| &l.ty))
            .all(Ty::is_known);
        if !known && self.report.count() == errors {
            // Nothing may reach lowering with a type that is not known.
            let name = &self.names.function.name;
            self.report.rustc_error(name.span(), messages::unknown_somewhere(name));
        }
        self.typed
    }

    fn apply_rule(&mut self, span: Span, el: El, tile: bool, rule: ElementRule) {
        if let ElementRule::LiteralGiven(name) = rule {
            if matches!(self.infer.kind(el), Some(Kind::Int | Kind::Float)) {
                self.report.error(span, messages::literal_for_import(name));
            }
            return;
        }
        let Ty::Scalar(El::Is(ElementType::Known(element))) = self.infer.finish(&Ty::Scalar(el))
        else {
            return;
        };
        if let ElementRule::Holds(n) = rule {
            if let Some((least, greatest)) = consts::range(element)
                && n.is_none_or(|n| n < least || n > greatest)
            {
                self.report.error(span, messages::literal_range(element, least, greatest));
            }
            return;
        }
        if let ElementRule::Literal = rule {
            if !matches!(element, Element::F32 | Element::F64) {
                self.report.error(span, messages::literal_of(element));
            }
            return;
        }
        if let ElementRule::NoFault = rule {
            if element.is_integer() {
                self.report.error(span, messages::closure_division());
            }
            return;
        }
        let numeric = element.has_arithmetic() || element == Element::Bool;
        let message = match rule {
            ElementRule::Unary(op) | ElementRule::UnaryFunction(op)
                if !(numeric && op.takes(element.class())) =>
            {
                messages::unary_element(op, element)
            }
            ElementRule::Binary(op) | ElementRule::BinaryFunction(op)
                if !(numeric && op.takes(element.class())) =>
            {
                messages::binary_element(op, element)
            }
            ElementRule::Float(name) if !(numeric && element.is_float()) => {
                messages::takes(name, "floats", element)
            }
            ElementRule::Bool(name) if element != Element::Bool => {
                messages::takes(name, "bool", element)
            }
            _ => return,
        };
        // The vocabulary's bounds say it of functions; operators on tiles are open to every element type.
        let is_bound = match rule {
            ElementRule::UnaryFunction(UnaryOp::Not) => false,
            ElementRule::UnaryFunction(UnaryOp::Abs) => !element.has_arithmetic(),
            ElementRule::BinaryFunction(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => false,
            ElementRule::UnaryFunction(_)
            | ElementRule::BinaryFunction(_)
            | ElementRule::Float(_)
            | ElementRule::Bool(_) => true,
            _ => false,
        };
        if tile && !is_bound {
            self.report.error(span, message);
        } else {
            self.report.rustc_error(span, message);
        }
    }
}

fn some_extent(d: Dim) -> Option<Dim> {
    (d != Dim::Const(-1)).then_some(d)
}

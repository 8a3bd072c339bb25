//! Calls: which function a path means, which method a receiver has.

use cutile_ir::Element;
use syn::Ident;

use super::{
    Checker, ElementRule, Target,
    types::{El, Ty},
};
use crate::{
    ast::{Expr, GenericArg, PathExpr},
    messages,
    resolve::{element_name, path_text},
    vocabulary::{self, Word},
};

impl Checker<'_, '_, '_> {
    pub(super) fn call(
        &mut self,
        e: &Expr,
        path: &PathExpr,
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        match path.single() {
            Some(name) => self.call_by_name(e, name, path, args, expected),
            None => self.call_by_path(e, path, args, expected),
        }
    }

    fn call_by_name(
        &mut self,
        e: &Expr,
        name: &Ident,
        path: &PathExpr,
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        if let Some(helper) = self.names.helper(name) {
            return self.helper_call(e, helper, &path.generics, args, expected);
        }
        let imported = self.names.names.imports.get(&name.to_string()).copied();
        let (known_as, from) = match imported {
            Some(path) if is_vocabulary(path) => {
                (path.segments.last().map_or(name.clone(), |s| s.ident.clone()), None)
            }
            other => (name.clone(), other),
        };
        match (vocabulary::function(&known_as.to_string()), from) {
            (Some(word), None) => {
                self.word_call(e, word, &known_as, &path.generics, &refs(args), expected)
            }
            (_, Some(_)) => self.import_call(e, name.to_string(), &path.generics, args, expected),
            (None, None) if PRELUDE.iter().any(|p| name == p) => {
                self.report.error(e.span, messages::std_function(&name.to_string()));
                Ty::Error
            }
            (None, None) if self.names.names.open => {
                self.import_call(e, name.to_string(), &path.generics, args, expected)
            }
            (None, None) => self.unknown_function(e, name, args),
        }
    }

    fn call_by_path(
        &mut self,
        e: &Expr,
        path: &PathExpr,
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        let mut last_first = path.path.segments.iter().rev().map(|s| &s.ident);
        let (Some(last), owner) = (last_first.next(), last_first.next()) else { return Ty::Error };
        let alias = path.path.segments.first().and_then(|first| {
            let import = self.names.names.imports.get(&first.ident.to_string())?;
            let last = &import.segments.last()?.ident;
            Some(path.path.segments.len() == 2 && vocabulary::MODULES.iter().any(|m| last == m))
        });
        if is_vocabulary(&path.path) || alias == Some(true) {
            return match vocabulary::function(&last.to_string()) {
                Some(word) => self.word_call(e, word, last, &path.generics, &refs(args), expected),
                None => self.unknown_function(e, last, args),
            };
        }
        if let Some(owner) = owner
            && let Some(element) = element_name(owner)
        {
            return self.call_of_element(e, element, owner, last, args, expected);
        }
        if ["std", "core", "alloc"].iter().any(|c| path.path.segments[0].ident == c) {
            self.report.error(e.span, messages::std_function(&path_text(&path.path)));
            return Ty::Error;
        }
        self.import_call(e, path_text(&path.path), &path.generics, args, expected)
    }

    /// `f32::max(a, b)`, `f16::from_f32(x)`.
    fn call_of_element(
        &mut self,
        e: &Expr,
        element: Element,
        owner: &Ident,
        name: &Ident,
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        let narrow = matches!(element, Element::F16 | Element::BF16);
        if narrow && (name == "from_f32" || name == "from_f64") {
            let given = [GenericArg::Name(owner.clone())];
            self.word_call(e, Word::Convert, name, &given, &refs(args), expected);
            return Ty::scalar(element);
        }
        match (args.is_empty(), vocabulary::scalar_method(&name.to_string())) {
            (false, Some(word)) => self.word_call(e, word, name, &[], &refs(args), expected),
            _ => {
                self.report.error(e.span, messages::unknown_scalar_function(name));
                Ty::Error
            }
        }
    }

    fn unknown_function(&mut self, e: &Expr, name: &Ident, args: &[Expr]) -> Ty {
        args.iter().for_each(|a| {
            self.expr(a, None);
        });
        self.report.rustc_error(e.span, messages::unknown_function(name));
        Ty::Error
    }

    pub(super) fn method(
        &mut self,
        e: &Expr,
        receiver: &Expr,
        name: &Ident,
        generics: &[GenericArg],
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        let ty = self.expr(receiver, None);
        let text = name.to_string();
        let word = match self.infer.resolve(&ty) {
            Ty::Tensor { .. } => vocabulary::tensor_method(&text),
            Ty::View { mutable: true, .. } if text == "load_padded" || text == "grid" => None,
            Ty::View { .. } => vocabulary::view_method(&text),
            Ty::Tile(el, _) if self.lanes > 0 => {
                let element = match self.infer.finish(&Ty::Scalar(el)).element() {
                    Some(El::Is(e)) => e.known(),
                    _ => None,
                };
                scalar_method(&text, element)
            }
            Ty::Tile(..) => vocabulary::tile_method(&text),
            Ty::Scalar(el) => {
                let element = match self.infer.finish(&Ty::Scalar(el)).element() {
                    Some(El::Is(e)) => e.known(),
                    _ => None,
                };
                scalar_method(&text, element)
            }
            Ty::Error | Ty::Never => {
                args.iter().for_each(|a| {
                    self.expr(a, None);
                });
                return Ty::Error;
            }
            other => {
                // Rust's arrays and tuples have some.
                self.report.error(e.span, messages::no_method(&self.show(&other), name));
                return Ty::Error;
            }
        };
        let Some(word) = word else {
            let shown = self.show(&ty);
            if matches!(self.infer.resolve(&ty), Ty::Scalar(_)) {
                self.report.error(e.span, messages::unknown_scalar_function(name));
            } else {
                self.report.rustc_error(e.span, messages::no_method(&shown, name));
                if let Some(function) = vocabulary::function_of_method(&text)
                    && matches!(self.infer.resolve(&ty), Ty::Tile(..))
                {
                    self.report.error(e.span, messages::function_of_tiles(function));
                }
            }
            return Ty::Error;
        };
        let all: Vec<&Expr> = std::iter::once(receiver).chain(args).collect();
        match (word, text.as_str()) {
            (Word::Convert, "to_f32" | "to_f64") => {
                let to = if text == "to_f32" { "f32" } else { "f64" };
                let given = [GenericArg::Name(Ident::new(to, name.span()))];
                self.word_call(e, word, name, &given, &all, expected)
            }
            _ => self.word_call(e, word, name, generics, &all, expected),
        }
    }

    /// A call of a helper of another module: its types are known to rustc only.
    fn import_call(
        &mut self,
        e: &Expr,
        path: String,
        generics: &[GenericArg],
        args: &[Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        for arg in args {
            let ty = self.expr(arg, None);
            self.rule(arg.span, &ty, ElementRule::LiteralGiven("helper"));
        }
        if self.lanes > 0 {
            self.report.error(e.span, messages::closure_content("calls of helpers"));
        }
        let (types, consts) = self.given_arguments(generics);
        let id = self.names.import(path.clone(), e.span);
        self.typed.targets.insert(e.id, Target::Import { id, types, consts });
        match expected.map(|t| self.infer.resolve(t)) {
            Some(ty) if !matches!(ty, Ty::Var(_)) => ty,
            _ => {
                self.unknown_results.push((e.id, e.span, path));
                self.infer.ty()
            }
        }
    }

    /// Decides the type `ty` of a call `e` of a helper of another module by what stands on the operator's other side: a
    /// tile wants such a tile; a scalar wants what the operation is expected to give, else such a scalar.
    pub(super) fn import_operand(&mut self, e: &Expr, ty: &Ty, other: &Ty, expected: Option<&Ty>) {
        let is_call = matches!(self.typed.targets.get(&e.id), Some(Target::Import { .. }));
        if !is_call || !matches!(self.infer.resolve(ty), Ty::Var(_)) {
            return;
        }
        let wanted = match (self.infer.resolve(other), expected.map(|t| self.infer.resolve(t))) {
            (tile @ Ty::Tile(..), _) => tile,
            (Ty::Scalar(_), Some(whole)) if whole.is_elementwise() => whole,
            (scalar @ Ty::Scalar(El::Is(_)), _) => scalar,
            _ => return,
        };
        self.infer.unify(ty, &wanted);
    }

    /// Reports a wrong number of arguments, which rustc reports too.
    pub(super) fn count(&mut self, e: &Expr, name: &Ident, args: &[&Expr], wanted: usize) -> bool {
        if args.len() != wanted {
            self.report.rustc_error(e.span, messages::argument_count(name, wanted, args.len()));
        }
        args.len() == wanted
    }

    pub(super) fn target(&mut self, e: &Expr, word: Word, axis: Option<u32>) {
        self.typed.targets.insert(e.id, Target::Word(word, axis));
    }
}

fn refs(args: &[Expr]) -> Vec<&Expr> {
    args.iter().collect()
}

/// Functions that every Rust program sees.
const PRELUDE: [&str; 6] = ["drop", "Some", "Ok", "Err", "Box", "Vec"];

/// The path leads into `cutile::core`.
fn is_vocabulary(path: &syn::Path) -> bool {
    let n = path.segments.len();
    n >= 2 && vocabulary::MODULES.iter().any(|m| path.segments[n - 2].ident == m)
}

/// Methods of Rust's own numbers; some mean another thing for integers.
fn scalar_method(name: &str, element: Option<Element>) -> Option<Word> {
    let is_float = element.is_none_or(Element::is_float);
    match vocabulary::scalar_method(name) {
        Some(Word::Binary(op)) if op == cutile_ir::op::BinaryOp::Pow && !is_float => None,
        other => other,
    }
}

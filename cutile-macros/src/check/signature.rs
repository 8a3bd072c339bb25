//! Which generic parameters functions have: those in scope, and those of the module's helpers, for their turbofish.

use std::collections::HashMap;

use cutile_frontend::ast::{GenericKind, Module};
use syn::{Expr, ExprLit, GenericParam, Generics, Ident, Lit, Type};

/// The generic parameters of a function by name.
pub(crate) struct Scope(HashMap<String, GenericKind>);

impl Scope {
    pub(crate) fn new(generics: &Generics) -> Scope {
        let kind = |p: &GenericParam| match p {
            GenericParam::Type(t) => Some((t.ident.to_string(), GenericKind::Element)),
            GenericParam::Const(c) => Some((c.ident.to_string(), const_kind(&c.ty)?)),
            GenericParam::Lifetime(_) => None,
        };
        Scope(generics.params.iter().filter_map(kind).collect())
    }

    pub(crate) fn get(&self, name: &Ident) -> Option<GenericKind> {
        self.0.get(&name.to_string()).copied()
    }
}

/// The kind of a const parameter.
pub(crate) fn const_kind(ty: &Type) -> Option<GenericKind> {
    match ty {
        Type::Path(p) if p.path.is_ident("i32") => Some(GenericKind::Int),
        Type::Path(p) if p.path.is_ident("bool") => Some(GenericKind::Bool),
        Type::Array(a) => match &a.len {
            Expr::Lit(ExprLit { lit: Lit::Int(n), .. }) => {
                n.base10_parse().ok().map(GenericKind::Array)
            }
            _ => None,
        },
        _ => None,
    }
}

/// What the module's consts and functions look like from a call.
pub(crate) struct Signatures {
    functions: HashMap<String, Vec<GenericKind>>,
    arrays: HashMap<String, usize>,
}

impl Signatures {
    pub(crate) fn new(module: &Module) -> Signatures {
        use cutile_frontend::ast::{ExprKind, TypeKind};
        let functions = module
            .functions
            .iter()
            .map(|f| (f.name.to_string(), f.generics.iter().map(|g| g.kind).collect()))
            .collect();
        let arrays = module.consts.iter().filter_map(|c| match (&c.ty.kind, &c.value.kind) {
            (TypeKind::Array(..), ExprKind::Array(list)) => Some((c.name.to_string(), list.len())),
            _ => None,
        });
        Signatures { functions, arrays: arrays.collect() }
    }

    /// The kinds of a function's generic parameters.
    pub(crate) fn function(&self, name: &Ident) -> Option<&[GenericKind]> {
        self.functions.get(&name.to_string()).map(Vec::as_slice)
    }

    /// The length of an array const.
    pub(crate) fn array(&self, name: &Ident) -> Option<usize> {
        self.arrays.get(&name.to_string()).copied()
    }
}

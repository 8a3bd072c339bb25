//! Functions: attributes, generics, signature.

use syn::{
    FnArg, GenericParam, ItemFn, Pat, ReturnType, ext::IdentExt, spanned::Spanned, visit::Visit,
};

use super::{Parser, options::Inner};
use crate::{
    ast::{Function, Generic, GenericKind, Param, TypeKind},
    messages,
};

impl Parser<'_> {
    /// Parses a function; `outer` is the IR name of the function that it is nested in.
    pub(crate) fn function(&mut self, f: &ItemFn, outer: Option<&str>) {
        let entry = self.entry_options(&f.attrs, outer.is_some());
        self.modifiers(f);
        let mut inner = Inner(self);
        inner.visit_signature(&f.sig);
        inner.visit_block(&f.block);
        let generics = f.sig.generics.params.iter().filter_map(|p| self.generic(p)).collect();
        let params = f.sig.inputs.iter().filter_map(|p| self.param(p)).collect();
        let result = match &f.sig.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => {
                let ty = self.ty(ty);
                (!matches!(&ty.kind, TypeKind::Tuple(list) if list.is_empty())).then_some(ty)
            }
        };
        if let (Some(_), Some(ty)) = (&entry, &result) {
            self.report.error(ty.span, messages::entry_with_result(&f.sig.ident));
        }
        let path = match outer {
            Some(outer) => format!("{outer}.{}", f.sig.ident.unraw()),
            None => f.sig.ident.unraw().to_string(),
        };
        let body = self.block(&f.block, &path);
        let public = !matches!(f.vis, syn::Visibility::Inherited);
        self.functions.push(Function {
            name: f.sig.ident.clone(),
            path,
            entry,
            generics,
            params,
            result,
            body,
            public,
        });
    }

    fn modifiers(&mut self, f: &ItemFn) {
        let sig = &f.sig;
        let given = [
            sig.asyncness.as_ref().map(|t| ("async", t.span())),
            sig.constness.as_ref().map(|t| ("const", t.span())),
            sig.abi.as_ref().map(|t| ("extern", t.span())),
            match &sig.safety {
                syn::Safety::Default => None,
                other => Some(("unsafe", other.span())),
            },
        ];
        for (what, span) in given.into_iter().flatten() {
            self.report.error(span, messages::function_modifier(what));
        }
        if let Some(variadic) = &sig.variadic {
            self.report.error(variadic.span(), messages::function_modifier("variadic"));
        }
    }

    fn generic(&mut self, param: &GenericParam) -> Option<Generic> {
        match param {
            GenericParam::Lifetime(_) => None,
            GenericParam::Type(t) => {
                Some(Generic { name: t.ident.clone(), kind: GenericKind::Element })
            }
            GenericParam::Const(c) => {
                let kind = self.const_kind(&c.ty);
                if kind.is_none() {
                    self.report.error(c.ty.span(), messages::const_parameter_kind(&c.ident));
                }
                Some(Generic { name: c.ident.clone(), kind: kind? })
            }
        }
    }

    fn const_kind(&mut self, ty: &syn::Type) -> Option<GenericKind> {
        match ty {
            syn::Type::Path(p) if p.path.is_ident("i32") => Some(GenericKind::Int),
            syn::Type::Path(p) if p.path.is_ident("bool") => Some(GenericKind::Bool),
            syn::Type::Array(a) if matches!(&*a.elem, syn::Type::Path(p) if p.path.is_ident("i32")) => {
                array_rank(&a.len).map(GenericKind::Array)
            }
            _ => None,
        }
    }

    fn param(&mut self, arg: &FnArg) -> Option<Param> {
        let arg = match arg {
            FnArg::Typed(arg) => arg,
            FnArg::Receiver(r) => {
                self.report.error(r.self_token.span, messages::self_parameter());
                return None;
            }
        };
        let ty = self.ty(&arg.ty);
        match &*arg.pat {
            Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => {
                Some(Param { name: p.ident.clone(), mutable: p.mutability.is_some(), ty })
            }
            other => {
                self.report.error(other.span(), messages::parameter_pattern());
                None
            }
        }
    }
}

/// The `2` of `[i32; 2]`, if it is a rank.
pub(super) fn array_rank(len: &syn::Expr) -> Option<u32> {
    match len {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => {
            n.base10_parse::<u32>().ok().filter(|n| *n as usize <= cutile_ir::MAX_RANK)
        }
        _ => None,
    }
}

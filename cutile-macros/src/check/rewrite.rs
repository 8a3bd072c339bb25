//! What differs in a body of the type-check copy:
//!
//! - a const parameter as a value is `<BM as Dim>::VALUE`;
//! - a comparison is a call, since Rust's own operators can't give a tile; so is `!`, which otherwise would have to know at once
//!   what the comparison gives;
//! - the axis of a reduction is a type, `Ax::<1>`, since the result's shape depends on it;
//! - `const_shape!` and `const_array!` are values of types; `assert!` only wants a bool; a step may be any integer;
//! - in a turbofish, const arguments are types.

use cutile_frontend::{ast::GenericKind, vocabulary};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::{
    BinOp, Expr, ExprCall, ExprMethodCall, GenericArgument, GenericParam, Generics, Ident, ItemFn,
    Macro, PathArguments, Stmt, Token, Type, UnOp,
    parse::Parser,
    parse_quote, parse_quote_spanned,
    punctuated::Punctuated,
    spanned::Spanned,
    visit_mut::{self, VisitMut},
};

use super::{
    dims::{array_extent, array_name, literal},
    signature::{Scope, Signatures, const_kind},
};
use crate::options::CratePath;

/// Rewrites one function, and those nested in it.
pub(super) struct Rewriter<'a> {
    pub(super) krate: &'a CratePath,
    pub(super) signatures: &'a Signatures,
    /// Generic parameters, innermost function last.
    pub(super) scopes: Vec<Scope>,
}

impl Rewriter<'_> {
    /// The kind of a generic parameter in scope.
    pub(super) fn generic(&self, name: &Ident) -> Option<GenericKind> {
        self.scopes.last()?.get(name)
    }

    /// `const BM: i32` becomes `BM: Dim`, `const S: [i32; 2]` becomes `S_0: Dim, S_1: Dim`.
    pub(super) fn generics(&mut self, generics: &mut Generics) {
        let mut params: Punctuated<GenericParam, Token![,]> = Punctuated::new();
        for param in std::mem::take(&mut generics.params) {
            match &param {
                GenericParam::Const(c) => {
                    let name = &c.ident;
                    let krate = self.krate.at(name.span());
                    match const_kind(&c.ty) {
                        Some(GenericKind::Int) => params
                            .push(parse_quote_spanned!(name.span()=> #name: #krate::core::Dim)),
                        Some(GenericKind::Array(rank)) => {
                            for axis in 0..rank as usize {
                                let extent = array_extent(name, axis);
                                params.push(
                                    parse_quote_spanned!(name.span()=> #extent: #krate::core::Dim),
                                );
                            }
                        }
                        _ => params.push(param),
                    }
                }
                _ => params.push(param),
            }
        }
        generics.params = params;
        if let Some(clause) = &mut generics.where_clause {
            self.visit_where_clause_mut(clause);
        }
    }

    /// The shape that a generic argument of a type stands for.
    fn shape_argument(&self, arg: &GenericArgument) -> Option<Type> {
        match arg {
            GenericArgument::Const(e) => match braced(e) {
                Expr::Array(a) => Some(self.shape(&a.elems, a.span())),
                Expr::Path(p) => self.named_shape(p.path.get_ident()?),
                _ => None,
            },
            GenericArgument::Type(Type::Path(p)) => self.named_shape(p.path.get_ident()?),
            _ => None,
        }
    }

    fn named_shape(&self, name: &Ident) -> Option<Type> {
        let extents = self.named_extents(name)?;
        Some(parse_quote_spanned!(name.span()=> (#(#extents,)*)))
    }

    /// The turbofish of a call. A helper has a type parameter for each extent; the vocabulary has one for a shape.
    fn turbofish(&mut self, path: &mut syn::Path) {
        let Some(last) = path.segments.last_mut() else { return };
        let name = last.ident.clone();
        let PathArguments::AngleBracketed(args) = &mut last.arguments else { return };
        let is_helper = self.signatures.function(&name).is_some()
            || vocabulary::function(&name.to_string()).is_none();
        if name == "tile_block_id" {
            return;
        }
        let mut rewritten: Punctuated<GenericArgument, Token![,]> = Punctuated::new();
        for mut arg in std::mem::take(&mut args.args) {
            if let Some(list) = self.extents_argument(&arg) {
                if is_helper {
                    rewritten.extend(list.iter().map(|d| -> GenericArgument { parse_quote!(#d) }));
                } else {
                    rewritten.push(parse_quote!((#(#list,)*)));
                }
            } else if let Some(dim) = self.dim_argument(&arg) {
                rewritten.push(parse_quote!(#dim));
            } else {
                self.visit_generic_argument_mut(&mut arg);
                rewritten.push(arg);
            }
        }
        if !is_helper {
            // Only the element type is written: `convert::<f16>(x)`.
            while rewritten.len() < vocabulary::generic_parameters(&name.to_string()) {
                rewritten.push(parse_quote!(_));
            }
        }
        args.args = rewritten;
    }

    /// The extents of an array argument.
    fn extents_argument(&self, arg: &GenericArgument) -> Option<Vec<TokenStream>> {
        match arg {
            GenericArgument::Const(e) => match braced(e) {
                Expr::Array(a) => Some(a.elems.iter().map(|e| self.dim(e)).collect()),
                Expr::Path(p) => self.named_extents(p.path.get_ident()?),
                _ => None,
            },
            GenericArgument::Type(Type::Path(p)) => self.named_extents(p.path.get_ident()?),
            _ => None,
        }
    }

    /// A number as an argument; bools and types stay as they are.
    fn dim_argument(&self, arg: &GenericArgument) -> Option<TokenStream> {
        match arg {
            GenericArgument::Const(e) => match braced(e) {
                Expr::Lit(syn::ExprLit { lit: syn::Lit::Bool(_), .. }) => None,
                inner => Some(self.dim(inner)),
            },
            GenericArgument::Type(Type::Path(p)) => {
                // A const of the module: in capitals, and neither a parameter nor a type.
                let name = p.path.get_ident()?;
                let text = name.to_string();
                let is_const = self.generic(name).is_none()
                    && text.len() > 1
                    && text.chars().all(|c| !c.is_lowercase());
                is_const.then(|| self.dim(&parse_quote!(#name)))
            }
            _ => None,
        }
    }

    fn macro_call(&mut self, mac: &Macro) -> Option<Expr> {
        let name = mac.path.segments.last()?.ident.to_string();
        let span = mac.path.span();
        let krate = self.krate.at(span);
        // What the front end reports is left out, since it may mean something else here.
        let nothing = parse_quote_spanned!(span=> ::core::unreachable!());
        let Ok(args) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone())
        else {
            return Some(nothing);
        };
        Some(match name.as_str() {
            "const_shape" => {
                let shape = self.shape(&args, span);
                parse_quote_spanned!(span=> #krate::core::Shape::<#shape>::new())
            }
            "const_array" => {
                let axes = args.iter().map(|e| axis(self.krate, e));
                parse_quote_spanned!(span=> #krate::core::Array::<(#(#axes,)*)>::new())
            }
            "assert" => {
                let Some(mut cond) = args.into_iter().next() else { return Some(nothing) };
                self.visit_expr_mut(&mut cond);
                let span = cond.span();
                parse_quote_spanned!(span=> { let _: bool = #cond; })
            }
            _ => nothing,
        })
    }

    fn value_of_parameter(&self, e: &Expr) -> Option<Expr> {
        match e {
            Expr::Path(p) if p.qself.is_none() => {
                let name = p.path.get_ident()?;
                let krate = self.krate.at(name.span());
                (self.generic(name) == Some(GenericKind::Int)).then(
                    || parse_quote_spanned!(name.span()=> <#name as #krate::core::Dim>::VALUE),
                )
            }
            Expr::Index(i) => {
                let name = array_name(&i.expr)?;
                let krate = self.krate.at(name.span());
                let Some(GenericKind::Array(rank)) = self.generic(name) else { return None };
                let axis = literal(&i.index).filter(|axis| *axis < rank as usize)?;
                let extent = array_extent(name, axis);
                Some(parse_quote_spanned!(name.span()=> <#extent as #krate::core::Dim>::VALUE))
            }
            _ => None,
        }
    }

    fn call(&mut self, c: &mut ExprCall) {
        if let Expr::Path(p) = &mut *c.func {
            let takes_axis = p
                .path
                .segments
                .last()
                .is_some_and(|s| vocabulary::takes_axis(&s.ident.to_string()));
            self.turbofish(&mut p.path);
            if takes_axis && c.args.len() == 2 {
                let value = axis(self.krate, &c.args[1]);
                c.args[1] = parse_quote!(#value);
                self.visit_expr_mut(&mut c.args[0]);
                return;
            }
        }
        c.args.iter_mut().for_each(|a| self.visit_expr_mut(a));
    }

    fn method(&mut self, m: &mut ExprMethodCall) {
        if m.method == "step_by" && m.args.len() == 1 {
            let step = &m.args[0];
            m.args[0] = parse_quote_spanned!(step.span()=> (#step) as usize);
        }
        visit_mut::visit_expr_method_call_mut(self, m);
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        if let Some(value) = self.value_of_parameter(e) {
            *e = value;
            return;
        }
        match e {
            Expr::Macro(m) => {
                if let Some(call) = self.macro_call(&m.mac) {
                    *e = call;
                }
            }
            Expr::Binary(b) => {
                visit_mut::visit_expr_binary_mut(self, b);
                if let Some(method) = comparison(&b.op) {
                    let span = b.op.span();
                    let krate = self.krate.at(span);
                    let method = Ident::new(method, span);
                    let (left, right) = (&b.left, &b.right);
                    *e = Expr::Verbatim(
                        quote_spanned!(span=> #krate::core::Compare::#method(#left, #right)),
                    );
                }
            }
            Expr::Unary(u) if matches!(u.op, UnOp::Not(_)) => {
                visit_mut::visit_expr_unary_mut(self, u);
                let span = u.op.span();
                let krate = self.krate.at(span);
                let operand = &u.expr;
                *e = Expr::Verbatim(quote_spanned!(span=> #krate::core::Invert::not_(#operand)));
            }
            Expr::Call(c) => self.call(c),
            Expr::MethodCall(m) => self.method(m),
            other => visit_mut::visit_expr_mut(self, other),
        }
    }

    fn visit_stmt_mut(&mut self, s: &mut Stmt) {
        if let Stmt::Macro(m) = s
            && let Some(call) = self.macro_call(&m.mac)
        {
            *s = Stmt::Expr(call, m.semi_token);
            return;
        }
        visit_mut::visit_stmt_mut(self, s);
    }

    fn visit_generic_argument_mut(&mut self, arg: &mut GenericArgument) {
        match self.shape_argument(arg) {
            Some(shape) => *arg = GenericArgument::Type(shape),
            None => visit_mut::visit_generic_argument_mut(self, arg),
        }
    }

    fn visit_item_fn_mut(&mut self, f: &mut ItemFn) {
        self.scopes.push(Scope::new(&f.sig.generics));
        self.function(f);
        self.scopes.pop();
    }
}

/// An axis as a value of a type.
fn axis(krate: &CratePath, e: &Expr) -> TokenStream {
    let span = e.span();
    let krate = krate.at(span);
    match literal(e) {
        None if matches!(e, Expr::Path(p) if p.path.get_ident().is_some_and(|n| n.to_string().contains(char::is_lowercase))) =>
        {
            // A variable; reported by the front end.
            quote_spanned!(span=> #krate::core::shape::Ax::<0>)
        }
        None if matches!(e, Expr::Unary(_)) => {
            // Negative; reported by the front end.
            quote_spanned!(span=> #krate::core::shape::Ax::<0>)
        }
        Some(_) => {
            let literal = e.to_token_stream();
            quote_spanned!(span=> #krate::core::shape::Ax::<#literal>)
        }
        None => quote_spanned!(span=> #krate::core::shape::Ax::<{ #e }>),
    }
}

fn comparison(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq(_) => "eq_",
        BinOp::Ne(_) => "ne_",
        BinOp::Lt(_) => "lt_",
        BinOp::Le(_) => "le_",
        BinOp::Gt(_) => "gt_",
        BinOp::Ge(_) => "ge_",
        _ => return None,
    })
}

/// The expression inside `{ .. }`, if that is all there is.
fn braced(e: &Expr) -> &Expr {
    match e {
        Expr::Block(b) => match b.block.stmts.as_slice() {
            [Stmt::Expr(inner, None)] => inner,
            _ => e,
        },
        _ => e,
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn a_copy_reads_as_expected() {
        let f: ItemFn = parse_quote! {
            fn f<const BM: i32, const S: [i32; 2], T: Element>(x: &Tensor<T, { [-1, BM / 2] }>, y: &mut Tensor<T, S>) {
                let t = reduce_max(y.load(), 1).reshape(const_shape![S[0], 1]);
                if BM > 4 { y.store(t) }
            }
        };
        let krate = CratePath::default();
        let signatures = Signatures::new(
            &cutile_frontend::compile(&parse_quote!(
                mod m {}
            ))
            .module,
        );
        let mut copy = f.clone();
        Rewriter {
            krate: &krate,
            signatures: &signatures,
            scopes: vec![Scope::new(&f.sig.generics)],
        }
        .function(&mut copy);
        let expected = quote! {
            fn f<BM: ::cutile::core::Dim, S_0: ::cutile::core::Dim, S_1: ::cutile::core::Dim, T: Element>(
                x: &Tensor<T, (::cutile::core::shape::Any, ::cutile::core::shape::Div<BM, ::cutile::core::shape::C<2>>,)>,
                y: &mut Tensor<T, (S_0, S_1,)>
            ) {
                let t = reduce_max(y.load(), ::cutile::core::shape::Ax::<1>)
                    .reshape(::cutile::core::Shape::<(S_0, ::cutile::core::shape::C<1>,)>::new());
                if ::cutile::core::Compare::gt_(<BM as ::cutile::core::Dim>::VALUE, 4) { y.store(t) }
            }
        };
        let text = |t: TokenStream| t.to_string().replace(' ', "");
        assert_eq!(text(copy.to_token_stream()), text(expected));
    }
}

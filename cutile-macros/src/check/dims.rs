//! Extents and shapes as types: `BM` stays, `64` is `C<64>`, `-1` is `Any`, `BM / 2` is `Div<BM, C<2>>`, `{ [BM, 64] }` is
//! the tuple `(BM, C<64>)`. An array parameter `S` is one type parameter for each extent, `S_0`, `S_1`, so that every shape is
//! a tuple and rustc compares shapes extent by extent.

use cutile_frontend::ast::GenericKind;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{BinOp, Expr, Ident, Type, parse_quote_spanned, spanned::Spanned};

use super::rewrite::Rewriter;

/// The type parameter for one extent of an array parameter.
pub(super) fn array_extent(name: &Ident, axis: usize) -> Ident {
    format_ident!("{name}_{axis}", span = name.span())
}

impl Rewriter<'_> {
    /// An extent as a type.
    pub(super) fn dim(&self, e: &Expr) -> TokenStream {
        let span = e.span();
        let krate = self.krate.at(span);
        match e {
            Expr::Paren(p) => self.dim(&p.expr),
            Expr::Group(g) => self.dim(&g.expr),
            Expr::Lit(lit) => quote_spanned!(span=> #krate::core::shape::C<#lit>),
            Expr::Unary(u) if is_one(&u.expr) => quote_spanned!(span=> #krate::core::shape::Any),
            Expr::Path(p) => match p.path.get_ident() {
                Some(name) if self.generic(name) == Some(GenericKind::Int) => quote!(#name),
                // A variable; reported by the front end.
                Some(name) if name.to_string().contains(char::is_lowercase) => {
                    quote_spanned!(span=> #krate::core::shape::Any)
                }
                _ => quote_spanned!(span=> #krate::core::shape::C<{ #p }>),
            },
            Expr::Index(i) => match (array_name(&i.expr), literal(&i.index)) {
                (Some(name), Some(axis))
                    if matches!(self.generic(name), Some(GenericKind::Array(_))) =>
                {
                    let extent = array_extent(name, axis);
                    quote!(#extent)
                }
                _ => quote_spanned!(span=> #krate::core::shape::C<{ #e }>),
            },
            Expr::Binary(b) if self.names_a_parameter(e) => {
                let (left, right) = (self.dim(&b.left), self.dim(&b.right));
                let op = match &b.op {
                    BinOp::Add(_) => "Add",
                    BinOp::Sub(_) => "Sub",
                    BinOp::Mul(_) => "Mul",
                    BinOp::Div(_) => "Div",
                    BinOp::Rem(_) => "Rem",
                    // Reported by the front end.
                    _ => return quote_spanned!(span=> #krate::core::shape::Any),
                };
                let op = Ident::new(op, span);
                quote_spanned!(span=> #krate::core::shape::#op<#left, #right>)
            }
            _ if self.names_a_parameter(e) => quote_spanned!(span=> #krate::core::shape::Any),
            other => quote_spanned!(span=> #krate::core::shape::C<{ #other }>),
        }
    }

    /// Whether an extent mentions a generic parameter, and so can't be a Rust const expression.
    fn names_a_parameter(&self, e: &Expr) -> bool {
        match e {
            Expr::Paren(p) => self.names_a_parameter(&p.expr),
            Expr::Group(g) => self.names_a_parameter(&g.expr),
            Expr::Unary(u) => self.names_a_parameter(&u.expr),
            Expr::Binary(b) => self.names_a_parameter(&b.left) || self.names_a_parameter(&b.right),
            Expr::Index(i) => self.names_a_parameter(&i.expr),
            Expr::Path(p) => p.path.get_ident().is_some_and(|name| self.generic(name).is_some()),
            _ => false,
        }
    }

    /// A list of extents as a tuple type.
    pub(super) fn shape<'e>(
        &self,
        extents: impl IntoIterator<Item = &'e Expr>,
        span: Span,
    ) -> Type {
        let dims = extents.into_iter().map(|e| self.dim(e));
        parse_quote_spanned!(span=> (#(#dims,)*))
    }

    /// The extents that the name of an array parameter or of an array const stands for.
    pub(super) fn named_extents(&self, name: &Ident) -> Option<Vec<TokenStream>> {
        let krate = self.krate.at(name.span());
        match self.generic(name) {
            Some(GenericKind::Array(rank)) => Some(
                (0..rank as usize)
                    .map(|axis| {
                        let extent = array_extent(name, axis);
                        quote!(#extent)
                    })
                    .collect(),
            ),
            Some(_) => None,
            None => {
                let len = self.signatures.array(name)?;
                Some((0..len).map(|axis| quote_spanned!(name.span()=> #krate::core::shape::C<{ #name[#axis] }>)).collect())
            }
        }
    }
}

fn is_one(e: &Expr) -> bool {
    literal(e) == Some(1)
}

pub(super) fn literal(e: &Expr) -> Option<usize> {
    match e {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => n.base10_parse().ok(),
        Expr::Paren(p) => literal(&p.expr),
        Expr::Group(g) => literal(&g.expr),
        _ => None,
    }
}

pub(super) fn array_name(e: &Expr) -> Option<&Ident> {
    match e {
        Expr::Path(p) => p.path.get_ident(),
        Expr::Paren(p) => array_name(&p.expr),
        Expr::Group(g) => array_name(&g.expr),
        _ => None,
    }
}

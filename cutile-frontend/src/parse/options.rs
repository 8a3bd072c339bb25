//! `#[cutile::entry(..)]`: which attributes a function has, and the options of an entry.

use syn::{
    Attribute, Expr, Ident, Meta, Token, parse::Parser as _, punctuated::Punctuated,
    spanned::Spanned, visit::Visit,
};

use super::Parser;
use crate::{
    ast::{Binding, EntryOptions, Specialization},
    messages,
};

/// The attribute is `#[cutile::entry]`, under any crate path.
pub fn is_entry(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|s| s.ident == "entry")
}

/// The attribute is one whose condition only rustc decides.
pub(super) fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
}

/// Reports the attributes in a function's signature and body. Nested functions have their own.
pub(super) struct Inner<'p, 'r>(pub(super) &'p mut Parser<'r>);

impl<'ast> Visit<'ast> for Inner<'_, '_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let path = attribute.path();
        if is_condition(attribute) {
            self.0.report.error(path.span(), messages::condition_in_function());
        } else if !is_harmless(attribute) {
            self.0.report.error(path.span(), messages::attribute_in_function(path));
        }
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

impl Parser<'_> {
    /// The options of an entry; `None` for a helper.
    pub(crate) fn entry_options(
        &mut self,
        attributes: &[Attribute],
        nested: bool,
    ) -> Option<EntryOptions> {
        let mut options = None;
        for attribute in attributes {
            if is_entry(attribute) {
                if nested {
                    self.report.error(attribute.path().span(), messages::nested_entry());
                }
                options = Some(self.options(attribute));
            } else if !is_harmless(attribute) {
                self.report
                    .error(attribute.path().span(), messages::unknown_attribute(attribute.path()));
            }
        }
        options
    }

    fn options(&mut self, attribute: &Attribute) -> EntryOptions {
        let mut options = EntryOptions::default();
        let list = match &attribute.meta {
            Meta::Path(_) => return options,
            Meta::NameValue(nv) => {
                self.report.error(nv.eq_token.span, messages::entry_name_value());
                return options;
            }
            Meta::List(list) => list,
        };
        match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(list.tokens.clone()) {
            Err(e) => self.report.error(e.span(), messages::entry_syntax(&e)),
            Ok(items) => items.iter().for_each(|item| self.option(item, &mut options)),
        }
        options
    }

    fn option(&mut self, item: &Meta, options: &mut EntryOptions) {
        let path = item.path();
        match item {
            Meta::Path(p) if p.is_ident("fast_math") => options.fast_math = true,
            Meta::List(list) if path.is_ident("specialize") => {
                let bindings = self.bindings(list.tokens.clone());
                options.specialize.push(Specialization { span: path.span(), bindings });
            }
            _ if path.is_ident("fast_math") => {
                self.report.error(path.span(), messages::option_form("fast_math", "fast_math"))
            }
            _ if path.is_ident("specialize") => {
                self.report.error(
                    path.span(),
                    messages::option_form("specialize", "specialize(S = [64, 64], T = f32)"),
                );
            }
            _ => self.report.error(path.span(), messages::unknown_option(path)),
        }
    }

    fn bindings(&mut self, tokens: proc_macro2::TokenStream) -> Vec<(Ident, Binding)> {
        type Pair = (Ident, Expr);
        let pair = |input: syn::parse::ParseStream<'_>| -> syn::Result<Pair> {
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            Ok((name, input.parse()?))
        };
        let list = |input: syn::parse::ParseStream<'_>| {
            Punctuated::<Pair, Token![,]>::parse_terminated_with(input, pair)
        };
        match list.parse2(tokens) {
            Err(e) => {
                self.report.error(e.span(), messages::specialize_syntax(&e));
                Vec::new()
            }
            Ok(pairs) => pairs
                .into_iter()
                .filter_map(|(name, value)| {
                    let binding = binding(&value);
                    if binding.is_none() {
                        self.report.error(value.span(), messages::specialize_value(&name));
                    }
                    Some((name, binding?))
                })
                .collect(),
        }
    }
}

fn binding(value: &Expr) -> Option<Binding> {
    match value {
        Expr::Array(a) => a.elems.iter().map(integer).collect::<Option<_>>().map(Binding::Array),
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Bool(b), .. }) => Some(Binding::Bool(b.value)),
        Expr::Path(p) => {
            cutile_ir::Element::from_name(&p.path.get_ident()?.to_string()).map(Binding::Element)
        }
        other => integer(other).map(Binding::Int),
    }
}

fn integer(value: &Expr) -> Option<i64> {
    match value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => n.base10_parse().ok(),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            integer(expr).map(|n| -n)
        }
        _ => None,
    }
}

/// Attributes that mean nothing to a kernel, and those that rustc itself handles.
pub fn is_harmless(attribute: &Attribute) -> bool {
    [
        "doc",
        "allow",
        "warn",
        "deny",
        "expect",
        "cfg",
        "inline",
        "must_use",
        "deprecated",
        "rustfmt",
        "clippy",
    ]
    .iter()
    .any(|name| attribute.path().segments.first().is_some_and(|s| s.ident == name))
}

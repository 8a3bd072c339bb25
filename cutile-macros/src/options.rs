//! `#[cutile::module(crate = path)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Path, Token, parse::ParseStream, parse::Parser};

/// Where the crate's items are found.
pub(crate) struct CratePath(TokenStream);

impl CratePath {
    /// From the arguments of the attribute.
    pub(crate) fn parse(options: TokenStream) -> syn::Result<CratePath> {
        if options.is_empty() {
            return Ok(CratePath::default());
        }
        let parse = |input: ParseStream<'_>| {
            let wrong = |input: ParseStream<'_>| {
                input.error("the option of `#[cutile::module]` is `crate = path`")
            };
            if !input.peek(Token![crate]) {
                return Err(wrong(input));
            }
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>().map_err(|_| wrong(input))?;
            let path: Path = input.call(Path::parse_mod_style)?;
            if !input.is_empty() {
                return Err(wrong(input));
            }
            Ok(path)
        };
        let path = parse.parse2(options)?;
        let is_name = path.leading_colon.is_none()
            && path.segments.first().is_some_and(|s| s.ident != "crate");
        Ok(CratePath(if is_name { quote!(::#path) } else { quote!(#path) }))
    }
}

impl CratePath {
    /// The path with the span of what it is written for, so that errors point there.
    pub(crate) fn at(&self, span: Span) -> TokenStream {
        self.0
            .clone()
            .into_iter()
            .map(|mut token| {
                token.set_span(span);
                token
            })
            .collect()
    }
}

impl Default for CratePath {
    fn default() -> Self {
        CratePath(quote!(::cutile))
    }
}

impl ToTokens for CratePath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

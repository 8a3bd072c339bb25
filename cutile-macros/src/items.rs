//! Reads a kernel module item by item, so that a syntax error in one leaves the others what they are. (Given back as they
//! came, they would complain that they stand in no kernel module.)

use proc_macro2::TokenStream;
use syn::{
    Attribute, Item, ItemMod, Token, Visibility, braced,
    parse::{Parse, ParseStream},
};

/// A module, and what is wrong with items that are left out of it.
pub(crate) struct Read {
    pub(crate) module: ItemMod,
    pub(crate) errors: Vec<syn::Error>,
}

/// Reads a module; an error is one outside its items.
pub(crate) fn read(tokens: TokenStream) -> syn::Result<Read> {
    if let Ok(module) = syn::parse2(tokens.clone()) {
        return Ok(Read { module, errors: Vec::new() });
    }
    syn::parse2(tokens)
}

impl Parse for Read {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let mod_token: Token![mod] = input.parse()?;
        let ident = input.parse()?;
        let content;
        let brace = braced!(content in input);
        let (items, errors) = items(&content)?;
        let module = ItemMod {
            attrs,
            vis,
            unsafety: None,
            mod_token,
            ident,
            content: Some((brace, items)),
            semi: None,
        };
        Ok(Read { module, errors })
    }
}

fn items(input: ParseStream<'_>) -> syn::Result<(Vec<Item>, Vec<syn::Error>)> {
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    let mut skipping = false;
    while !input.is_empty() {
        let ahead = input.fork();
        match ahead.parse::<Item>() {
            Ok(item) => {
                syn::parse::discouraged::Speculative::advance_to(input, &ahead);
                items.push(item);
                skipping = false;
            }
            Err(error) => {
                // One error for all that it makes unreadable: up to where an item begins again.
                if !skipping {
                    errors.push(error);
                }
                skipping = true;
                input.step(|at| match at.token_tree() {
                    Some((_, rest)) => Ok(((), rest)),
                    None => Err(at.error("expected an item")),
                })?;
            }
        }
    }
    Ok((items, errors))
}

#[cfg(test)]
mod tests {
    use quote::{ToTokens, quote};

    use super::*;

    #[test]
    fn an_error_costs_its_own_item_alone() {
        let read = read(quote! {
            #[doc = "kept"]
            pub(crate) mod kernels {
                use cutile::core::*;
                #[cutile::entry()]
                fn wrong<const N: i32>(y: &mut Tensor<f32, [4]>) -> Tile<f32, [N]> { y.load() }
                fn right() -> i32 { 1 }
                fn wrong_too(: i32) { }
                const LAST: i32 = 2;
            }
        })
        .expect("the module itself is right");
        let names: Vec<String> = read
            .module
            .content
            .expect("it has a body")
            .1
            .iter()
            .map(|i| match i {
                Item::Fn(f) => f.sig.ident.to_string(),
                Item::Const(c) => c.ident.to_string(),
                other => other.to_token_stream().to_string().replace(' ', ""),
            })
            .collect();
        assert_eq!(names, ["usecutile::core::*;", "right", "LAST"]);
        assert_eq!(read.errors.len(), 2, "{:?}", read.errors);
        assert_eq!(read.module.attrs.len(), 1);
    }
}

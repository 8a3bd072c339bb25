//! The expansion as a whole: parse, front end, and what is written where.

use cutile_frontend::{Compiled, Diagnostic, ast::Function, compile, launcher::can_launch};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, Item, ItemFn, ext::IdentExt};

use crate::{
    check::{self, Signatures},
    embed,
    items::{self, Read},
    launcher,
    options::CratePath,
};

/// Expands `#[cutile::module]`.
pub(crate) fn module(options: TokenStream, item: TokenStream) -> TokenStream {
    let (krate, option_error) = match CratePath::parse(options) {
        Ok(path) => (path, None),
        Err(e) => (CratePath::default(), Some(e.to_compile_error())),
    };
    let Read { module: item, errors: unreadable } = match items::read(item.clone()) {
        Ok(read) => read,
        Err(e) => {
            let error = e.to_compile_error();
            return quote!(#error #item);
        }
    };
    let compiled = compile(&item);
    let errors = unreadable
        .iter()
        .map(syn::Error::to_compile_error)
        .chain(compiled.report.errors().iter().map(compile_error));
    let Some((_, items)) = &item.content else {
        return quote!(#option_error #(#errors)* #item);
    };
    let signatures = Signatures::new(&compiled.module);
    let mut body = TokenStream::new();
    let mut entries = TokenStream::new();
    for item in items {
        body.extend(match item {
            Item::Fn(f) => function(&krate, f, &compiled, &signatures, &mut entries),
            Item::Use(_) | Item::Const(_) => quote!(#item),
            // Reported; kept, so that rustc does not report its absence, too.
            other => quote!(#other),
        });
    }
    let (attrs, vis, name) = (&item.attrs, &item.vis, &item.ident);
    let fallback = fallback(&compiled);
    quote! {
        #option_error
        #(#attrs)*
        #vis mod #name {
            #(#errors)*
            #fallback
            // Entries as functions that are only checked: their names belong to the launchers.
            const _: () = { #entries };
            #body
        }
    }
}

/// `#[cutile::entry]` outside a kernel module.
pub(crate) fn stray_entry() -> TokenStream {
    quote! {
        ::core::compile_error!("`#[cutile::entry]` marks a function inside a module that is marked `#[cutile::module]`");
    }
}

fn function(
    krate: &CratePath,
    f: &ItemFn,
    compiled: &Compiled,
    signatures: &Signatures,
    entries: &mut TokenStream,
) -> TokenStream {
    let name = f.sig.ident.unraw();
    let found = compiled.module.functions.iter().position(|g| name == g.path);
    let Some(index) = found else { return TokenStream::new() };
    let parsed = &compiled.module.functions[index];
    let copy = check::copy(krate, f, signatures);
    let embedded = embed::unit(krate, parsed, compiled.units.get(index), &compiled.module);
    let conditions: Vec<&Attribute> = f.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    if parsed.entry.is_some() {
        // Reported where it can't be.
        let launcher = can_launch(parsed).then(|| launcher::launcher(krate, f, parsed));
        entries.extend(copy);
        quote! {
            #(#conditions)* #embedded
            #launcher
        }
    } else {
        let (name, vis, unit) = (&f.sig.ident, &f.vis, unit_name(parsed));
        let doc = format!("The tile IR of [`{name}`](fn@{name}), for kernels that import it.");
        let inner_vis = embed::one_level_deeper(vis);
        quote! {
            #copy
            #(#conditions)* #embedded
            #(#conditions)*
            #[doc = #doc]
            #[allow(dead_code, unreachable_pub)]
            #vis mod #name {
                #[doc(hidden)]
                #inner_vis const IR: &[u8] = super::#unit;
            }
        }
    }
}

/// The const that holds a function's unit.
pub(crate) fn unit_name(f: &Function) -> syn::Ident {
    format_ident!("__CUTILE_UNIT_{}", f.name)
}

fn compile_error(d: &Diagnostic) -> TokenStream {
    let message = &d.message;
    quote_spanned!(d.span=> ::core::compile_error!(#message);)
}

/// A kernel that the front end refuses and rustc accepts must not get through: what was left to rustc is said when code
/// is generated, which rustc only does once it has found nothing.
fn fallback(compiled: &Compiled) -> Option<TokenStream> {
    if !compiled.report.errors().is_empty() {
        return None;
    }
    let left = compiled.report.left_to_rustc();
    let first = left.first()?;
    let message = left.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; ");
    let message = format!("this kernel module can't be compiled: {message}");
    Some(quote_spanned! {first.span=>
        #[used]
        static __CUTILE_REFUSED: fn() = {
            fn refused() {
                const { ::core::panic!("{}", #message) }
            }
            refused
        };
    })
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use proc_macro2::{Group, TokenTree};

    use super::*;

    const SOURCE: &str = "pub(crate) mod kernels {
        use cutile::core::*;
        const N: i32 = 4;
        #[cutile::entry(specialize(S = [4], BK = 2))]
        fn k<T: Number, const S: [i32; 1], const BK: i32>(a: T, x: &Tensor<T, { [-1] }>, y: &mut Tensor<T, S>) {
            let t = reduce_max(x.load_tile(const_shape![BK, N], [0, S[0]]), 1).permute(const_array![0]);
            if t < a && BK == 2 { assert!(N > 3); y.store(scale::<S, { [N] }, true>(t)); }
            for i in (0..N).step_by(BK) { super::other::helper::<BK>(i); }
        }
        pub(super) fn scale<const S: [i32; 1], const Q: [i32; 1], const UP: bool>(t: Tile<f32, S>) -> Tile<f32, S> { t }
    }";

    /// Every stream that differs by one token left out.
    fn shortened(tokens: &TokenStream) -> Vec<TokenStream> {
        let list: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let mut all = Vec::new();
        for (i, token) in list.iter().enumerate() {
            let with = |middle: Option<TokenTree>| {
                list[..i]
                    .iter()
                    .cloned()
                    .chain(middle)
                    .chain(list[i + 1..].iter().cloned())
                    .collect()
            };
            all.push(with(None));
            if let TokenTree::Group(g) = token {
                let groups = shortened(&g.stream())
                    .into_iter()
                    .map(|inner| Group::new(g.delimiter(), inner));
                all.extend(groups.map(|g| with(Some(TokenTree::Group(g)))));
            }
        }
        all
    }

    #[test]
    fn no_module_makes_it_panic() {
        let tokens = TokenStream::from_str(SOURCE).expect("the source is tokens");
        for tokens in shortened(&tokens) {
            module(TokenStream::new(), tokens);
        }
    }

    #[test]
    fn expansions_are_rust() {
        let expanded = module(
            quote!(crate = cutile_core),
            TokenStream::from_str(SOURCE).expect("the source is tokens"),
        );
        let file: syn::File = syn::parse2(expanded).expect("the expansion is Rust");
        let Some(Item::Mod(m)) = file.items.first() else { panic!("a module is expected") };
        let names: Vec<String> = m
            .content
            .iter()
            .flat_map(|(_, items)| items)
            .filter_map(|item| match item {
                Item::Fn(f) => Some(format!("fn {}", f.sig.ident)),
                Item::Mod(m) => Some(format!("mod {}", m.ident)),
                _ => None,
            })
            .collect();
        assert_eq!(names, ["fn k", "mod k", "fn scale", "mod scale"]);
    }
}

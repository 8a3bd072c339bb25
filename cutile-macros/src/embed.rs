//! The unit of a function, as bytes built in const evaluation: its IR text, the values of consts that rustc computes, and
//! the units of helpers that it imports. An entry's unit also stands in the link section that the kernel builder reads.

use cutile_frontend::{
    Unit,
    ast::{Function, Module, TypeKind},
};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Path, Visibility, ext::IdentExt, spanned::Spanned};

use crate::{expand::unit_name, options::CratePath};

/// The const with a function's unit; empty bytes where the module has errors.
pub(crate) fn unit(
    krate: &CratePath,
    f: &Function,
    unit: Option<&Unit>,
    module: &Module,
) -> TokenStream {
    let name = unit_name(f);
    let Some(unit) = unit else {
        return quote! {
            #[allow(dead_code, non_upper_case_globals)]
            const #name: &[u8] = &[];
        };
    };
    let text = unit.module.to_string();
    let specialisations = &unit.specialisations;
    let path = |text: &String| path(text, unit.uses.get(text).copied());
    let externs = unit.module.externs.iter().filter_map(path).map(|p| extern_value(&p, module));
    let imports =
        unit.module.imports.iter().filter_map(path).map(|p| quote_spanned!(p.span()=> #p::IR));
    let function = f.name.unraw().to_string();
    let section = f.entry.as_ref().map(|_| {
        quote! {
            #[used]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,cutile_kernels"))]
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = "cutile_kernels"))]
            static REGISTERED: [u8; PARTS.size()] = BYTES;
        }
    });
    quote! {
        #[allow(dead_code, non_upper_case_globals)]
        const #name: &[u8] = {
            use #krate::launch::ir::blob::UnitParts;
            const PARTS: UnitParts<'static> = UnitParts {
                name: ::core::concat!(::core::module_path!(), "::", #function),
                text: #text,
                specialisations: #specialisations,
                externs: &[#(#externs),*],
                imports: &[#(#imports),*],
            };
            const BYTES: [u8; PARTS.size()] = PARTS.bytes();
            #section
            &BYTES
        };
    }
}

/// A const's value as rustc computes it. Consts of other modules are taken to be `i32`, and rustc is asked to check it.
fn extern_value(path: &Path, module: &Module) -> TokenStream {
    let own = path.get_ident().and_then(|name| module.consts.iter().find(|c| c.name == *name));
    let ty = match own.map(|c| &c.ty.kind) {
        Some(TypeKind::Name(name)) => quote!(#name),
        _ => quote!(i32),
    };
    let is_wide = matches!(ty.to_string().as_str(), "u64" | "usize");
    let fits = is_wide.then(|| {
        quote_spanned! {path.span()=>
            ::core::assert!(value <= i64::MAX as #ty, "write this const as a number: what rustc computes must fit i64");
        }
    });
    quote_spanned!(path.span()=> {
        let value: #ty = #path;
        #fits
        value as i64
    })
}

/// A path, with the span of its first use.
fn path(text: &str, span: Option<Span>) -> Option<Path> {
    let mut path: Path = syn::parse_str(text).ok()?;
    let span = span?;
    path.segments.iter_mut().for_each(|s| s.ident.set_span(span));
    Some(path)
}

/// The same visibility, seen from a module one level deeper.
pub(crate) fn one_level_deeper(vis: &Visibility) -> TokenStream {
    match vis {
        Visibility::Inherited => quote!(pub(super)),
        Visibility::Restricted(r) => {
            let path = &r.path;
            match path.segments.first() {
                Some(first) if first.ident == "self" => quote!(pub(super)),
                Some(first) if first.ident == "super" => quote!(pub(in super::#path)),
                _ => quote!(#vis),
            }
        }
        Visibility::Public(_) => quote!(#vis),
    }
}

//! The unit of a function, as bytes built in const evaluation: its IR text, the values of consts that rustc computes, and
//! the units of helpers that it imports. An entry's unit also stands in the link section that the kernel builder reads.

use cutile_frontend::{Unit, ast::Function};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Path, Visibility};

use crate::{expand::unit_name, options::CratePath};

/// The const with a function's unit; empty bytes where the module has errors.
pub(crate) fn unit(krate: &CratePath, f: &Function, unit: Option<&Unit>) -> TokenStream {
    let name = unit_name(f);
    let Some(unit) = unit else {
        return quote! {
            #[allow(dead_code, non_upper_case_globals)]
            const #name: &[u8] = &[];
        };
    };
    let text = unit.module.to_string();
    let specialisations = &unit.specialisations;
    let externs = unit.module.externs.iter().filter_map(|p| path(p)).map(|p| quote!(#p as i64));
    let imports = unit.module.imports.iter().filter_map(|p| path(p)).map(|p| quote!(#p::IR));
    let function = f.name.to_string();
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

fn path(text: &str) -> Option<Path> {
    syn::parse_str(text).ok()
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

//! Launchers: the public function of an entry's name. Without free const parameters it takes and gives back whatever stands
//! for a tensor; with them, which are given by turbofish, it takes owned forms, and a module of the same name has `with` for
//! values known at run time.

use cutile_frontend::{
    ast::{Function, Generic, GenericKind, Param, TypeKind},
    ir::Element,
    launcher::{free_parameters, has_partition},
    resolve::element_name,
};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, Ident, ItemFn, spanned::Spanned};

use crate::{expand::unit_name, options::CratePath};

/// A parameter of a launcher.
struct Argument<'a> {
    name: &'a Ident,
    /// A type parameter of the launcher, with its bound.
    generic: Option<(Ident, TokenStream)>,
    /// What the argument is, once evaluated.
    ty: TokenStream,
}

/// The launcher of an entry.
pub(crate) fn launcher(krate: &CratePath, item: &ItemFn, f: &Function) -> TokenStream {
    let free = free_parameters(f);
    let elements: Vec<&Ident> =
        f.generics.iter().filter(|g| g.kind == GenericKind::Element).map(|g| &g.name).collect();
    let docs: Vec<&Attribute> = item.attrs.iter().filter(|a| a.path().is_ident("doc")).collect();
    let conditions: Vec<&Attribute> =
        item.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let name = &f.name;
    let doc = format!("Launches the kernel `{name}`. The output is the tuple of the arguments.");
    let docs = if docs.is_empty() { quote!(#[doc = #doc]) } else { quote!(#(#docs)*) };

    let arguments: Vec<Argument<'_>> = f
        .params
        .iter()
        .enumerate()
        .map(|(i, p)| argument(krate, f, p, i, free.is_empty()))
        .collect();
    let mut with_free = arguments
        .iter()
        .filter_map(|a| a.generic.as_ref())
        .map(|(t, bound)| quote!(#t: #bound))
        .collect::<Vec<_>>();
    let mut generics: Vec<TokenStream> =
        elements.iter().map(|e| quote!(#e: #krate::launch::HostElement)).collect();
    generics.append(&mut with_free);
    generics.extend(free.iter().map(|g| const_generic(g)));

    let parameters = parameters(krate, &arguments);
    let names: Vec<&Ident> = arguments.iter().map(|a| a.name).collect();
    let types: Vec<&TokenStream> = arguments.iter().map(|a| &a.ty).collect();
    let (result, launch) =
        if has_partition(f) { ("Launch", "launch") } else { ("GridLaunch", "launch_grid") };
    let (result, launch) = (format_ident!("{result}"), format_ident!("{launch}"));
    let dtypes: Vec<TokenStream> =
        elements.iter().map(|e| quote!(<#e as #krate::launch::HostElement>::DTYPE)).collect();
    let consts = free.iter().map(|g| {
        let name = &g.name;
        quote!(#name as i64)
    });
    let kernel = kernel(krate, f);
    // Only where there is something to stand on.
    let with_conditions: &[&Attribute] = if free.is_empty() { &[] } else { &conditions };
    let with = (!free.is_empty()).then(|| with(krate, f, &free, &arguments, &elements));
    quote_spanned! {item.sig.span()=>
        #(#conditions)*
        #docs
        #[allow(unreachable_pub, non_camel_case_types, clippy::too_many_arguments, clippy::type_complexity)]
        pub fn #name<#(#generics),*>(#(#parameters),*) -> impl #krate::launch::#result<Args = (#(#types,)*)> {
            #kernel
            #krate::launch::#launch(&__CUTILE_KERNEL, [#(#dtypes),*], [#(#consts),*], #krate::launch::zip((#(#names,)*)))
        }
        #(#with_conditions)* #with
    }
}

fn kernel(krate: &CratePath, f: &Function) -> TokenStream {
    let unit = unit_name(f);
    quote!(static __CUTILE_KERNEL: #krate::launch::KernelDef = #krate::launch::KernelDef::new(#unit);)
}

fn parameters(krate: &CratePath, arguments: &[Argument<'_>]) -> Vec<TokenStream> {
    arguments
        .iter()
        .map(|a| {
            let (name, ty) = (a.name, &a.ty);
            let krate = krate.at(name.span());
            quote_spanned!(name.span()=> #name: impl #krate::launch::IntoDeviceOperation<#ty>)
        })
        .collect()
}

fn const_generic(g: &Generic) -> TokenStream {
    let name = &g.name;
    match g.kind {
        GenericKind::Bool => quote_spanned!(name.span()=> const #name: bool),
        _ => quote_spanned!(name.span()=> const #name: i32),
    }
}

fn argument<'a>(
    krate: &CratePath,
    f: &Function,
    p: &'a Param,
    position: usize,
    any_form: bool,
) -> Argument<'a> {
    let (name, span) = (&p.name, p.name.span());
    let (element, mutable) = match &p.ty.kind {
        TypeKind::Tensor { element, mutable, .. } => (element_type(krate, &element.kind), *mutable),
        other => return Argument { name, generic: None, ty: element_type(krate, other) },
    };
    let krate = krate.at(span);
    if any_form {
        let mut generic = format_ident!("X{position}", span = span);
        while f.generics.iter().any(|g| g.name == generic) {
            generic = format_ident!("{generic}_", span = span);
        }
        let bound = if mutable { format_ident!("AsPartition") } else { format_ident!("AsTensor") };
        let bound = quote_spanned!(span=> #krate::launch::#bound<#element>);
        return Argument { name, ty: quote!(#generic), generic: Some((generic, bound)) };
    }
    let ty = if mutable {
        quote_spanned!(span=> #krate::Partition<#krate::Tensor<#element>>)
    } else {
        quote_spanned!(span=> #krate::launch::Arc<#krate::Tensor<#element>>)
    };
    Argument { name, generic: None, ty }
}

/// The host's type of an element.
fn element_type(krate: &CratePath, kind: &TypeKind) -> TokenStream {
    let TypeKind::Name(name) = kind else { return quote!(()) };
    match element_name(name) {
        Some(Element::F16 | Element::BF16 | Element::TF32 | Element::F8E4M3 | Element::F8E5M2) => {
            quote!(#krate::core::#name)
        }
        _ => quote!(#name),
    }
}

/// The module beside a launcher with free const parameters.
fn with(
    krate: &CratePath,
    f: &Function,
    free: &[&Generic],
    arguments: &[Argument<'_>],
    elements: &[&Ident],
) -> TokenStream {
    let name = &f.name;
    let mut consts = format_ident!("consts");
    while f.params.iter().any(|p| p.name == consts) {
        consts = format_ident!("{consts}_");
    }
    let fields = free.iter().map(|g| {
        let name = &g.name;
        let ty = if g.kind == GenericKind::Bool { quote!(bool) } else { quote!(i32) };
        let doc = format!("The const parameter `{name}`.");
        quote!(#[doc = #doc] pub #name: #ty)
    });
    let values = free.iter().map(|g| {
        let name = &g.name;
        quote!(#consts.#name as i64)
    });
    let parameters = parameters(krate, arguments);
    let names: Vec<&Ident> = arguments.iter().map(|a| a.name).collect();
    let types: Vec<&TokenStream> = arguments.iter().map(|a| &a.ty).collect();
    let dtypes = elements.iter().map(|e| quote!(<#e as #krate::launch::HostElement>::DTYPE));
    let generics = elements.iter().map(|e| quote!(#e: #krate::launch::HostElement));
    let (result, launch) =
        if has_partition(f) { ("Launch", "launch") } else { ("GridLaunch", "launch_grid") };
    let (result, launch) = (format_ident!("{result}"), format_ident!("{launch}"));
    let unit = unit_name(f);
    let doc = format!("The kernel `{name}` with const parameters chosen at run time.");
    quote! {
        #[doc = #doc]
        #[allow(dead_code, unreachable_pub)]
        pub mod #name {
            /// The const parameters that no argument binds.
            #[allow(non_snake_case)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct Consts {
                #(#fields),*
            }

            /// Launches the kernel with these const parameters. The output is the tuple of the arguments.
            #[allow(clippy::too_many_arguments, clippy::type_complexity)]
            pub fn with<#(#generics),*>(#consts: Consts, #(#parameters),*) -> impl #krate::launch::#result<Args = (#(#types,)*)> {
                static __CUTILE_KERNEL: #krate::launch::KernelDef = #krate::launch::KernelDef::new(super::#unit);
                #krate::launch::#launch(&__CUTILE_KERNEL, [#(#dtypes),*], [#(#values),*], #krate::launch::zip((#(#names,)*)))
            }
        }
    }
}

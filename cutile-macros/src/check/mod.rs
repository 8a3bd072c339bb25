//! The type-check copy: each function once more, never run, with shapes as types, so that rustc checks it and tools know it.
//! Bodies stand verbatim but for what `rewrite` names; spans are kept.

mod dims;
mod rewrite;
mod signature;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ItemFn, visit_mut::VisitMut};

pub(crate) use self::signature::Signatures;
use self::{rewrite::Rewriter, signature::Scope};
use crate::options::CratePath;

/// The copy of a function.
pub(crate) fn copy(krate: &CratePath, f: &ItemFn, signatures: &Signatures) -> TokenStream {
    let mut f = f.clone();
    if f.attrs.iter().any(cutile_frontend::parse::is_entry) {
        // The launcher is what others see.
        f.vis = syn::Visibility::Inherited;
    }
    let scope = Scope::new(&f.sig.generics);
    Rewriter { krate, signatures, scopes: vec![scope] }.function(&mut f);
    quote! {
        #[allow(
            dead_code, unreachable_pub, unused_parens, unused_variables, unused_assignments, unused_mut, unused_must_use, unreachable_code,
            non_camel_case_types, non_snake_case, clippy::all
        )]
        #f
    }
}

impl Rewriter<'_> {
    /// Rewrites a function whose scope is the innermost one.
    fn function(&mut self, f: &mut ItemFn) {
        f.attrs.retain(cutile_frontend::parse::is_harmless);
        self.generics(&mut f.sig.generics);
        f.sig.inputs.iter_mut().for_each(|arg| self.visit_fn_arg_mut(arg));
        self.visit_return_type_mut(&mut f.sig.output);
        self.visit_block_mut(&mut f.block);
    }
}

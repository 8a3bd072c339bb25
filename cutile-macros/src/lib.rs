//! The attributes `#[cutile::module]` and `#[cutile::entry]`.
//!
//! A kernel module becomes a type-check copy of each function, an embedded unit of tile IR for each, and a launcher for each
//! entry. What a kernel means is decided in `cutile-frontend`; this crate only writes Rust.

mod check;
mod embed;
mod expand;
mod launcher;
mod options;

use proc_macro::TokenStream;

/// Marks a module of kernels.
///
/// ```ignore
/// #[cutile::module]
/// mod kernels {
///     use cutile::core::*;
///
///     #[cutile::entry()]
///     fn scale<const S: [i32; 1]>(k: f32, y: &mut Tensor<f32, S>) {
///         y.store(y.load() * k);
///     }
/// }
/// ```
///
/// Each entry becomes a public function of the same name that launches it. Crates that use `cutile-core` without `cutile` give
/// its path: `#[cutile::module(crate = cutile_core)]`.
#[proc_macro_attribute]
pub fn module(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::module(options.into(), item.into()).into()
}

/// Marks a kernel inside a `#[cutile::module]`.
///
/// Options: `fast_math` allows contraction and approximate functions; `specialize(S = [64, 64], T = f32)`, once for each
/// specialisation, declares what to build ahead of time.
#[proc_macro_attribute]
pub fn entry(_options: TokenStream, _item: TokenStream) -> TokenStream {
    expand::stray_entry().into()
}

//! The attributes `#[cutile::module]` and `#[cutile::entry]`.
//!
//! A kernel module becomes a type-check copy of each function, an embedded unit of tile IR for each, and a launcher for each
//! entry. What a kernel means is decided in `cutile-frontend`; this crate only writes Rust.

mod check;
mod embed;
mod expand;
mod items;
mod launcher;
mod options;

use proc_macro::TokenStream;

/// Marks a module of kernels.
///
/// ```text
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
/// The module holds `use`, `const` and `fn`. A function with `#[cutile::entry()]` is a kernel, all others are helpers, which
/// kernels of other modules may import. What a kernel is written with is listed in `cutile::core`.
///
/// Each entry becomes a public function of the same name, its *launcher*: it takes the kernel's parameters in their order and
/// gives an operation that runs the kernel and yields them again.
///
/// | parameter of the kernel | argument of the launcher |
/// | --- | --- |
/// | `a: f32` | the value |
/// | `x: &Tensor<f32, { [-1, -1] }>` | `Tensor`, `Arc<Tensor>`, `&Tensor` |
/// | `y: &mut Tensor<f32, S>` | `Partition` of a `Tensor` or of a `&mut Tensor` |
///
/// or an operation that yields one of these. Const parameters that stand in a `&mut` parameter's shape are bound by the
/// partition, those in a `&` parameter's by the tensor's extents; what is left is the launcher's own, given by turbofish
/// (`kernels::gemm::<64>(z, x, y)`) or at run time (`kernels::gemm::with(kernels::gemm::Consts { BK: 64 }, z, x, y)`). The
/// launcher of a kernel without `&mut` parameters gives a launch with `.grid([..])`.
///
/// Crates that use `cutile-core` without `cutile` give its path: `#[cutile::module(crate = cutile_core)]`.
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

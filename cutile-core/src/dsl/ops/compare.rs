//! Comparisons. In kernels `<`, `==` and the others compare tiles, too, and then give a tile of bool. Rust's own operators give
//! `bool` only, so the module macro turns them into calls of [`Compare`]. Comparisons follow IEEE for NaN. A tile of bool is no
//! condition of `if`: choose with `select`, combine with `&` and `|`, or reduce with `reduce_any`.
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn clip<const S: [i32; 1]>(most: f32, y: &mut Tensor<f32, S>) {
//!         let t = y.load();
//!         y.store(select((t < -most) | (t > most), zeros(y.shape()), t));
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let y = api::from_slice(&[-3.0f32, 1.0, 2.5], [3]).partition([3]);
//! let (_, y) = kernels::clip(2.0, y).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [0.0, 1.0, 0.0]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;
use crate::dsl::{
    element::{Element, bf16, f16},
    kernel_only,
    scalar::Operand,
    shape::ShapeType,
    tile::Tile,
};

/// What stands left of a comparison operator.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be compared with `{R}`",
    label = "operands of one type, or a tile and one of its elements, are expected"
)]
#[doc(hidden)]
pub trait Compare<R> {
    /// `bool`, or a tile of bool.
    type Out;

    /// `==`
    fn eq_(self, right: R) -> Self::Out;
    /// `!=`
    fn ne_(self, right: R) -> Self::Out;
    /// `<`
    fn lt_(self, right: R) -> Self::Out;
    /// `<=`
    fn le_(self, right: R) -> Self::Out;
    /// `>`
    fn gt_(self, right: R) -> Self::Out;
    /// `>=`
    fn ge_(self, right: R) -> Self::Out;
}

/// What stands right of `!`: a bool or an integer, or a tile of them. Rust's own operator wants the type at once, and that of
/// a comparison may come later (`let odd = i % 2 == 1; if !odd ..`).
#[diagnostic::on_unimplemented(
    message = "`!` can't be applied to `{Self}`",
    label = "expected a bool or an integer, or a tile of them"
)]
#[doc(hidden)]
pub trait Invert {
    /// `!`
    fn not_(self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: std::ops::Not<Output = T>> Invert for T {
    fn not_(self) -> T {
        kernel_only()
    }
}

macro_rules! methods {
    ($right:ty => $out:ty) => {
        methods!(@ $right, $out, eq_ ne_ lt_ le_ gt_ ge_);
    };
    (@ $right:ty, $out:ty, $($name:ident)*) => {
        type Out = $out;
        $(
            fn $name(self, _: $right) -> $out {
                kernel_only()
            }
        )*
    };
}

macro_rules! scalars {
    ($($t:ty),*) => { $(
        #[diagnostic::do_not_recommend]
        impl Compare<$t> for $t {
            methods!($t => bool);
        }

        #[diagnostic::do_not_recommend]
        impl<S: ShapeType> Compare<Tile<$t, S>> for $t {
            methods!(Tile<$t, S> => Tile<bool, S>);
        }
    )* };
}
scalars!(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, usize, bool);

#[diagnostic::do_not_recommend]
impl<T: Element, S: ShapeType, R: Operand<Tile<T, S>>> Compare<R> for Tile<T, S> {
    methods!(R => Tile<bool, S>);
}

vocabulary! {
    /// Elementwise `==`; false for NaN.
    fn eq_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<bool, S>;
    /// Elementwise `!=`; true for NaN.
    fn ne_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<bool, S>;
    /// Elementwise `<`.
    fn lt_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<bool, S>;
    /// Elementwise `<=`.
    fn le_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<bool, S>;
    /// Elementwise `>`.
    fn gt_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<bool, S>;
    /// Elementwise `>=`.
    fn ge_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<bool, S>;
}

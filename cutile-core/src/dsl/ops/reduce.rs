//! Reductions along an axis, which the result drops, and matrix products. Only valid elements of a ragged tile take part, so a
//! ragged row needs no mask; a reduction of nothing gives the identity.
//!
//! The axis is a literal or a const; the module macro turns it into a type, so that rustc knows the result's shape.
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn softmax<const BM: i32, const BN: i32>(x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, { [BM, BN] }>) {
//!         let x = load_tile_like_2d(x, y);
//!         let largest = reduce_max(x, 1).reshape(const_shape![BM, 1]);
//!         let e = exp(x - largest.broadcast(y.shape()));
//!         let sum = reduce_sum(e, 1).reshape(const_shape![BM, 1]);
//!         y.store(e / sum.broadcast(y.shape()));
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let (_, y) = kernels::softmax(api::ones::<f32>([3, 5]), api::zeros::<f32>([3, 5]).partition([2, 8])).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [0.2; 15]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;
use crate::dsl::{
    element::{Element, Float, Number},
    shape::{Dim, Without},
    tile::Tile,
};

vocabulary! {
    /// The sum along an axis. f16 and bf16 are summed in f32.
    fn reduce_sum[T: Number, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<T, S::Out>;
    /// The product along an axis.
    fn reduce_prod[T: Number, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<T, S::Out>;
    /// The largest along an axis; ignores NaN.
    fn reduce_max[T: Number, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<T, S::Out>;
    /// The smallest along an axis; ignores NaN.
    fn reduce_min[T: Number, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<T, S::Out>;
    /// The largest along an axis; NaN if any is.
    fn reduce_maximum[T: Float, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<T, S::Out>;
    /// The smallest along an axis; NaN if any is.
    fn reduce_minimum[T: Float, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<T, S::Out>;
    /// The index of the largest along an axis, the lowest on ties; NaN is skipped, and all NaN gives 0.
    fn reduce_argmax[T: Number, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<i32, S::Out>;
    /// The index of the smallest along an axis, the lowest on ties; NaN is skipped, and all NaN gives 0.
    fn reduce_argmin[T: Number, S: Without<A>, A](x: Tile<T, S>, axis: A) -> Tile<i32, S::Out>;
    /// Whether any element along an axis holds.
    fn reduce_any[S: Without<A>, A](x: Tile<bool, S>, axis: A) -> Tile<bool, S::Out>;
    /// Whether all elements along an axis hold.
    fn reduce_all[S: Without<A>, A](x: Tile<bool, S>, axis: A) -> Tile<bool, S::Out>;

    /// The matrix product `a * b + acc`. f16 goes into f16 or f32; bf16, tf32, f32 and fp8 into f32; f64 into f64; i8 and u8
    /// into i32. f32 operands are multiplied as f32.
    fn mma[T: Element, U: Element, M: Dim, N: Dim, K: Dim](
        a: Tile<T, (M, K)>,
        b: Tile<T, (K, N)>,
        acc: Tile<U, (M, N)>,
    ) -> Tile<U, (M, N)>;
}

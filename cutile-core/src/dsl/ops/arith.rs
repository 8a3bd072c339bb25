//! Elementwise arithmetic, math and conversions, on scalars and on tiles.
//!
//! Operands have one element type and one shape; a scalar beside a tile is repeated. Valid lengths of ragged tiles: the smaller of
//! both. Integer arithmetic wraps and divides as Rust's; a zero divisor is a fault. f16 and bf16 math computes in f32 and rounds
//! once; fp8 and tf32 have no arithmetic: convert them first.
//!
//! ```
//! #[cutile_macros::module(crate = cutile_core)]
//! mod kernels {
//!     use cutile_core::core::*;
//!
//!     #[cutile_macros::entry()]
//!     fn gelu<const S: [i32; 1]>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, S>) {
//!         let x = load_tile_like(x, y);
//!         y.store(x * (erf(x * 0.70710678) + 1.0) * 0.5);
//!     }
//! }
//!
//! use cutile_core::{api, prelude::*};
//! let x = api::from_slice(&[-10.0f32, 0.0, 10.0], [3]);
//! let (_, y) = kernels::gelu(x, api::zeros::<f32>([3]).partition([2])).sync()?;
//! assert_eq!(y.unpartition().to_host_vec().sync()?, [0.0, 0.0, 10.0]);
//! # Ok::<(), DeviceError>(())
//! ```

use super::vocabulary;
use crate::dsl::{
    element::Element,
    scalar::{FloatValue, IntegerValue, NumberValue, Operand, Scalar},
    shape::ShapeType,
    tile::Tile,
};

vocabulary! {
    /// The absolute value; wraps at the minimum of a signed integer.
    fn abs[V: NumberValue](x: V) -> V;
    /// e^x.
    fn exp[V: FloatValue](x: V) -> V;
    /// 2^x.
    fn exp2[V: FloatValue](x: V) -> V;
    /// The natural logarithm.
    fn log[V: FloatValue](x: V) -> V;
    /// The logarithm to base 2.
    fn log2[V: FloatValue](x: V) -> V;
    /// The square root, correctly rounded.
    fn sqrt[V: FloatValue](x: V) -> V;
    /// 1 / sqrt(x).
    fn rsqrt[V: FloatValue](x: V) -> V;
    /// The hyperbolic tangent.
    fn tanh[V: FloatValue](x: V) -> V;
    /// The sine of radians.
    fn sin[V: FloatValue](x: V) -> V;
    /// The cosine of radians.
    fn cos[V: FloatValue](x: V) -> V;
    /// The error function.
    fn erf[V: FloatValue](x: V) -> V;
    /// 1 / (1 + e^-x).
    fn sigmoid[V: FloatValue](x: V) -> V;
    /// To an integer, toward minus infinity.
    fn floor[V: FloatValue](x: V) -> V;
    /// To an integer, toward plus infinity.
    fn ceil[V: FloatValue](x: V) -> V;
    /// To the nearest integer, halves away from zero.
    fn round[V: FloatValue](x: V) -> V;
    /// To the nearest integer, halves to even.
    fn round_even[V: FloatValue](x: V) -> V;
    /// To an integer, toward zero.
    fn trunc[V: FloatValue](x: V) -> V;
    /// Whether it is a NaN.
    fn is_nan[V: FloatValue](x: V) -> V::Bool;
    /// Whether it is an infinity.
    fn is_inf[V: FloatValue](x: V) -> V::Bool;
    /// Bitwise not; logical for bool. The operator `!` is the same.
    fn noti[V: Scalar](x: V) -> V;

    /// The smaller; ignores NaN, and -0.0 is smaller than 0.0.
    fn min[V: NumberValue](a: V, b: impl Operand<V>) -> V;
    /// The larger; ignores NaN, and 0.0 is larger than -0.0.
    fn max[V: NumberValue](a: V, b: impl Operand<V>) -> V;
    /// As [`min`], on tiles.
    fn min_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<T, S>;
    /// As [`max`], on tiles.
    fn max_tile[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<T, S>;
    /// The smaller; NaN if either is.
    fn minimum[V: FloatValue](a: V, b: impl Operand<V>) -> V;
    /// The larger; NaN if either is.
    fn maximum[V: FloatValue](a: V, b: impl Operand<V>) -> V;
    /// a^b.
    fn pow[V: FloatValue](a: V, b: impl Operand<V>) -> V;
    /// The integer quotient rounded toward minus infinity. A zero divisor is a fault.
    fn div_floor[V: IntegerValue](a: V, b: impl Operand<V>) -> V;
    /// The integer quotient rounded toward plus infinity. A zero divisor is a fault.
    fn div_ceil[V: IntegerValue](a: V, b: impl Operand<V>) -> V;
    /// As [`div_ceil`].
    fn ceil_div[V: IntegerValue](a: V, b: impl Operand<V>) -> V;
    /// The Euclidean remainder, never negative. A zero divisor is a fault.
    fn rem_euclid[V: IntegerValue](a: V, b: impl Operand<V>) -> V;
    /// The float quotient; the operator `/` is the same.
    fn true_div[V: FloatValue](a: V, b: impl Operand<V>) -> V;
    /// Bitwise and; logical for bool. The operator `&` is the same.
    fn andi[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<T, S>;
    /// Bitwise or; logical for bool. The operator `|` is the same.
    fn ori[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<T, S>;
    /// Bitwise exclusive or; logical for bool. The operator `^` is the same.
    fn xori[T: Element, S: ShapeType](a: Tile<T, S>, b: Tile<T, S>) -> Tile<T, S>;

    /// a * b + c, rounded once.
    fn fma[V: FloatValue](a: V, b: impl Operand<V>, c: impl Operand<V>) -> V;

    /// `on_true` where the condition holds, `on_false` elsewhere.
    fn select[V: Scalar](condition: V::Bool, on_true: V, on_false: impl Operand<V>) -> V;

    /// Each element converted to `U`. Float to integer saturates and NaN gives 0; to a narrower float rounds to nearest even
    /// (fp8 saturates); integer narrowing wraps; bool gives 0 and 1.
    ///
    /// The result's type says what to convert to: `let y: Tile<f16, S> = convert(x);`. The method says it itself:
    /// `x.convert::<f16>()`.
    fn convert[U: Element, V: Scalar](x: V) -> V::With<U>;
    /// As [`convert`], on tiles.
    fn convert_tile[U: Element, T: Element, S: ShapeType](x: Tile<T, S>) -> Tile<U, S>;
    /// As [`convert`], on scalars; Rust's `as` is the same.
    fn convert_scalar[U: Element, T: Element](x: T) -> U;
    /// The same bits as another element type of the same width.
    fn bitcast[U: Element, T: Element, S: ShapeType](x: Tile<T, S>) -> Tile<U, S>;
}

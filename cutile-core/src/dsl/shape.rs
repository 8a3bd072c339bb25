//! Extents and shapes as types. A shape `{ [BM, 64] }` is the tuple `(BM, C<64>)`; `-1` is [`Any`].
//!
//! The module macro writes these types; kernel authors write shape syntax and `const_shape!`. No arithmetic on values here.

use std::{marker::PhantomData, ops::Index};

use super::kernel_only;

/// One extent of a shape, as a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tile extent",
    label = "expected a const parameter, a literal or -1"
)]
pub trait Dim: Copy + Send + Sync + 'static {
    /// The extent; -1 where it is known at launch only.
    const VALUE: i32;
}

/// The extent `N`.
#[derive(Clone, Copy, Debug)]
pub struct C<const N: i32>;

impl<const N: i32> Dim for C<N> {
    const VALUE: i32 = N;
}

/// An extent known at launch only (`-1`).
#[derive(Clone, Copy, Debug)]
pub struct Any;

impl Dim for Any {
    const VALUE: i32 = -1;
}

macro_rules! extent_arithmetic {
    ($($(#[$doc:meta])* $name:ident $op:tt),*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<A, B>(PhantomData<(A, B)>);

        impl<A: Dim, B: Dim> Dim for $name<A, B> {
            const VALUE: i32 = A::VALUE $op B::VALUE;
        }
    )* };
}

extent_arithmetic!(
    /// The extent `A + B`.
    Add +,
    /// The extent `A - B`.
    Sub -,
    /// The extent `A * B`.
    Mul *,
    /// The extent `A / B`.
    Div /,
    /// The extent `A % B`.
    Rem %
);

/// A list of extents, as a type: a tuple of up to six [`Dim`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected a shape such as `{{ [BM, 64] }}`"
)]
pub trait ShapeType: Copy + Send + Sync + 'static {
    /// The rank as a type, `[(); N]`.
    type Rank;
    /// A tile index, `[i32; N]`.
    type Index: Copy;
}

macro_rules! shapes {
    ($($n:literal ($($d:ident)*));* $(;)?) => { $(
        impl<$($d: Dim),*> ShapeType for ($($d,)*) {
            type Rank = [(); $n];
            type Index = [i32; $n];
        }
    )* };
}
shapes!(0 (); 1 (A); 2 (A B); 3 (A B D); 4 (A B D E); 5 (A B D E F); 6 (A B D E F G));

/// A shape as a value: what `const_shape!` and `.shape()` give. `shape[0]` is an extent.
#[derive(Debug)]
pub struct Shape<S>(PhantomData<S>);

impl<S> Clone for Shape<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Shape<S> {}

impl<S: ShapeType> Shape<S> {
    /// The value of the shape `S`; kernels write `const_shape![..]`.
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S: ShapeType> Default for Shape<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: ShapeType> Index<usize> for Shape<S> {
    type Output = i32;

    fn index(&self, _: usize) -> &i32 {
        kernel_only()
    }
}

/// A permutation of axes as a value: what `const_array![1, 0]` gives.
#[derive(Clone, Copy, Debug)]
pub struct Array<P>(PhantomData<P>);

impl<P> Array<P> {
    /// The value of the permutation `P`; kernels write `const_array![..]`.
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<P> Default for Array<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// An axis, as a type and as a value.
#[derive(Clone, Copy, Debug)]
pub struct Ax<const N: i32>;

/// The shape `Self` without axis `A`: the result shape of a reduction.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` has no such axis",
    label = "axis out of range",
    note = "axes count from 0; the last axis of a tile of rank N is N - 1"
)]
pub trait Without<A>: ShapeType {
    /// What is left.
    type Out: ShapeType;
    /// `Self` with extent 1 on the axis.
    type Keep: ShapeType;
    /// The extent of the axis.
    type Extent: Dim;
}

macro_rules! without {
    ($($n:literal ($($a:ident)*) $x:ident ($($b:ident)*));* $(;)?) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($a: Dim,)* $x: Dim, $($b: Dim),*> Without<Ax<$n>> for ($($a,)* $x, $($b,)*) {
            type Out = ($($a,)* $($b,)*);
            type Keep = ($($a,)* C<1>, $($b,)*);
            type Extent = $x;
        }
    )* };
}
without!(
    0 () X ();
    0 () X (A); 1 (A) X ();
    0 () X (A B); 1 (A) X (B); 2 (A B) X ();
    0 () X (A B D); 1 (A) X (B D); 2 (A B) X (D); 3 (A B D) X ();
    0 () X (A B D E); 1 (A) X (B D E); 2 (A B) X (D E); 3 (A B D) X (E); 4 (A B D E) X ();
    0 () X (A B D E F); 1 (A) X (B D E F); 2 (A B) X (D E F); 3 (A B D) X (E F); 4 (A B D E) X (F); 5 (A B D E F) X ();
);

/// The shape `Self` with its axes in the order `P`, a tuple of [`Ax`].
#[diagnostic::on_unimplemented(
    message = "`{P}` is not an order of the axes of a tile of shape `{Self}`",
    label = "name each axis once: `const_array![1, 0]` transposes a matrix"
)]
pub trait Permute<P>: ShapeType {
    /// The permuted shape.
    type Out: ShapeType;
}

macro_rules! permute {
    ($(($($p:ident)*));* $(;)?) => { $(
        #[diagnostic::do_not_recommend]
        impl<S: ShapeType<Rank = [(); { 0 $(+ permute!(@one $p))* }]>, $($p),*> Permute<($($p,)*)> for S
        where
            $(S: Without<$p>),*
        {
            type Out = ($(<S as Without<$p>>::Extent,)*);
        }
    )* };
    (@one $p:ident) => { 1 };
}
permute!((A); (A B); (A B D); (A B D E); (A B D E F); (A B D E F G));

/// A tensor of shape `S` can be cut into tiles of shape `Self`: equal rank.
#[diagnostic::on_unimplemented(
    message = "a tensor of shape `{S}` can't be cut into tiles of shape `{Self}`",
    label = "the ranks differ"
)]
pub trait Cuts<S>: ShapeType {}

#[diagnostic::do_not_recommend]
impl<S: ShapeType, P: ShapeType<Rank = S::Rank>> Cuts<S> for P {}

/// `Self` can be broadcast to `P`: equal rank (extents of 1 grow; the front end checks the extents).
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` can't be broadcast to `{P}`",
    label = "the ranks differ",
    note = "reshape it first: `.reshape(const_shape![BM, 1])`, then `.broadcast(..)`"
)]
pub trait BroadcastTo<P> {}

#[diagnostic::do_not_recommend]
impl<S: ShapeType, P: ShapeType<Rank = S::Rank>> BroadcastTo<P> for S {}

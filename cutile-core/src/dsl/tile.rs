//! [`Tile`]: the value that kernels compute with, and its operators. Functions over tiles are in `ops`.

use std::{
    marker::PhantomData,
    ops::{
        Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div,
        DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub,
        SubAssign,
    },
};

use super::{
    element::{Element, bf16, f16},
    kernel_only,
    scalar::Operand,
    shape::{Array, BroadcastTo, Dim, Permute, Shape, ShapeType},
};

/// A block of elements of type `T` and shape `S`, held by one program. A value: copied, never aliased.
#[derive(Debug)]
pub struct Tile<T, S>(PhantomData<(T, S)>);

impl<T, S> Clone for Tile<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S> Copy for Tile<T, S> {}

macro_rules! operators {
    ($($op:ident $f:ident $assign:ident $g:ident),* $(,)?) => { $(
        impl<T: Element, S: ShapeType, R: Operand<Tile<T, S>>> $op<R> for Tile<T, S> {
            type Output = Tile<T, S>;

            fn $f(self, _: R) -> Tile<T, S> {
                kernel_only()
            }
        }

        impl<T: Element, S: ShapeType, R: Operand<Tile<T, S>>> $assign<R> for Tile<T, S> {
            fn $g(&mut self, _: R) {
                kernel_only()
            }
        }
    )* };
}
operators!(
    Add add AddAssign add_assign,
    Sub sub SubAssign sub_assign,
    Mul mul MulAssign mul_assign,
    Div div DivAssign div_assign,
    Rem rem RemAssign rem_assign,
    BitAnd bitand BitAndAssign bitand_assign,
    BitOr bitor BitOrAssign bitor_assign,
    BitXor bitxor BitXorAssign bitxor_assign,
    Shl shl ShlAssign shl_assign,
    Shr shr ShrAssign shr_assign,
);

macro_rules! scalar_on_the_left {
    ($ops:tt: $($t:ty),*) => { $( scalar_on_the_left!(@each $t $ops); )* };
    (@each $t:ty [$($op:ident $f:ident),*]) => { $(
        #[diagnostic::do_not_recommend]
        impl<S: ShapeType> $op<Tile<$t, S>> for $t {
            type Output = Tile<$t, S>;

            fn $f(self, _: Tile<$t, S>) -> Tile<$t, S> {
                kernel_only()
            }
        }
    )* };
}
scalar_on_the_left!([Add add, Sub sub, Mul mul, Div div, Rem rem]: f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);
scalar_on_the_left!([BitAnd bitand, BitOr bitor, BitXor bitxor]: i8, i16, i32, i64, u8, u16, u32, u64, bool);
scalar_on_the_left!([Shl shl, Shr shr]: i8, i16, i32, i64, u8, u16, u32, u64);

impl<T: Element, S: ShapeType> Neg for Tile<T, S> {
    type Output = Tile<T, S>;

    fn neg(self) -> Tile<T, S> {
        kernel_only()
    }
}

impl<T: Element, S: ShapeType> Not for Tile<T, S> {
    type Output = Tile<T, S>;

    fn not(self) -> Tile<T, S> {
        kernel_only()
    }
}

impl<T: Element, S: ShapeType> Tile<T, S> {
    /// The shape, as a value.
    pub fn shape(&self) -> Shape<S> {
        kernel_only()
    }

    /// The same elements in row-major order under another shape of equal size.
    pub fn reshape<P: ShapeType>(self, shape: Shape<P>) -> Tile<T, P> {
        let _ = shape;
        kernel_only()
    }

    /// Repeats the axes of extent 1 to the extents of `shape`, which has the same rank.
    pub fn broadcast<P: ShapeType>(self, shape: Shape<P>) -> Tile<T, P>
    where
        S: BroadcastTo<P>,
    {
        let _ = shape;
        kernel_only()
    }

    /// The axes in another order: axis `i` of the result is axis `order[i]` of this tile.
    pub fn permute<P>(self, order: Array<P>) -> Tile<T, S::Out>
    where
        S: Permute<P>,
    {
        let _ = order;
        kernel_only()
    }

    /// Each element converted to `U`; the rules are those of [`convert`](super::convert).
    pub fn convert<U: Element>(self) -> Tile<U, S> {
        kernel_only()
    }

    /// `f` of each element. The closure holds expressions, `let`, and `if .. else ..` on scalars, and is evaluated for all
    /// elements at once: both sides of an `if` are, so an integer division in one is an error.
    pub fn map<U: Element>(self, f: impl Fn(T) -> U) -> Tile<U, S> {
        let _ = f;
        kernel_only()
    }

    /// The one element of a tile that has one.
    pub fn to_scalar(self) -> T {
        kernel_only()
    }
}

impl<T: Element, M: Dim, N: Dim> Tile<T, (M, N)> {
    /// The transposed matrix.
    pub fn transpose(self) -> Tile<T, (N, M)> {
        kernel_only()
    }
}

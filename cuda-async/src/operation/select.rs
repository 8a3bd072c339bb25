//! `first` and `last`: one part of a tuple.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::{DeviceOperation, Execute, Output, ready};
use crate::schedule::Hints;

/// A tuple with a first and a last part.
pub trait Tuple {
    /// The type of the first part.
    type First: Send;
    /// The type of the last part.
    type Last: Send;

    /// The first part.
    fn first(self) -> Self::First;

    /// The last part.
    fn last(self) -> Self::Last;
}

impl<A: Send> Tuple for (A,) {
    type First = A;
    type Last = A;

    fn first(self) -> A {
        self.0
    }

    fn last(self) -> A {
        self.0
    }
}

macro_rules! tuples {
    ($(($($t:ident),+) $last:tt;)*) => { $(
        impl<A: Send, $($t,)+ Z: Send> Tuple for (A, $($t,)+ Z) {
            type First = A;
            type Last = Z;

            fn first(self) -> A {
                self.0
            }

            fn last(self) -> Z {
                self.$last
            }
        }
    )* };
}
impl<A: Send, Z: Send> Tuple for (A, Z) {
    type First = A;
    type Last = Z;

    fn first(self) -> A {
        self.0
    }

    fn last(self) -> Z {
        self.1
    }
}
tuples! {
    (B) 2;
    (B, C) 3;
    (B, C, D) 4;
    (B, C, D, E) 5;
    (B, C, D, E, F) 6;
    (B, C, D, E, F, G) 7;
    (B, C, D, E, F, G, H) 8;
    (B, C, D, E, F, G, H, I) 9;
    (B, C, D, E, F, G, H, I, J) 10;
    (B, C, D, E, F, G, H, I, J, K) 11;
}

macro_rules! selection {
    ($(#[$doc:meta])* $name:ident $part:ident $method:ident) => {
        $(#[$doc])*
        pub struct $name<U>(U);

        impl<U> $name<U> {
            pub(super) fn new(upstream: U) -> Self {
                $name(upstream)
            }
        }

        impl<U> Execute for $name<U>
        where
            U: DeviceOperation,
            Output<U>: Tuple,
        {
            type Out = <Output<U> as Tuple>::$part;

            fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
                let output = ready!(self.0.advance(ctx));
                Poll::Ready(Ok(output.$method()))
            }

            fn hints(&self) -> Hints {
                self.0.hints()
            }
        }
    };
}
selection!(
    /// See [`DeviceOperation::first`].
    First First first
);
selection!(
    /// See [`DeviceOperation::last`].
    Last Last last
);

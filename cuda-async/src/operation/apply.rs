//! `apply`: spreads a tuple over a function that gives the next operation.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::{DeviceOperation, Execute, Output, advanced_after_ready, ready};
use crate::schedule::Hints;

/// A function of as many arguments as the tuple `In` has parts, which gives an operation.
#[diagnostic::on_unimplemented(
    message = "this function can't be applied to `{In}`",
    label = "expected a function of the parts of `{In}` that gives an operation"
)]
pub trait Applicable<In>: Send {
    /// The operation that it gives.
    type Operation: DeviceOperation;

    /// Calls it.
    fn call(self, input: In) -> Self::Operation;
}

macro_rules! applicable {
    ($(($($t:ident $i:tt),+))*) => { $(
        impl<Func, O, $($t),+> Applicable<($($t,)+)> for Func
        where
            Func: FnOnce($($t),+) -> O + Send,
            O: DeviceOperation,
        {
            type Operation = O;

            fn call(self, input: ($($t,)+)) -> O {
                self($(input.$i),+)
            }
        }
    )* };
}
applicable! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}

/// See [`DeviceOperation::apply`].
pub enum Apply<U, F, O> {
    /// The upstream runs.
    Upstream(U, Option<F>),
    /// The operation that the function gave runs.
    Downstream(O),
}

impl<U, F, O> Apply<U, F, O> {
    pub(super) fn new(upstream: U, f: F) -> Self {
        Apply::Upstream(upstream, Some(f))
    }
}

impl<U, F> Execute for Apply<U, F, F::Operation>
where
    U: DeviceOperation,
    F: Applicable<Output<U>>,
{
    type Out = Output<F::Operation>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        if let Apply::Upstream(upstream, f) = self {
            let input = ready!(upstream.advance(ctx));
            let Some(f) = f.take() else { advanced_after_ready() };
            *self = Apply::Downstream(f.call(input));
        }
        match self {
            Apply::Downstream(operation) => operation.advance(ctx),
            Apply::Upstream(..) => advanced_after_ready(),
        }
    }

    fn hints(&self) -> Hints {
        match self {
            Apply::Upstream(upstream, _) => upstream.hints(),
            Apply::Downstream(operation) => operation.hints(),
        }
    }

    fn reclaim(&mut self) -> Option<Self::Out> {
        match self {
            Apply::Upstream(..) => None,
            Apply::Downstream(operation) => operation.reclaim(),
        }
    }
}

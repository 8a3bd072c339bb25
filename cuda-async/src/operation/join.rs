//! `join`: a tuple or vector of operations as one operation.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::{DeviceOperation, Execute, Op, Output, Part, Zip, advanced_after_ready};
use crate::schedule::Hints;

/// Several operations that can be joined: tuples of up to 12, vectors, arrays.
pub trait Join {
    /// The joined operation.
    type Operation: DeviceOperation;

    /// One operation that yields all outputs. Joined operations are submitted together and waited
    /// for once.
    ///
    /// ```
    /// use cuda_async::prelude::*;
    ///
    /// assert_eq!((value(1), value("two")).join().sync()?, (1, "two"));
    /// assert_eq!(vec![value(1), value(2)].join().sync()?, [1, 2]);
    /// # Ok::<(), DeviceError>(())
    /// ```
    fn join(self) -> Self::Operation;
}

/// Joins a tuple, vector or array of operations; the same as [`Join::join`].
pub fn join<J: Join>(operations: J) -> J::Operation {
    operations.join()
}

macro_rules! tuples {
    ($(($($t:ident),+))*) => { $(
        impl<$($t: DeviceOperation),+> Join for ($($t,)+) {
            type Operation = Op<Zip<($(Part<$t>,)+)>>;

            fn join(self) -> Self::Operation {
                #[allow(non_snake_case)]
                let ($($t,)+) = self;
                Op::new(Zip::of_parts(($(Part::Running($t),)+)))
            }
        }
    )* };
}
tuples! {
    (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) (A, B, C, D, E, F, G)
    (A, B, C, D, E, F, G, H) (A, B, C, D, E, F, G, H, I) (A, B, C, D, E, F, G, H, I, J)
    (A, B, C, D, E, F, G, H, I, J, K) (A, B, C, D, E, F, G, H, I, J, K, L)
}

impl<O: DeviceOperation> Join for Vec<O> {
    type Operation = Op<JoinAll<O>>;

    fn join(self) -> Self::Operation {
        Op::new(JoinAll(self.into_iter().map(Part::Running).collect()))
    }
}

impl<O: DeviceOperation, const N: usize> Join for [O; N] {
    type Operation = Op<JoinAll<O>>;

    fn join(self) -> Self::Operation {
        Op::new(JoinAll(self.into_iter().map(Part::Running).collect()))
    }
}

/// A vector of operations, advanced together; yields the vector of their outputs.
pub struct JoinAll<O: DeviceOperation>(Vec<Part<O>>);

impl<O: DeviceOperation> Execute for JoinAll<O> {
    type Out = Vec<Output<O>>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        let mut ready = Ok(true);
        for (index, part) in self.0.iter_mut().enumerate() {
            let step = ctx.fork(index, |ctx| part.step(ctx));
            ready = match (ready, step) {
                (Err(error), _) | (Ok(_), Err(error)) => Err(error),
                (Ok(all), Ok(one)) => Ok(all && one),
            };
        }
        if !ready? {
            return Poll::Pending;
        }
        let take = |part: &mut Part<O>| part.take().unwrap_or_else(|| advanced_after_ready());
        Poll::Ready(Ok(self.0.iter_mut().map(take).collect()))
    }

    fn hints(&self) -> Hints {
        self.0.iter().fold(Hints::default(), |hints, part| hints.and(part.hints()))
    }
}

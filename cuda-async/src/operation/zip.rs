//! `zip`: several operations or values as one operation that yields a tuple.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::{
    DeviceOperation, Execute, IntoDeviceOperation, Op, Output, Part, advanced_after_ready,
};
use crate::schedule::Hints;

/// Several operations, advanced together: their read-backs overlap.
pub struct Zip<Parts>(Parts);

impl<Parts> Zip<Parts> {
    pub(super) fn of_parts(parts: Parts) -> Self {
        Zip(parts)
    }
}

/// A tuple of operations and values that can be zipped; `Outputs` is the tuple of what they yield.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be zipped",
    label = "expected one tuple of operations and values: `zip((a, b))`, or `zip!(a, b)`"
)]
pub trait Zippable<Outputs> {
    /// The state machine.
    type Zip: Execute<Out = Outputs>;

    /// Makes it.
    fn into_zip(self) -> Self::Zip;
}

/// Combines operations and values into one operation that yields the tuple of their outputs; 1 to 12
/// of them.
///
/// ```
/// use cuda_async::prelude::*;
///
/// let op = zip((1, value("x"), 2.0));
/// assert_eq!(op.sync()?, (1, "x", 2.0));
/// # Ok::<(), DeviceError>(())
/// ```
pub fn zip<T, Outputs>(parts: T) -> Op<T::Zip>
where
    T: Zippable<Outputs>,
{
    Op::new(parts.into_zip())
}

/// `zip!(a, b, c)` is `zip((a, b, c))`.
#[macro_export]
macro_rules! zip {
    ($($part:expr),+ $(,)?) => { $crate::zip(($($part,)+)) };
}

macro_rules! zips {
    ($(($($t:ident $out:ident $i:tt),+))*) => { $(
        impl<$($t,)+ $($out: Send,)+> Zippable<($($out,)+)> for ($($t,)+)
        where
            $($t: IntoDeviceOperation<$out>,)+
        {
            type Zip = Zip<($(Part<$t::Operation>,)+)>;

            fn into_zip(self) -> Self::Zip {
                Zip(($(Part::Running(self.$i.into_operation()),)+))
            }
        }

        impl<$($t: DeviceOperation),+> Execute for Zip<($(Part<$t>,)+)> {
            type Out = ($(Output<$t>,)+);

            fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
                // All parts go on before any of them is waited for, or fails.
                let steps = [$(ctx.fork($i, |ctx| self.0.$i.step(ctx)),)+];
                let mut ready = true;
                for step in steps {
                    ready &= step?;
                }
                if !ready {
                    return Poll::Pending;
                }
                Poll::Ready(Ok(($(
                    match self.0.$i.take() {
                        Some(output) => output,
                        None => advanced_after_ready(),
                    },
                )+)))
            }

            fn hints(&self) -> Hints {
                Hints::default()$(.and(self.0.$i.hints()))+
            }
        }
    )* };
}
zips! {
    (A X0 0)
    (A X0 0, B X1 1)
    (A X0 0, B X1 1, C X2 2)
    (A X0 0, B X1 1, C X2 2, D X3 3)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5, G X6 6)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5, G X6 6, H X7 7)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5, G X6 6, H X7 7, I X8 8)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5, G X6 6, H X7 7, I X8 8, J X9 9)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5, G X6 6, H X7 7, I X8 8, J X9 9, K X10 10)
    (A X0 0, B X1 1, C X2 2, D X3 3, E X4 4, F X5 5, G X6 6, H X7 7, I X8 8, J X9 9, K X10 10, L X11 11)
}

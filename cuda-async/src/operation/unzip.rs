//! `unzip`: an operation that yields a tuple as a tuple of operations.

use std::sync::Arc;
use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::shared::Once;
use crate::operation::{DeviceOperation, Execute, Op, Output, advanced_after_ready};
use crate::schedule::Hints;

/// A tuple whose parts can be yielded one by one.
pub trait Unzip: Send + Sized {
    /// The parts that nobody has taken yet.
    type Slots: Send;

    /// A tuple of operations, one a part.
    type Branches<O: DeviceOperation<Output = Self>>;

    /// All parts, none taken.
    fn into_slots(self) -> Self::Slots;

    /// Splits an operation; its one allocation is here.
    fn unzip<O: DeviceOperation<Output = Self>>(operation: O) -> Self::Branches<O>;
}

/// Part `I` of a tuple.
pub trait Slot<const I: usize>: Unzip {
    /// Its type.
    type Part: Send;

    /// Takes it, once.
    fn take(slots: &mut Self::Slots) -> Option<Self::Part>;
}

/// One branch of [`DeviceOperation::unzip`]: yields part `I` of what the upstream yields.
pub struct Branch<O: DeviceOperation, const I: usize>(Arc<Once<O, <Output<O> as Unzip>::Slots>>)
where
    Output<O>: Unzip;

impl<O, const I: usize> Execute for Branch<O, I>
where
    O: DeviceOperation,
    Output<O>: Slot<I>,
{
    type Out = <Output<O> as Slot<I>>::Part;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out>> {
        let taken = self.0.advance(ctx, Unzip::into_slots, <Output<O> as Slot<I>>::take);
        taken.map_ok(|part| part.unwrap_or_else(|| advanced_after_ready()))
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),+))*) => { $(
        impl<$($t: Send),+> Unzip for ($($t,)+) {
            type Slots = ($(Option<$t>,)+);
            type Branches<Up: DeviceOperation<Output = Self>> = ($(Op<Branch<Up, $i>>,)+);

            fn into_slots(self) -> Self::Slots {
                ($(Some(self.$i),)+)
            }

            fn unzip<Up: DeviceOperation<Output = Self>>(operation: Up) -> Self::Branches<Up> {
                let once = Arc::new(Once::new(operation));
                ($(Op::new(Branch::<Up, $i>(Arc::clone(&once))),)+)
            }
        }
        slots!(($($t),+) $($t $i),+);
    )* };
}
macro_rules! slots {
    ($all:tt $($t:ident $i:tt),+) => { $(slot!($all $t $i);)+ };
}
macro_rules! slot {
    (($($all:ident),+) $t:ident $i:tt) => {
        impl<$($all: Send),+> Slot<$i> for ($($all,)+) {
            type Part = $t;

            fn take(slots: &mut Self::Slots) -> Option<$t> {
                slots.$i.take()
            }
        }
    };
}
tuples! {
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

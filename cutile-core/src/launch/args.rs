//! What can be given for a kernel's parameters: scalars, tensors, partitions, and tuples of those. How an argument is
//! checked is in `bind.rs`; how it is passed on is each backend's business.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::host::{DType, HostElement, Partition, RawTensor, ReadTensor, Tensor};

/// An argument as the launch sees it.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// A scalar, its bits in the low bytes.
    Scalar {
        /// Its type.
        dtype: DType,
        /// Its bits.
        bits: u64,
    },
    /// A tensor to be read.
    Tensor(&'a RawTensor),
    /// A tensor to be written, and the shape of its sub-tensors.
    Partition(&'a RawTensor, &'a [usize]),
}

impl<'a> Arg<'a> {
    /// The tensor behind it, if there is one.
    pub(crate) fn tensor(self) -> Option<&'a RawTensor> {
        match self {
            Arg::Scalar { .. } => None,
            Arg::Tensor(tensor) | Arg::Partition(tensor, _) => Some(tensor),
        }
    }
}

/// The most parameters that a kernel can have: what `zip` takes.
pub(crate) const MAX_PARAMS: usize = 12;

/// Arguments in the order of the kernel's parameters; never on the heap.
pub(crate) type ArgList<'a> = SmallVec<[Arg<'a>; MAX_PARAMS]>;

mod sealed {
    use super::Arg;

    pub trait KernelArg: Send {
        fn arg(&self) -> Arg<'_>;
    }

    pub trait KernelArgs: Send {
        fn visit<'a>(&'a self, f: &mut dyn FnMut(Arg<'a>));
    }
}
pub(crate) use sealed::{KernelArg as SealedArg, KernelArgs as SealedArgs};

/// An argument of a kernel.
pub trait KernelArg: sealed::KernelArg {}
impl<A: sealed::KernelArg> KernelArg for A {}

/// The arguments of a kernel: a tuple.
pub trait KernelArgs: sealed::KernelArgs {}
impl<A: sealed::KernelArgs> KernelArgs for A {}

pub(crate) fn list<A: SealedArgs>(args: &A) -> ArgList<'_> {
    let mut list = ArgList::new();
    args.visit(&mut |arg| list.push(arg));
    list
}

/// What a kernel's `&Tensor` parameter takes.
#[diagnostic::on_unimplemented(
    message = "a `&Tensor<{T}>` parameter can't take `{Self}`",
    label = "give a `Tensor`, an `Arc<Tensor>`, a `&Tensor`, or an operation that yields one"
)]
pub trait AsTensor<T>: KernelArg + ReadTensor<Element = T> {}

/// What a kernel's `&mut Tensor` parameter takes.
#[diagnostic::on_unimplemented(
    message = "a `&mut Tensor<{T}>` parameter takes a partition, not `{Self}`",
    label = "call `.partition([..])` on it"
)]
pub trait AsPartition<T>: KernelArg + ReadTensor<Element = T> {}

macro_rules! tensors {
    ($($t:ty),*) => {$(
        impl<T: HostElement> sealed::KernelArg for $t {
            fn arg(&self) -> Arg<'_> {
                Arg::Tensor(self.raw())
            }
        }
        impl<T: HostElement> AsTensor<T> for $t {}
    )*};
}
tensors!(Tensor<T>, &Tensor<T>, Arc<Tensor<T>>, &Arc<Tensor<T>>);

macro_rules! partitions {
    ($($t:ty),*) => {$(
        impl<T: HostElement> sealed::KernelArg for $t {
            fn arg(&self) -> Arg<'_> {
                Arg::Partition(self.raw(), self.tile_shape())
            }
        }
        impl<T: HostElement> AsPartition<T> for $t {}
    )*};
}
partitions!(Partition<Tensor<T>>, Partition<&mut Tensor<T>>);

macro_rules! tuples {
    ($($name:ident)*; ) => { tuples!(@ $($name)*); };
    ($($name:ident)*; $next:ident $($rest:ident)*) => {
        tuples!(@ $($name)*);
        tuples!($($name)* $next; $($rest)*);
    };
    (@ $($name:ident)*) => {
        #[allow(non_snake_case, reason = "a variable for each type parameter")]
        impl<$($name: sealed::KernelArg),*> sealed::KernelArgs for ($($name,)*) {
            fn visit<'a>(&'a self, f: &mut dyn FnMut(Arg<'a>)) {
                let ($($name,)*) = self;
                $(f($name.arg());)*
            }
        }
    };
}
tuples!(A; B C D E F G H I J K L);

//! Tensor arguments as one axis. A tensor whose elements are not in row-major order is copied first.

use std::task::Poll;

use cutile_core::cuda_async::{
    DeviceError, DeviceOperation, Execute, ExecutionContext, Hints, IntoDeviceOperation, Op, value,
    with_context,
};
use cutile_core::launch::{AsTensor, Viewed};
use cutile_core::{HostElement, ReadTensor, Tensor, api};

use crate::kernels::reorder;

/// Sub-tensors of a copy: matrices of 32 by 32.
const TILE: [usize; 3] = [1, 32, 32];

/// Yields `x` as one axis.
pub(super) fn flat<X, T>(
    x: impl IntoDeviceOperation<X>,
) -> impl DeviceOperation<Output = Viewed<X, T>>
where
    X: AsTensor<T>,
    T: HostElement,
{
    x.into_operation().then(|x| {
        Op::new(match Viewed::flat(x) {
            Ok(flat) => Either::Left(value(flat)),
            Err(strided) => Either::Right(copied(strided)),
        })
    })
}

/// Yields a copy of `x` in row-major order, as one axis.
fn copied<X, T>(x: X) -> impl DeviceOperation<Output = Viewed<X, T>>
where
    X: AsTensor<T>,
    T: HostElement,
{
    let arguments = with_context(move |ctx| {
        let x = Viewed::matrices(x)?;
        // SAFETY: the launch writes every element.
        let copy: Tensor<T> = unsafe { api::uninit(ctx, x.shape_of()) }?;
        Ok((x, copy.partition(TILE)))
    });
    arguments
        .apply(|x, copy| reorder::copy(x, copy))
        .map(|(x, copy)| Viewed::flat_copy(x.into_given(), &copy.unpartition()))
}

/// One of two operations that yield the same.
enum Either<A, B> {
    Left(A),
    Right(B),
}

impl<A, B> Execute for Either<A, B>
where
    A: DeviceOperation,
    B: DeviceOperation<Output = A::Output>,
{
    type Out = A::Output;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<A::Output, DeviceError>> {
        match self {
            Either::Left(operation) => operation.advance(ctx),
            Either::Right(operation) => operation.advance(ctx),
        }
    }

    fn hints(&self) -> Hints {
        match self {
            Either::Left(operation) => operation.hints(),
            Either::Right(operation) => operation.hints(),
        }
    }
}

//! A launch as an operation: arguments first, then the checks, the kernel, and one piece of work on the stream.

use std::task::{Poll, ready};

use cuda_async::{DeviceError, DeviceOperation, Execute, ExecutionContext, Hints, Op};

use super::args::{self, KernelArgs};
use super::bind::{Given, bind};
use super::def::KernelDef;
use crate::backend;
use crate::host::{DType, IntoShape, Shape};

/// A launch: an operation that runs a kernel and yields its arguments.
pub trait Launch: DeviceOperation<Output = Self::Args> {
    /// The tuple of the arguments, in the kernel's order.
    type Args: KernelArgs;
}

/// A launch of a kernel that has no `&mut` parameter, and so no grid of its own.
pub trait GridLaunch: Launch {
    /// Sets the number of tile programs along each axis, the slowest first.
    #[must_use = "gives a new operation"]
    fn grid(self, grid: impl IntoShape) -> Self;
}

/// See [`launch`].
pub struct LaunchKernel<A: DeviceOperation, const TYPES: usize, const CONSTS: usize> {
    kernel: &'static KernelDef,
    types: [DType; TYPES],
    consts: [i64; CONSTS],
    grid: Option<Shape>,
    stage: Stage<A>,
}

enum Stage<A: DeviceOperation> {
    Upstream(A),
    /// The arguments are here; the launch is tried until the kernel is loaded. After a failure they stay, to be reclaimed.
    Arguments(A::Output),
    Submitted,
}

/// Launches a kernel on the arguments that `args` yields: what launchers are made of.
///
/// `types` are the element type arguments in declared order, `consts` the values of the const parameters that no argument
/// binds, in declared order, a `bool` as 0 or 1.
pub fn launch<A, const TYPES: usize, const CONSTS: usize>(
    kernel: &'static KernelDef,
    types: [DType; TYPES],
    consts: [i64; CONSTS],
    args: A,
) -> Op<LaunchKernel<A, TYPES, CONSTS>>
where
    A: DeviceOperation<Output: KernelArgs>,
{
    Op::new(LaunchKernel { kernel, types, consts, grid: None, stage: Stage::Upstream(args) })
}

impl<A, const TYPES: usize, const CONSTS: usize> LaunchKernel<A, TYPES, CONSTS>
where
    A: DeviceOperation<Output: KernelArgs>,
{
    /// Checks and submits; `Pending` while the kernel is made ready.
    fn submit(
        &self,
        arguments: &A::Output,
        ctx: &mut ExecutionContext<'_>,
    ) -> Poll<Result<(), DeviceError>> {
        let args = args::list(arguments);
        let given = Given { types: &self.types, consts: &self.consts, grid: self.grid.as_ref() };
        let signature = self.kernel.signature()?;
        let bound = bind(signature, &given, &args, ctx.device().id())
            .map_err(|reason| self.kernel.refuse(reason))?;
        if bound.is_empty() {
            return Poll::Ready(Ok(()));
        }
        backend::launch(self.kernel, signature, &bound, &args, ctx)
    }
}

impl<A, const TYPES: usize, const CONSTS: usize> Execute for LaunchKernel<A, TYPES, CONSTS>
where
    A: DeviceOperation<Output: KernelArgs>,
{
    type Out = A::Output;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<A::Output, DeviceError>> {
        if let Stage::Upstream(args) = &mut self.stage {
            let arguments = ready!(args.advance(ctx))?;
            self.stage = Stage::Arguments(arguments);
        }
        if let Stage::Arguments(arguments) = &self.stage {
            ready!(self.submit(arguments, ctx))?;
        }
        match std::mem::replace(&mut self.stage, Stage::Submitted) {
            Stage::Arguments(arguments) => Poll::Ready(Ok(arguments)),
            _ => panic!("a launch was advanced after it was ready"),
        }
    }

    fn hints(&self) -> Hints {
        match &self.stage {
            Stage::Upstream(args) => args.hints(),
            _ => Hints::default(),
        }
    }

    fn reclaim(&mut self) -> Option<A::Output> {
        match std::mem::replace(&mut self.stage, Stage::Submitted) {
            Stage::Arguments(arguments) => Some(arguments),
            Stage::Upstream(mut args) => args.reclaim(),
            Stage::Submitted => None,
        }
    }
}

impl<A, const TYPES: usize, const CONSTS: usize> Launch for Op<LaunchKernel<A, TYPES, CONSTS>>
where
    A: DeviceOperation<Output: KernelArgs>,
{
    type Args = A::Output;
}

impl<A, const TYPES: usize, const CONSTS: usize> GridLaunch for Op<LaunchKernel<A, TYPES, CONSTS>>
where
    A: DeviceOperation<Output: KernelArgs>,
{
    fn grid(mut self, grid: impl IntoShape) -> Self {
        self.machine_mut().grid = Some(grid.into_shape());
        self
    }
}

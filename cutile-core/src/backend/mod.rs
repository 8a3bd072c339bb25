//! How a checked launch runs on each kind of device. A backend finds or makes the kernel's form for its device, once for
//! each specialisation, and enqueues it; one file for each, and nothing else knows which there are.

mod cpu;
mod cuda;
#[cfg(feature = "emulator")]
mod emulator;
mod ptx;

use std::task::Poll;

use cuda_async::{DeviceError, DeviceKind, ErrorKind, ExecutionContext};
use cutile_ir::{ConstKind, ConstValue, Diagnostic, Specialisation};

use crate::launch::{Arg, ArgList, Bound, KernelDef, Signature, Values};

/// What each backend has made of one kernel.
pub(crate) struct Cache {
    cpu: cpu::Cache,
    cuda: cuda::Cache,
    #[cfg(feature = "emulator")]
    emulator: emulator::Cache,
}

impl Cache {
    pub(crate) const fn new() -> Cache {
        Cache {
            cpu: cpu::Cache::new(),
            cuda: cuda::Cache::new(),
            #[cfg(feature = "emulator")]
            emulator: emulator::Cache::new(),
        }
    }
}

/// Enqueues a launch; `Pending` while the kernel is made ready on another thread.
pub(crate) fn launch(
    kernel: &'static KernelDef,
    signature: &'static Signature,
    bound: &Bound,
    args: &ArgList<'_>,
    ctx: &mut ExecutionContext<'_>,
) -> Poll<Result<(), DeviceError>> {
    args.iter().try_for_each(check_poison)?;
    match ctx.device().kind() {
        DeviceKind::Host => cpu::launch(kernel, signature, bound, args, ctx),
        DeviceKind::Cuda => cuda::launch(kernel, signature, bound, args, ctx),
        #[cfg(feature = "emulator")]
        DeviceKind::Emulator => emulator::launch(kernel, signature, bound, args, ctx),
        _ => {
            let device = ctx.device().id();
            let what = "run kernels in this program: build it with cutile's feature `emulator`";
            Poll::Ready(Err(ErrorKind::Unsupported { device, what }.into()))
        }
    }
}

/// Fails for a tensor whose contents are undefined, before any access is declared.
fn check_poison(arg: &Arg<'_>) -> Result<(), DeviceError> {
    let Some((tensor, origin)) =
        arg.tensor().and_then(|tensor| Some((tensor, tensor.buffer.poison()?)))
    else {
        return Ok(());
    };
    let (device, bytes) = (tensor.buffer.device().id(), tensor.buffer.len());
    Err(ErrorKind::Poisoned { device, bytes, origin: origin.clone() }.into())
}

/// Messages, one a line.
pub(crate) fn lines(messages: &[Diagnostic]) -> String {
    messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The values of a launch in the IR's own form.
pub(crate) fn specialisation(signature: &Signature, values: &Values) -> Specialisation {
    let mut slots = values.consts.iter().copied();
    // Binding has checked that each value fits an i32, and that a bool is 0 or 1.
    let mut next = || slots.next().unwrap_or_default() as i32;
    let consts = signature.entry().const_params.iter().map(|param| match param.kind {
        ConstKind::I32 => ConstValue::I32(next()),
        ConstKind::Bool => ConstValue::Bool(next() != 0),
        ConstKind::Array(n) => ConstValue::Array((0..n).map(|_| next()).collect()),
    });
    Specialisation { types: values.types.to_vec(), consts: consts.collect() }
}

//! The CPU backend: a kernel's tile IR, specialised, runs on the host device's stream as it is.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use cuda_async::backend::DevicePtr;
use cuda_async::{DeviceError, DeviceId, ExecutionContext};
use cutile_cpu::{Program, RunError, Scalar, TensorArg};
use cutile_ir::MAX_RANK;
use smallvec::SmallVec;

use super::{lines, specialisation};
use crate::error::LaunchReason;
use crate::host::RawTensor;
use crate::launch::{
    Arg, ArgList, Bound, BuildCell, KernelDef, MAX_PARAMS, Signature, Table, Values,
};
use crate::loader;

/// The programs of one kernel.
pub(super) struct Cache(Table<Entry>);

struct Entry {
    values: Values,
    program: BuildCell<Program>,
    /// Arguments of launches that are done, to be filled again: a launch allocates nothing once this is warm.
    #[allow(clippy::vec_box, reason = "a box crosses to the stream's thread as it is")]
    spare: Mutex<Vec<Box<Arguments>>>,
}

impl Cache {
    pub(super) const fn new() -> Cache {
        Cache(Table::new())
    }
}

pub(super) fn launch(
    kernel: &'static KernelDef,
    signature: &Signature,
    bound: &Bound,
    args: &ArgList<'_>,
    ctx: &mut ExecutionContext<'_>,
) -> Poll<Result<(), DeviceError>> {
    let entry = kernel.cache.cpu.0.get(
        |entry| entry.values == bound.values,
        || Entry {
            values: bound.values.clone(),
            program: BuildCell::new(),
            spare: Mutex::default(),
        },
    );
    let built = entry.program.poll(ctx.waker(), || {
        entry.program.finish(build(kernel, signature, &bound.values));
    });
    match built {
        Poll::Pending => Poll::Pending,
        Poll::Ready(program) => Poll::Ready(
            program.and_then(|program| enqueue(kernel, entry, program, bound, args, ctx)),
        ),
    }
}

fn build(
    kernel: &'static KernelDef,
    signature: &Signature,
    values: &Values,
) -> Result<Program, DeviceError> {
    let specialisation = specialisation(signature, values);
    loader::record(kernel, signature, &specialisation)?;
    let refuse = |messages: String| {
        let specialisation = specialisation.text(signature.entry());
        kernel.refuse(LaunchReason::Specialisation { specialisation, messages })
    };
    let specialised = cutile_ir::specialise(&signature.module, &specialisation)
        .map_err(|errors| refuse(lines(&errors)))?;
    Ok(Program::new(&specialised).map_err(|error| refuse(error.to_string()))?)
}

/// Arguments as the program takes them, on their way to the stream's thread.
#[derive(Default)]
struct Arguments {
    args: SmallVec<[cutile_cpu::Arg; MAX_PARAMS]>,
    grid: SmallVec<[u32; MAX_RANK]>,
}

// SAFETY: the addresses are of buffers that the launch declares, so their memory lives, and nobody else touches it in a
// conflicting way, until the work has run, on whatever thread that is.
unsafe impl Send for Arguments {}

impl Entry {
    #[allow(clippy::vec_box, reason = "as above")]
    fn spare(&self) -> MutexGuard<'_, Vec<Box<Arguments>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn enqueue(
    kernel: &'static KernelDef,
    entry: &'static Entry,
    program: &'static Program,
    bound: &Bound,
    args: &ArgList<'_>,
    ctx: &mut ExecutionContext<'_>,
) -> Result<(), DeviceError> {
    let mut arguments = entry.spare().pop().unwrap_or_default();
    arguments.args.clear();
    arguments.grid.clear();
    arguments.grid.extend(bound.grid.iter().map(|extent| *extent as u32));
    for arg in args {
        arguments.args.push(match arg {
            Arg::Scalar { dtype, bits } => {
                cutile_cpu::Arg::Scalar(Scalar { element: *dtype, bits: *bits })
            }
            Arg::Tensor(tensor) => tensor_arg(tensor, ctx.read(&tensor.buffer)?),
            Arg::Partition(tensor, _) => tensor_arg(tensor, ctx.write(&tensor.buffer)?),
        });
    }
    let device = ctx.device().id();
    ctx.run_on_host(kernel.name(), move || {
        let arguments: Box<Arguments> = arguments;
        // SAFETY: the tensors lie in buffers declared as read or, if partitioned, as written, in ranges that `RawTensor`
        // guarantees to be inside; a partitioned tensor's buffer belongs to that tensor alone.
        let result =
            unsafe { program.run(&arguments.args, &arguments.grid, cutile_cpu::max_threads()) };
        entry.spare().push(arguments);
        result.map_err(|error| failed(device, kernel.name(), &error))
    })
}

fn tensor_arg(tensor: &RawTensor, base: DevicePtr) -> cutile_cpu::Arg {
    let axes = |numbers: &[usize]| numbers.iter().map(|n| *n as i64).collect();
    cutile_cpu::Arg::Tensor(TensorArg {
        base: base.add(tensor.byte_offset()).as_mut_ptr(),
        element: tensor.dtype,
        extents: axes(&tensor.layout.shape),
        strides: axes(&tensor.layout.strides),
    })
}

fn failed(device: DeviceId, kernel: &str, error: &RunError) -> DeviceError {
    let message = match error {
        RunError::Fault(fault) => fault.description(),
        error => error.to_string(),
    };
    DeviceError::fault(device, format!("kernel `{kernel}`"), message)
}

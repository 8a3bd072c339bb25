//! The emulator backend (feature `emulator`): a host device whose kernels are the PTX that a GPU would run, executed with every
//! check of `ptx-emulator`. Each launch gets an emulated memory of its own, so a launch sees its arguments and nothing else.

use std::sync::Arc;
use std::task::Poll;

use cuda_async::backend::DevicePtr;
use cuda_async::{DeviceError, DeviceId, ExecutionContext};
use cutile_bundle::key::FactsClass;
use ptx_emulator::{Launch, Memory, Module, Options};

use super::ptx::{Abi, Params, Surroundings, facts, on_a_thread};
use super::specialisation;
use crate::launch::{Arg, ArgList, Bound, BuildCell, KernelDef, Signature, Table, Values};
use crate::loader::{self, Request};

/// What PTX is compiled for: the oldest architecture that has every instruction the kernels need.
const CAPABILITY: (u16, u16) = (8, 0);
/// Multiprocessors that persistent kernels are told of.
const MULTIPROCESSORS: u32 = 4;
/// Bytes of a fault record.
const FAULT_RECORD: usize = 64;

/// The parsed PTX of one kernel.
pub(super) struct Cache(Table<Entry>);

struct Entry {
    facts: FactsClass,
    values: Values,
    loaded: BuildCell<Loaded>,
}

struct Loaded {
    module: Module,
    abi: Abi,
}

impl Cache {
    pub(super) const fn new() -> Cache {
        Cache(Table::new())
    }
}

pub(super) fn launch(
    kernel: &'static KernelDef,
    signature: &'static Signature,
    bound: &Bound,
    args: &ArgList<'_>,
    ctx: &mut ExecutionContext<'_>,
) -> Poll<Result<(), DeviceError>> {
    let facts = facts(args);
    let entry = kernel.cache.emulator.0.get(
        |entry| entry.facts == facts && entry.values == bound.values,
        || Entry { facts, values: bound.values.clone(), loaded: BuildCell::new() },
    );
    let loaded = entry.loaded.poll(ctx.waker(), || {
        on_a_thread(&entry.loaded, move || load(kernel, signature, entry));
    });
    match loaded {
        Poll::Pending => Poll::Pending,
        Poll::Ready(loaded) => {
            Poll::Ready(loaded.and_then(|loaded| enqueue(kernel, loaded, bound, args, ctx)))
        }
    }
}

fn load(
    kernel: &'static KernelDef,
    signature: &'static Signature,
    entry: &Entry,
) -> Result<Loaded, DeviceError> {
    let request = Request {
        kernel,
        signature,
        specialisation: specialisation(signature, &entry.values),
        facts: entry.facts,
        gpu: "the PTX emulator".to_string(),
        capability: CAPABILITY,
    };
    loader::record(kernel, signature, &request.specialisation)?;
    let built = loader::find(&request)?;
    let module = Module::parse(&built.ptx).map_err(DeviceError::new)?;
    Ok(Loaded { module, abi: Abi::new(built.record.abi) })
}

/// A tensor's memory on the host device.
struct Region {
    base: DevicePtr,
    bytes: usize,
    written: bool,
}

fn enqueue(
    kernel: &'static KernelDef,
    loaded: &'static Loaded,
    bound: &Bound,
    args: &ArgList<'_>,
    ctx: &mut ExecutionContext<'_>,
) -> Result<(), DeviceError> {
    let memory = Arc::new(Memory::new());
    let device = ctx.device().id();
    let mut regions = Vec::new();
    let mut addresses = Vec::new();
    for arg in args {
        let Some(tensor) = arg.tensor() else {
            addresses.push(0);
            continue;
        };
        let written = matches!(arg, Arg::Partition(..));
        let base = if written { ctx.write(&tensor.buffer) } else { ctx.read(&tensor.buffer) }?;
        let bytes = tensor.buffer.len();
        let place = memory.alloc(bytes.max(1) as u64).map_err(DeviceError::new)?;
        addresses.push(place + tensor.byte_offset() as u64);
        regions.push((place, Region { base, bytes, written }));
    }
    let record = memory.alloc(FAULT_RECORD as u64).map_err(DeviceError::new)?;
    let around =
        Surroundings { addresses: &addresses, grid: &bound.grid, fault_record: record, number: 0 };
    let params = loaded.abi.pack(args, &around, |_, _, _| {
        let what = "run kernels that were compiled for bulk copies of tensors";
        Err(cuda_async::ErrorKind::Unsupported { device, what }.into())
    })?;
    let config = &loaded.abi.abi.launch;
    let launch = Launch {
        cluster: (config.cluster > 1).then_some([config.cluster, 1, 1]),
        dynamic_shared: config.dynamic_shared,
        ..Launch::new(
            [loaded.abi.blocks(&bound.grid, MULTIPROCESSORS), 1, 1],
            [config.threads, 1, 1],
        )
    };
    let task = Task { kernel, loaded, memory, regions, record, launch, params };
    ctx.run_on_host(kernel.name(), move || task.run(device))
}

/// One launch on its way to the stream's thread.
struct Task {
    kernel: &'static KernelDef,
    loaded: &'static Loaded,
    memory: Arc<Memory>,
    /// Where each tensor's buffer is in the emulated memory.
    regions: Vec<(u64, Region)>,
    record: u64,
    launch: Launch,
    params: Params,
}

impl Task {
    /// Copies the arguments in, runs the kernel, copies what it may have written out.
    fn run(&self, device: DeviceId) -> Result<(), DeviceError> {
        let memory = &self.memory;
        let program = self.loaded.module.load(memory).map_err(DeviceError::new)?;
        memory.fill(self.record, 0, FAULT_RECORD as u64).map_err(DeviceError::new)?;
        for (place, region) in &self.regions {
            // SAFETY: a buffer of that size, declared by this work: it lives, is initialised from its making, and nobody
            // writes it meanwhile.
            let bytes =
                unsafe { std::slice::from_raw_parts(region.base.as_mut_ptr(), region.bytes) };
            memory.write(*place, bytes).map_err(DeviceError::new)?;
        }
        let entry = &self.loaded.abi.abi.entry;
        if let Err(report) = program.launch(entry, &self.launch, &self.params, &Options::default())
        {
            let message = failed_check(self.loaded, memory, self.record)
                .unwrap_or_else(|| report.to_string());
            return Err(DeviceError::fault(
                device,
                format!("kernel `{}`", self.kernel.name()),
                message,
            ));
        }
        for (place, region) in self.regions.iter().filter(|(_, region)| region.written) {
            // SAFETY: as above, declared as written, so nobody reads it meanwhile either.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(region.base.as_mut_ptr(), region.bytes) };
            memory.read(*place, bytes).map_err(DeviceError::new)?;
        }
        Ok(())
    }
}

/// The check that the kernel says has failed, if it is one of its own.
fn failed_check(loaded: &Loaded, memory: &Memory, record: u64) -> Option<String> {
    let mut bytes = [0; FAULT_RECORD];
    memory.read(record, &mut bytes).ok()?;
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let (claim, program, operands) =
        (word(0), word(16), [word(24), word(32)].map(u64::cast_signed));
    let site = (claim != 0).then(|| loaded.abi.abi.fault_site(claim as u32))??;
    let [a, b] = operands;
    Some(format!(
        "{}:{}: {} (program {program}, operands {a} and {b})",
        site.file, site.line, site.text
    ))
}

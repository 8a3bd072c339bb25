//! The emulator backend (feature `emulator`): a host device whose kernels are the PTX that a GPU would run, executed with every
//! check of `ptx-emulator`. Each launch gets an emulated memory of its own, so a launch sees its arguments and nothing else.
//!
//! Which PTX: that of the architecture in `CUTILE_EMULATOR_ARCH`, and no other's. What is wrong with a launch fails its operation
//! alone, with the emulator's whole report; the device lives on.

use std::sync::Arc;
use std::task::Poll;

use cuda_async::backend::DevicePtr;
use cuda_async::{DeviceError, DeviceId, ExecutionContext};
use cutile_bundle::abi::TensorMapSpec;
use cutile_bundle::key::FactsClass;
use cutile_bundle::target::Arch;
use ptx_emulator::{ElementType, Launch, Memory, Module, Options, Report, Swizzle, TensorMap};

use super::ptx::{Abi, Params, Surroundings, facts, on_a_thread};
use super::specialisation;
use crate::config::config;
use crate::host::{DType, RawTensor};
use crate::launch::{Arg, ArgList, Bound, BuildCell, KernelDef, Signature, Table, Values};
use crate::loader::{self, Code, Request};

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
    arch: Arch,
    facts: FactsClass,
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
        code: Code::Of(config().emulator_arch.clone()?),
    };
    loader::record(kernel, signature, &request.specialisation)?;
    let built = loader::find(&request)?;
    let module = Module::parse(&built.ptx).map_err(DeviceError::new)?;
    let record = built.record;
    Ok(Loaded { module, abi: Abi::new(record.abi), arch: record.arch, facts: record.facts })
}

/// A tensor's memory on the host device.
struct Region {
    base: DevicePtr,
    bytes: usize,
    /// The kernel may write it.
    written: bool,
    /// Nobody has written it yet: to the kernel it is not initialised.
    fresh: bool,
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
        let fresh = !tensor.buffer.is_written();
        let base = if written { ctx.write(&tensor.buffer) } else { ctx.read(&tensor.buffer) }?;
        let bytes = tensor.buffer.len();
        let place = memory.alloc(bytes.max(1) as u64).map_err(DeviceError::new)?;
        addresses.push(place + tensor.byte_offset() as u64);
        regions.push((place, Region { base, bytes, written, fresh }));
    }
    let record = memory.alloc(FAULT_RECORD as u64).map_err(DeviceError::new)?;
    let around =
        Surroundings { addresses: &addresses, grid: &bound.grid, fault_record: record, number: 0 };
    let params = loaded.abi.pack(args, &around, |tensor, address, map| {
        tensor_map(tensor, address, &loaded.abi.abi.tensor_maps[map as usize])
    })?;
    let config = &loaded.abi.abi.launch;
    let launch = Launch {
        cluster: (config.cluster > 1).then_some([config.cluster, 1, 1]),
        dynamic_shared: config.dynamic_shared,
        // On a GPU the launch before may still run wherever the kernel is compiled for it: here it always might.
        dependent: config.pdl,
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
        for (place, region) in self.regions.iter().filter(|(_, region)| !region.fresh) {
            // SAFETY: a buffer of that size, declared by this work: it lives, is initialised from its making, and nobody
            // writes it meanwhile.
            let bytes =
                unsafe { std::slice::from_raw_parts(region.base.as_mut_ptr(), region.bytes) };
            memory.write(*place, bytes).map_err(DeviceError::new)?;
        }
        let entry = &self.loaded.abi.abi.entry;
        if let Err(report) = program.launch(entry, &self.launch, &self.params, &Options::default())
        {
            let site = format!("kernel `{}`", self.kernel.name());
            return Err(DeviceError::fault(device, site, self.explain(&report)));
        }
        for (place, region) in self.regions.iter().filter(|(_, region)| region.written) {
            // SAFETY: as above, declared as written, so nobody reads it meanwhile either.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(region.base.as_mut_ptr(), region.bytes) };
            memory.read(*place, bytes).map_err(DeviceError::new)?;
        }
        Ok(())
    }
    /// What went wrong: the emulator's report, and before it the check that the kernel says has failed, if it was one of its own.
    fn explain(&self, report: &Report) -> String {
        let Loaded { arch, facts, .. } = self.loaded;
        let report = format!("{report}\n  in the PTX for {arch}, {facts} arguments");
        match self.failed_check() {
            Some(check) => format!("{check}\n{report}"),
            None => report,
        }
    }

    fn failed_check(&self) -> Option<String> {
        let mut bytes = [0; FAULT_RECORD];
        self.memory.read(self.record, &mut bytes).ok()?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let (claim, program) = (word(0), word(16));
        let [a, b] = [word(24), word(32)].map(u64::cast_signed);
        let site = (claim != 0).then(|| self.loaded.abi.abi.fault_site(claim as u32))??;
        Some(format!(
            "{}:{}: {} (program {program}, operands {a} and {b})",
            site.file, site.line, site.text
        ))
    }
}

fn tensor_map(
    tensor: &RawTensor,
    address: u64,
    spec: &TensorMapSpec,
) -> Result<[u8; 128], DeviceError> {
    let bytes = tensor.dtype.bytes();
    let map = TensorMap {
        element: map_element(tensor.dtype),
        address,
        // A map's axes go from the fastest to the slowest; ours the other way.
        extents: tensor.layout.shape.iter().rev().map(|n| *n as u64).collect(),
        strides: tensor.layout.strides.iter().rev().skip(1).map(|n| (*n * bytes) as u64).collect(),
        box_extents: spec.box_shape.iter().rev().copied().collect(),
        element_strides: vec![1; spec.box_shape.len()],
        swizzle: match spec.swizzle {
            32 => Swizzle::B32,
            64 => Swizzle::B64,
            128 => Swizzle::B128,
            _ => Swizzle::None,
        },
        nan_fill: false,
    };
    map.encode().map_err(DeviceError::new)
}

fn map_element(dtype: DType) -> ElementType {
    match dtype {
        DType::F64 => ElementType::F64,
        DType::F32 | DType::TF32 => ElementType::F32,
        DType::F16 => ElementType::F16,
        DType::BF16 => ElementType::Bf16,
        DType::I64 => ElementType::I64,
        DType::U64 => ElementType::U64,
        DType::I32 => ElementType::I32,
        DType::U32 => ElementType::U32,
        DType::I16 | DType::U16 => ElementType::U16,
        _ => ElementType::U8,
    }
}

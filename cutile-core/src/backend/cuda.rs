//! The CUDA backend: a kernel's PTX is found and loaded once, on a thread of its own; a launch then compares integers, packs
//! parameters and makes one driver call.

use std::ffi::CString;
use std::sync::{Mutex, Once, PoisonError};
use std::task::Poll;

use cuda_async::backend::{Launch, RawFunction};
use cuda_async::cuda::CudaBackend;
use cuda_async::driver::{
    self, FaultSite, TensorMap, TensorMapElement, TensorMapSpec, TensorMapSwizzle,
};
use cuda_async::{Device, DeviceError, DeviceId, ErrorKind, ExecutionContext};
use cutile_bundle::abi::{self, KernelAbi};
use cutile_bundle::key::FactsClass;
use smallvec::SmallVec;

use super::ptx::{Abi, Surroundings, facts, on_a_thread};
use super::specialisation;
use crate::host::{DType, RawTensor};
use crate::launch::{
    Arg, ArgList, Bound, BuildCell, KernelDef, MAX_PARAMS, Signature, Table, Values,
};
use crate::loader::{self, Code, Request};

/// What is loaded of one kernel, on all devices.
pub(super) struct Cache(Table<Entry>);

struct Entry {
    device: DeviceId,
    facts: FactsClass,
    values: Values,
    loaded: BuildCell<Loaded>,
}

/// A kernel in a device's memory.
struct Loaded {
    function: RawFunction,
    abi: Abi,
    number: u32,
    fault_record: u64,
    multiprocessors: u32,
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
    let (device, facts) = (ctx.device(), facts(args));
    let entry = kernel.cache.cuda.0.get(
        |entry| entry.device == device.id() && entry.facts == facts && entry.values == bound.values,
        || Entry {
            device: device.id(),
            facts,
            values: bound.values.clone(),
            loaded: BuildCell::new(),
        },
    );
    let loaded = entry.loaded.poll(ctx.waker(), || {
        on_a_thread(&entry.loaded, move || load(kernel, signature, entry, device));
    });
    match loaded {
        Poll::Pending => Poll::Pending,
        Poll::Ready(loaded) => {
            Poll::Ready(loaded.and_then(|loaded| enqueue(loaded, bound, args, ctx)))
        }
    }
}

fn load(
    kernel: &'static KernelDef,
    signature: &'static Signature,
    entry: &Entry,
    device: Device,
) -> Result<Loaded, DeviceError> {
    let backend = device.backend()?;
    let cuda = cuda(device)?;
    let properties = cuda.context().properties();
    let (major, minor) = properties.compute_capability;
    let request = Request {
        kernel,
        signature,
        specialisation: specialisation(signature, &entry.values),
        facts: entry.facts,
        gpu: properties.name.clone(),
        code: Code::For((major as u16, minor as u16)),
    };
    loader::record(kernel, signature, &request.specialisation)?;
    let built = loader::find(&request)?;
    let abi = built.record.abi;
    let module = backend.load_module(built.ptx.as_bytes())?;
    let name = CString::new(abi.entry.as_str()).map_err(DeviceError::new)?;
    let function = backend.function(module, &name, abi.launch.dynamic_shared)?;
    Ok(Loaded {
        function,
        number: number(kernel, &abi),
        abi: Abi::new(abi),
        fault_record: cuda.context().fault_record_address(),
        multiprocessors: properties.multiprocessors,
    })
}

fn cuda(device: Device) -> Result<&'static CudaBackend, DeviceError> {
    let backend = device.backend()?.as_any().downcast_ref();
    backend.ok_or_else(|| {
        ErrorKind::Unsupported { device: device.id(), what: "load device code" }.into()
    })
}

fn enqueue(
    loaded: &Loaded,
    bound: &Bound,
    args: &ArgList<'_>,
    ctx: &mut ExecutionContext<'_>,
) -> Result<(), DeviceError> {
    let mut addresses: SmallVec<[u64; MAX_PARAMS]> = SmallVec::new();
    for arg in args {
        addresses.push(match arg {
            Arg::Scalar { .. } => 0,
            Arg::Tensor(tensor) => ctx.read(&tensor.buffer)?.add(tensor.byte_offset()).0,
            Arg::Partition(tensor, _) => ctx.write(&tensor.buffer)?.add(tensor.byte_offset()).0,
        });
    }
    let around = Surroundings {
        addresses: &addresses,
        grid: &bound.grid,
        fault_record: loaded.fault_record,
        number: loaded.number,
    };
    let device = ctx.device();
    let abi = &loaded.abi;
    let params = abi.pack(args, &around, |tensor, address, map| {
        tensor_map(device, tensor, address, &abi.abi.tensor_maps[map as usize])
    })?;
    let config = &abi.abi.launch;
    let launch = Launch {
        function: loaded.function,
        grid: [abi.blocks(&bound.grid, loaded.multiprocessors), 1, 1],
        block: [config.threads, 1, 1],
        cluster: [config.cluster.max(1), 1, 1],
        shared_bytes: config.dynamic_shared,
        dependent: config.pdl,
        params: &params,
    };
    // SAFETY: parameters are packed as the kernel's own description says; every tensor is declared, partitioned ones as
    // written; a kernel made from checked tile IR stays inside the extents that it is given.
    unsafe { ctx.launch(&launch) }
}

fn tensor_map(
    device: Device,
    tensor: &RawTensor,
    address: u64,
    spec: &abi::TensorMapSpec,
) -> Result<[u8; 128], DeviceError> {
    let bytes = tensor.dtype.bytes();
    // The driver's axes go from the fastest to the slowest; ours the other way.
    let extents: SmallVec<[u64; 6]> = tensor.layout.shape.iter().rev().map(|n| *n as u64).collect();
    let strides: SmallVec<[u64; 6]> =
        tensor.layout.strides.iter().rev().skip(1).map(|n| (*n * bytes) as u64).collect();
    let tile: SmallVec<[u32; 6]> = spec.box_shape.iter().rev().copied().collect();
    let map = TensorMap::encode(
        cuda(device)?.context().driver(),
        &TensorMapSpec {
            element: map_element(tensor.dtype),
            address,
            extents: &extents,
            strides: &strides,
            tile: &tile,
            swizzle: match spec.swizzle {
                32 => TensorMapSwizzle::Bytes32,
                64 => TensorMapSwizzle::Bytes64,
                128 => TensorMapSwizzle::Bytes128,
                _ => TensorMapSwizzle::None,
            },
        },
    );
    Ok(*map.map_err(DeviceError::new)?.as_bytes())
}

fn map_element(dtype: DType) -> TensorMapElement {
    match dtype {
        DType::F64 => TensorMapElement::F64,
        DType::F32 | DType::TF32 => TensorMapElement::F32,
        DType::F16 => TensorMapElement::F16,
        DType::BF16 => TensorMapElement::Bf16,
        DType::I64 => TensorMapElement::I64,
        DType::U64 => TensorMapElement::U64,
        DType::I32 => TensorMapElement::I32,
        DType::U32 => TensorMapElement::U32,
        DType::I16 | DType::U16 => TensorMapElement::U16,
        _ => TensorMapElement::U8,
    }
}

/// The kernels that have been loaded, by the number that a fault record names them with.
static LOADED: Mutex<Vec<(&'static str, Vec<abi::FaultSite>)>> = Mutex::new(Vec::new());

/// Gives a kernel its number.
fn number(kernel: &'static KernelDef, abi: &KernelAbi) -> u32 {
    static NAMER: Once = Once::new();
    NAMER.call_once(|| driver::name_faults_with(describe_fault));
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.push((kernel.name(), abi.fault_sites.clone()));
    loaded.len() as u32 - 1
}

fn describe_fault(fault: &FaultSite) -> Option<String> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let (name, sites) = loaded.get(fault.kernel as usize)?;
    Some(match sites.iter().find(|site| site.id == fault.site) {
        Some(site) => format!("kernel `{name}`, {}:{}: {}", site.file, site.line, site.text),
        None => format!("kernel `{name}`"),
    })
}

//! What the devices that run PTX have in common: parameters packed as the compiled kernel declares them, how many blocks a
//! launch has, loading outside polls.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_async::{DeviceError, ErrorKind};
use cutile_bundle::abi::{Blocks, KernelAbi, Slot};
use cutile_bundle::key::{FactsClass, TensorFacts};
use cutile_ir::MAX_RANK;
use smallvec::SmallVec;

use crate::host::RawTensor;
use crate::launch::{Arg, ArgList, BuildCell, MAX_PARAMS};

/// A compiled kernel's ABI with what a launch needs of it worked out.
pub(super) struct Abi {
    pub(super) abi: KernelAbi,
    /// Offset of each slot in the parameter buffer.
    offsets: Vec<usize>,
    /// Bytes of the parameter buffer.
    size: usize,
}

/// Where the parts of a launch are that no argument has.
pub(super) struct Surroundings<'a> {
    /// Address of the first element of each parameter's tensor; 0 for scalars.
    pub(super) addresses: &'a [u64],
    /// Tile programs along each axis.
    pub(super) grid: &'a [usize],
    /// Address of the device's fault record.
    pub(super) fault_record: u64,
    /// The number under which faults name this kernel.
    pub(super) number: u32,
}

/// Packed parameters; kernels with a dozen tensors fit without allocating.
pub(super) type Params = SmallVec<[u8; 1024]>;

impl Abi {
    pub(super) fn new(abi: KernelAbi) -> Abi {
        let (offsets, size) = abi.layout();
        Abi { abi, offsets, size }
    }

    /// Packs a launch's parameters. `tensor_map` encodes one for a tensor at an address.
    pub(super) fn pack(
        &self,
        args: &ArgList<'_>,
        around: &Surroundings<'_>,
        tensor_map: impl Fn(&RawTensor, u64, u16) -> Result<[u8; 128], DeviceError>,
    ) -> Result<Params, DeviceError> {
        let mut params = Params::from_elem(0, self.size);
        for (slot, offset) in self.abi.slots.iter().zip(&self.offsets) {
            let to = &mut params[*offset..*offset + slot.size()];
            match *slot {
                Slot::Pointer { param } => put(to, around.addresses[param as usize]),
                Slot::Extent { param, axis } => {
                    put(to, axis_of(args, param, |t| t.layout.shape[axis as usize]))
                }
                Slot::Stride { param, axis } => {
                    put(to, axis_of(args, param, |t| t.layout.strides[axis as usize]))
                }
                Slot::Scalar { param, .. } => match args[param as usize] {
                    Arg::Scalar { bits, .. } => put(to, bits),
                    Arg::Tensor(_) | Arg::Partition(..) => {}
                },
                Slot::Grid { axis } => {
                    put(to, around.grid.get(axis as usize).map_or(1, |extent| *extent as u64))
                }
                Slot::FaultRecord => put(to, around.fault_record),
                Slot::KernelId => put(to, around.number.into()),
                Slot::TensorMap { param, map } => {
                    if let Some(tensor) = args[param as usize].tensor() {
                        to.copy_from_slice(&tensor_map(
                            tensor,
                            around.addresses[param as usize],
                            map,
                        )?);
                    }
                }
            }
        }
        Ok(params)
    }

    /// How many blocks a launch over this grid has, on a device with so many multiprocessors.
    pub(super) fn blocks(&self, grid: &[usize], multiprocessors: u32) -> u32 {
        // Binding has checked that the product fits an i32.
        let programs = grid.iter().product::<usize>() as u32;
        let cluster = self.abi.launch.cluster.max(1);
        let blocks = match self.abi.launch.blocks {
            Blocks::PerTile => programs,
            Blocks::Persistent { per_multiprocessor } => {
                programs.min(multiprocessors.saturating_mul(per_multiprocessor).max(1))
            }
        };
        blocks.next_multiple_of(cluster)
    }
}

/// The low bytes of a number, as many as the slot has.
fn put(to: &mut [u8], value: u64) {
    let bytes = value.to_le_bytes();
    to.copy_from_slice(&bytes[..to.len()]);
}

fn axis_of(args: &ArgList<'_>, param: u16, number: impl Fn(&RawTensor) -> usize) -> u64 {
    args[param as usize].tensor().map_or(0, |tensor| number(tensor) as u64)
}

/// Which compiled form the arguments allow. Buffers begin at multiples of 256 bytes, so the offset in the buffer decides.
pub(super) fn facts(args: &ArgList<'_>) -> FactsClass {
    let mut numbers: SmallVec<[[i64; 2 * MAX_RANK]; MAX_PARAMS]> = SmallVec::new();
    let tensors = || args.iter().filter_map(|arg| arg.tensor());
    for tensor in tensors() {
        let mut own = [0; 2 * MAX_RANK];
        let axes = tensor.layout.shape.iter().zip(&tensor.layout.strides);
        for (axis, (extent, stride)) in axes.enumerate() {
            own[axis] = *extent as i64;
            own[MAX_RANK + axis] = *stride as i64;
        }
        numbers.push(own);
    }
    FactsClass::of(tensors().zip(&numbers).map(|(tensor, numbers)| {
        let rank = tensor.layout.shape.len();
        TensorFacts {
            base: tensor.byte_offset() as u64,
            element_bytes: tensor.dtype.bytes() as u64,
            extents: &numbers[..rank],
            strides: &numbers[MAX_RANK..MAX_RANK + rank],
        }
    }))
}

/// Fills a cell from a thread of its own: finding a kernel may read files and run the compiler, loading it runs the driver's,
/// and neither belongs in a poll.
pub(super) fn on_a_thread<T: Send + Sync>(
    cell: &'static BuildCell<T>,
    load: impl FnOnce() -> Result<T, DeviceError> + Send + 'static,
) {
    let fill = move || {
        // Whoever waits must hear of a panic too.
        let loaded = catch_unwind(AssertUnwindSafe(load));
        cell.finish(loaded.unwrap_or_else(|_| {
            let message = "see the thread's own message".to_string();
            Err(ErrorKind::Panicked { site: "loading a kernel", message }.into())
        }));
    };
    if let Err(error) = std::thread::Builder::new().name("cutile-load".into()).spawn(fill) {
        cell.finish(Err(DeviceError::new(error)));
    }
}

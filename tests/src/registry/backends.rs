//! One launch on the CPU backend, and one of the compiled kernel in the emulator, over the same bytes.

use std::sync::Arc;

use cutile_bundle::abi::{Blocks, KernelAbi, Slot};
use cutile_bundle::bundle::BuiltKernel;
use cutile_cpu::{Program, RunError, TensorArg};
use ptx_emulator::{Launch, Memory, Module, Options};

use super::arguments::{Arg, Case, Tensor};

/// What a launch came to.
pub(super) enum Outcome {
    /// The bytes of every tensor, in order.
    Done(Vec<Vec<u8>>),
    /// A check of the kernel's own failed.
    Failed(String),
}

/// Runs the definition; `None` if the kernel does not take these arguments.
pub(super) fn on_cpu(program: &Program, case: &Case) -> Result<Option<Outcome>, String> {
    // In words, so that every tensor is aligned as its elements need.
    let mut memory: Vec<Vec<u64>> = case
        .tensors()
        .map(|tensor| {
            let words = tensor.bytes.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                u64::from_ne_bytes(word)
            });
            words.collect()
        })
        .collect();
    let mut places = memory.iter_mut().map(|words| words.as_mut_ptr().cast::<u8>());
    let args: Vec<cutile_cpu::Arg> = case
        .args
        .iter()
        .map(|arg| match arg {
            Arg::Scalar { element, bits } => {
                cutile_cpu::Arg::Scalar(cutile_cpu::Scalar { element: *element, bits: *bits })
            }
            Arg::Tensor(tensor) => cutile_cpu::Arg::Tensor(TensorArg {
                base: places.next().expect("memory for each tensor").wrapping_add(tensor.offset),
                element: tensor.element,
                extents: tensor.extents.iter().copied().collect(),
                strides: tensor.strides.iter().copied().collect(),
            }),
        })
        .collect();
    // SAFETY: each tensor has memory of its own, which lives until the end of this function, holds every element and is used by
    // nothing else.
    match unsafe { program.run(&args, &case.grid, 1) } {
        Ok(()) => {}
        Err(RunError::Fault(fault)) => return Ok(Some(Outcome::Failed(fault.description()))),
        Err(RunError::Argument(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    }
    let bytes = memory.iter().zip(case.tensors()).map(|(words, tensor)| {
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        bytes.take(tensor.bytes.len()).collect()
    });
    Ok(Some(Outcome::Done(bytes.collect())))
}

/// A compiled kernel in the emulator.
pub(super) struct Compiled {
    module: Module,
    abi: KernelAbi,
}

/// Bytes of a fault record.
const RECORD: u64 = 64;
/// Multiprocessors that persistent kernels are told of.
const MULTIPROCESSORS: u32 = 2;

impl Compiled {
    pub(super) fn new(built: BuiltKernel) -> Result<Compiled, String> {
        let module = Module::parse(&built.ptx).map_err(|error| error.to_string())?;
        Ok(Compiled { module, abi: built.record.abi })
    }

    /// Runs it with every check; the outcome and how many thread-instructions that took. What the emulator finds wrong is an
    /// error, in its words.
    pub(super) fn run(&self, case: &Case) -> Result<(Outcome, u64), String> {
        self.launch(case).map_err(|error| error.to_string())
    }

    fn launch(&self, case: &Case) -> Result<(Outcome, u64), Box<dyn std::error::Error>> {
        let memory = Arc::new(Memory::new());
        let program = self.module.load(&memory)?;
        let record = memory.alloc(RECORD)?;
        memory.fill(record, 0, RECORD)?;
        let mut places = Vec::new();
        for tensor in case.tensors() {
            let place = memory.alloc(tensor.bytes.len() as u64)?;
            memory.write(place, &tensor.bytes)?;
            places.push(place);
        }
        let config = &self.abi.launch;
        let programs: u32 = case.grid.iter().product();
        let blocks = match config.blocks {
            Blocks::PerTile => programs,
            Blocks::Persistent { per_multiprocessor } => {
                programs.min(MULTIPROCESSORS * per_multiprocessor)
            }
        };
        let cluster = config.cluster.max(1);
        let launch = Launch {
            cluster: (cluster > 1).then_some([cluster, 1, 1]),
            dynamic_shared: config.dynamic_shared,
            dependent: config.pdl,
            ..Launch::new([blocks.next_multiple_of(cluster), 1, 1], [config.threads, 1, 1])
        };
        let params = self.params(case, &places, record)?;
        let options = Options { workers: 1, ..Options::default() };
        let instructions = match program.launch(&self.abi.entry, &launch, &params, &options) {
            Ok(stats) => stats.thread_instructions,
            Err(report) => {
                let mut claim = [0; 8];
                memory.read(record, &mut claim)?;
                let site = self.abi.fault_site(u64::from_le_bytes(claim) as u32);
                return match site {
                    Some(site) if claim != [0; 8] => {
                        let check = format!("{}:{}: {}", site.file, site.line, site.text);
                        Ok((Outcome::Failed(check), 0))
                    }
                    _ => Err(report),
                };
            }
        };
        let mut results = Vec::new();
        for (tensor, place) in case.tensors().zip(places) {
            let mut bytes = vec![0; tensor.bytes.len()];
            memory.read(place, &mut bytes)?;
            results.push(bytes);
        }
        Ok((Outcome::Done(results), instructions))
    }

    /// The parameters, as the kernel's description says.
    fn params(&self, case: &Case, places: &[u64], record: u64) -> Result<Vec<u8>, String> {
        let (offsets, size) = self.abi.layout();
        let mut params = vec![0; size];
        for (slot, offset) in self.abi.slots.iter().zip(offsets) {
            let value = match *slot {
                Slot::Pointer { param } => {
                    let before = &case.args[..param as usize];
                    let number = before.iter().filter(|arg| matches!(arg, Arg::Tensor(_))).count();
                    places[number] + tensor(case, param)?.offset as u64
                }
                Slot::Extent { param, axis } => tensor(case, param)?.extents[axis as usize] as u64,
                Slot::Stride { param, axis } => tensor(case, param)?.strides[axis as usize] as u64,
                Slot::Scalar { param, .. } => match &case.args[param as usize] {
                    Arg::Scalar { bits, .. } => *bits,
                    Arg::Tensor(_) => return Err(format!("parameter {param} is no scalar")),
                },
                Slot::Grid { axis } => case.grid.get(axis as usize).copied().unwrap_or(1).into(),
                Slot::FaultRecord => record,
                Slot::KernelId => 7,
                Slot::TensorMap { .. } => {
                    return Err("tensor maps of compiled kernels: pack them here".to_string());
                }
            };
            params[offset..offset + slot.size()]
                .copy_from_slice(&value.to_le_bytes()[..slot.size()]);
        }
        Ok(params)
    }
}

fn tensor(case: &Case, param: u16) -> Result<&Tensor, String> {
    match &case.args[param as usize] {
        Arg::Tensor(tensor) => Ok(tensor),
        Arg::Scalar { .. } => Err(format!("parameter {param} is no tensor")),
    }
}

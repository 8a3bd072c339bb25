//! Kernels from tile IR to the emulator: parameters laid out as a launcher would, tensors in emulated memory.

use cutile_bundle::abi::Slot;
use cutile_bundle::key::{FactsClass, TensorFacts};
use cutile_bundle::target::{Arch, Target};
use cutile_compiler::toolchain::Toolchain;
use cutile_compiler::{CompiledKernel, compile};
use cutile_ir::{Kernel, Module, Specialisation, specialise};
use ptx_emulator::{Launch, Memory, Options, Report};
use std::sync::{Arc, OnceLock};

/// An argument of a kernel.
pub(crate) enum Arg {
    Scalar(Vec<u8>),
    Tensor(Tensor),
}

/// A tensor, row-major unless strides are given.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) bytes: Vec<u8>,
    pub(crate) element: usize,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Vec<i64>,
}

/// What tensors are made of.
pub(crate) trait Pod: Copy {
    fn bytes(self) -> Vec<u8>;
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! pod {
    ($($t:ty)*) => {$(
        impl Pod for $t {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}
pod!(f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

impl Tensor {
    pub(crate) fn new<T: Pod>(values: &[T], shape: &[i64]) -> Tensor {
        let mut strides = vec![1; shape.len()];
        for a in (1..shape.len()).rev() {
            strides[a - 1] = strides[a] * shape[a];
        }
        assert_eq!(values.len() as i64, shape.iter().product::<i64>());
        let bytes = values.iter().flat_map(|v| v.bytes()).collect();
        Tensor { bytes, element: size_of::<T>(), shape: shape.to_vec(), strides }
    }

    pub(crate) fn values<T: Pod>(&self) -> Vec<T> {
        self.bytes.chunks(self.element).map(T::read).collect()
    }
}

pub(crate) fn scalar<T: Pod>(v: T) -> Arg {
    Arg::Scalar(v.bytes())
}

pub(crate) fn tensor<T: Pod>(values: &[T], shape: &[i64]) -> Arg {
    Arg::Tensor(Tensor::new(values, shape))
}

/// A kernel of a module's text without parameters.
pub(crate) fn kernel(text: &str) -> Kernel {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    specialise(&module, &Specialisation::default()).unwrap_or_else(|errors| {
        let all: Vec<String> = errors.iter().map(|e| e.to_string()).collect();
        panic!("{}", all.join("\n"))
    })
}

/// The toolchain, found once.
pub(crate) fn toolchain() -> Toolchain {
    static FOUND: OnceLock<Toolchain> = OnceLock::new();
    FOUND.get_or_init(|| Toolchain::find().expect("a kernel toolchain")).clone()
}

/// Compiles for sm_80.
pub(crate) fn build(kernel: &Kernel, facts: FactsClass) -> CompiledKernel {
    build_for(kernel, facts, "sm_80")
}

/// Compiles without a warning.
pub(crate) fn build_for(kernel: &Kernel, facts: FactsClass, arch: &str) -> CompiledKernel {
    let target = Target::new(arch.parse::<Arch>().unwrap());
    match compile(kernel, facts, &target, &toolchain()) {
        Ok(k) => {
            assert!(k.ptx.warnings.is_empty(), "{:?}", k.ptx.warnings);
            k
        }
        Err(e) => {
            let simt = cutile_compiler::stage(kernel, facts, &target, cutile_compiler::Stage::Simt);
            let text = simt.unwrap_or_default();
            let own = text.split("\nmod simt {").next().unwrap_or_default();
            panic!("{e}\n{own}")
        }
    }
}

/// What a launch left.
pub(crate) struct Outcome {
    pub(crate) tensors: Vec<Tensor>,
    /// The fault record: claim and operands.
    pub(crate) fault: Option<(u64, [i64; 2])>,
    pub(crate) report: Option<Box<Report>>,
}

/// Runs a compiled kernel over a grid.
pub(crate) fn launch(k: &CompiledKernel, grid: &[u32], args: &[Arg]) -> Outcome {
    let module = ptx_emulator::Module::parse(&k.ptx.text)
        .unwrap_or_else(|e| panic!("{e:?}\n{}", k.ptx.text));
    let memory = Arc::new(Memory::new());
    let program = module.load(&memory).unwrap();
    let record = memory.alloc(64).unwrap();
    memory.fill(record, 0, 64).unwrap();
    let addresses: Vec<u64> = args
        .iter()
        .map(|a| match a {
            Arg::Scalar(_) => 0,
            Arg::Tensor(t) => {
                let at = memory.alloc(t.bytes.len().max(1) as _).unwrap();
                memory.write(at, &t.bytes).unwrap();
                at
            }
        })
        .collect();
    let (offsets, size) = k.abi.layout();
    let mut params = vec![0; size];
    let tensor = |i: u16| match &args[i as usize] {
        Arg::Tensor(t) => t,
        Arg::Scalar(_) => panic!("argument {i} is a scalar"),
    };
    for (slot, offset) in k.abi.slots.iter().zip(offsets) {
        let bytes = match *slot {
            Slot::Pointer { param } => addresses[param as usize].bytes(),
            Slot::Extent { param, axis } => (tensor(param).shape[axis as usize] as i32).bytes(),
            Slot::Stride { param, axis } => tensor(param).strides[axis as usize].bytes(),
            Slot::Scalar { param, .. } => match &args[param as usize] {
                Arg::Scalar(bytes) => bytes.clone(),
                Arg::Tensor(_) => panic!("argument {param} is a tensor"),
            },
            Slot::Grid { axis } => grid.get(axis as usize).copied().unwrap_or(1).bytes(),
            Slot::FaultRecord => record.bytes(),
            Slot::KernelId => 41u32.bytes(),
            Slot::TensorMap { .. } => panic!("no kernel here has tensor maps"),
        };
        params[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    let blocks = grid.iter().product();
    let launch = Launch {
        grid: [blocks, 1, 1],
        block: [k.abi.launch.threads, 1, 1],
        cluster: None,
        dynamic_shared: k.abi.launch.dynamic_shared,
        dependent: k.abi.launch.pdl,
    };
    let result = program.launch(&k.abi.entry, &launch, &params, &Options::default());
    let mut claim = [0; 40];
    memory.read(record, &mut claim).unwrap();
    let word = |i: usize| i64::read(&claim[i..i + 8]);
    let tensors = args
        .iter()
        .zip(addresses)
        .filter_map(|(a, at)| match a {
            Arg::Tensor(t) => {
                let mut t = t.clone();
                memory.read(at, &mut t.bytes).unwrap();
                Some(t)
            }
            Arg::Scalar(_) => None,
        })
        .collect();
    Outcome {
        tensors,
        fault: (word(0) != 0).then(|| (word(0) as u64, [word(24), word(32)])),
        report: result.err(),
    }
}

/// Builds for the classes of arguments that suit, runs each, and hands each outcome to the check.
pub(crate) fn run(text: &str, grid: &[u32], args: &[Arg], check: impl Fn(&Outcome)) {
    // The class that a launch would choose, and the one that takes anything.
    let tensors = args.iter().filter_map(|a| match a {
        Arg::Tensor(t) => Some(TensorFacts {
            base: 0,
            element_bytes: t.element as u64,
            extents: &t.shape,
            strides: &t.strides,
        }),
        Arg::Scalar(_) => None,
    });
    let mut classes = vec![FactsClass::of(tensors), FactsClass::General];
    classes.dedup();
    for facts in classes {
        let k = build(&kernel(text), facts);
        let outcome = launch(&k, grid, args);
        if let Some(report) = &outcome.report {
            panic!("{facts}: {report}\n{}", k.ptx.text);
        }
        check(&outcome);
    }
}

/// Numbers that look random, the same every time.
pub(crate) fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut state = u64::from(seed) * 2 + 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

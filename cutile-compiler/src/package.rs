//! Puts a compiled kernel together with all that a program must know to find and launch it.

use cutile_bundle::abi::KernelAbi;
use cutile_bundle::bundle::BuiltKernel;
use cutile_bundle::key::{FactsClass, Key};
use cutile_bundle::manifest::{GlobalAccess, KernelRecord, Usage};
use cutile_bundle::target::Arch;

use crate::ptx::BuiltPtx;
use crate::ptx::facts::Space;
use crate::toolchain::Toolchain;

/// What the compiler makes of a kernel.
#[derive(Clone, Debug)]
pub struct CompiledKernel {
    /// How it is called.
    pub abi: KernelAbi,
    /// Its code, checked.
    pub ptx: BuiltPtx,
}

/// What was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Full path of the entry.
    pub kernel: String,
    /// The specialisation's text.
    pub specialisation: String,
    /// The class of arguments.
    pub facts: FactsClass,
    /// What it is found by.
    pub key: Key,
    /// The architecture.
    pub arch: Arch,
}

/// The kernel with its record, as bundles and caches keep it.
pub fn package(request: Request, compiled: CompiledKernel, toolchain: &Toolchain) -> BuiltKernel {
    let Request { kernel, specialisation, facts, key, arch } = request;
    let CompiledKernel { abi, ptx } = compiled;
    let usage = ptx.assembled.as_ref().and_then(|report| report.entry(&abi.entry));
    let usage = usage.map(|usage| Usage {
        registers: usage.registers,
        shared: usage.shared + abi.launch.dynamic_shared,
        spills: usage.spill_stores + usage.spill_loads,
        stack: usage.stack,
    });
    let widest = |store| {
        let facts = ptx.facts.entry(&abi.entry)?;
        facts.widest(Space::Global, store)
    };
    let access =
        GlobalAccess { load: widest(false).unwrap_or(0), store: widest(true).unwrap_or(0) };
    let record = KernelRecord {
        kernel,
        specialisation,
        facts,
        key,
        arch,
        ptx_version: ptx.facts.version,
        builder: toolchain.builder(),
        abi,
        usage,
        access,
        ptx_bytes: ptx.text.len() as u64,
    };
    BuiltKernel { record, ptx: ptx.text.into() }
}

//! What a bundle says of each kernel in it. JSON in files, so that people and other tools can read it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::abi::KernelAbi;
use crate::key::{FactsClass, Key};
use crate::target::{Arch, PtxVersion};

/// The format of manifests; read only by the same.
pub const FORMAT: u32 = 1;

/// The manifest of a bundle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Version of cutile that wrote it.
    pub cutile: String,
    /// The kernels.
    pub kernels: Vec<KernelRecord>,
}

impl Default for Manifest {
    fn default() -> Manifest {
        let cutile = env!("CARGO_PKG_VERSION").to_owned();
        Manifest { format: FORMAT, cutile, kernels: Vec::new() }
    }
}

/// One built kernel: an entry, under a specialisation, for a class of arguments and an architecture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelRecord {
    /// Full path of the entry: `my_crate::kernels::saxpy`.
    pub kernel: String,
    /// The specialisation's text: `T=f32, S=[64, 64]`.
    pub specialisation: String,
    /// Which arguments it was built for.
    pub facts: FactsClass,
    /// What it is found by.
    pub key: Key,
    /// What it was built for.
    pub arch: Arch,
    /// The PTX version that a driver must know to load it.
    pub ptx_version: PtxVersion,
    /// What built it.
    pub builder: Builder,
    /// How it is called.
    pub abi: KernelAbi,
    /// What it needs of a multiprocessor, where `ptxas` was at hand to say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How it reaches global memory.
    pub access: GlobalAccess,
    /// Bytes of the PTX text.
    pub ptx_bytes: u64,
}

impl KernelRecord {
    /// A name for files, unique within a bundle: `my_crate-kernels-saxpy.aligned.sm_90a.0123456789abcdef`.
    pub fn file_stem(&self) -> String {
        let kernel = self.kernel.replace("::", "-");
        let kernel: String = kernel
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' })
            .collect();
        let key = self.key.to_string();
        format!("{kernel}.{}.{}.{}", self.facts, self.arch, &key[..16])
    }
}

/// The compiler that made a kernel. A cached kernel is used only under the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Builder {
    /// A fingerprint of cutile's own compiler; its version alone does not tell two states of a workspace apart.
    pub cutile: String,
    /// rustc's version, with its commit.
    pub rustc: String,
    /// LLVM's version.
    pub llvm: String,
    /// The flags that rustc was given.
    pub flags: Vec<String>,
}

impl fmt::Display for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {}, LLVM {}", self.rustc, self.llvm)
    }
}

/// The widest accesses of a thread to global memory, in bytes: 16 where they are vectorised, 0 where there are none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct GlobalAccess {
    /// Of a load.
    pub load: u32,
    /// Of a store.
    pub store: u32,
}

/// What `ptxas` reports of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Usage {
    /// Registers a thread.
    pub registers: u32,
    /// Static and dynamic shared memory a block, bytes.
    pub shared: u32,
    /// Spilled bytes a thread, stores and loads together.
    pub spills: u32,
    /// Stack frame a thread, bytes.
    pub stack: u32,
}

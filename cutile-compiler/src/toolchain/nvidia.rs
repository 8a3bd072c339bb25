//! NVIDIA's assembler and disassembler for GPU code. Both are optional: they check kernels and show machine code; nothing that
//! runs needs them.

use std::path::PathBuf;

use cutile_bundle::cache::Cache;

use crate::options::Options;

/// One of the programs, which PyPI has in packages of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    /// `ptxas`: PTX to machine code. Reports registers and spills.
    Ptxas,
    /// `nvdisasm`: shows machine code.
    Nvdisasm,
}

impl Tool {
    /// The program's name, which is its folder's in the cache too.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Ptxas => "ptxas",
            Tool::Nvdisasm => "nvdisasm",
        }
    }

    /// The file's name on this system.
    pub(super) fn file(self) -> String {
        format!("{}{}", self.name(), std::env::consts::EXE_SUFFIX)
    }

    /// What pip is asked for.
    pub(super) fn requirement(self) -> String {
        let package = match self {
            Tool::Ptxas => "nvidia-cuda-nvcc",
            Tool::Nvdisasm => "nvidia-cuda-nvdisasm",
        };
        format!("{package}=={}", self.version())
    }

    /// `ptxas` is that of the oldest driver that kernels are measured on; a disassembler reads the output of older assemblers.
    fn version(self) -> &'static str {
        match self {
            Tool::Ptxas => "13.0.88",
            Tool::Nvdisasm => "13.5.37",
        }
    }

    /// Name of its folder in the cache.
    pub(super) fn cached_name(self) -> String {
        format!("{}/{}", self.name(), self.version())
    }

    /// The one that the environment names, the one that was installed, or the one of a CUDA toolkit on the path.
    pub(super) fn find(self, options: &Options, cache: Option<&Cache>) -> Option<PathBuf> {
        let fixed = match self {
            Tool::Ptxas => options.ptxas.clone(),
            Tool::Nvdisasm => None,
        };
        let installed = || {
            let program = cache?.get(&self.cached_name())?.join(self.file());
            program.is_file().then_some(program)
        };
        fixed.or_else(installed).or_else(|| options.program(self.name()))
    }
}

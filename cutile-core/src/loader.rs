//! Finds the compiled form of a kernel for a GPU: in the bundles that the program embeds or has beside it, in the user's
//! cache, and last by compiling it (feature `jit`). What is found is loaded elsewhere.

use std::sync::OnceLock;

use cuda_async::{DeviceError, ErrorKind};
use cutile_bundle::bundle::BuiltKernel;
use cutile_bundle::key::{FactsClass, Key};
use cutile_bundle::lookup::{Device, Library};
use cutile_bundle::options::Options;
use cutile_bundle::record::{Recorded, append};
use cutile_bundle::target::Arch;
use cutile_ir::Specialisation;

use crate::config::config;
use crate::error::MissingKernel;
use crate::launch::{KernelDef, Signature};

/// A kernel that is wanted for a GPU.
pub(crate) struct Request<'a> {
    pub(crate) kernel: &'static KernelDef,
    pub(crate) signature: &'a Signature,
    pub(crate) specialisation: Specialisation,
    pub(crate) facts: FactsClass,
    /// What the GPU calls itself.
    pub(crate) gpu: String,
    pub(crate) code: Code,
}

/// Which compiled code will do.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// Whatever a GPU of this compute capability loads, the nearer the better.
    For((u16, u16)),
    /// That of this architecture alone.
    #[cfg_attr(not(feature = "emulator"), expect(dead_code, reason = "a GPU is not choosy"))]
    Of(Arch),
}

impl Code {
    /// The architecture to compile for: of a GPU the one that uses most of it. Hopper's matrix instructions are in `sm_90a` alone.
    pub(crate) fn arch(self) -> Arch {
        match self {
            Code::For((9, 0)) => Arch::exact(9, 0),
            Code::For((major, minor)) => Arch::new(major, minor),
            Code::Of(arch) => arch,
        }
    }
}

/// The compiled kernel, from the first place that has it.
pub(crate) fn find(request: &Request<'_>) -> Result<BuiltKernel, DeviceError> {
    let unit = request.kernel.unit().map_err(|reason| request.kernel.refuse(reason))?;
    let library = library()?;
    let key = Key::of(&unit, &request.specialisation, request.facts);
    let built = match request.code {
        Code::For(capability) => library.find(key, Device { capability, ptx: None }),
        Code::Of(arch) => library.find_exact(key, arch),
    };
    if let Some(built) = built.map_err(DeviceError::new)? {
        return Ok(built);
    }
    match compile(request, key, library)? {
        Ok(built) => Ok(built),
        Err(reason) => Err(missing(request, library, &reason).into()),
    }
}

/// Appends the specialisation to the file that `CUTILE_RECORD` names, if it names one.
pub(crate) fn record(
    kernel: &KernelDef,
    signature: &Signature,
    specialisation: &Specialisation,
) -> Result<(), DeviceError> {
    let Some(file) = &config().record else { return Ok(()) };
    let specialisation = specialisation.text(signature.entry());
    append(file, &Recorded { kernel: kernel.name().to_string(), specialisation }).map_err(|error| {
        ErrorKind::Configuration {
            variable: "CUTILE_RECORD",
            value: format!("{} ({error})", file.display()),
            expected: "a file that can be appended to",
        }
        .into()
    })
}

fn library() -> Result<&'static Library, DeviceError> {
    static LIBRARY: OnceLock<Result<Library, DeviceError>> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| Library::of_program(&Options::from_env()).map_err(DeviceError::new));
    library.as_ref().map_err(DeviceError::clone)
}

fn missing(request: &Request<'_>, library: &Library, reason: &str) -> MissingKernel {
    let kernel = request.kernel.name().to_string();
    let arch = request.code.arch();
    MissingKernel {
        specialisation: match request.specialisation.text(request.signature.entry()) {
            text if text.is_empty() => "these arguments".to_string(),
            text => text,
        },
        gpu: format!("{} ({arch})", request.gpu),
        command: format!("cargo cutile build-kernels --arch {arch}"),
        detail: format!("; {reason}; looked in:{}", library.describe(&kernel)),
        kernel,
    }
}

#[cfg(feature = "jit")]
use crate::jit::compile;

/// Compiling at run time needs feature `jit`.
#[cfg(not(feature = "jit"))]
fn compile(
    _: &Request<'_>,
    _: Key,
    _: &Library,
) -> Result<Result<BuiltKernel, String>, DeviceError> {
    Ok(Err("this program was built without feature `jit`, so it compiles no kernels itself"
        .to_string()))
}

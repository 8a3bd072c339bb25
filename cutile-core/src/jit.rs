//! Compiles a kernel at its first launch, where a kernel toolchain is at hand (feature `jit`). Runs on the loader's thread;
//! what it makes is kept in the user's cache.

use std::sync::OnceLock;

use cuda_async::DeviceError;
use cutile_bundle::bundle::BuiltKernel;
use cutile_bundle::key::Key;
use cutile_bundle::lookup::Library;
use cutile_bundle::target::Target;
use cutile_compiler::toolchain::Toolchain;

use crate::error::LaunchReason;
use crate::loader::Request;

/// The compiled kernel, or why none can be compiled here. A kernel that the compiler refuses is an error.
pub(crate) fn compile(
    request: &Request<'_>,
    key: Key,
    library: &Library,
) -> Result<Result<BuiltKernel, String>, DeviceError> {
    let toolchain = match toolchain() {
        Ok(toolchain) => toolchain,
        Err(reason) => return Ok(Err(format!("it can't be compiled here: {reason}"))),
    };
    let arch = request.code.arch();
    if let Some(built) =
        library.find_cached(key, arch, &toolchain.builder()).map_err(DeviceError::new)?
    {
        return Ok(Ok(built));
    }
    let specialisation = request.specialisation.text(request.signature.entry());
    let refuse = |messages: String| {
        let specialisation = specialisation.clone();
        request.kernel.refuse(LaunchReason::Specialisation { specialisation, messages })
    };
    let kernel = cutile_ir::specialise(&request.signature.module, &request.specialisation)
        .map_err(|errors| refuse(crate::backend::lines(&errors)))?;
    let compiled = cutile_compiler::compile(&kernel, request.facts, &Target::new(arch), toolchain)
        .map_err(|error| refuse(error.to_string()))?;
    let request = cutile_compiler::Request {
        kernel: request.kernel.name().to_string(),
        specialisation,
        facts: request.facts,
        key,
        arch,
    };
    let built = cutile_compiler::package(request, compiled, toolchain);
    // A cache that can't be written costs the next run its time, not this one its result.
    let _ = library.store(&built);
    Ok(Ok(built))
}

fn toolchain() -> Result<&'static Toolchain, String> {
    static TOOLCHAIN: OnceLock<Result<Toolchain, String>> = OnceLock::new();
    let toolchain = TOOLCHAIN.get_or_init(|| Toolchain::find().map_err(|error| error.to_string()));
    toolchain.as_ref().map_err(String::clone)
}

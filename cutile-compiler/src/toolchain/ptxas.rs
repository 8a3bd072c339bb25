//! Where `ptxas` is. It is optional: it checks kernels and reports registers; nothing that runs needs it.

use std::path::PathBuf;

use cutile_bundle::cache::Cache;

use crate::options::Options;

/// The package of PyPI that holds `ptxas`, and the version our figures come from: that of the oldest driver we measure on.
pub(super) const PACKAGE: &str = "nvidia-cuda-nvcc";
/// Its version.
pub(super) const VERSION: &str = "13.0.88";

/// Name of the folder in the cache.
pub(super) fn cached_name() -> String {
    format!("ptxas/{VERSION}")
}

/// The one that the environment names, the one that we installed, or the one of a CUDA toolkit on the path.
pub(super) fn find(options: &Options, cache: Option<&Cache>) -> Option<PathBuf> {
    let ours = || {
        let folder = cache?.get(&cached_name())?;
        let program = folder.join(format!("ptxas{}", std::env::consts::EXE_SUFFIX));
        program.is_file().then_some(program)
    };
    options.ptxas.clone().or_else(ours).or_else(|| options.program("ptxas"))
}

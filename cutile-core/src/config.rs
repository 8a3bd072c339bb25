//! Every environment variable of this crate, read once, in one place. (Those of the runtime are in `cuda-async`, those that
//! say where built kernels are in `cutile-bundle`.)
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `CUTILE_RECORD` | file to which the specialisations that the program asks for are appended, one a line | none |

use std::path::PathBuf;
use std::sync::OnceLock;

/// The environment, read.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) record: Option<PathBuf>,
}

/// The configuration of this process; the same answer for its whole life.
pub(crate) fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let record = std::env::var_os("CUTILE_RECORD").filter(|value| !value.is_empty());
        Config { record: record.map(PathBuf::from) }
    })
}

//! Every environment variable of this crate, read once, in one place. (Those of the runtime are in `cuda-async`, those that
//! say where built kernels are in `cutile-bundle`.)
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `CUTILE_EMULATOR_ARCH` | the architecture whose PTX emulated devices run, from `sm_70` to `sm_90a` (feature `emulator`) | `sm_90a` |
//! | `CUTILE_RECORD` | file to which the specialisations that the program asks for are appended, one a line | none |

use std::path::PathBuf;
use std::sync::OnceLock;

#[cfg(feature = "emulator")]
use cuda_async::{DeviceError, ErrorKind};
#[cfg(feature = "emulator")]
use cutile_bundle::target::Arch;

/// The environment, read.
#[derive(Debug)]
pub(crate) struct Config {
    #[cfg(feature = "emulator")]
    pub(crate) emulator_arch: Result<Arch, DeviceError>,
    pub(crate) record: Option<PathBuf>,
}

/// The configuration of this process; the same answer for its whole life.
pub(crate) fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let record = std::env::var_os("CUTILE_RECORD").filter(|value| !value.is_empty());
        Config {
            #[cfg(feature = "emulator")]
            emulator_arch: emulator_arch(std::env::var_os("CUTILE_EMULATOR_ARCH")),
            record: record.map(PathBuf::from),
        }
    })
}

/// Hopper's by default: the newest that the emulator knows, and the most that there is to check.
#[cfg(feature = "emulator")]
fn emulator_arch(value: Option<std::ffi::OsString>) -> Result<Arch, DeviceError> {
    let newest = Arch::exact(9, 0);
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(newest) };
    let known = value
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|arch: &Arch| (arch.major, arch.minor) <= (newest.major, newest.minor));
    known.ok_or_else(|| {
        ErrorKind::Configuration {
            variable: "CUTILE_EMULATOR_ARCH",
            value: value.to_string_lossy().into_owned(),
            expected: "a GPU architecture from `sm_70` to `sm_90a`, such as `sm_80`",
        }
        .into()
    })
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use super::*;

    #[test]
    fn the_emulated_architecture_is_chosen_among_those_that_the_emulator_knows() {
        let arch = |text: &str| emulator_arch(Some(text.into()));
        assert_eq!(emulator_arch(None).unwrap(), Arch::exact(9, 0));
        assert_eq!(arch("").unwrap(), Arch::exact(9, 0));
        assert_eq!(arch("sm_80").unwrap(), Arch::new(8, 0));
        assert_eq!(arch("sm_90").unwrap(), Arch::new(9, 0));
        for wrong in ["hopper", "sm_60", "sm_100a", "90"] {
            let text = arch(wrong).unwrap_err().to_string();
            assert!(text.contains("CUTILE_EMULATOR_ARCH") && text.contains(wrong), "{text}");
        }
    }
}

//! What a driver call can answer, typed, with the driver's own name and text. Nothing here decides
//! what to do about it.

use std::fmt;

use super::fault::Fault;
use super::sys::{self, CUresult};

/// Why a call into the CUDA driver gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver's library is not installed (or can't be loaded).
    #[error(
        "no CUDA driver library: {reason} (tried {})",
        tried.join(", ")
    )]
    NoLibrary {
        /// The file names that were tried.
        tried: &'static [&'static str],
        /// What the loader answered.
        reason: String,
    },
    /// The library is older than every driver that we support.
    #[error("the CUDA driver library has no `{symbol}`: it is older than CUDA 11.2")]
    TooOld {
        /// The first function that is missing.
        symbol: &'static str,
    },
    /// The driver is there, a CUDA device is not.
    #[error(
        "the CUDA driver finds no device (CUDA_ERROR_NO_DEVICE): is a GPU there, and visible (CUDA_VISIBLE_DEVICES)?"
    )]
    NoDevice,
    /// An ordinal past the last device.
    #[error("there is no CUDA device {ordinal}: the driver has {count} (0 to {last})", last = count.saturating_sub(1))]
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// How many devices there are.
        count: usize,
    },
    /// The device can't do what we need of every device.
    #[error("CUDA device {ordinal} ({name}) lacks {what}")]
    Unsupported {
        /// The device's ordinal.
        ordinal: usize,
        /// The device's name.
        name: String,
        /// The capability that is missing.
        what: String,
    },
    /// An allocation that does not fit.
    #[error(
        "out of device memory on CUDA device {ordinal}: asked for {requested} bytes; {used} bytes in use here, {free} of {total} bytes free on the device"
    )]
    OutOfMemory {
        /// The device's ordinal.
        ordinal: usize,
        /// Bytes asked for.
        requested: usize,
        /// Bytes that live allocations of this program's pool hold.
        used: u64,
        /// Bytes free on the device, all programs considered.
        free: usize,
        /// Bytes that the device has.
        total: usize,
    },
    /// PTX that the driver's compiler refuses.
    #[error("{0}")]
    Load(Box<LoadError>),
    /// A kernel faulted earlier: the device's context is lost, and every operation on it fails with
    /// this.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// Any other answer.
    #[error("{0}")]
    Call(CallError),
}

/// A call that failed, in the driver's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// The driver function.
    pub call: &'static str,
    /// What it answered.
    pub code: CUresult,
    /// The code's name (`CUDA_ERROR_...`).
    pub name: &'static str,
    /// The driver's description of the code.
    pub text: &'static str,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {} ({}): {}", self.call, self.name, self.code, self.text)
    }
}

/// A module that could not be loaded, with all that is needed to see why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// What the driver answered.
    pub cause: CallError,
    /// The `.version` line of the PTX, if it has one.
    pub ptx_version: Option<(u32, u32)>,
    /// The `.target` of the PTX, if it has one.
    pub ptx_target: Option<String>,
    /// The CUDA release that the driver implements.
    pub driver_version: CudaVersion,
    /// The device's compute capability.
    pub compute_capability: (u32, u32),
    /// The log of the driver's PTX compiler, trimmed; may be empty.
    pub log: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        let target = self.ptx_target.as_deref().unwrap_or("an unknown target");
        write!(f, "the driver can't load this module: {}", self.cause)?;
        if let Some((ptx_major, ptx_minor)) = self.ptx_version {
            write!(f, "; its PTX is ISA {ptx_major}.{ptx_minor} for {target}")?;
        }
        write!(f, "; the driver implements CUDA {}", self.driver_version)?;
        if let Some((isa_major, isa_minor)) = self.driver_version.newest_ptx_isa() {
            write!(f, " (PTX ISA up to {isa_major}.{isa_minor})")?;
        }
        write!(f, "; the device is sm_{major}{minor}")?;
        match self.cause.code {
            sys::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                write!(f, ". Update the driver, or build the kernels for an older PTX ISA")?
            }
            sys::CUDA_ERROR_NO_BINARY_FOR_GPU => {
                write!(f, ". Build the kernels for this device (--arch sm_{major}{minor})")?
            }
            _ => {}
        }
        if !self.log.is_empty() {
            write!(f, "\ncompiler log:\n{}", self.log)?;
        }
        Ok(())
    }
}

/// The CUDA release that a driver implements, as `cuDriverGetVersion` gives it (1000 major + 10
/// minor).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion(pub u32);

impl CudaVersion {
    /// Major and minor number.
    pub const fn parts(self) -> (u32, u32) {
        (self.0 / 1000, self.0 % 1000 / 10)
    }

    /// The newest PTX ISA that this release takes, from the release table of the PTX manual; `None`
    /// for a release that is not in it.
    pub const fn newest_ptx_isa(self) -> Option<(u32, u32)> {
        match self.parts() {
            (11, minor @ 0..=8) => Some((7, minor)),
            (12, minor @ 0..=5) => Some((8, minor)),
            (12, minor @ 6..=9) => Some((8, minor - 1)),
            (13, minor @ 0..=1) => Some((9, minor)),
            _ => None,
        }
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.parts();
        write!(f, "{major}.{minor}")
    }
}

impl DriverError {
    /// Whether CUDA is simply not here (no library, or no device), as opposed to being here and
    /// broken.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NoLibrary { .. } | Self::NoDevice)
    }

    /// The driver's code, where the error is one call's answer.
    pub fn code(&self) -> Option<CUresult> {
        match self {
            Self::Call(error) => Some(error.code),
            Self::Load(error) => Some(error.cause.code),
            Self::Fault(fault) => Some(fault.cause.code),
            Self::NoDevice => Some(sys::CUDA_ERROR_NO_DEVICE),
            Self::OutOfMemory { .. } => Some(sys::CUDA_ERROR_OUT_OF_MEMORY),
            Self::NoLibrary { .. }
            | Self::TooOld { .. }
            | Self::NoSuchDevice { .. }
            | Self::Unsupported { .. } => None,
        }
    }
}

/// Whether this code means that the context is lost: every later call in it answers the same, and
/// its work has stopped.
pub(crate) const fn loses_the_context(code: CUresult) -> bool {
    matches!(
        code,
        sys::CUDA_ERROR_ECC_UNCORRECTABLE
            | sys::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | sys::CUDA_ERROR_CONTAINED
            | sys::CUDA_ERROR_ILLEGAL_ADDRESS
            | sys::CUDA_ERROR_LAUNCH_TIMEOUT
            | sys::CUDA_ERROR_ASSERT
            | sys::CUDA_ERROR_HARDWARE_STACK_ERROR
            | sys::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | sys::CUDA_ERROR_MISALIGNED_ADDRESS
            | sys::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | sys::CUDA_ERROR_INVALID_PC
            | sys::CUDA_ERROR_LAUNCH_FAILED
            | sys::CUDA_ERROR_TENSOR_MEMORY_LEAK
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_error(code: CUresult) -> LoadError {
        LoadError {
            cause: CallError { call: "cuModuleLoadDataEx", code, name: "CUDA_ERROR_X", text: "x" },
            ptx_version: Some((8, 8)),
            ptx_target: Some("sm_90a".into()),
            driver_version: CudaVersion(12040),
            compute_capability: (9, 0),
            log: "ptxas: line 1".into(),
        }
    }

    #[test]
    fn a_too_new_ptx_names_both_versions_and_the_cure() {
        let text = load_error(sys::CUDA_ERROR_UNSUPPORTED_PTX_VERSION).to_string();
        for part in
            ["ISA 8.8", "sm_90a", "CUDA 12.4", "up to 8.4", "Update the driver", "ptxas: line 1"]
        {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
    }

    #[test]
    fn only_absence_is_absence() {
        assert!(DriverError::NoDevice.is_absent());
        assert!(DriverError::NoLibrary { tried: &["x"], reason: String::new() }.is_absent());
        assert!(!DriverError::TooOld { symbol: "cuInit" }.is_absent());
        assert!(!DriverError::NoSuchDevice { ordinal: 3, count: 1 }.is_absent());
        let mismatch = CallError {
            call: "cuInit",
            code: 803,
            name: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            text: "",
        };
        assert!(!DriverError::Call(mismatch).is_absent());
    }

    #[test]
    fn ptx_isa_by_release() {
        assert_eq!(CudaVersion(11020).newest_ptx_isa(), Some((7, 2)));
        assert_eq!(CudaVersion(12050).newest_ptx_isa(), Some((8, 5)));
        assert_eq!(CudaVersion(12060).newest_ptx_isa(), Some((8, 5)));
        assert_eq!(CudaVersion(12080).newest_ptx_isa(), Some((8, 7)));
        assert_eq!(CudaVersion(12090).newest_ptx_isa(), Some((8, 8)));
        assert_eq!(CudaVersion(13000).newest_ptx_isa(), Some((9, 0)));
        assert_eq!(CudaVersion(13070).newest_ptx_isa(), None);
    }
}

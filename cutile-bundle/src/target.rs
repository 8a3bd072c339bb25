//! What a kernel is built for: a GPU architecture and a version of the PTX language.
//!
//! Names only; which instructions an architecture has is the compiler's business.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A GPU architecture as PTX names it: `sm_80`, `sm_90a`, `sm_100f`.
///
/// Ordered by preference among those that a GPU can load: the nearest compute capability is greatest, and among
/// equals the one that may use more of the GPU.
///
/// ```
/// use cutile_bundle::target::Arch;
/// let hopper: Arch = "sm_90a".parse().unwrap();
/// assert!(hopper.runs_on((9, 0)) && !hopper.runs_on((10, 0)));
/// let ampere: Arch = "sm_80".parse().unwrap();
/// assert!(ampere.runs_on((9, 0)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Compute capability, major part: 9 in `sm_90a`.
    pub major: u16,
    /// Compute capability, minor part: 0 in `sm_90a`.
    pub minor: u16,
    /// How far PTX for this architecture travels.
    pub reach: Reach,
}

/// Which GPUs, beside the one it is named after, can load PTX of an architecture.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// No suffix: every later GPU too.
    Upward,
    /// Suffix `f`: the later GPUs of the same family (same major number).
    Family,
    /// Suffix `a`: exactly this compute capability.
    Exact,
}

/// Volta, 7.0: kernels take its memory model and its shuffles for granted, and LLVM has no other way to say either.
const OLDEST: u16 = 70;

impl Arch {
    /// An architecture without suffix.
    pub const fn new(major: u16, minor: u16) -> Arch {
        Arch { major, minor, reach: Reach::Upward }
    }

    /// An architecture with suffix `a`.
    pub const fn exact(major: u16, minor: u16) -> Arch {
        Arch { major, minor, reach: Reach::Exact }
    }

    /// Whether a GPU of this compute capability can load PTX built for `self`.
    pub fn runs_on(self, capability: (u16, u16)) -> bool {
        let own = (self.major, self.minor);
        match self.reach {
            Reach::Upward => own <= capability,
            Reach::Family => own.0 == capability.0 && own.1 <= capability.1,
            Reach::Exact => own == capability,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.reach {
            Reach::Upward => "",
            Reach::Family => "f",
            Reach::Exact => "a",
        };
        write!(f, "sm_{}{}{suffix}", self.major, self.minor)
    }
}

impl fmt::Debug for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A name that is not an architecture's, or of one that is too old.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a GPU architecture that kernels are built for: expected sm_70 or newer, by a name such as sm_80, \
     sm_90a or sm_100f"
)]
pub struct ArchError {
    /// The text that was given.
    pub given: String,
}

impl FromStr for Arch {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Arch, ArchError> {
        let error = || ArchError { given: text.to_owned() };
        let rest = text.strip_prefix("sm_").ok_or_else(error)?;
        let (digits, reach) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Reach::Exact),
            Some(b'f') => (&rest[..rest.len() - 1], Reach::Family),
            _ => (rest, Reach::Upward),
        };
        // The last digit is the minor part: sm_75 is 7.5, sm_120 is 12.0.
        let well_formed = (2..=3).contains(&digits.len())
            && !digits.starts_with('0')
            && digits.bytes().all(|b| b.is_ascii_digit());
        if !well_formed {
            return Err(error());
        }
        let number: u16 = digits.parse().map_err(|_| error())?;
        if number < OLDEST {
            return Err(error());
        }
        Ok(Arch { major: number / 10, minor: number % 10, reach })
    }
}

/// A version of the PTX language: `8.0` on a `.version` line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    /// Major part.
    pub major: u16,
    /// Minor part.
    pub minor: u16,
}

impl PtxVersion {
    /// The version with these parts.
    pub const fn new(major: u16, minor: u16) -> PtxVersion {
        PtxVersion { major, minor }
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Debug for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a PTX version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a PTX version: expected two numbers such as 8.0")]
pub struct PtxVersionError {
    /// The text that was given.
    pub given: String,
}

impl FromStr for PtxVersion {
    type Err = PtxVersionError;

    fn from_str(text: &str) -> Result<PtxVersion, PtxVersionError> {
        let error = || PtxVersionError { given: text.to_owned() };
        let (major, minor) = text.split_once('.').ok_or_else(error)?;
        Ok(PtxVersion {
            major: major.parse().map_err(|_| error())?,
            minor: minor.parse().map_err(|_| error())?,
        })
    }
}

/// Text in files and messages, a struct in the program.
macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
pub(crate) use serde_as_text;
serde_as_text!(Arch, PtxVersion);

/// What one compilation aims at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Target {
    /// The GPU architecture.
    pub arch: Arch,
    /// The least PTX version that the kernel's instructions need; `None` takes what rustc chooses for the
    /// architecture, which is the oldest that knows it.
    pub ptx: Option<PtxVersion>,
}

impl Target {
    /// A target whose PTX version is the oldest that knows the architecture.
    pub const fn new(arch: Arch) -> Target {
        Target { arch, ptx: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_121f"] {
            assert_eq!(name.parse::<Arch>().unwrap().to_string(), name);
        }
        assert_eq!("sm_120".parse::<Arch>().unwrap(), Arch::new(12, 0));
    }

    #[test]
    fn what_is_no_architecture_is_refused_by_name() {
        for name in
            ["", "sm_", "sm_9", "sm_a", "90a", "sm_90b", "sm_1200", "sm_090", "sm_90aa", "sm_62"]
        {
            let error = name.parse::<Arch>().unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn reach_follows_the_suffix() {
        let runs = |arch: &str, capability| arch.parse::<Arch>().unwrap().runs_on(capability);
        assert!(runs("sm_80", (8, 0)) && runs("sm_80", (12, 1)) && !runs("sm_80", (7, 5)));
        assert!(runs("sm_90a", (9, 0)) && !runs("sm_90a", (10, 0)));
        assert!(runs("sm_100f", (10, 3)) && !runs("sm_100f", (12, 0)) && !runs("sm_103f", (10, 0)));
    }

    #[test]
    fn the_nearest_and_the_most_specific_wins() {
        let mut archs: Vec<Arch> =
            ["sm_90a", "sm_80", "sm_90", "sm_75"].iter().map(|a| a.parse().unwrap()).collect();
        archs.sort_by(|a, b| b.cmp(a));
        assert_eq!(format!("{archs:?}"), "[sm_90a, sm_90, sm_80, sm_75]");
    }

    #[test]
    fn ptx_versions_compare_as_numbers() {
        let older: PtxVersion = "8.7".parse().unwrap();
        let newer: PtxVersion = "8.10".parse().unwrap();
        assert!(older < newer);
        assert!("8".parse::<PtxVersion>().is_err() && "8.x".parse::<PtxVersion>().is_err());
    }
}

//! [`KernelDef`]: what the macro embeds of a kernel, with what has been made of it so far in this process.

use std::sync::OnceLock;

use cutile_ir::blob::Unit;

use super::signature::Signature;
use crate::backend::Cache;
use crate::error::{LaunchError, LaunchReason};

/// A kernel of the program: one static for each `#[cutile::entry]`, made by the macro.
pub struct KernelDef {
    unit: &'static [u8],
    name: OnceLock<&'static str>,
    signature: OnceLock<Result<Signature, LaunchReason>>,
    pub(crate) cache: Cache,
}

impl KernelDef {
    /// A kernel from its embedded unit (`cutile_ir::blob`).
    pub const fn new(unit: &'static [u8]) -> KernelDef {
        KernelDef { unit, name: OnceLock::new(), signature: OnceLock::new(), cache: Cache::new() }
    }

    /// The kernel's full path; empty if the embedded data is damaged.
    pub fn name(&self) -> &'static str {
        self.name.get_or_init(|| Unit::read(self.unit).map_or("", |(unit, _)| unit.name))
    }

    /// The embedded unit, read.
    pub(crate) fn unit(&self) -> Result<Unit<'static>, LaunchReason> {
        let unit =
            Unit::read(self.unit).map_err(|error| LaunchReason::Damaged(error.to_string()))?;
        Ok(unit.0)
    }

    pub(crate) fn signature(&self) -> Result<&Signature, LaunchError> {
        let signature = self.signature.get_or_init(|| Signature::read(&self.unit()?));
        signature.as_ref().map_err(|reason| self.refuse(reason.clone()))
    }

    pub(crate) fn refuse(&self, reason: LaunchReason) -> LaunchError {
        LaunchError { kernel: self.name(), reason }
    }
}

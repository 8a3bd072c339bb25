//! The fault record: where a failing kernel says which check failed, and what the host makes of it
//! once the context is lost.
//!
//! A trap ends the whole context and the driver tells only that something failed. The record stands
//! in pinned host memory, which outlives the context: a failing check claims it, stores the values
//! below with system scope, and traps.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::error::CallError;

/// The record as kernels write it. Its layout is part of the interface with generated code.
///
/// Kernel and site are elected and stored by one 64-bit compare-and-swap: threads that lose it trap
/// at once, and may so end the context before the winner has stored the rest. Then kernel and site
/// are known, and the details are not.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct FaultRecord {
    /// 0: no fault. Otherwise `(kernel + 1) << 32 | site`.
    claim: AtomicU64,
    /// 1 when `program` and `operands` are stored.
    complete: AtomicU32,
    reserved: AtomicU32,
    program: AtomicU64,
    operands: [AtomicU64; 2],
}

/// A check that failed in a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultSite {
    /// Which kernel, by the number that the loader gave it.
    pub kernel: u32,
    /// Which check of that kernel; its manifest maps it to file, line and text.
    pub site: u32,
    /// Where and on what, unless the context ended before it was stored.
    pub details: Option<FaultDetails>,
}

/// Where a check failed, and on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultDetails {
    /// The linear id of the program that failed.
    pub program: u64,
    /// What the check compared (for an index check: the index and the bound).
    pub operands: [i64; 2],
}

impl FaultRecord {
    /// The fault, if a kernel has recorded one.
    pub fn read(&self) -> Option<FaultSite> {
        let claim = self.claim.load(Ordering::Acquire);
        let kernel = ((claim >> 32) as u32).checked_sub(1)?;
        let details = self.is_complete().then(|| FaultDetails {
            program: self.program.load(Ordering::Relaxed),
            operands: [0, 1].map(|i| self.operands[i].load(Ordering::Relaxed).cast_signed()),
        });
        Some(FaultSite { kernel, site: claim as u32, details })
    }

    /// Whether a kernel has recorded a fault in full; it traps right after that.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire) != 0
    }

    /// Writes a record as a kernel does; the first writer wins. For code that plays the device (an
    /// emulated launch, a test).
    pub fn write(&self, fault: FaultSite) {
        let claim = (u64::from(fault.kernel) + 1) << 32 | u64::from(fault.site);
        if self.claim.compare_exchange(0, claim, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let Some(details) = fault.details else { return };
        self.program.store(details.program, Ordering::Relaxed);
        for (to, from) in self.operands.iter().zip(details.operands) {
            to.store(from.cast_unsigned(), Ordering::Relaxed);
        }
        self.complete.store(1, Ordering::Release);
    }
}

/// Turns the numbers of a fault into words ("kernel `gemm`, src/k.rs:12: index out of range"),
/// where it knows them.
pub type FaultNamer = fn(&FaultSite) -> Option<String>;

static NAMER: OnceLock<FaultNamer> = OnceLock::new();

/// Sets who knows the names of kernels and checks: the loader that numbered them. The first call of
/// the process counts.
pub fn name_faults_with(namer: FaultNamer) {
    // A second loader in one process would have to share the first one's numbers anyway.
    let _ = NAMER.set(namer);
}

/// Why a device's context is lost: what the driver said first, and the check that failed if one
/// told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The device's ordinal.
    pub ordinal: usize,
    /// The first answer that showed the loss.
    pub cause: CallError,
    /// The failed check, where a kernel recorded one.
    pub site: Option<FaultSite>,
    /// The names behind `site`, where they are known ([`name_faults_with`]).
    pub description: Option<String>,
}

impl Fault {
    pub(crate) fn new(ordinal: usize, cause: CallError, record: &FaultRecord) -> Self {
        let site = record.read();
        let description = site.and_then(|site| NAMER.get().and_then(|namer| namer(&site)));
        Self { ordinal, cause, site, description }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUDA device {} is lost after a fault", self.ordinal)?;
        match (&self.site, &self.description) {
            (_, Some(description)) => write!(f, " in {description}")?,
            (Some(site), None) => write!(f, " in kernel {} at check {}", site.kernel, site.site)?,
            (None, None) => write!(f, " that no check recorded")?,
        }
        if let Some(FaultDetails { program, operands: [a, b] }) =
            self.site.and_then(|site| site.details)
        {
            write!(f, " (program {program}, operands {a} and {b})")?;
        }
        write!(f, ": {}. Nothing more can run on it in this process", self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, offset_of, size_of};

    const FAULT: FaultSite = FaultSite {
        kernel: 7,
        site: 3,
        details: Some(FaultDetails { program: 1 << 33, operands: [-1, 64] }),
    };

    #[test]
    fn layout_is_what_generated_code_writes() {
        assert_eq!((size_of::<FaultRecord>(), align_of::<FaultRecord>()), (64, 64));
        let offsets = [
            offset_of!(FaultRecord, claim),
            offset_of!(FaultRecord, complete),
            offset_of!(FaultRecord, program),
            offset_of!(FaultRecord, operands),
        ];
        assert_eq!(offsets, [0, 8, 16, 24]);
        let record = FaultRecord::default();
        record.write(FAULT);
        assert_eq!(record.claim.load(Ordering::Relaxed), 8 << 32 | 3);
    }

    #[test]
    fn the_first_writer_wins_and_details_may_be_missing() {
        let record = FaultRecord::default();
        assert_eq!(record.read(), None);
        record.write(FAULT);
        record.write(FaultSite { kernel: 9, ..FAULT });
        assert_eq!(record.read(), Some(FAULT));

        let interrupted = FaultSite { kernel: 0, site: 0, details: None };
        let record = FaultRecord::default();
        record.write(interrupted);
        assert_eq!(record.read(), Some(interrupted));
    }

    #[test]
    fn a_fault_names_kernel_and_site() {
        let cause = CallError {
            call: "cuStreamQuery",
            code: 719,
            name: "CUDA_ERROR_LAUNCH_FAILED",
            text: "launch failed",
        };
        let mut fault = Fault { ordinal: 1, cause, site: Some(FAULT), description: None };
        let text = fault.to_string();
        for part in ["device 1", "kernel 7", "check 3", "-1 and 64", "CUDA_ERROR_LAUNCH_FAILED"] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
        fault.description = Some("kernel gemm, src/k.rs:12: index out of range".into());
        assert!(fault.to_string().contains("src/k.rs:12"));
    }
}

//! Whether PTX is what its generator announced.
//!
//! Collective instructions are counted because optimisers can clone or sink them, which hangs or corrupts a kernel in silence; local
//! memory and spills because they cost most of a kernel's speed; externs because the driver refuses them only at load.

use std::fmt;

use cutile_bundle::target::{PtxVersion, Target};

use super::EntryPlan;
use super::facts::{Facts, FunctionFacts};
use super::instruction::InstructionClass;

/// How often an instruction class was announced to occur in an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// So often and not otherwise: everywhere but in loops that may be unrolled.
    Exactly(u32),
    /// At least so often: in loops that LLVM may unroll.
    AtLeast(u32),
}

impl Expected {
    fn holds(self, count: u32) -> bool {
        match self {
            Expected::Exactly(n) => count == n,
            Expected::AtLeast(n) => count >= n,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Exactly(n) => write!(f, "{n}"),
            Expected::AtLeast(n) => write!(f, "at least {n}"),
        }
    }
}

impl Facts {
    /// All that is not as planned. Empty for good PTX.
    pub fn check(&self, entries: &[EntryPlan], target: &Target) -> Vec<Violation> {
        let mut found: Vec<Violation> =
            self.unresolved.iter().cloned().map(|name| Violation::Unresolved { name }).collect();
        if self.target != target.arch.to_string() {
            let (expected, found_target) = (target.arch.to_string(), self.target.clone());
            found.push(Violation::Target { expected, found: found_target });
        }
        if let Some(allowed) = target.ptx
            && self.version > allowed
        {
            found.push(Violation::Version { allowed, found: self.version });
        }
        for plan in entries {
            match self.entry(&plan.name) {
                None => found.push(Violation::NoEntry { entry: plan.name.clone() }),
                Some(facts) => check_entry(plan, facts, &mut found),
            }
        }
        for (name, facts) in &self.functions {
            if facts.local_bytes > 0 {
                let (entry, bytes) = (name.clone(), facts.local_bytes);
                found.push(Violation::LocalMemory { entry, bytes });
            }
        }
        found
    }
}

fn check_entry(plan: &EntryPlan, facts: &FunctionFacts, found: &mut Vec<Violation>) {
    for (class, expected) in &plan.announced {
        let count = facts.count(*class);
        if !expected.holds(count) {
            found.push(Violation::Count {
                entry: plan.name.clone(),
                class: *class,
                expected: *expected,
                found: count,
            });
        }
    }
}

/// Whether a violation makes the PTX wrong or only slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The PTX must not be used.
    Error,
    /// It is right, and slower than it should be.
    Warning,
}

/// One thing that is not as planned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// An announced entry is missing.
    #[error("entry `{entry}` is missing")]
    NoEntry {
        /// The entry.
        entry: String,
    },
    /// A function without a body: the driver would refuse the file.
    #[error("`{name}` is called but not defined (a panic path of core, usually)")]
    Unresolved {
        /// The function.
        name: String,
    },
    /// The `.target` line is another.
    #[error("the target is {found} instead of {expected}")]
    Target {
        /// What was asked for.
        expected: String,
        /// What the text says.
        found: String,
    },
    /// An old driver could not load it.
    #[error("it needs PTX {found}; {allowed} was announced")]
    Version {
        /// The version announced.
        allowed: PtxVersion,
        /// The version of the text.
        found: PtxVersion,
    },
    /// Instructions were cloned, sunk or lost between generator and PTX.
    #[error("entry `{entry}` has {found} instructions of class {class:?} instead of {expected}")]
    Count {
        /// The entry.
        entry: String,
        /// The class.
        class: InstructionClass,
        /// What was announced.
        expected: Expected,
        /// What is there.
        found: u32,
    },
    /// Variables live in local memory.
    #[error("`{entry}` keeps {bytes} bytes in local memory")]
    LocalMemory {
        /// The function.
        entry: String,
        /// Bytes a thread.
        bytes: u64,
    },
    /// `ptxas` ran out of registers or put variables on a stack.
    #[error(
        "`{entry}`: {stack} bytes of stack, {stores} bytes of spill stores, {loads} of spill loads"
    )]
    Spills {
        /// The entry.
        entry: String,
        /// Stack frame, bytes a thread.
        stack: u32,
        /// Spill stores, bytes a thread.
        stores: u32,
        /// Spill loads, bytes a thread.
        loads: u32,
    },
    /// `ptxas` says that it had to serialise or ignore something.
    #[error("ptxas: {message}")]
    Advice {
        /// Its words, with its code (C75xx).
        message: String,
    },
}

impl Violation {
    /// Whether the PTX is wrong or only slow.
    pub fn severity(&self) -> Severity {
        match self {
            Violation::NoEntry { .. }
            | Violation::Unresolved { .. }
            | Violation::Target { .. }
            | Violation::Version { .. }
            | Violation::Count { .. } => Severity::Error,
            Violation::LocalMemory { .. } | Violation::Spills { .. } | Violation::Advice { .. } => {
                Severity::Warning
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::tests::TEXT;
    use super::*;
    use cutile_bundle::target::Arch;

    fn sm_80() -> Target {
        Target::new(Arch::new(8, 0))
    }

    #[test]
    fn each_violation_is_found() {
        let mut plan = EntryPlan::new("k", 128);
        plan.announced.insert(InstructionClass::Barrier, Expected::Exactly(1));
        plan.announced.insert(InstructionClass::Shuffle, Expected::AtLeast(1));
        let target = Target { arch: Arch::exact(9, 0), ptx: Some(PtxVersion::new(7, 8)) };
        let violations = Facts::of(TEXT).unwrap().check(&[plan, EntryPlan::new("j", 1)], &target);
        let texts: Vec<String> = violations.iter().map(Violation::to_string).collect();
        assert_eq!(
            texts,
            [
                "`core_panic` is called but not defined (a panic path of core, usually)",
                "the target is sm_80 instead of sm_90a",
                "it needs PTX 8.0; 7.8 was announced",
                "entry `k` has 2 instructions of class Barrier instead of 1",
                "entry `j` is missing",
                "`k` keeps 48 bytes in local memory",
            ]
        );
        let errors = violations.iter().filter(|v| v.severity() == Severity::Error).count();
        assert_eq!(errors, 5);
    }

    #[test]
    fn good_text_has_no_violation() {
        let good = TEXT
            .replace("\tcall.uni core_panic, ();\n", "")
            .replace("\t.local .align 16 .b8 \t__local_depot0[48];\n", "");
        let mut plan = EntryPlan::new("k", 128);
        plan.announced.insert(InstructionClass::Barrier, Expected::Exactly(2));
        assert_eq!(Facts::of(&good).unwrap().check(&[plan], &sm_80()), []);
    }
}

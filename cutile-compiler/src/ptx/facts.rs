//! What a PTX text really contains, and whether that is what its generator announced.
//!
//! Collective instructions are counted because optimisers can clone or sink them, which hangs or corrupts a kernel in silence; local
//! memory and spills because they cost most of a kernel's speed; externs because the driver refuses them only at load.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cutile_bundle::target::{PtxVersion, Target};
use serde::{Deserialize, Serialize};

use super::EntryPlan;
use super::parse::{Function, FunctionKind, ParseError, Ptx, Statement};

/// Functions that the driver itself provides to every kernel.
const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Instructions that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionClass {
    /// `bar.sync`, `bar.arrive`, `bar.red`, `barrier.sync`, `barrier.cta..`: barriers of a block.
    Barrier,
    /// `bar.warp.sync`.
    WarpSync,
    /// `barrier.cluster..`.
    ClusterBarrier,
    /// `shfl..`.
    Shuffle,
    /// `vote..`, `match..`, `redux..`, `elect..`, `activemask`.
    Vote,
    /// `mma.sync..`, `wmma.mma..`.
    Mma,
    /// `wgmma.mma_async..`.
    Wgmma,
    /// `ldmatrix..`.
    LoadMatrix,
    /// `stmatrix..`.
    StoreMatrix,
    /// `cp.async.ca`, `cp.async.cg`: copies of 4 to 16 bytes to shared memory.
    AsyncCopy,
    /// `cp.async.bulk..`, tensor copies among them, without their commits and waits.
    BulkCopy,
    /// `mbarrier..`.
    Mbarrier,
    /// `atom..`, `red..`.
    Atomic,
    /// `trap`.
    Trap,
}

impl InstructionClass {
    /// The class of an opcode, if it is counted.
    pub fn of(opcode: &str) -> Option<InstructionClass> {
        use InstructionClass::*;
        let mut parts = opcode.split('.');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Some(match (first, second) {
            ("bar", "warp") => WarpSync,
            ("barrier", "cluster") => ClusterBarrier,
            ("bar" | "barrier", _) => Barrier,
            ("shfl", _) => Shuffle,
            ("vote" | "match" | "redux" | "elect" | "activemask", _) => Vote,
            ("mma", _) | ("wmma", "mma") => Mma,
            ("wgmma", "mma_async") => Wgmma,
            ("ldmatrix", _) => LoadMatrix,
            ("stmatrix", _) => StoreMatrix,
            ("cp", "async") => match parts.next() {
                Some("ca" | "cg") => AsyncCopy,
                Some("bulk") if !opcode.contains("_group") => BulkCopy,
                _ => return None,
            },
            ("mbarrier", _) => Mbarrier,
            ("atom" | "red", _) => Atomic,
            ("trap", _) => Trap,
            _ => return None,
        })
    }
}

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

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// `.global`.
    Global,
    /// `.shared`, also a cluster's.
    Shared,
    /// `.local`: spilled or address-taken variables.
    Local,
    /// `.param`.
    Param,
    /// `.const`.
    Const,
    /// No space named: resolved at run time.
    Generic,
}

/// A load or a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// Where it goes.
    pub space: Space,
    /// A store; else a load.
    pub store: bool,
    /// Bytes that one thread moves by it.
    pub bytes: u32,
}

impl Access {
    /// What a `ld..` or `st..` opcode does; `None` for others.
    pub fn of(opcode: &str) -> Option<Access> {
        let mut parts = opcode.split('.');
        let store = match parts.next()? {
            "ld" | "ldu" => false,
            "st" => true,
            _ => return None,
        };
        let (mut space, mut lanes, mut bits) = (Space::Generic, 1, None);
        for part in parts {
            match part.split_once("::").map_or(part, |(head, _)| head) {
                "global" => space = Space::Global,
                "shared" => space = Space::Shared,
                "local" => space = Space::Local,
                "param" => space = Space::Param,
                "const" => space = Space::Const,
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                "v8" => lanes = 8,
                // The type is the last modifier; modifiers such as `L1` or `evict_first` do not look like one.
                part => bits = type_bits(part).or(bits),
            }
        }
        Some(Access { space, store, bytes: lanes * bits? / 8 })
    }
}

/// Bits of a PTX type name such as `b32`, `u64`, `f16x2`, `pred`.
fn type_bits(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(['b', 'u', 's', 'f'])?;
    match digits {
        "16x2" => Some(32),
        _ => digits.parse().ok().filter(|bits| [8, 16, 32, 64, 128].contains(bits)),
    }
}

/// What one function of the PTX contains.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionFacts {
    /// Whether it is an entry.
    pub entry: bool,
    /// Statements that are instructions.
    pub instructions: u32,
    /// How many of each counted class.
    pub counts: BTreeMap<InstructionClass, u32>,
    /// Loads and stores by space and width.
    pub accesses: BTreeMap<Access, u32>,
    /// Bytes of local memory that it declares.
    pub local_bytes: u64,
    /// Functions that it calls.
    pub calls: BTreeSet<String>,
}

impl FunctionFacts {
    /// How many instructions of a class it has.
    pub fn count(&self, class: InstructionClass) -> u32 {
        self.counts.get(&class).copied().unwrap_or(0)
    }

    /// The widest access to a space, in bytes a thread: 16 where vectorised. `None` where there is no such access.
    pub fn widest(&self, space: Space, store: bool) -> Option<u32> {
        self.accesses.keys().filter(|a| a.space == space && a.store == store).map(|a| a.bytes).max()
    }

    fn of(function: &Function) -> FunctionFacts {
        let mut facts =
            FunctionFacts { entry: function.kind == FunctionKind::Entry, ..Default::default() };
        for statement in function.body.iter().flatten() {
            facts.add(statement);
        }
        facts
    }

    fn add(&mut self, statement: &Statement) {
        let opcode = statement.opcode.as_str();
        if opcode.starts_with('.') {
            if opcode == ".local" {
                self.local_bytes += declared_bytes(&statement.operands);
            }
            return;
        }
        self.instructions += 1;
        if let Some(class) = InstructionClass::of(opcode) {
            *self.counts.entry(class).or_default() += 1;
        }
        if let Some(access) = Access::of(opcode) {
            *self.accesses.entry(access).or_default() += 1;
        }
        if opcode == "call" || opcode.starts_with("call.") {
            self.calls.extend(callee(&statement.operands));
        }
    }
}

/// Size of a variable declared as `.align 8 .b8 name[128]`.
fn declared_bytes(declaration: &str) -> u64 {
    let element = declaration
        .split_whitespace()
        .filter_map(|word| type_bits(word.strip_prefix('.')?))
        .next_back()
        .map_or(1, |bits| u64::from(bits / 8));
    let count = declaration
        .split_once('[')
        .and_then(|(_, rest)| rest.split(']').next()?.trim().parse::<u64>().ok())
        .unwrap_or(1);
    element * count
}

/// The function called by `(retval), name, (arguments)` or `name, (..)`.
fn callee(operands: &str) -> Option<String> {
    let rest = match operands.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1.trim_start_matches([',', ' ']),
        None => operands,
    };
    let name = rest.split([',', ';', ' ']).next()?.trim();
    (!name.is_empty() && !name.starts_with('%')).then(|| name.to_owned())
}

/// What a PTX text contains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The `.version` line.
    pub version: PtxVersion,
    /// The `.target` line.
    pub target: String,
    /// Functions with a body, by name.
    pub functions: BTreeMap<String, FunctionFacts>,
    /// Functions called or declared, of which neither the text nor the driver has a body.
    pub unresolved: BTreeSet<String>,
}

impl Facts {
    /// Reads a PTX text.
    pub fn of(text: &str) -> Result<Facts, ParseError> {
        let ptx = Ptx::parse(text)?;
        let functions: BTreeMap<String, FunctionFacts> = ptx
            .functions
            .iter()
            .filter(|f| f.body.is_some())
            .map(|f| (f.name.clone(), FunctionFacts::of(f)))
            .collect();
        let declared = ptx.functions.iter().filter(|f| f.external).map(|f| &f.name);
        let called = functions.values().flat_map(|f| &f.calls);
        let unresolved = declared
            .chain(called)
            .filter(|name| !functions.contains_key(*name))
            .filter(|name| !DRIVER_FUNCTIONS.contains(&name.as_str()))
            .cloned()
            .collect();
        Ok(Facts { version: ptx.version, target: ptx.target, functions, unresolved })
    }

    /// The facts of an entry.
    pub fn entry(&self, name: &str) -> Option<&FunctionFacts> {
        self.functions.get(name).filter(|f| f.entry)
    }

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
    use super::*;
    use cutile_bundle::target::Arch;

    const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.extern .shared .align 16 .b8 dyn_smem[];
.visible .entry k(
\t.param .u64 k_param_0
)
{
\t.local .align 16 .b8 \t__local_depot0[48];
\tld.param.b64 %rd1, [k_param_0];
\tld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
\tld.global.nc.L1::no_allocate.v2.b64 {%rd2, %rd3}, [%rd1];
\tst.shared::cta.b16 [%r1], %rs1;
\tbar.sync 0;
\t@%p1 bar.sync 0;
\tbar.warp.sync -1;
\tshfl.sync.bfly.b32 %r5|%p2, %r1, 1, 31, -1;
\tcp.async.cg.shared.global [%r1], [%rd1], 16;
\tcp.async.commit_group;
\tcp.async.bulk.commit_group;
\tcp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
\tcall.uni (retval0), vprintf, (param0, param1);
\tcall.uni core_panic, ();
\ttrap;
}
";

    fn sm_80() -> Target {
        Target::new(Arch::new(8, 0))
    }

    #[test]
    fn counts_what_is_there() {
        let facts = Facts::of(TEXT).unwrap();
        let k = facts.entry("k").unwrap();
        use InstructionClass::*;
        let expected =
            [(Barrier, 2), (WarpSync, 1), (Shuffle, 1), (AsyncCopy, 1), (BulkCopy, 1), (Trap, 1)];
        assert_eq!(k.counts, expected.into_iter().collect());
        assert_eq!(k.local_bytes, 48);
        assert_eq!(k.widest(Space::Global, false), Some(16));
        assert_eq!(k.widest(Space::Shared, true), Some(2));
        assert_eq!(k.widest(Space::Global, true), None);
        assert_eq!(facts.unresolved.iter().collect::<Vec<_>>(), ["core_panic"]);
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

//! What a PTX text really contains: functions with their instructions, counted; header; what is called and not there.

use std::collections::{BTreeMap, BTreeSet};

use cutile_bundle::target::PtxVersion;

use super::instruction::type_bits;
pub use super::instruction::{Access, InstructionClass, Space};
use super::parse::{Function, FunctionKind, ParseError, Ptx, Statement};

/// Functions that the driver itself provides to every kernel.
const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

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
        if let Some(access) = Access::of(opcode, &statement.operands) {
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
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const TEXT: &str = "\
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
    fn widths_are_of_data_copies_among_them() {
        let of =
            |opcode, operands| Access::of(opcode, operands).map(|a| (a.space, a.store, a.bytes));
        let copy = "cp.async.ca.shared.global";
        assert_eq!(of(copy, "[%r1], [%rd1], 8, %r2"), Some((Space::Global, false, 8)));
        assert_eq!(of("cp.async.wait_group", "0"), None);
        assert_eq!(of("st.global.b32", "[%rd1], %r1"), Some((Space::Global, true, 4)));
        assert_eq!(of("st.volatile.global.b64", "[%rd1+24], %rd5"), None);
        assert_eq!(of("ld.acquire.sys.global.b32", "%r1, [%rd1+8]"), None);
    }
}

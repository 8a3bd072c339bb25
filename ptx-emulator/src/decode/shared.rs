//! Which shared memory an entry has, counted as the assembler counts it: the variables that it names, and those that the
//! functions it calls name.

use std::collections::{BTreeSet, HashMap};

use crate::memory::address;
use crate::parse::ParseError;
use crate::parse::ast::{Initial, InitialValue, Space, Variable};

use super::function::align_up;
use super::op::{Callee, Function};
use super::scope::Symbol;

/// A variable of shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    name: String,
    align: u32,
    /// 0: as much as the launch gives.
    bytes: u64,
}

/// An entry's shared memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Address of each variable of the module; 0 for those that the entry does not have.
    pub(crate) at: Vec<u32>,
    /// Bytes of its static variables.
    pub(crate) fixed: u32,
    /// Where dynamic shared memory begins.
    pub(crate) dynamic_at: u32,
}

/// What a function names and calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// Shared variables by number.
    pub(crate) shared: BTreeSet<u32>,
    /// Functions whose address it takes.
    pub(crate) pointers: BTreeSet<u32>,
}

/// Numbers the shared variables of a module.
pub(super) fn number(
    all: &[(String, &Variable)],
    symbols: &mut HashMap<String, Symbol>,
) -> Result<Vec<SharedVariable>, ParseError> {
    let mut out = Vec::new();
    let mut total = 0;
    for (name, variable) in all.iter().filter(|(_, v)| v.space == Space::Shared) {
        total = align_up(total, variable.align) + variable.bytes;
        if total > u64::from(address::SHARED_LIMIT) {
            return Err(ParseError::new(
                variable.line,
                format!("`{name}`: shared variables take more than 16 MiB"),
            ));
        }
        symbols.insert(name.clone(), Symbol::Shared(out.len() as u32));
        let (name, align, bytes) = (name.clone(), variable.align, variable.bytes);
        out.push(SharedVariable { name, align, bytes });
    }
    Ok(out)
}

/// What the initial values of a module's variables name.
struct Pinned {
    /// Shared variables: in every entry, at one address.
    shared: BTreeSet<u32>,
    functions: BTreeSet<u32>,
}

/// Lays out the shared memory of each entry.
pub(super) fn lay_out(
    functions: &[Function],
    variables: &[SharedVariable],
    initials: &[&Initial],
    symbols: &HashMap<String, Symbol>,
) -> Vec<Layout> {
    let mut pinned = Pinned { shared: BTreeSet::new(), functions: BTreeSet::new() };
    for initial in initials {
        let InitialValue::Address { symbol, .. } = &initial.value else { continue };
        match symbols.get(symbol) {
            Some(Symbol::Shared(index)) => _ = pinned.shared.insert(*index),
            Some(Symbol::Function(index)) => _ = pinned.functions.insert(*index),
            _ => {}
        }
    }
    let pointers = functions.iter().flat_map(|f| &f.uses.pointers).copied();
    let pointers: BTreeSet<u32> = pointers.chain(pinned.functions.iter().copied()).collect();
    functions
        .iter()
        .enumerate()
        .map(|(index, function)| match function.entry {
            true => layout(variables, &pinned.shared, &used(functions, index as u32, &pointers)),
            false => Layout::default(),
        })
        .collect()
}

/// The shared variables of a function and of all that it may call.
fn used(functions: &[Function], entry: u32, pointers: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut reached = BTreeSet::from([entry]);
    let mut rest = vec![entry];
    while let Some(index) = rest.pop() {
        for call in &functions[index as usize].calls {
            let callees = match call.callee {
                Callee::Function(index) => vec![index],
                Callee::Indirect(_) => pointers.iter().copied().collect(),
                Callee::System(_) => Vec::new(),
            };
            rest.extend(callees.into_iter().filter(|callee| reached.insert(*callee)));
        }
    }
    reached.iter().flat_map(|index| &functions[*index as usize].uses.shared).copied().collect()
}

/// Static variables, pinned ones first; behind them every unsized one at the same place.
fn layout(variables: &[SharedVariable], pinned: &BTreeSet<u32>, used: &BTreeSet<u32>) -> Layout {
    let order = || pinned.iter().chain(used.difference(pinned)).map(|index| *index as usize);
    let mut at = vec![0; variables.len()];
    let mut end = u64::from(address::SHARED_START);
    for index in order().filter(|i| variables[*i].bytes > 0) {
        let start = align_up(end, variables[index].align);
        at[index] = start as u32;
        end = start + variables[index].bytes;
    }
    let unsized_ones = || order().filter(|i| variables[*i].bytes == 0);
    let align = unsized_ones().map(|i| variables[i].align).fold(16, u32::max);
    let dynamic_at = align_up(end, align) as u32;
    unsized_ones().for_each(|index| at[index] = dynamic_at);
    Layout { at, fixed: end as u32 - address::SHARED_START, dynamic_at }
}

/// The address of a shared variable that an initial value names: the same in every entry.
pub(crate) fn pinned(variables: &[SharedVariable], layouts: &[Layout], name: &str) -> Option<u64> {
    let index = variables.iter().position(|v| v.name == name)?;
    layouts
        .iter()
        .find_map(|layout| layout.at.get(index).filter(|at| **at != 0))
        .map(|at| u64::from(*at))
}

/// Bytes of shared memory that a block may have at most, all in all, on a target such as `sm_90a` (CUDA programming
/// guide, technical specifications per compute capability). Targets not known have the most of any.
pub(crate) fn limit(target: &str) -> u32 {
    let number =
        target.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let kib = match number.parse::<u32>() {
        Ok(0..70) => 48,
        Ok(70 | 72) => 96,
        Ok(75) => 64,
        Ok(80 | 82 | 87) => 163,
        Ok(86 | 88 | 89 | 120 | 121) => 99,
        _ => 227,
    };
    kib << 10
}

//! A parsed module to its compact form: variables laid out, names resolved, instructions decoded by family.

mod alu;
pub(crate) mod async_op;
pub(crate) mod bulk;
mod cfg;
mod compare;
mod control;
pub(crate) mod cvt;
mod family;
mod float;
pub(crate) mod function;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
mod memory;
mod mods;
pub(crate) mod op;
mod scope;
mod sync;
pub(crate) mod visit;
pub(crate) mod wgmma;

use std::collections::{BTreeMap, HashMap};

use crate::memory::address;
use crate::parse::ParseError;
use crate::parse::ast::{Initial, Space, Statement, Tree, Variable};

use function::align_up;
use scope::Symbol;

/// A variable of global or constant memory.
#[derive(Clone, Debug)]
pub(crate) struct ModuleVariable {
    pub(crate) name: String,
    pub(crate) constant: bool,
    pub(crate) align: u32,
    pub(crate) bytes: u64,
    pub(crate) init: Vec<Initial>,
}

/// A decoded module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) functions: Vec<op::Function>,
    /// Entries and functions with a body.
    pub(crate) names: HashMap<String, u32>,
    pub(crate) variables: Vec<ModuleVariable>,
    /// Addresses of shared variables, for initial values that name them.
    pub(crate) shared: HashMap<String, u64>,
    /// First shared address after the static variables.
    pub(crate) shared_end: u32,
    /// Where dynamic shared memory begins.
    pub(crate) dynamic_at: u32,
    pub(crate) files: BTreeMap<u32, String>,
}

/// The module's name for a variable declared inside a function.
fn scoped_name(function: &str, variable: &Variable) -> String {
    format!("{function}/{}@{}", variable.name, variable.line)
}

/// Decodes a module.
pub(crate) fn decode(tree: &Tree) -> Result<Code, ParseError> {
    let mut code = Code { files: tree.files.clone(), ..Code::default() };
    let mut symbols = HashMap::new();
    let mut inner = Vec::new();
    for function in &tree.functions {
        if let Some(body) = &function.body {
            inner_variables(&function.name, body, &mut inner);
        }
    }
    let outer = tree.variables.iter().map(|v| (v.name.clone(), v));
    let all: Vec<(String, &Variable)> = outer.chain(inner).collect();
    lay_out_shared(&all, &mut code, &mut symbols)?;
    for (name, variable) in &all {
        if !matches!(variable.space, Space::Global | Space::Const) {
            continue;
        }
        if variable.is_extern {
            let message = format!("`{name}` is `.extern`: this emulator links no second module");
            return Err(ParseError::new(variable.line, message));
        }
        let index = code.variables.len() as u32;
        code.variables.push(ModuleVariable {
            name: name.clone(),
            constant: variable.space == Space::Const,
            align: variable.align,
            bytes: variable.bytes,
            init: variable.init.clone(),
        });
        symbols.insert(name.clone(), Symbol::Module { index, space: variable.space });
    }
    let defined: Vec<_> =
        tree.functions.iter().filter_map(|f| f.body.as_ref().map(|b| (f, b))).collect();
    for (index, (function, _)) in defined.iter().enumerate() {
        if code.names.insert(function.name.clone(), index as u32).is_some() {
            return Err(ParseError::new(
                function.line,
                format!("`{}` is defined twice", function.name),
            ));
        }
        symbols.insert(function.name.clone(), Symbol::Function(index as u32));
    }
    for (function, body) in defined {
        code.functions.push(function::decode(function, body, &symbols)?);
    }
    Ok(code)
}

/// Shared, global and constant variables declared inside functions.
fn inner_variables<'t>(
    function: &str,
    body: &'t [Statement],
    out: &mut Vec<(String, &'t Variable)>,
) {
    for statement in body {
        match statement {
            Statement::Block(inner) => inner_variables(function, inner, out),
            Statement::Variable(v)
                if matches!(v.space, Space::Shared | Space::Global | Space::Const) =>
            {
                out.push((scoped_name(function, v), v));
            }
            _ => {}
        }
    }
}

/// Static variables first, then every unsized one at the same address.
fn lay_out_shared(
    all: &[(String, &Variable)],
    code: &mut Code,
    symbols: &mut HashMap<String, Symbol>,
) -> Result<(), ParseError> {
    let mut at = u64::from(address::SHARED_START);
    let mut dynamic_align = 16;
    let shared = || all.iter().filter(|(_, v)| v.space == Space::Shared);
    for (name, variable) in shared() {
        if variable.bytes == 0 {
            dynamic_align = dynamic_align.max(variable.align);
            continue;
        }
        at = align_up(at, variable.align);
        symbols.insert(name.clone(), Symbol::Shared(at));
        code.shared.insert(name.clone(), at);
        at += variable.bytes;
        if at > u64::from(address::SHARED_LIMIT) {
            return Err(ParseError::new(
                variable.line,
                format!("`{name}`: shared variables take more than 16 MiB"),
            ));
        }
    }
    code.shared_end = at as u32;
    code.dynamic_at = align_up(at, dynamic_align) as u32;
    for (name, variable) in shared().filter(|(_, v)| v.bytes == 0) {
        let at = align_up(u64::from(code.dynamic_at), variable.align);
        symbols.insert(name.clone(), Symbol::Shared(at));
        code.shared.insert(name.clone(), at);
    }
    Ok(())
}

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
mod hint;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
mod memory;
mod mods;
pub(crate) mod op;
mod scope;
pub(crate) mod shared;
mod sync;
pub(crate) mod visit;
pub(crate) mod wgmma;

use std::collections::{BTreeMap, HashMap};

use crate::parse::ParseError;
use crate::parse::ast::{Initial, Space, Statement, Tree, Variable};
use crate::report::Source;

use scope::Symbol;
use shared::{Layout, SharedVariable};

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
    pub(crate) shared: Vec<SharedVariable>,
    /// Shared memory of each function that is an entry.
    pub(crate) layouts: Vec<Layout>,
    /// The architecture for which the module is written, such as `sm_90a`.
    pub(crate) target: String,
    pub(crate) files: BTreeMap<u32, String>,
}

impl Code {
    /// The source line of a `.loc` by its number in a function.
    pub(crate) fn source(&self, function: &op::Function, location: u32) -> Option<Source> {
        let (file, line, column) = *function.locations.get(location as usize)?;
        let file = self.files.get(&file).cloned().unwrap_or_else(|| format!("file {file}"));
        Some(Source { file, line, column })
    }
}

/// The module's name for a variable declared inside a function.
fn scoped_name(function: &str, variable: &Variable) -> String {
    format!("{function}/{}@{}", variable.name, variable.line)
}

/// Decodes a module.
pub(crate) fn decode(tree: &Tree) -> Result<Code, ParseError> {
    let target =
        tree.target.iter().find(|word| word.starts_with("sm_")).cloned().unwrap_or_default();
    let mut code = Code { files: tree.files.clone(), target, ..Code::default() };
    let mut symbols = HashMap::new();
    let mut inner = Vec::new();
    for function in &tree.functions {
        if let Some(body) = &function.body {
            inner_variables(&function.name, body, &mut inner);
        }
    }
    let outer = tree.variables.iter().map(|v| (v.name.clone(), v));
    let all: Vec<(String, &Variable)> = outer.chain(inner).collect();
    code.shared = shared::number(&all, &mut symbols)?;
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
    let initials: Vec<&Initial> = all.iter().flat_map(|(_, v)| &v.init).collect();
    code.layouts = shared::lay_out(&code.functions, &code.shared, &initials, &symbols);
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

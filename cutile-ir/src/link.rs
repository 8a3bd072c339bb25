//! Puts a unit's modules together: imported helpers become functions of the module, externs become
//! numbers. What comes out has neither imports nor externs.

use crate::blob::Unit;
use crate::dim::Dim;
use crate::module::{Function, Module};
use crate::op::{Callee, ControlOp, OpKind};
use crate::parse::ParseError;

/// A unit that can't be put together: it was damaged, or made by another version of cutile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says it")]
pub enum LinkError {
    #[error("the kernel data of `{unit}` can't be read: {source}")]
    Text { unit: String, source: ParseError },
    #[error("the kernel data of `{unit}` has {found} {what} where its text names {expected}")]
    Count { unit: String, what: &'static str, found: usize, expected: usize },
    #[error("the kernel data of `{unit}` holds no function")]
    Empty { unit: String },
}

/// The linked module of a unit; its first function is what the unit is for.
pub fn link(unit: &Unit<'_>) -> Result<Module, LinkError> {
    let name = || unit.name.to_string();
    let mut module = Module::parse(unit.text)
        .map_err(|source| LinkError::Text { unit: unit.name.to_string(), source })?;
    if module.functions.is_empty() {
        return Err(LinkError::Empty { unit: name() });
    }
    for (what, found, expected) in [
        ("consts", unit.externs.len(), module.externs.len()),
        ("imported helpers", unit.imports.len(), module.imports.len()),
    ] {
        if found != expected {
            return Err(LinkError::Count { unit: name(), what, found, expected });
        }
    }
    let imports = std::mem::take(&mut module.imports);
    module.externs.clear();
    for f in &mut module.functions {
        set_externs(f, &unit.externs);
        rename_calls(f, &|callee| match callee {
            Callee::Import(id) => {
                imports.get(id.0 as usize).map(|path| Callee::Local(path.clone()))
            }
            Callee::Local(_) => None,
        });
    }
    for (path, import) in imports.iter().zip(&unit.imports) {
        if !module.functions.iter().any(|f| f.name == *path) {
            append(&mut module, path, link(import)?);
        }
    }
    Ok(module)
}

/// Adds an import's functions: the first under `path`, the others below it.
fn append(module: &mut Module, path: &str, import: Module) {
    let first_file = module.files.len() as u32;
    let target = import.functions[0].name.clone();
    let renamed = |name: &str| {
        if name == target { path.to_string() } else { format!("{path}::{name}") }
    };
    module.files.extend(import.files);
    for mut f in import.functions {
        f.name = renamed(&f.name);
        rename_calls(&mut f, &|callee| match callee {
            Callee::Local(name) => Some(Callee::Local(renamed(name))),
            Callee::Import(_) => None,
        });
        f.body.for_each_op_mut(&mut |op| {
            if let Some(loc) = &mut op.loc {
                loc.file += first_file;
            }
        });
        module.functions.push(f);
    }
}

fn rename_calls(f: &mut Function, rename: &dyn Fn(&Callee) -> Option<Callee>) {
    f.body.for_each_op_mut(&mut |op| {
        if let OpKind::Control(ControlOp::Call { callee, .. }) = &mut op.kind
            && let Some(new) = rename(callee)
        {
            *callee = new;
        }
    });
}

fn set_externs(f: &mut Function, values: &[i64]) {
    fn set(d: &mut Dim, values: &[i64]) {
        match d {
            Dim::Extern(e) => {
                if let Some(n) = values.get(e.0 as usize) {
                    *d = Dim::Const(*n);
                }
            }
            Dim::Expr(_, a, b) => {
                set(a, values);
                set(b, values);
            }
            Dim::Const(_) | Dim::Param { .. } => {}
        }
    }
    f.for_each_symbol_mut(&mut |d| set(d, values), &mut |_| {});
}

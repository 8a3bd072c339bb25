//! From a linked module and the arguments of its parameters to a [`Kernel`]: every extent a number,
//! every element type known, helper functions in place of their calls, verified. The CPU backend and
//! the compiler both start from a kernel, and neither checks types again.

mod arguments;
mod inline;
mod substitute;

pub use arguments::{ArgumentError, ConstValue, Specialisation};

use crate::module::{Function, FunctionKind, Module, Op};
use crate::op::{ControlOp, CreateOp, Literal, OpKind};
use crate::print::op_text;
use crate::verify::{Diagnostic, verify};
use std::fmt;
use substitute::Substitution;

/// A function ready to run or to compile: no symbols, no calls, verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    function: Function,
    files: Vec<String>,
}

impl Kernel {
    /// The function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Source files that locations refer to.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// `file:line:column` of an operation, where it is known.
    pub fn place(&self, op: &Op) -> Option<String> {
        let loc = op.loc?;
        let file = self.files.get(loc.file as usize)?;
        Some(format!("{file}:{}:{}", loc.line, loc.column))
    }

    /// A kernel from a function that a pass changed; verified again.
    pub fn new(function: Function, files: Vec<String>) -> Result<Kernel, Vec<Diagnostic>> {
        let mut errors = symbols_left(&function);
        if errors.is_empty()
            && let Err(e) = verify(&function)
        {
            errors = e;
        }
        if errors.is_empty() {
            Ok(Kernel { function, files })
        } else {
            Err(with_files(errors, &files))
        }
    }

    /// The function and the files, to be changed and given to [`new`](Kernel::new) again.
    pub fn into_parts(self) -> (Function, Vec<String>) {
        (self.function, self.files)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.files.is_empty() {
            writeln!(f, "files {:?}", self.files)?;
        }
        write!(f, "{}", self.function)
    }
}

/// Specialises the entry of a linked module (its first function). The errors are at the user's
/// source lines.
pub fn specialise(module: &Module, args: &Specialisation) -> Result<Kernel, Vec<Diagnostic>> {
    let Some(entry) = module.functions.first() else {
        return Err(vec![plain("the module holds no function")]);
    };
    args.check(entry).map_err(|e| vec![plain(&e.to_string())])?;
    let (function, errors) =
        inline::instantiate(module, entry, &Substitution::from(args), &mut Vec::new());
    if !errors.is_empty() {
        return Err(with_files(errors, &module.files));
    }
    let mut function = function;
    function.type_params.clear();
    function.const_params.clear();
    function.kind = FunctionKind::Entry;
    function.body.for_each_op_mut(&mut settle_constant(&function.values.clone()));
    Kernel::new(function, module.files.clone())
}

/// `dim` becomes `constant`, and an integer literal of a float type a float one.
fn settle_constant(values: &[crate::module::ValueInfo]) -> impl FnMut(&mut Op) + '_ {
    move |op| {
        let Some(element) =
            op.results.first().and_then(|v| values[v.0 as usize].ty.element().known())
        else {
            return;
        };
        let OpKind::Create(create) = &mut op.kind else { return };
        let value = match create {
            CreateOp::Dim { dim } => match (dim.known(), element) {
                (Some(n), crate::Element::Bool) => Literal::Bool(n != 0),
                (Some(n), _) => Literal::Int(n.into()),
                (None, _) => return,
            },
            CreateOp::Constant { value: Literal::Int(n) } if element.is_float() => {
                Literal::float(*n as f64)
            }
            _ => return,
        };
        *create = CreateOp::Constant { value };
    }
}

fn symbols_left(f: &Function) -> Vec<Diagnostic> {
    let (mut dims, mut elements) = (false, false);
    f.clone().for_each_symbol_mut(&mut |d| dims |= d.known().is_none(), &mut |e| {
        elements |= e.known().is_none();
    });
    let mut errors = Vec::new();
    if dims || elements {
        errors.push(plain(&format!("`{}` still has symbolic extents or element types", f.name)));
    }
    f.body.for_each_op(&mut |op| {
        if let OpKind::Control(ControlOp::Call { .. }) = op.kind {
            errors.push(at(op, f, "a call is left"));
        }
    });
    errors
}

fn plain(message: &str) -> Diagnostic {
    Diagnostic { message: message.to_string(), op: String::new(), loc: None, file: None }
}

fn at(op: &Op, f: &Function, message: impl Into<String>) -> Diagnostic {
    Diagnostic { message: message.into(), op: op_text(op, f), loc: op.loc, file: None }
}

/// Names the files; a helper that is called twice says its errors once.
fn with_files(mut errors: Vec<Diagnostic>, files: &[String]) -> Vec<Diagnostic> {
    for e in &mut errors {
        if e.file.is_none()
            && let Some(loc) = e.loc
        {
            e.file = files.get(loc.file as usize).cloned();
        }
    }
    let mut once: Vec<Diagnostic> = Vec::new();
    for e in errors {
        if !once.contains(&e) {
            once.push(e);
        }
    }
    once
}

//! The verifier. A later stage may rely on all of this:
//!
//! 1. A value is defined once, before its uses, in the block of the use or in one around it.
//! 2. Every result and block parameter has the type that its operation gives it; yields match the
//!    results that they become; only scalars and tiles are carried. (`structure`)
//! 3. Operand and result types suit each operation. (`types`)
//! 4. Ranks are at most [`MAX_RANK`]; tile extents are at least 1. (`types`)
//! 5. An entry yields nothing; a view that is stored to belongs to a partitioned parameter.
//!
//! Extents that are still symbolic agree with anything: the front end compares them as expressions,
//! and `specialise` runs this again over numbers.

mod structure;
mod types;

use crate::dim::Dim;
use crate::module::{Function, FunctionKind, Loc, Op, ParamRole};
use crate::print::op_text;
use crate::types::{MAX_RANK, Type};
use std::fmt;

/// Something wrong with a function, at an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What was found and what was expected.
    pub message: String,
    /// The operation's text, empty where the function as a whole is wrong.
    pub op: String,
    /// The place in the source.
    pub loc: Option<Loc>,
    /// Its file, filled in by whoever knows the module.
    pub file: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(file), Some(loc)) = (&self.file, self.loc) {
            write!(f, "{file}:{}:{}: ", loc.line, loc.column)?;
        }
        f.write_str(&self.message)?;
        if !self.op.is_empty() {
            write!(f, "\n    in: {}", self.op.lines().next().unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Checks a function; the errors in the order of the operations.
pub fn verify(f: &Function) -> Result<(), Vec<Diagnostic>> {
    let mut c = Checker { function: f, errors: Vec::new() };
    c.signature();
    structure::check(&mut c);
    if c.errors.is_empty() {
        // Types of operands are looked at only once every operand is known to exist.
        f.body.for_each_op(&mut |op| types::check(&mut c, op));
    }
    if c.errors.is_empty() { Ok(()) } else { Err(c.errors) }
}

struct Checker<'a> {
    function: &'a Function,
    errors: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn fail(&mut self, op: &Op, message: impl Into<String>) {
        self.errors.push(Diagnostic {
            message: message.into(),
            op: op_text(op, self.function),
            loc: op.loc,
            file: None,
        });
    }

    /// Functions have no place of their own: the first operation's stands for it.
    fn fail_function(&mut self, message: impl Into<String>) {
        self.errors.push(Diagnostic {
            message: message.into(),
            op: String::new(),
            loc: self.function.body.ops.iter().find_map(|op| op.loc),
            file: None,
        });
    }

    fn signature(&mut self) {
        let f = self.function;
        if f.kind == FunctionKind::Entry && !f.body.yields.is_empty() {
            self.fail_function(format!("the entry `{}` gives results", f.name));
        }
        for p in &f.params {
            let ty = f.ty(p.value);
            let suits = match (&p.role, ty) {
                (ParamRole::Scalar, Type::Scalar(_)) => true,
                (ParamRole::Scalar, Type::Tile(_) | Type::View(_)) => {
                    f.kind == FunctionKind::Helper
                }
                (ParamRole::Shared, Type::Tensor(_)) => true,
                (ParamRole::Partitioned { tile }, Type::Tensor(t)) => tile.len() == t.extents.len(),
                _ => false,
            };
            if !suits {
                let text = crate::print::type_text(ty, f);
                self.fail_function(format!("the parameter `{}` can't be a {text}", p.name));
            }
            if ty.rank() > MAX_RANK {
                let rank = ty.rank();
                self.fail_function(format!(
                    "the parameter `{}` has rank {rank}; the highest is {MAX_RANK}",
                    p.name
                ));
            }
            if let ParamRole::Partitioned { tile } = &p.role {
                for d in tile.iter().filter_map(Dim::known).filter(|d| *d < 1) {
                    self.fail_function(format!(
                        "the parameter `{}` is partitioned by an extent of {d}; it must be at \
                         least 1",
                        p.name
                    ));
                }
            }
        }
    }
}

/// Whether two extents can be equal: numbers must be, symbols may be.
pub(crate) fn dims_agree(a: &Dim, b: &Dim) -> bool {
    match (a.known(), b.known()) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

/// Whether two types can be equal.
pub fn types_agree(a: &Type, b: &Type) -> bool {
    let shapes =
        |a: &[Dim], b: &[Dim]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| dims_agree(a, b));
    match (a, b) {
        (Type::Scalar(a), Type::Scalar(b)) => a == b,
        (Type::Tile(a), Type::Tile(b)) => a.element == b.element && shapes(&a.shape, &b.shape),
        (Type::View(a), Type::View(b)) => a.element == b.element && shapes(&a.shape, &b.shape),
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.element == b.element
                && a.extents.len() == b.extents.len()
                && a.extents.iter().zip(&b.extents).all(|(a, b)| match (a, b) {
                    (Some(a), Some(b)) => dims_agree(a, b),
                    _ => true,
                })
        }
        _ => false,
    }
}

//! Kernel source to tile IR, for cutile.
//!
//! ```text
//! syn -> parse -> ast -> resolve, typing -> lower -> tile IR
//! ```
//!
//! Everything wrong with a module is collected and reported at once, each error at its token. What rustc says itself about
//! the type-check copy is left to rustc. This crate knows no target, emits no Rust, and never panics on any input.

pub mod ast;
pub mod consts;
pub mod launcher;
mod lower;
mod messages;
pub mod parse;
pub mod report;
pub mod resolve;
mod specialisation;
pub mod typing;
mod unit;
pub mod vocabulary;

use cutile_ir::op::{Attribute, BinaryOp, UnaryOp};
use syn::ItemMod;

pub use cutile_ir as ir;
pub use report::{Diagnostic, Report};
pub use unit::Unit;

/// A kernel module, through the front end.
#[derive(Debug)]
pub struct Compiled {
    /// The module as it was parsed.
    pub module: ast::Module,
    /// A unit for each function, in the order of `module.functions`; empty if anything is wrong.
    pub units: Vec<Unit>,
    /// What is wrong.
    pub report: Report,
}

/// Compiles a `#[cutile::module]`.
pub fn compile(item: &ItemMod) -> Compiled {
    let mut report = Report::default();
    let module = parse::module(item, &mut report);
    let units = unit::units(&module, &mut report);
    Compiled { module, units, report }
}

fn unary_name(op: UnaryOp) -> &'static str {
    op.word()
}

fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        other => other.word(),
    }
}

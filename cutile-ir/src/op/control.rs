//! Structured control flow and calls of helper functions. Conditions are scalars.

use super::declare_ops;
use super::field::{Field, WalkMut};
use crate::dim::Dim;
use crate::element::ElementType;
use crate::module::{Block, ImportId, Value};
use crate::parse::{ParseError, Parser};
use crate::print::Printer;

/// The function that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function of the same module.
    Local(String),
    /// The function that an import brings; `link` makes it local.
    Import(ImportId),
}

/// An argument for a const parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstArg {
    /// For `i32` and `bool` parameters.
    One(Dim),
    /// For `[i32; N]` parameters.
    Array(Vec<Dim>),
}

impl Field for Callee {
    fn print(&self, p: &mut Printer<'_>) {
        match self {
            Callee::Local(name) => p.text(&format!("@{name}")),
            Callee::Import(id) => p.text(&format!("${}", id.0)),
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.callee()
    }
}

impl Field for ConstArg {
    fn print(&self, p: &mut Printer<'_>) {
        match self {
            ConstArg::One(d) => p.dim(d),
            ConstArg::Array(ds) => p.list(ds, |p, d| p.dim(d)),
        }
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        if p.at("[") {
            Ok(ConstArg::Array(p.list(Dim::parse)?))
        } else {
            Ok(ConstArg::One(p.dim()?))
        }
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        match self {
            ConstArg::One(d) => w.dim(d),
            ConstArg::Array(ds) => ds.iter_mut().for_each(|d| w.dim(d)),
        }
    }
}

declare_ops! {
    /// Structured control flow.
    ControlOp {
        /// Counts from `lower` up to `upper` (excluded) by `step` (> 0). The body takes the counter
        /// and the carried values and yields the next ones; the results are the last ones.
        For = "for" {
            /// First value of the counter.
            lower: Value,
            /// First value not reached.
            upper: Value,
            /// Added after each turn; at least 1, a step of 0 or less is a fault.
            step: Value,
            /// Initial carried values.
            init: Vec<Value>,
            /// (counter, carried...) -> carried.
            body: Block,
        },
        /// Runs while the condition holds. Both blocks take the carried values.
        While = "while" {
            /// Initial carried values.
            init: Vec<Value>,
            /// (carried...) -> one scalar bool.
            cond: Block,
            /// (carried...) -> carried.
            body: Block,
        },
        /// One of two blocks; both take nothing and yield the results.
        If = "if" {
            /// Scalar bool.
            cond: Value,
            /// Where it holds.
            on_true: Block,
            /// Where not.
            on_false: Block,
        },
        /// A call of a helper function; `specialise` puts its body in place.
        Call = "call" {
            /// Which.
            callee: Callee,
            /// Its type arguments, in order.
            types: Vec<ElementType>,
            /// Its const arguments, in order.
            consts: Vec<ConstArg>,
            /// Its arguments.
            args: Vec<Value>,
        },
    }
}

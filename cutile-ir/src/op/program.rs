//! The tile program itself: where it stands in the grid, and what it checks.

use super::declare_ops;
use super::field::{Axis, Field};
use crate::module::Value;
use crate::parse::{ParseError, Parser};
use crate::print::Printer;

/// Text shown to the user when a check fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(pub String);

impl Field for Message {
    fn print(&self, p: &mut Printer<'_>) {
        p.string(&self.0);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Ok(Message(p.string()?))
    }
}

declare_ops! {
    /// The tile program itself.
    ProgramOp {
        /// The program's position along a grid axis, as i32; 0 beyond the grid's rank.
        Id = "program_id" {
            /// The grid axis; 0 is the slowest.
            axis: Axis,
        },
        /// The number of programs along a grid axis, as i32; 1 beyond the grid's rank.
        Count = "program_count" {
            /// The grid axis.
            axis: Axis,
        },
        /// A fault with this message unless the scalar condition holds.
        Assert = "assert" {
            /// bool.
            cond: Value,
            /// The user's text.
            message: Message,
        },
    }
}

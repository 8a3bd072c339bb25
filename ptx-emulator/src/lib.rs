//! Runs PTX on the CPU with memory, race and initialisation checks.
mod num;
mod parse;
pub use parse::ParseError;

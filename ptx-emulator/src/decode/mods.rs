//! The parts of an opcode: a decoder takes those it knows, and what is left over is an error.

use crate::num::Round;
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Type};

/// An opcode split at its dots.
pub(crate) struct Mods<'a> {
    pub(crate) inst: &'a Instruction,
    parts: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    pub(crate) fn new(inst: &'a Instruction) -> Self {
        Self { inst, parts: inst.opcode.split('.').skip(1).collect() }
    }

    /// The instruction's name, before the first dot.
    pub(crate) fn name(&self) -> &'a str {
        self.inst.opcode.split('.').next().unwrap_or("")
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> ParseError {
        ParseError::new(self.inst.line, format!("`{}`: {message}", self.inst.opcode))
    }

    /// An instruction or form that is not run.
    pub(crate) fn unknown(&self) -> ParseError {
        self.error("this emulator does not know the instruction")
    }

    /// Takes a modifier if present.
    pub(crate) fn flag(&mut self, word: &str) -> bool {
        match self.parts.iter().position(|p| *p == word) {
            Some(at) => {
                self.parts.remove(at);
                true
            }
            None => false,
        }
    }

    /// Takes the first of the table's modifiers that is present.
    pub(crate) fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let (at, value) = self.parts.iter().enumerate().find_map(|(at, part)| {
            table.iter().find(|(word, _)| word == part).map(|(_, value)| (at, *value))
        })?;
        self.parts.remove(at);
        Some(value)
    }

    /// Like [`Self::choose`], but one must be there.
    pub(crate) fn need<T: Copy>(&mut self, table: &[(&str, T)]) -> Result<T, ParseError> {
        match self.choose(table) {
            Some(value) => Ok(value),
            None => {
                let words: Vec<_> = table.iter().map(|(word, _)| *word).collect();
                Err(self.error(format!("needs one of {}", words.join(", "))))
            }
        }
    }

    /// Takes the first part, whatever it is.
    pub(crate) fn first(&mut self) -> Option<&'a str> {
        if self.parts.is_empty() { None } else { Some(self.parts.remove(0)) }
    }

    /// The first part without taking it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.parts.first().copied()
    }

    /// Takes the first part that satisfies `f`.
    pub(crate) fn find<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) =
            self.parts.iter().enumerate().find_map(|(at, part)| f(part).map(|v| (at, v)))?;
        self.parts.remove(at);
        Some(value)
    }

    /// The next type in order.
    pub(crate) fn ty(&mut self) -> Result<Type, ParseError> {
        self.find(Type::from_word).ok_or_else(|| self.error("has no type"))
    }

    /// Floating-point rounding.
    pub(crate) fn round(&mut self) -> Option<Round> {
        self.choose(&[
            ("rn", Round::Near),
            ("rz", Round::Zero),
            ("rm", Round::Down),
            ("rp", Round::Up),
            ("rna", Round::NearAway),
        ])
    }

    /// All parts must have been taken.
    pub(crate) fn done(&self) -> Result<(), ParseError> {
        match self.parts.first() {
            None => Ok(()),
            Some(part) => {
                Err(self.error(format!("this emulator does not know the modifier `.{part}` here")))
            }
        }
    }

    /// Checks the number of operands.
    pub(crate) fn operands(
        &self,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<(), ParseError> {
        let found = self.inst.operands.len();
        if range.contains(&found) {
            return Ok(());
        }
        let expected = if range.start() == range.end() {
            format!("{}", range.start())
        } else {
            format!("{} to {}", range.start(), range.end())
        };
        Err(self.error(format!("has {found} operands, expected {expected}")))
    }
}

//! What a field of an operation must know: to print and read itself, and to show the values,
//! blocks, dims and element types it holds.

use crate::dim::{Dim, Shape};
use crate::element::ElementType;
use crate::module::{Block, Value};
use crate::parse::{ParseError, Parser};
use crate::print::Printer;

/// Sees what an operation holds.
pub trait Walk {
    /// An operand.
    fn value(&mut self, _: Value) {}
}

/// Changes what an operation holds.
pub trait WalkMut {
    /// An operand.
    fn value(&mut self, _: &mut Value) {}
    /// A nested block.
    fn block(&mut self, _: &mut Block) {}
    /// An extent or const argument.
    fn dim(&mut self, _: &mut Dim) {}
    /// An element type.
    fn element(&mut self, _: &mut ElementType) {}
}

/// A field of an operation.
pub trait Field: Sized {
    /// Writes the text form.
    fn print(&self, p: &mut Printer<'_>);
    /// Reads the text form.
    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError>;
    /// Shows what the field holds.
    fn walk(&self, _: &mut dyn Walk) {}
    /// Offers what the field holds for change.
    fn walk_mut(&mut self, _: &mut dyn WalkMut) {}
}

/// A field that is one word of a fixed list.
pub trait Attribute: Sized + Copy + PartialEq + 'static {
    /// Every value with its word.
    const WORDS: &'static [(Self, &'static str)];
    /// What the word is, for errors ("unary operator").
    const WHAT: &'static str;

    /// The value's word.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(v, _)| *v == self).expect("every value has a word").1
    }
}

impl<A: Attribute> Field for A {
    fn print(&self, p: &mut Printer<'_>) {
        p.text(self.word());
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.here();
        let word = p.word()?;
        Self::WORDS
            .iter()
            .find(|(_, w)| *w == word)
            .map(|(v, _)| *v)
            .ok_or_else(|| ParseError::at(at, format!("`{word}` is not a {}", Self::WHAT)))
    }
}

impl Field for Value {
    fn print(&self, p: &mut Printer<'_>) {
        p.value(*self);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.value_use()
    }

    fn walk(&self, w: &mut dyn Walk) {
        w.value(*self);
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        w.value(self);
    }
}

impl Field for Block {
    fn print(&self, p: &mut Printer<'_>) {
        p.block(self);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.block()
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        w.block(self);
    }
}

impl Field for Dim {
    fn print(&self, p: &mut Printer<'_>) {
        p.dim(self);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.dim()
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        w.dim(self);
    }
}

impl Field for ElementType {
    fn print(&self, p: &mut Printer<'_>) {
        p.element(*self);
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.element()
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        w.element(self);
    }
}

/// A list in brackets: `[a, b]`.
impl<T: Field> Field for Vec<T> {
    fn print(&self, p: &mut Printer<'_>) {
        p.list(self, |p, t| t.print(p));
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.list(T::parse)
    }

    fn walk(&self, w: &mut dyn Walk) {
        self.iter().for_each(|t| t.walk(w));
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        self.iter_mut().for_each(|t| t.walk_mut(w));
    }
}

impl Field for Shape {
    fn print(&self, p: &mut Printer<'_>) {
        p.list(self, |p, d| p.dim(d));
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Ok(p.list(Dim::parse)?.into())
    }

    fn walk_mut(&mut self, w: &mut dyn WalkMut) {
        self.iter_mut().for_each(|d| w.dim(d));
    }
}

/// An axis of a tile or a tensor, counted from the outermost.
pub type Axis = u32;

/// An order of axes: result axis `i` is operand axis `axes[i]`.
pub type Axes = Vec<Axis>;

impl Field for Axis {
    fn print(&self, p: &mut Printer<'_>) {
        p.text(&self.to_string());
    }

    fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.here();
        let n = p.integer()?;
        u32::try_from(n).map_err(|_| ParseError::at(at, format!("`{n}` is not an axis")))
    }
}

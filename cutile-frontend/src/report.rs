//! Collects what is wrong with a module, so that an author sees all of it at once. Message texts are in `messages`.

use proc_macro2::Span;

/// Something wrong, at a token.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What was given, what was expected, what to write instead.
    pub message: String,
}

/// What is wrong with a module.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// To be shown.
    errors: Vec<Diagnostic>,
    /// What rustc says itself, and better, about the type-check copy: to be shown only if it doesn't.
    left_to_rustc: Vec<Diagnostic>,
}

impl Report {
    /// An error that rustc can't give.
    pub fn error(&mut self, span: Span, message: impl Into<String>) {
        self.errors.push(Diagnostic { span, message: message.into() });
    }

    /// An error that rustc gives when it checks the copy.
    pub fn rustc_error(&mut self, span: Span, message: impl Into<String>) {
        self.left_to_rustc.push(Diagnostic { span, message: message.into() });
    }

    /// Errors to show.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// Errors that rustc is expected to show.
    pub fn left_to_rustc(&self) -> &[Diagnostic] {
        &self.left_to_rustc
    }

    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty() && self.left_to_rustc.is_empty()
    }

    /// How many errors of either kind there are; a mark to compare with later.
    pub fn count(&self) -> usize {
        self.errors.len() + self.left_to_rustc.len()
    }
}

//! PTX text to a tree: lexer, module grammar, statement grammar. Nothing is resolved here.

pub(crate) mod ast;
mod body;
mod lex;
mod module;

use lex::{Kind, Token};

/// Text that is not PTX, or PTX that this crate can't run, found before anything ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct ParseError {
    /// Line of the PTX text, counted from 1.
    pub line: u32,
    /// What was found there and what was expected.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// Braces deeper than this are refused, so that the parser's own stack is bounded.
const MAX_NESTING: u32 = 64;

/// Parses a whole module.
pub(crate) fn parse(text: &str) -> Result<ast::Tree, ParseError> {
    let tokens = lex::tokens(text)?;
    Parser { tokens: &tokens, at: 0, nesting: 0 }.module()
}

/// A cursor over tokens.
struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    nesting: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Kind<'a>> {
        self.tokens.get(self.at).map(|t| t.kind)
    }

    fn peek_after(&self, ahead: usize) -> Option<Kind<'a>> {
        self.tokens.get(self.at + ahead).map(|t| t.kind)
    }

    /// Line of the next token, or of the last one at the end.
    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    fn next(&mut self) -> Option<Kind<'a>> {
        let kind = self.peek();
        self.at += 1;
        kind
    }

    fn error(&self, expected: &str) -> ParseError {
        let found = match self.peek() {
            None => "the end of the text".to_owned(),
            Some(Kind::Word(w)) => format!("`{w}`"),
            Some(Kind::Int(v)) => format!("`{v}`"),
            Some(Kind::Float(v)) => format!("`{v}`"),
            Some(Kind::Single(bits)) => format!("`0f{bits:08X}`"),
            Some(Kind::Text(t)) => format!("{t:?}"),
            Some(Kind::Mark(c)) => format!("`{c}`"),
        };
        ParseError::new(self.line(), format!("expected {expected}, found {found}"))
    }

    fn at_mark(&self, mark: char) -> bool {
        self.peek() == Some(Kind::Mark(mark))
    }

    fn eat_mark(&mut self, mark: char) -> bool {
        let found = self.at_mark(mark);
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, mark: char) -> Result<(), ParseError> {
        if self.eat_mark(mark) { Ok(()) } else { Err(self.error(&format!("`{mark}`"))) }
    }

    fn at_word(&self, word: &str) -> bool {
        self.peek() == Some(Kind::Word(word))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, expected: &str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(Kind::Word(w)) => {
                self.at += 1;
                Ok(w)
            }
            _ => Err(self.error(expected)),
        }
    }

    /// A name: a word that is no directive.
    fn name(&mut self, expected: &str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(Kind::Word(w)) if !w.starts_with('.') => {
                self.at += 1;
                Ok(w)
            }
            _ => Err(self.error(expected)),
        }
    }

    fn int(&mut self, expected: &str) -> Result<u64, ParseError> {
        match self.peek() {
            Some(Kind::Int(v)) => {
                self.at += 1;
                Ok(v)
            }
            _ => Err(self.error(expected)),
        }
    }

    fn int_u32(&mut self, expected: &str) -> Result<u32, ParseError> {
        let line = self.line();
        let value = self.int(expected)?;
        u32::try_from(value)
            .map_err(|_| ParseError::new(line, format!("{expected} {value} is over 2^32")))
    }

    /// A constant with an optional sign.
    fn signed_int(&mut self, expected: &str) -> Result<i64, ParseError> {
        let negative = self.eat_mark('-');
        let value = self.int(expected)? as i64;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// `item , item , ..` up to the closing mark, which is eaten.
    fn list<T>(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut out = Vec::new();
        if self.eat_mark(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.eat_mark(close) {
                return Ok(out);
            }
            self.mark(',')?;
        }
    }

    fn enter(&mut self) -> Result<(), ParseError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(ParseError::new(
                self.line(),
                format!("more than {MAX_NESTING} nested groups"),
            ));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.nesting -= 1;
    }
}

//! Text to tokens. Knows the spelling of PTX words and numbers, nothing of its grammar.

use super::ParseError;

/// One token with the line it starts on (counted from 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) line: u32,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    /// An identifier, opcode, directive or register, with its dots: `ld.global.b32`, `%tid.x`, `.reg`, `$L_1`.
    Word(&'a str),
    /// An integer literal; the value is kept modulo 2^64.
    Int(u64),
    /// A floating-point literal: `0f3F800000` (single) widened, `0d...` or decimal.
    Float(f64),
    /// A single-precision literal by its bits, so that NaN payloads survive.
    Single(u32),
    /// The text between two double quotes.
    Text(&'a str),
    /// Any other single character.
    Mark(char),
}

/// Splits `text` into tokens; comments and white space go.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut out = Vec::with_capacity(text.len() / 4);
    while let Some(token) = lexer.next()? {
        out.push(token);
    }
    Ok(out)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

fn word_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

fn word_char(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%')
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn error(&self, what: impl Into<String>) -> ParseError {
        ParseError::new(self.line, what)
    }

    fn skip_blank(&mut self) -> Result<(), ParseError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (c, _) if c.is_ascii_whitespace() => self.at += 1,
                (b'/', b'/') => {
                    while self.at < self.text.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => {
                    let Some(length) = self.text[self.at..].find("*/") else {
                        return Err(self.error("a comment is never closed: no `*/` follows"));
                    };
                    let comment = &self.text[self.at..self.at + length];
                    self.line += comment.bytes().filter(|&c| c == b'\n').count() as u32;
                    self.at += length + 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn next(&mut self) -> Result<Option<Token<'a>>, ParseError> {
        self.skip_blank()?;
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let line = self.line;
        let c = self.peek(0);
        let kind = if c.is_ascii_digit() {
            self.number()?
        } else if word_start(c) {
            Kind::Word(self.word())
        } else if c == b'"' {
            self.quoted()?
        } else if c.is_ascii_punctuation() {
            self.at += 1;
            Kind::Mark(char::from(c))
        } else {
            let shown = self.text[self.at..].chars().next().unwrap_or('?');
            return Err(self.error(format!("{shown:?} is not a character of PTX")));
        };
        Ok(Some(Token { kind, line }))
    }

    /// A word runs over dots and `::` that join two of its parts.
    fn word(&mut self) -> &'a str {
        let start = self.at;
        self.at += 1;
        loop {
            let c = self.peek(0);
            if word_char(c) || (c == b'.' && word_char(self.peek(1))) {
                self.at += 1;
            } else if c == b':' && self.peek(1) == b':' && word_char(self.peek(2)) {
                self.at += 2;
            } else {
                return &self.text[start..self.at];
            }
        }
    }

    fn quoted(&mut self) -> Result<Kind<'a>, ParseError> {
        let start = self.at + 1;
        let Some(length) = self.text[start..].find('"') else {
            return Err(self.error("a string is never closed: no `\"` follows"));
        };
        let text = &self.text[start..start + length];
        self.line += text.bytes().filter(|&c| c == b'\n').count() as u32;
        self.at = start + length + 1;
        Ok(Kind::Text(text))
    }

    fn number(&mut self) -> Result<Kind<'a>, ParseError> {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'.' {
            let exponent = matches!(self.peek(0), b'e' | b'E')
                && !self.text[start..self.at].contains(['x', 'X']);
            self.at += 1;
            if exponent
                && matches!(self.peek(0), b'+' | b'-')
                && self.text[start..self.at].contains('.')
                && self.peek(1).is_ascii_digit()
            {
                self.at += 1;
            }
        }
        let text = &self.text[start..self.at];
        number(text).ok_or_else(|| self.error(format!("`{text}` is not a number of PTX")))
    }
}

/// The value of a number's text: hexadecimal, octal, binary or decimal, float by bits (`0f`, `0d`) or decimal.
fn number(text: &str) -> Option<Kind<'static>> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f").filter(|h| h.len() == 8) {
        return u32::from_str_radix(hex, 16).ok().map(Kind::Single);
    }
    if let Some(hex) = lower.strip_prefix("0d").filter(|h| h.len() == 16) {
        return u64::from_str_radix(hex, 16).ok().map(|b| Kind::Float(f64::from_bits(b)));
    }
    let bare = lower.strip_suffix('u').unwrap_or(&lower);
    let whole = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(Kind::Int);
    if let Some(hex) = bare.strip_prefix("0x") {
        return whole(hex, 16);
    }
    if let Some(binary) = bare.strip_prefix("0b") {
        return whole(binary, 2);
    }
    if lower.contains('.') || lower.contains('e') {
        return lower.parse().ok().map(Kind::Float);
    }
    match bare.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(octal) => whole(octal, 8),
        None => whole(bare, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        tokens(text).unwrap().into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn words_keep_their_dots_and_colons() {
        let text = "ld.global.L2::128B.v4.b32 {%r1}, [%rd1+-8]; $L_1: @!%p bra $L_1;";
        let found = kinds(text);
        assert_eq!(found[0], Kind::Word("ld.global.L2::128B.v4.b32"));
        assert!(found.contains(&Kind::Word("$L_1")));
        assert!(found.contains(&Kind::Int(8)));
    }

    #[test]
    fn numbers_in_each_spelling() {
        use Kind::*;
        let text = "0 10 0x1F 017 0b101 7U 0f3F800000 0d3FF0000000000000 1.5 2.5e-3";
        let expected = [
            Int(0),
            Int(10),
            Int(31),
            Int(15),
            Int(5),
            Int(7),
            Single(0x3f80_0000),
            Float(1.0),
            Float(1.5),
            Float(2.5e-3),
        ];
        assert_eq!(kinds(text), expected);
    }

    #[test]
    fn lines_are_counted_through_comments() {
        let found = tokens("a /* \n\n */ b // c\n d").unwrap();
        assert_eq!(found.iter().map(|t| t.line).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn what_is_no_ptx_is_an_error() {
        for bad in ["/* x", "\"x", "0xZZ", "é", "09"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }
}

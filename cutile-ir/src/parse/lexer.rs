//! Tokens of the text form: words (with dots inside), `%names`, `@names`, `$numbers`, numbers,
//! quoted strings, single characters.

use super::{ParseError, Place};

/// All tokens of a text, with their places.
pub(super) struct Lexer<'a> {
    tokens: Vec<(&'a str, Place)>,
    next: usize,
    end: Place,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut tokens = Vec::new();
        let mut end = (1, 1);
        for (i, line) in text.lines().enumerate() {
            let row = i as u32 + 1;
            let mut at = 0;
            while at < line.len() {
                let rest = &line[at..];
                let place = (row, at as u32 + 1);
                let len = token_length(rest)
                    .ok_or_else(|| ParseError::at(place, "a string does not end on its line"))?;
                if !rest.starts_with(char::is_whitespace) {
                    tokens.push((&rest[..len], place));
                }
                at += len;
                end = (row, at as u32 + 1);
            }
        }
        Ok(Lexer { tokens, next: 0, end })
    }

    pub(super) fn is_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    pub(super) fn peek(&self) -> &'a str {
        self.tokens.get(self.next).map_or("the end", |t| t.0)
    }

    pub(super) fn next(&mut self) -> &'a str {
        let t = self.peek();
        self.next += 1;
        t
    }

    pub(super) fn place(&self) -> Place {
        self.tokens.get(self.next).map_or(self.end, |t| t.1)
    }
}

fn token_length(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    let name = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == ':';
    let run = |skip: usize, ok: &dyn Fn(char) -> bool| {
        rest[skip..].find(|c| !ok(c)).map_or(rest.len(), |n| n + skip)
    };
    Some(match first {
        c if c.is_whitespace() => run(0, &char::is_whitespace),
        '"' => {
            let mut escaped = false;
            let close = rest[1..].find(|c| {
                let hit = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                hit
            })?;
            close + 2
        }
        '%' | '$' => run(1, &|c| c.is_alphanumeric() || c == '_' || c == '.'),
        '@' => run(1, &name),
        c if c.is_alphabetic() || c == '_' => {
            run(0, &|c| c.is_alphanumeric() || c == '_' || c == '.')
        }
        c if c.is_ascii_digit() => number_length(rest),
        c => c.len_utf8(),
    })
}

/// Digits, letters and dots, and a sign right after an exponent's `e`.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut n = 0;
    while n < bytes.len() {
        let b = bytes[n];
        let exponent_sign = (b == b'-' || b == b'+') && matches!(bytes[n - 1], b'e' | b'E');
        if !(b.is_ascii_alphanumeric() || b == b'.' || (n > 0 && exponent_sign)) {
            break;
        }
        n += 1;
    }
    n
}

/// The text of a quoted token, as `{:?}` quotes it.
pub(super) fn unquote(token: &str) -> Option<String> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
            c => c,
        });
    }
    Some(out)
}

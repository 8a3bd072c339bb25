//! Reads PTX text as far as our own tools need: functions, their parameters and directives, and the statements of their
//! bodies, each with its place in the text.
//!
//! It keeps no operands apart and checks no types. The emulator has a full parser of its own, on purpose: the two must not
//! share a mistake.

use std::ops::Range;

use cutile_bundle::target::PtxVersion;

/// A PTX file, read.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The `.version` line.
    pub version: PtxVersion,
    /// The first word of the `.target` line: `sm_90a`.
    pub target: String,
    /// Entries, device functions and declarations, in order.
    pub functions: Vec<Function>,
    /// Statements outside of functions (variables), as written, without the final `;`.
    pub globals: Vec<String>,
}

/// What a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: a device function.
    Device,
}

/// An entry, a device function or the declaration of one.
#[derive(Clone, Debug)]
pub struct Function {
    /// Entry or device function.
    pub kind: FunctionKind,
    /// Its symbol.
    pub name: String,
    /// Declared `.extern`: its body is to come from elsewhere.
    pub external: bool,
    /// Its parameters. Empty for a list that is absent.
    pub parameters: Vec<Parameter>,
    /// Where performance directives stand: from behind the parameter list to the `{`, or the `;` of a declaration.
    pub directives: Range<usize>,
    /// The statements of the body; `None` for a declaration.
    pub body: Option<Vec<Statement>>,
}

/// One parameter of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name: `<entry>_param_<index>` for rustc's.
    pub name: String,
    /// The type's name without the dot: `u64`, `b8`.
    pub element: String,
    /// Number of elements of an array parameter; `None` for a scalar.
    pub count: Option<u64>,
    /// The number behind `.align`, and where it stands in the text.
    pub align: Option<(u32, Range<usize>)>,
}

/// One statement of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Line in the text, from 1.
    pub line: u32,
    /// The opcode with its modifiers (`ld.global.v4.b32`), or a directive's name with its dot (`.local`).
    pub opcode: String,
    /// What follows the opcode, without the final `;`.
    pub operands: String,
    /// Whether a guard predicate stands before it.
    pub guarded: bool,
}

/// PTX that does not have the form expected of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the PTX: expected {expected}, found `{found}`")]
pub struct ParseError {
    /// Line in the text, from 1.
    pub line: u32,
    /// What should have stood there.
    pub expected: &'static str,
    /// What stood there.
    pub found: String,
}

impl Ptx {
    /// Reads a whole file.
    pub fn parse(text: &str) -> Result<Ptx, ParseError> {
        Parser::new(text).file()
    }

    /// The entry of this name.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.kind == FunctionKind::Entry && f.name == name)
    }
}

/// The text with comments blanked out (same length, same lines) and a position in it.
struct Parser {
    text: String,
    at: usize,
    /// Where lines end, so that the line of a place is found without counting.
    line_ends: Vec<usize>,
}

impl Parser {
    fn new(text: &str) -> Parser {
        let text = blank_comments(text);
        let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Parser { text, at: 0, line_ends }
    }

    fn file(mut self) -> Result<Ptx, ParseError> {
        let (mut version, mut target) = (None, None);
        let (mut functions, mut globals) = (Vec::new(), Vec::new());
        while let Some(word) = self.peek_word() {
            match word.as_str() {
                ".version" => {
                    let line = self.line_rest();
                    version = Some(
                        line[".version".len()..]
                            .trim()
                            .parse()
                            .map_err(|_| self.error("a version such as 8.0 behind .version"))?,
                    );
                }
                ".target" => {
                    let line = self.line_rest();
                    let names = line[".target".len()..].trim();
                    target = Some(names.split(',').next().unwrap_or_default().trim().to_owned());
                }
                ".address_size" | ".file" | ".loc" => drop(self.line_rest()),
                ".section" => self.section()?,
                _ => match self.declaration()? {
                    Declaration::Function(function) => functions.push(function),
                    Declaration::Other(text) => globals.push(text),
                },
            }
        }
        Ok(Ptx {
            version: version.ok_or_else(|| self.error("a .version line in the file"))?,
            target: target.ok_or_else(|| self.error("a .target line in the file"))?,
            functions,
            globals,
        })
    }

    /// A declaration at file level: a function with its body, or anything up to a `;`.
    fn declaration(&mut self) -> Result<Declaration, ParseError> {
        let start = self.at;
        let line = self.line();
        let mut external = false;
        loop {
            match self.peek_word().as_deref() {
                Some(".entry") => return self.function(FunctionKind::Entry, external),
                Some(".func") => return self.function(FunctionKind::Device, external),
                Some(word @ (".visible" | ".extern" | ".weak" | ".common")) => {
                    external |= word == ".extern";
                    self.at += word.len();
                }
                Some(_) => break,
                None => return Err(self.error("a declaration")),
            }
        }
        let end = self.find(';').ok_or_else(|| ParseError {
            line,
            expected: "a `;` at the end of the declaration",
            found: first_line(&self.text[start..]),
        })?;
        let text = self.text[start..end].trim().to_owned();
        self.at = end + 1;
        Ok(Declaration::Other(text))
    }

    fn function(&mut self, kind: FunctionKind, external: bool) -> Result<Declaration, ParseError> {
        let keyword = if kind == FunctionKind::Entry { ".entry" } else { ".func" };
        self.at += keyword.len();
        self.skip_space();
        if self.rest().starts_with('(') {
            self.parenthesised()?; // the return parameter of a device function
        }
        let name = self.peek_word().ok_or_else(|| self.error("a function name"))?;
        self.at += name.len();
        self.skip_space();
        let parameters = if self.rest().starts_with('(') {
            let range = self.parenthesised()?;
            self.parameters(range)?
        } else {
            Vec::new()
        };
        let directives_start = self.at;
        let end = self
            .rest()
            .find(['{', ';'])
            .map(|offset| self.at + offset)
            .ok_or_else(|| self.error("a body or `;` behind the function's header"))?;
        let directives = directives_start..end;
        let has_body = self.text.as_bytes()[end] == b'{';
        self.at = end + 1;
        let body = if has_body { Some(self.body()?) } else { None };
        Ok(Declaration::Function(Function { kind, name, external, parameters, directives, body }))
    }

    /// Steps over `( .. )`; the range is what stands between.
    fn parenthesised(&mut self) -> Result<Range<usize>, ParseError> {
        let start = self.at + 1;
        let end = self.find(')').ok_or_else(|| self.error("a closing `)`"))?;
        self.at = end + 1;
        Ok(start..end)
    }

    fn parameters(&self, range: Range<usize>) -> Result<Vec<Parameter>, ParseError> {
        let mut parameters = Vec::new();
        let mut at = range.start;
        for piece in self.text[range].split(',') {
            if !piece.trim().is_empty() {
                parameters.push(self.parameter(piece, at)?);
            }
            at += piece.len() + 1;
        }
        Ok(parameters)
    }

    /// One parameter: `.param .u64 .ptr .global .align 1 name`, `.param .align 8 .b8 name[128]`.
    fn parameter(&self, piece: &str, start: usize) -> Result<Parameter, ParseError> {
        let error = |expected| ParseError {
            line: self.line_at(start + piece.len() - piece.trim_start().len()),
            expected,
            found: piece.trim().to_owned(),
        };
        let mut words = words_with_place(piece, start).peekable();
        let mut element = None;
        let mut align = None;
        let mut name = None;
        while let Some((word, place)) = words.next() {
            match word {
                ".param" | ".reg" | ".ptr" | ".global" | ".const" | ".shared" | ".local" => {}
                ".align" => {
                    let (number, place) =
                        words.next().ok_or_else(|| error("a number behind .align"))?;
                    let value = number.parse().map_err(|_| error("a number behind .align"))?;
                    align = Some((value, place));
                }
                _ if word.starts_with('.') => element = Some(word[1..].to_owned()),
                _ => name = Some(&self.text[place.start..start + piece.len()]),
            }
            if name.is_some() {
                break;
            }
        }
        let (name, element) = (
            name.ok_or_else(|| error("a parameter's name"))?.trim(),
            element.ok_or_else(|| error("a parameter's type"))?,
        );
        let (name, count) = match name.split_once('[') {
            Some((name, count)) => {
                let count = count.trim_end().trim_end_matches(']').trim();
                (name, Some(count.parse().map_err(|_| error("a number of elements"))?))
            }
            None => (name, None),
        };
        Ok(Parameter { name: name.trim().to_owned(), element, count, align })
    }

    /// The statements up to the `}` that ends the body; inner scopes are flattened.
    fn body(&mut self) -> Result<Vec<Statement>, ParseError> {
        let mut statements = Vec::new();
        let mut depth = 1;
        loop {
            self.skip_space();
            match self.rest().as_bytes().first() {
                None => return Err(self.error("a `}` at the end of the body")),
                Some(b'{') => (depth, self.at) = (depth + 1, self.at + 1),
                Some(b'}') => {
                    (depth, self.at) = (depth - 1, self.at + 1);
                    if depth == 0 {
                        return Ok(statements);
                    }
                }
                Some(b';') => self.at += 1,
                Some(_) => statements.extend(self.statement()?),
            }
        }
    }

    /// One statement; `None` for a label or a debug line.
    fn statement(&mut self) -> Result<Option<Statement>, ParseError> {
        let line = self.line();
        let mut word = self.peek_word().ok_or_else(|| self.error("a statement"))?;
        if matches!(word.as_str(), ".loc" | ".file") {
            self.line_rest();
            return Ok(None);
        }
        // A label is a word and a colon; `::` belongs to opcodes.
        if let Some(label) = word.strip_suffix(':')
            && !label.contains(':')
        {
            self.at += word.len();
            return Ok(None);
        }
        let guarded = word.starts_with('@');
        if guarded {
            self.at += word.len();
            self.skip_space();
            word = self.peek_word().ok_or_else(|| self.error("an instruction behind its guard"))?;
        }
        let end = self.find(';').ok_or_else(|| self.error("a `;` at the end of the statement"))?;
        let operands = self.text[self.at + word.len()..end].trim();
        let statement =
            Statement { line, opcode: word, operands: collapse_space(operands), guarded };
        self.at = end + 1;
        Ok(Some(statement))
    }

    /// A debug section, `.section name { .. }`.
    fn section(&mut self) -> Result<(), ParseError> {
        let end = self.find('}').ok_or_else(|| self.error("a `}` at the end of the section"))?;
        self.at = end + 1;
        Ok(())
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// The word at the next place that is not space, without stepping over it.
    fn peek_word(&mut self) -> Option<String> {
        self.skip_space();
        let rest = self.rest();
        let mut end = rest.len();
        for (i, c) in rest.char_indices() {
            let closes = c.is_whitespace() || matches!(c, ';' | ',' | '(' | ')' | '{' | '}' | '[');
            // A label may be followed by a statement without a space.
            let label = c == ':' && !rest[..i].ends_with(':') && !rest[i + 1..].starts_with(':');
            if closes || label {
                end = if label { i + 1 } else { i };
                break;
            }
        }
        // A lone delimiter is a word of its own, so that callers always move on.
        let end = if end == 0 { rest.chars().next()?.len_utf8() } else { end };
        Some(rest[..end].to_owned())
    }

    fn line_rest(&mut self) -> String {
        self.skip_space();
        let line = first_line(self.rest());
        self.at += line.len();
        line
    }

    /// The next such character outside of a string.
    fn find(&self, wanted: char) -> Option<usize> {
        let mut quoted = false;
        self.rest().char_indices().find_map(|(i, c)| {
            quoted ^= c == '"';
            (!quoted && c == wanted).then_some(self.at + i)
        })
    }

    fn line(&self) -> u32 {
        self.line_at(self.at)
    }

    fn line_at(&self, at: usize) -> u32 {
        1 + self.line_ends.partition_point(|end| *end < at) as u32
    }

    fn error(&self, expected: &'static str) -> ParseError {
        ParseError { line: self.line(), expected, found: first_line(self.rest()) }
    }
}

enum Declaration {
    Function(Function),
    Other(String),
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn collapse_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a piece of text, each with its place in the whole.
fn words_with_place(piece: &str, start: usize) -> impl Iterator<Item = (&str, Range<usize>)> {
    piece.split_whitespace().map(move |word| {
        let at = start + (word.as_ptr() as usize - piece.as_ptr() as usize);
        (word, at..at + word.len())
    })
}

/// The same text with each comment turned into spaces, so that places stay what they are.
fn blank_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['/', '"']) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let (end, comment) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), true)
        } else if let Some(string) = rest.strip_prefix('"') {
            (string.find('"').map_or(rest.len(), |end| end + 2), false)
        } else {
            (1, false)
        };
        if comment {
            out.extend(rest[..end].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"//
// Generated by LLVM NVPTX Back-End
.version 8.0
.target sm_90a, debug
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.extern .shared .align 1024 .b8 dyn_smem[];
.global .align 1 .b8 $str[6] = {104, 105, 59, 44, 10, 0};
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .align 8 .b8 k_param_1[128], // a map
	.param .u32 k_param_2
)
.maxntid 128 /* inside; {a} */
{
	.reg .pred 	%p<2>;
	.loc 1 2 3
$L__BB0_1:  mov.b32 %r1, %tid.x;
	@%p1 bra 	$L__BB0_2;
	{ .reg .b32 t; W: mov.b32 t, {%rs1, %rs2}; }
	ld.shared::cta.v4.b32 {%r1, %r2,
	   %r3, %r4}, [%r5+16];
$L__BB0_2:
	ret;
}
.func  (.param .b32 r) helper()
{
	trap;
}
"#;

    #[test]
    fn reads_functions_and_header() {
        let ptx = Ptx::parse(SAMPLE).unwrap();
        assert_eq!((ptx.version, ptx.target.as_str()), (PtxVersion::new(8, 0), "sm_90a"));
        let names: Vec<_> =
            ptx.functions.iter().map(|f| (f.name.as_str(), f.external, f.body.is_some())).collect();
        assert_eq!(names, [("vprintf", true, false), ("k", false, true), ("helper", false, true)]);
        assert_eq!(ptx.globals.len(), 2);
        assert!(ptx.globals[1].contains("104"));
    }

    #[test]
    fn reads_parameters_with_the_place_of_their_alignment() {
        let ptx = Ptx::parse(SAMPLE).unwrap();
        let k = ptx.entry("k").unwrap();
        let seen: Vec<_> = k
            .parameters
            .iter()
            .map(|p| (p.name.as_str(), p.element.as_str(), p.count, p.align.as_ref().map(|a| a.0)))
            .collect();
        assert_eq!(
            seen,
            [
                ("k_param_0", "u64", None, Some(1)),
                ("k_param_1", "b8", Some(128), Some(8)),
                ("k_param_2", "u32", None, None)
            ]
        );
        let place = k.parameters[1].align.clone().unwrap().1;
        assert_eq!(&SAMPLE[place], "8");
        assert!(SAMPLE[k.directives.clone()].contains(".maxntid 128"));
    }

    #[test]
    fn reads_statements_labels_guards_and_scopes() {
        let ptx = Ptx::parse(SAMPLE).unwrap();
        let body = ptx.entry("k").unwrap().body.as_ref().unwrap();
        let seen: Vec<_> = body.iter().map(|s| (s.opcode.as_str(), s.guarded)).collect();
        assert_eq!(
            seen,
            [
                (".reg", false),
                ("mov.b32", false),
                ("bra", true),
                (".reg", false),
                ("mov.b32", false),
                ("ld.shared::cta.v4.b32", false),
                ("ret", false)
            ]
        );
        assert_eq!(body[5].operands, "{%r1, %r2, %r3, %r4}, [%r5+16]");
        assert_eq!(
            SAMPLE.lines().nth(body[5].line as usize - 1).unwrap().trim_start().get(..3),
            Some("ld.")
        );
    }

    /// Minutes, if each statement looked for its line from the start of the text.
    #[test]
    fn a_long_text_is_read_once() {
        let header = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n";
        let body = "\tadd.s32 %r1, %r1, 1;\n".repeat(100_000);
        let ptx = Ptx::parse(&format!("{header}{body}}}\n")).unwrap();
        let statements = ptx.functions[0].body.as_ref().unwrap();
        assert_eq!(statements.len(), 100_000);
        assert_eq!((statements[0].line, statements[99_999].line), (6, 100_005));
    }

    #[test]
    fn broken_text_is_an_error_with_its_line() {
        let cut = |at: &str| Ptx::parse(&SAMPLE[..SAMPLE.find(at).unwrap()]).unwrap_err();
        assert_eq!(cut("$L__BB0_2:\n").expected, "a `}` at the end of the body");
        assert_eq!(cut(".maxntid").expected, "a body or `;` behind the function's header");
        assert_eq!(cut(".version").expected, "a .version line in the file");
        let bad = SAMPLE.replace(".align 8 .b8", ".align x .b8");
        assert_eq!(Ptx::parse(&bad).unwrap_err().line, 11);
    }
}

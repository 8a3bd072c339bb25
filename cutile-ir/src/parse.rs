//! The text form, in. Reads exactly what `print` writes (white space is free); no rule about types
//! is checked here, that is the verifier's.

mod lexer;

use crate::dim::{ConstParam, Dim, DimOp, ExternConst, Shape};
use crate::element::{Element, ElementType, TypeParam};
use crate::module::*;
use crate::op::{Callee, Literal, OpKind};
use crate::types::{TensorType, Type};
use lexer::Lexer;
use smallvec::SmallVec;
use std::collections::HashMap;

/// A text that is not the text form, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tile IR text, line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// What stands there and what was expected.
    pub message: String,
}

/// A place in the text: line and column, from 1.
pub type Place = (u32, u32);

impl ParseError {
    pub(crate) fn at((line, column): Place, message: impl Into<String>) -> ParseError {
        ParseError { line, column, message: message.into() }
    }
}

impl Module {
    /// Reads a module's text form.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        let mut p = Parser::new(text)?;
        let mut m = Module::default();
        while !p.lex.is_end() {
            match p.lex.peek() {
                "files" => m.files = p.strings("files")?,
                "imports" => m.imports = p.strings("imports")?,
                "externs" => m.externs = p.strings("externs")?,
                _ => m.functions.push(p.function()?),
            }
        }
        Ok(m)
    }
}

/// Reads the text form of a function's parts.
pub struct Parser<'a> {
    lex: Lexer<'a>,
    function: Function,
    names: HashMap<&'a str, Value>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        Ok(Parser { lex: Lexer::new(text)?, function: empty_function(), names: HashMap::new() })
    }

    /// The place of the next token.
    pub fn here(&self) -> Place {
        self.lex.place()
    }

    /// Whether the next token is that.
    pub fn at(&self, token: &str) -> bool {
        self.lex.peek() == token
    }

    fn eat(&mut self, token: &str) -> bool {
        let hit = self.at(token);
        if hit {
            self.lex.next();
        }
        hit
    }

    fn expect(&mut self, token: &str) -> Result<(), ParseError> {
        let at = self.here();
        match self.lex.next() {
            t if t == token => Ok(()),
            t => Err(ParseError::at(at, format!("expected `{token}`, found `{t}`"))),
        }
    }

    /// A word: letters, digits, underscores.
    pub fn word(&mut self) -> Result<&'a str, ParseError> {
        let at = self.here();
        let t = self.lex.next();
        if t.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            Ok(t)
        } else {
            Err(ParseError::at(at, format!("expected a word, found `{t}`")))
        }
    }

    /// An integer, with its sign.
    pub fn integer(&mut self) -> Result<i128, ParseError> {
        let at = self.here();
        let negative = self.eat("-");
        let t = self.lex.next();
        let n: i128 = t
            .parse()
            .map_err(|_| ParseError::at(at, format!("expected an integer, found `{t}`")))?;
        Ok(if negative { -n } else { n })
    }

    /// A quoted string.
    pub fn string(&mut self) -> Result<String, ParseError> {
        let at = self.here();
        let t = self.lex.next();
        lexer::unquote(t)
            .ok_or_else(|| ParseError::at(at, format!("expected a string, found `{t}`")))
    }

    /// A list in brackets.
    pub fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.at("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(each(self)?);
        }
        self.expect("]")?;
        Ok(items)
    }

    fn strings(&mut self, word: &str) -> Result<Vec<String>, ParseError> {
        self.expect(word)?;
        self.list(Self::string)
    }

    /// A value that is already defined.
    pub fn value_use(&mut self) -> Result<Value, ParseError> {
        let at = self.here();
        let name = self.value_name()?;
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| ParseError::at(at, format!("`%{name}` is not defined here")))
    }

    fn value_name(&mut self) -> Result<&'a str, ParseError> {
        let at = self.here();
        let t = self.lex.next();
        t.strip_prefix('%')
            .filter(|n| !n.is_empty())
            .ok_or_else(|| ParseError::at(at, format!("expected a value, found `{t}`")))
    }

    /// Defines a value. A name that is a number, or ends in one after a dot, was made by the printer.
    fn define(&mut self, at: Place, name: &'a str, ty: Type) -> Result<Value, ParseError> {
        let source = match name.rsplit_once('.') {
            Some((n, i)) if i.bytes().all(|b| b.is_ascii_digit()) => Some(n),
            _ if name.bytes().all(|b| b.is_ascii_digit()) => None,
            _ => Some(name),
        };
        let v = self.function.new_value(ty, source.map(str::to_string));
        if self.names.insert(name, v).is_some() {
            return Err(ParseError::at(at, format!("`%{name}` is defined twice")));
        }
        Ok(v)
    }

    /// An extent.
    pub fn dim(&mut self) -> Result<Dim, ParseError> {
        let at = self.here();
        if self.eat("(") {
            let a = self.dim()?;
            let t = self.lex.next();
            let op = DimOp::ALL.into_iter().find(|o| o.symbol() == t).ok_or_else(|| {
                ParseError::at(at, format!("`{t}` is not an operator on extents"))
            })?;
            let b = self.dim()?;
            self.expect(")")?;
            return Ok(Dim::Expr(op, Box::new(a), Box::new(b)));
        }
        let t = self.lex.peek();
        if t == "-" || t.starts_with(|c: char| c.is_ascii_digit()) {
            let n = self.integer()?;
            return i64::try_from(n)
                .map(Dim::Const)
                .map_err(|_| ParseError::at(at, format!("`{n}` is too large for an extent")));
        }
        let t = self.word()?;
        let (name, index) = match t.split_once('.') {
            Some((n, i)) => (n, Some(i.parse::<u32>())),
            None => (t, None),
        };
        let index =
            index.transpose().map_err(|_| ParseError::at(at, format!("`{t}` is no extent")))?;
        if let Some(param) = self.const_param(name) {
            return Ok(Dim::Param { param, axis: index });
        }
        match (name, index) {
            ("extern", Some(i)) => Ok(Dim::Extern(ExternConst(i))),
            _ => Err(ParseError::at(at, format!("`{name}` is not a const parameter"))),
        }
    }

    fn const_param(&self, name: &str) -> Option<ConstParam> {
        let i = self.function.const_params.iter().position(|c| c.name == name)?;
        Some(ConstParam(i as u32))
    }

    /// An element type.
    pub fn element(&mut self) -> Result<ElementType, ParseError> {
        let at = self.here();
        let w = self.word()?;
        if let Some(i) = self.function.type_params.iter().position(|t| t == w) {
            return Ok(ElementType::Param(TypeParam(i as u32)));
        }
        Element::from_name(w)
            .map(ElementType::Known)
            .ok_or_else(|| ParseError::at(at, format!("`{w}` is not an element type")))
    }

    /// A literal.
    pub fn literal(&mut self) -> Result<Literal, ParseError> {
        let at = self.here();
        let negative = self.eat("-");
        let t = self.lex.next();
        let sign = if negative { -1.0 } else { 1.0 };
        let literal = match t {
            "true" => Some(Literal::Bool(true)),
            "false" => Some(Literal::Bool(false)),
            "inf" => Some(Literal::float(sign * f64::INFINITY)),
            "nan" => {
                self.expect(":")?;
                u64::from_str_radix(self.lex.next(), 16).ok().map(Literal::Float)
            }
            _ if t.contains(['.', 'e', 'E']) => {
                t.parse::<f64>().ok().map(|v| Literal::float(sign * v))
            }
            _ => t.parse::<i128>().ok().map(|n| Literal::Int(if negative { -n } else { n })),
        };
        literal.ok_or_else(|| ParseError::at(at, format!("expected a literal, found `{t}`")))
    }

    /// The function that a call names.
    pub fn callee(&mut self) -> Result<Callee, ParseError> {
        let at = self.here();
        let t = self.lex.next();
        if let Some(name) = t.strip_prefix('@') {
            return Ok(Callee::Local(name.to_string()));
        }
        t.strip_prefix('$')
            .and_then(|n| n.parse().ok())
            .map(|n| Callee::Import(ImportId(n)))
            .ok_or_else(|| ParseError::at(at, format!("expected `@name` or `$n`, found `{t}`")))
    }

    fn shape(&mut self) -> Result<Shape, ParseError> {
        Ok(self.list(Self::dim)?.into())
    }

    fn tensor(&mut self) -> Result<TensorType, ParseError> {
        let element = self.element()?;
        let extents = self.list(|p| if p.eat("?") { Ok(None) } else { p.dim().map(Some) })?;
        Ok(TensorType { element, extents: extents.into() })
    }

    /// A type.
    pub fn ty(&mut self) -> Result<Type, ParseError> {
        if self.eat("tensor") {
            return Ok(Type::Tensor(self.tensor()?));
        }
        if self.eat("view") {
            let element = self.element()?;
            return Ok(Type::view(element, self.shape()?));
        }
        let element = self.element()?;
        if self.at("[") {
            Ok(Type::tile(element, self.shape()?))
        } else {
            Ok(Type::Scalar(element))
        }
    }

    fn function(&mut self) -> Result<Function, ParseError> {
        self.function = empty_function();
        self.names.clear();
        let at = self.here();
        self.function.kind = match self.word()? {
            "entry" => FunctionKind::Entry,
            "helper" => FunctionKind::Helper,
            w => {
                return Err(ParseError::at(
                    at,
                    format!("expected `entry` or `helper`, found `{w}`"),
                ));
            }
        };
        let Callee::Local(name) = self.callee()? else {
            return Err(ParseError::at(at, "a function is named `@name`"));
        };
        self.function.name = name;
        self.generics()?;
        self.params()?;
        self.function.fast_math = self.eat("fast_math");
        let mut body = self.braces()?;
        body.params = self.function.params.iter().map(|p| p.value).collect();
        self.function.body = body;
        Ok(std::mem::replace(&mut self.function, empty_function()))
    }

    fn generics(&mut self) -> Result<(), ParseError> {
        if !self.eat("<") {
            return Ok(());
        }
        while !self.eat(">") {
            if self.eat("const") {
                let name = self.word()?.to_string();
                self.expect(":")?;
                let at = self.here();
                let kind = if self.eat("[") {
                    self.expect("i32")?;
                    self.expect(";")?;
                    let n = self.integer()?;
                    self.expect("]")?;
                    ConstKind::Array(n as u32)
                } else {
                    match self.word()? {
                        "i32" => ConstKind::I32,
                        "bool" => ConstKind::Bool,
                        w => {
                            let message = format!("`{w}` is not the type of a const parameter");
                            return Err(ParseError::at(at, message));
                        }
                    }
                };
                self.function.const_params.push(ConstParamDecl { name, kind });
            } else {
                let name = self.word()?.to_string();
                self.function.type_params.push(name);
            }
            if !self.at(">") {
                self.expect(",")?;
            }
        }
        Ok(())
    }

    fn params(&mut self) -> Result<(), ParseError> {
        self.expect("(")?;
        while !self.eat(")") {
            let at = self.here();
            let name = self.value_name()?;
            self.expect(":")?;
            let (ty, role) = if self.eat("partitioned") {
                let t = self.tensor()?;
                self.expect("by")?;
                (Type::Tensor(t), ParamRole::Partitioned { tile: self.shape()? })
            } else {
                match self.ty()? {
                    t @ Type::Tensor(_) => (t, ParamRole::Shared),
                    t => (t, ParamRole::Scalar),
                }
            };
            let value = self.define(at, name, ty)?;
            let name = name.to_string();
            self.function.params.push(Param { name, value, role });
            if !self.at(")") {
                self.expect(",")?;
            }
        }
        Ok(())
    }

    /// A nested block.
    pub fn block(&mut self) -> Result<Block, ParseError> {
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.eat(")") {
            let at = self.here();
            let name = self.value_name()?;
            self.expect(":")?;
            let ty = self.ty()?;
            params.push(self.define(at, name, ty)?);
            if !self.at(")") {
                self.expect(",")?;
            }
        }
        Ok(Block { params, ..self.braces()? })
    }

    fn braces(&mut self) -> Result<Block, ParseError> {
        self.expect("{")?;
        let mut b = Block::default();
        while !self.eat("yield") {
            let op = self.op()?;
            b.ops.push(op);
        }
        while !self.eat("}") {
            if !b.yields.is_empty() {
                self.expect(",")?;
            }
            let v = self.value_use()?;
            b.yields.push(v);
        }
        Ok(b)
    }

    fn op(&mut self) -> Result<Op, ParseError> {
        let mut names = SmallVec::<[(Place, &str); 1]>::new();
        while self.lex.peek().starts_with('%') {
            names.push((self.here(), self.value_name()?));
            if !self.eat(",") {
                self.expect("=")?;
                break;
            }
        }
        let at = self.here();
        let name = self.word()?;
        let kind = OpKind::parse(name, self)?
            .ok_or_else(|| ParseError::at(at, format!("`{name}` is not an operation")))?;
        let mut results = SmallVec::new();
        if !names.is_empty() {
            self.expect(":")?;
        }
        for (i, (at, name)) in names.into_iter().enumerate() {
            if i > 0 {
                self.expect(",")?;
            }
            let ty = self.ty()?;
            results.push(self.define(at, name, ty)?);
        }
        let loc = if self.eat("loc") { Some(self.loc()?) } else { None };
        Ok(Op { kind, results, loc })
    }

    fn loc(&mut self) -> Result<Loc, ParseError> {
        let part = |p: &mut Self| {
            let at = p.here();
            u32::try_from(p.integer()?).map_err(|_| ParseError::at(at, "not a line or a column"))
        };
        let file = part(self)?;
        self.expect(":")?;
        let line = part(self)?;
        self.expect(":")?;
        Ok(Loc { file, line, column: part(self)? })
    }
}

fn empty_function() -> Function {
    Function {
        name: String::new(),
        kind: FunctionKind::Helper,
        fast_math: false,
        type_params: Vec::new(),
        const_params: Vec::new(),
        params: Vec::new(),
        values: Vec::new(),
        body: Block::default(),
    }
}

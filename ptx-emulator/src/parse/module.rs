//! Grammar of module scope: directives, variables, function headers.

use super::ast::*;
use super::lex::Kind;
use super::{ParseError, Parser};

/// Bytes that a variable may have: what a host surely can give.
const MAX_VARIABLE: u64 = 1 << 31;

impl<'a> Parser<'a> {
    /// The whole text.
    pub(super) fn module(&mut self) -> Result<Tree, ParseError> {
        self.version()?;
        let mut tree = Tree::default();
        while let Some(kind) = self.peek() {
            let Kind::Word(word) = kind else {
                return Err(self.error("a directive"));
            };
            match word {
                ".target" => {
                    self.at += 1;
                    tree.target.push(self.word("a target such as sm_80")?.to_owned());
                    while self.eat_mark(',') {
                        tree.target.push(self.word("a target option")?.to_owned());
                    }
                }
                ".address_size" => {
                    self.at += 1;
                    if self.int("32 or 64")? != 64 {
                        return Err(ParseError::new(self.line(), "only `.address_size 64` is run"));
                    }
                }
                ".file" => self.file(&mut tree)?,
                ".section" => self.section()?,
                ".pragma" => self.pragma()?,
                ".loc" => {
                    self.location()?;
                }
                _ => self.declaration(&mut tree)?,
            }
        }
        Ok(tree)
    }

    fn version(&mut self) -> Result<(), ParseError> {
        if !self.eat_word(".version") {
            return Err(self.error("`.version`, which begins every PTX module"));
        }
        let line = self.line();
        let version = match self.next() {
            Some(Kind::Float(v)) => ((v as u32), ((v * 10.0).round() as u32) % 10),
            Some(Kind::Int(v)) => (v.min(99) as u32, 0),
            _ => return Err(ParseError::new(line, "expected a version such as 8.3")),
        };
        if version.0 < 3 || version.0 > 9 {
            return Err(ParseError::new(
                line,
                format!("PTX version {}.{} is not known", version.0, version.1),
            ));
        }
        Ok(())
    }

    fn file(&mut self, tree: &mut Tree) -> Result<(), ParseError> {
        self.at += 1;
        let number = self.int_u32("a file number")?;
        let Some(Kind::Text(name)) = self.next() else {
            return Err(ParseError::new(self.line(), "expected a file name in quotes"));
        };
        tree.files.insert(number, name.to_owned());
        while self.eat_mark(',') {
            self.int("a time stamp or size")?;
        }
        Ok(())
    }

    /// Debug sections say nothing that execution needs.
    fn section(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        self.word("a section name")?;
        self.mark('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some(Kind::Mark('{')) => depth += 1,
                Some(Kind::Mark('}')) => depth -= 1,
                Some(_) => {}
                None => return Err(self.error("`}` at the section's end")),
            }
        }
        Ok(())
    }

    pub(super) fn pragma(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        while !self.eat_mark(';') {
            if self.next().is_none() {
                return Err(self.error("`;` after a pragma"));
            }
        }
        Ok(())
    }

    fn declaration(&mut self, tree: &mut Tree) -> Result<(), ParseError> {
        let mut is_extern = false;
        loop {
            match self.peek() {
                Some(Kind::Word(".extern")) => is_extern = true,
                Some(Kind::Word(".visible" | ".weak" | ".common")) => {}
                Some(Kind::Word(".entry")) => return self.function(tree, true),
                Some(Kind::Word(".func")) => return self.function(tree, false),
                Some(Kind::Word(".global" | ".const" | ".shared")) => {
                    return self.variables(is_extern, &mut tree.variables);
                }
                Some(Kind::Word(".alias")) => {
                    return Err(self.error("a function or variable (`.alias` is not supported)"));
                }
                _ => return Err(self.error("a function, a variable or a module directive")),
            }
            self.at += 1;
        }
    }

    fn function(&mut self, tree: &mut Tree, entry: bool) -> Result<(), ParseError> {
        let line = self.line();
        self.at += 1;
        self.eat_word(".noreturn");
        let returns =
            if self.eat_mark('(') { self.list(')', Self::parameter)? } else { Vec::new() };
        self.eat_word(".noreturn");
        let name = self.name("a function name")?.to_owned();
        let params = if self.eat_mark('(') { self.list(')', Self::parameter)? } else { Vec::new() };
        let mut function = Function {
            entry,
            name,
            returns,
            params,
            required_block: None,
            max_block: None,
            cluster: None,
            body: None,
            line,
        };
        loop {
            match self.peek() {
                Some(Kind::Word(".reqntid")) => function.required_block = Some(self.extent()?),
                Some(Kind::Word(".maxntid")) => function.max_block = Some(self.extent()?),
                Some(Kind::Word(".reqnctapercluster")) => function.cluster = Some(self.extent()?),
                Some(Kind::Word(
                    ".minnctapersm"
                    | ".maxnctapersm"
                    | ".maxnreg"
                    | ".maxclusterrank"
                    | ".blocksareclusters"
                    | ".explicitcluster"
                    | ".noreturn"
                    | ".abi_preserve"
                    | ".abi_preserve_control"
                    | ".unique",
                )) => {
                    self.at += 1;
                    while matches!(self.peek(), Some(Kind::Int(_) | Kind::Mark(','))) {
                        self.at += 1;
                    }
                }
                Some(Kind::Word(".pragma")) => self.pragma()?,
                _ => break,
            }
        }
        if !self.eat_mark(';') {
            self.mark('{')?;
            function.body = Some(self.statements()?);
        }
        tree.functions.push(function);
        Ok(())
    }

    /// `.reqntid 128, 1, 1` and its like; missing extents are 1.
    fn extent(&mut self) -> Result<[u32; 3], ParseError> {
        self.at += 1;
        let mut out = [1; 3];
        out[0] = self.int_u32("an extent")?;
        for extent in &mut out[1..] {
            if self.eat_mark(',') {
                *extent = self.int_u32("an extent")?;
            }
        }
        Ok(out)
    }

    /// One parameter of a function; register parameters are laid out like memory ones.
    pub(super) fn parameter(&mut self) -> Result<Variable, ParseError> {
        if !self.eat_word(".param") && !self.eat_word(".reg") {
            return Err(self.error("`.param`"));
        }
        let (align, ty, _) = self.type_and_align()?;
        while matches!(
            self.peek(),
            Some(Kind::Word(".ptr" | ".global" | ".shared" | ".const" | ".local"))
        ) {
            self.at += 1;
        }
        if self.eat_word(".align") {
            self.int("an alignment")?;
        }
        // A prototype's parameter may be nameless or `_`.
        let name = match self.peek() {
            Some(Kind::Word(w)) if !w.starts_with('.') => {
                self.at += 1;
                w
            }
            _ => "_",
        };
        self.variable(Space::Param, name, align, ty, 1, false)
    }

    /// `.align 8 .v2 .b32`, in any order that PTX allows: alignment, type, elements of a vector.
    fn type_and_align(&mut self) -> Result<(Option<u32>, Type, u32), ParseError> {
        let mut align = None;
        let mut vector = 1;
        loop {
            let line = self.line();
            match self.word("a type")? {
                ".align" => {
                    let value = self.int_u32("an alignment")?;
                    if !value.is_power_of_two() {
                        return Err(ParseError::new(
                            line,
                            format!("alignment {value} is not a power of two"),
                        ));
                    }
                    align = Some(value);
                }
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                ".attribute" => {
                    self.mark('(')?;
                    while !self.eat_mark(')') {
                        if self.next().is_none() {
                            return Err(self.error("`)`"));
                        }
                    }
                }
                word => match word.strip_prefix('.').and_then(Type::from_word) {
                    Some(ty) => return Ok((align, ty, vector)),
                    None => {
                        return Err(ParseError::new(
                            line,
                            format!("`{word}` is not a type of PTX"),
                        ));
                    }
                },
            }
        }
    }

    /// `.global .align 4 .b32 x[4] = {1, 2}, y;`, the space word being the next token.
    pub(super) fn variables(
        &mut self,
        is_extern: bool,
        out: &mut Vec<Variable>,
    ) -> Result<(), ParseError> {
        let space = match self.word("a state space")? {
            ".global" => Space::Global,
            ".const" => Space::Const,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".param" => Space::Param,
            other => {
                return Err(ParseError::new(
                    self.line(),
                    format!("`{other}` is not a state space"),
                ));
            }
        };
        let (align, ty, vector) = self.type_and_align()?;
        loop {
            let name = self.name("a variable name")?;
            let mut variable = self.variable(space, name, align, ty, vector, is_extern)?;
            if self.eat_mark('=') {
                let mut offset = 0;
                self.initial(&mut variable, &mut offset, ty)?;
                if offset > variable.bytes {
                    let message = format!(
                        "`{name}` has {} bytes and {offset} of initial values",
                        variable.bytes
                    );
                    return Err(ParseError::new(variable.line, message));
                }
            }
            out.push(variable);
            if !self.eat_mark(',') {
                return self.mark(';');
            }
        }
    }

    fn variable(
        &mut self,
        space: Space,
        name: &str,
        align: Option<u32>,
        ty: Type,
        vector: u32,
        is_extern: bool,
    ) -> Result<Variable, ParseError> {
        let line = self.line();
        let unit = u64::from(ty.bytes() * vector);
        let mut bytes = Some(unit);
        while self.eat_mark('[') {
            let count = if self.at_mark(']') { 0 } else { self.int("an array extent")? };
            self.mark(']')?;
            bytes = bytes.and_then(|b| b.checked_mul(count));
        }
        let bytes = bytes
            .filter(|&b| b < MAX_VARIABLE)
            .ok_or_else(|| ParseError::new(line, format!("`{name}` is too large")))?;
        let align = align.unwrap_or(unit as u32);
        Ok(Variable {
            space,
            name: name.to_owned(),
            align,
            bytes,
            is_extern,
            init: Vec::new(),
            line,
        })
    }

    fn initial(
        &mut self,
        variable: &mut Variable,
        offset: &mut u64,
        ty: Type,
    ) -> Result<(), ParseError> {
        if self.eat_mark('{') {
            self.enter()?;
            if !self.eat_mark('}') {
                loop {
                    self.initial(variable, offset, ty)?;
                    if self.eat_mark('}') {
                        break;
                    }
                    self.mark(',')?;
                }
            }
            self.leave();
            return Ok(());
        }
        let mut bytes = ty.bytes();
        let value = match self.peek() {
            Some(Kind::Word("generic")) => {
                self.at += 1;
                self.mark('(')?;
                let InitialValue::Address { symbol, offset, .. } = self.initial_address(true)?
                else {
                    return Err(self.error("a symbol"));
                };
                self.mark(')')?;
                let more = if self.eat_mark('+') { self.signed_int("an offset")? } else { 0 };
                InitialValue::Address { symbol, offset: offset.wrapping_add(more), generic: true }
            }
            Some(Kind::Word(_)) => self.initial_address(false)?,
            // `0xFF(symbol)`: one byte of a symbol's address.
            Some(Kind::Int(_)) if self.peek_after(1) == Some(Kind::Mark('(')) => {
                return Err(self.error("a value (masked symbol addresses are not supported)"));
            }
            _ => InitialValue::Bits(self.initial_bits(ty)?),
        };
        if matches!(value, InitialValue::Address { .. }) && bytes < 4 {
            return Err(ParseError::new(self.line(), "an address needs 4 or 8 bytes"));
        }
        bytes = bytes.min(8);
        variable.init.push(Initial { offset: *offset, bytes, value });
        *offset += u64::from(ty.bytes());
        Ok(())
    }

    fn initial_address(&mut self, generic: bool) -> Result<InitialValue, ParseError> {
        let symbol = self.name("a symbol")?.to_owned();
        let offset = if self.eat_mark('+') { self.signed_int("an offset")? } else { 0 };
        Ok(InitialValue::Address { symbol, offset, generic })
    }

    fn initial_bits(&mut self, ty: Type) -> Result<u64, ParseError> {
        let negative = self.eat_mark('-');
        let sign = if negative { -1.0 } else { 1.0 };
        match self.next() {
            Some(Kind::Int(v)) => Ok(if negative { v.wrapping_neg() } else { v }),
            Some(Kind::Single(bits)) => Ok(u64::from(bits) ^ (u64::from(negative) << 31)),
            Some(Kind::Float(v)) if ty.bytes() == 4 => Ok(u64::from(((v * sign) as f32).to_bits())),
            Some(Kind::Float(v)) => Ok((v * sign).to_bits()),
            _ => {
                self.at -= 1;
                Err(self.error("an initial value"))
            }
        }
    }
}

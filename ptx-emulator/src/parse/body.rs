//! Grammar of a function's body: statements, instructions, operands.

use super::ast::*;
use super::lex::Kind;
use super::{ParseError, Parser};

impl<'a> Parser<'a> {
    /// Statements up to the closing brace, which is eaten.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>, ParseError> {
        self.enter()?;
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.error("`}` at the function's end")),
                Some(Kind::Mark('}')) => {
                    self.at += 1;
                    self.leave();
                    return Ok(out);
                }
                Some(Kind::Mark('{')) => {
                    self.at += 1;
                    out.push(Statement::Block(self.statements()?));
                }
                Some(Kind::Mark(';')) => self.at += 1,
                Some(Kind::Mark('@')) => out.push(self.guarded()?),
                Some(Kind::Word(word)) if word.starts_with('.') => {
                    self.directive(word, &mut out)?
                }
                Some(Kind::Word(_)) => out.push(self.label_or_instruction()?),
                Some(_) => return Err(self.error("a statement")),
            }
        }
    }

    fn directive(&mut self, word: &str, out: &mut Vec<Statement>) -> Result<(), ParseError> {
        match word {
            ".reg" => out.push(Statement::Registers(self.registers()?)),
            ".loc" => out.push(self.location()?),
            ".pragma" => self.pragma()?,
            ".local" | ".shared" | ".param" | ".global" | ".const" => {
                let mut variables = Vec::new();
                self.variables(false, &mut variables)?;
                out.extend(variables.into_iter().map(Statement::Variable));
            }
            _ => return Err(self.error("a statement")),
        }
        Ok(())
    }

    fn registers(&mut self) -> Result<Registers, ParseError> {
        let line = self.line();
        self.at += 1;
        let mut vector = 1;
        let ty = loop {
            match self.word("a register type")? {
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                word => match word.strip_prefix('.').and_then(Type::from_word) {
                    Some(ty) => break ty,
                    None => {
                        return Err(ParseError::new(
                            line,
                            format!("`{word}` is not a register type"),
                        ));
                    }
                },
            }
        };
        let names = self.list(';', |p| {
            let name = p.name("a register name")?.to_owned();
            let count = if p.eat_mark('<') {
                let line = p.line();
                let count = p.int_u32("a register count")?;
                if count > 1 << 20 {
                    return Err(ParseError::new(
                        line,
                        format!("{count} registers are more than any kernel has"),
                    ));
                }
                p.mark('>')?;
                Some(count)
            } else {
                None
            };
            Ok((name, count))
        })?;
        Ok(Registers { ty, vector, names, line })
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`
    pub(super) fn location(&mut self) -> Result<Statement, ParseError> {
        self.at += 1;
        let file = self.int_u32("a file number")?;
        let line = self.int_u32("a line number")?;
        let column = self.int_u32("a column")?;
        while self.eat_mark(',') {
            self.word("`function_name` or `inlined_at`")?;
            while matches!(self.peek(), Some(Kind::Int(_) | Kind::Mark('+')))
                || matches!(self.peek(), Some(Kind::Word(w)) if w.starts_with('$'))
            {
                // A label that begins the next statement is not ours.
                if self.peek_after(1) == Some(Kind::Mark(':')) {
                    break;
                }
                self.at += 1;
            }
        }
        Ok(Statement::Location { file, line, column })
    }

    fn label_or_instruction(&mut self) -> Result<Statement, ParseError> {
        if self.peek_after(1) != Some(Kind::Mark(':')) {
            return Ok(Statement::Instruction(self.instruction(None)?));
        }
        let name = self.name("a label")?.to_owned();
        self.at += 1;
        match self.peek() {
            Some(Kind::Word(".branchtargets" | ".calltargets")) => {
                self.at += 1;
                let targets = self.list(';', |p| Ok(p.name("a target")?.to_owned()))?;
                Ok(Statement::Targets { name, targets })
            }
            Some(Kind::Word(".callprototype")) => {
                self.at += 1;
                if self.eat_mark('(') {
                    self.list(')', Self::parameter)?;
                }
                self.name("`_`")?;
                if self.eat_mark('(') {
                    self.list(')', Self::parameter)?;
                }
                while !self.eat_mark(';') {
                    if self.next().is_none() {
                        return Err(self.error("`;` after a prototype"));
                    }
                }
                Ok(Statement::Prototype { name })
            }
            _ => Ok(Statement::Label(name)),
        }
    }

    fn guarded(&mut self) -> Result<Statement, ParseError> {
        self.at += 1;
        let negated = self.eat_mark('!');
        let predicate = self.name("a guard predicate")?.to_owned();
        Ok(Statement::Instruction(self.instruction(Some((predicate, negated)))?))
    }

    fn instruction(&mut self, guard: Option<(String, bool)>) -> Result<Instruction, ParseError> {
        let line = self.line();
        let opcode = self.name("an instruction")?.to_owned();
        let operands = self.list(';', Self::operand)?;
        Ok(Instruction { guard, opcode, operands, line })
    }

    fn operand(&mut self) -> Result<Operand, ParseError> {
        self.enter()?;
        let first = self.simple_operand()?;
        let out = if self.eat_mark('|') {
            Operand::Pair(Box::new(first), Box::new(self.simple_operand()?))
        } else {
            first
        };
        self.leave();
        Ok(out)
    }

    fn simple_operand(&mut self) -> Result<Operand, ParseError> {
        match self.next() {
            Some(Kind::Word(name)) if !name.starts_with('.') => {
                let sign = match self.peek() {
                    Some(Kind::Mark('+')) => 1i64,
                    Some(Kind::Mark('-')) => -1,
                    _ => return Ok(Operand::Name(name.to_owned())),
                };
                self.at += 1;
                let offset = self.signed_int("an offset")?.wrapping_mul(sign);
                Ok(Operand::Offset(name.to_owned(), offset))
            }
            Some(Kind::Int(v)) => Ok(Operand::Int(v)),
            Some(Kind::Float(v)) => Ok(Operand::Float(v)),
            Some(Kind::Single(bits)) => Ok(Operand::Single(bits)),
            Some(Kind::Mark('-')) => match self.next() {
                Some(Kind::Int(v)) => Ok(Operand::Int(v.wrapping_neg())),
                Some(Kind::Float(v)) => Ok(Operand::Float(-v)),
                Some(Kind::Single(bits)) => Ok(Operand::Single(bits ^ 1 << 31)),
                _ => {
                    self.at -= 1;
                    Err(self.error("a number"))
                }
            },
            Some(Kind::Mark('~')) => Ok(Operand::Int(!self.int("an integer")?)),
            Some(Kind::Mark('!')) => Ok(Operand::Not(self.name("a predicate")?.to_owned())),
            Some(Kind::Mark('{')) => Ok(Operand::Vector(self.list('}', Self::operand)?)),
            Some(Kind::Mark('(')) => Ok(Operand::List(self.list(')', Self::operand)?)),
            Some(Kind::Mark('[')) => self.address(),
            _ => {
                self.at -= 1;
                Err(self.error("an operand"))
            }
        }
    }

    /// `[base]`, `[base+4]`, `[map, {x, y}]`
    fn address(&mut self) -> Result<Operand, ParseError> {
        let (base, offset) = match self.operand()? {
            Operand::Offset(name, offset) => (Operand::Name(name), offset),
            other => (other, 0),
        };
        let more = if self.eat_mark(',') {
            self.list(']', Self::operand)?
        } else {
            self.mark(']')?;
            Vec::new()
        };
        Ok(Operand::Address { base: Box::new(base), offset, more })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn body(text: &str) -> Vec<Statement> {
        let module = format!(
            ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{{ {text} }}"
        );
        parse(&module).unwrap().functions.remove(0).body.unwrap()
    }

    #[test]
    fn operands_of_every_form() {
        let statements = body(
            "@!%p1 foo.b32 %r1|%p, {a, _}, [%rd1+-8], [m, {%r1, 0}], !%q, (x, y), 0f7FC00001, -3;",
        );
        let Statement::Instruction(i) = &statements[0] else { panic!("{statements:?}") };
        assert_eq!(i.guard, Some(("%p1".into(), true)));
        assert_eq!(i.operands.len(), 8);
        assert!(matches!(&i.operands[2], Operand::Address { offset: -8, .. }));
        assert!(matches!(&i.operands[3], Operand::Address { more, .. } if more.len() == 1));
        assert_eq!(i.operands[6], Operand::Single(0x7fc0_0001));
        assert_eq!(i.operands[7], Operand::Int(3u64.wrapping_neg()));
    }

    #[test]
    fn scopes_locations_and_labels() {
        let statements = body(
            ".reg .b32 %r<4>; .loc 1 2 3\n$L_1: { .reg .pred p; W: bra W; }\n.loc 1 9 0, function_name $L_i1+5, inlined_at 1 20 4\n$L_2: ret;",
        );
        assert!(matches!(&statements[1], Statement::Location { file: 1, line: 2, column: 3 }));
        assert!(matches!(&statements[3], Statement::Block(inner) if inner.len() == 3));
        assert!(matches!(&statements[5], Statement::Label(l) if l == "$L_2"), "{statements:?}");
    }

    #[test]
    fn unbounded_nesting_is_an_error() {
        let deep = format!(".version 8.0 .func f {{ {}", "{".repeat(100_000));
        assert!(parse(&deep).is_err());
        let deep = format!(".version 8.0 .func f {{ x {}", "(".repeat(100_000));
        assert!(parse(&deep).is_err());
    }
}

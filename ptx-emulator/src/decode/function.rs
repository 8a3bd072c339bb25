//! One function's statements to code: scopes, frame layout, labels, reconvergence. Instructions are decoded by family in
//! the files beside this one.

use std::collections::HashMap;

use crate::parse::ParseError;
use crate::parse::ast::{self, Operand, Space as VarSpace, Statement, Type, Variable};

use super::cfg::flow_graph;
use super::mods::Mods;
use super::op::*;
use super::scope::{Scopes, Symbol, rows, special};

/// Most rows a function may have, so that a frame's size is bounded.
const MAX_REGISTERS: u32 = 1 << 16;
/// Most bytes of local memory a thread may declare (the limit of the hardware).
const MAX_FRAME: u64 = 512 << 10;

/// A function under construction.
pub(crate) struct Builder<'m> {
    pub(crate) scopes: Scopes<'m>,
    pub(crate) out: Function,
    labels: Vec<Option<Pc>>,
    location: u32,
    /// Guard of the instruction being decoded.
    guard: Option<(Pred, bool)>,
    line: u32,
    /// The instruction being decoded, for messages.
    opcode: String,
    pub(crate) module: &'m HashMap<String, Symbol>,
}

/// Decodes one defined function.
pub(crate) fn decode(
    function: &ast::Function,
    body: &[Statement],
    module: &HashMap<String, Symbol>,
) -> Result<Function, ParseError> {
    let out = Function {
        name: function.name.clone(),
        entry: function.entry,
        required_block: function.required_block,
        max_block: function.max_block,
        cluster: function.cluster,
        ..Function::default()
    };
    let mut builder = Builder {
        scopes: Scopes::new(module),
        out,
        labels: Vec::new(),
        location: u32::MAX,
        guard: None,
        line: function.line,
        opcode: String::new(),
        module,
    };
    builder.parameters(function)?;
    builder.statements(body)?;
    builder.guard = None;
    builder.emit(if function.entry { Op::Exit } else { Op::Ret });
    builder.finish(function.line)
}

impl Builder<'_> {
    fn parameters(&mut self, function: &ast::Function) -> Result<(), ParseError> {
        for param in &function.params {
            if function.entry {
                let offset = align_up(u64::from(self.out.param_bytes), param.align);
                let end = offset + param.bytes;
                if end > 32764 {
                    return Err(ParseError::new(
                        param.line,
                        "the parameters take more than 32764 bytes",
                    ));
                }
                self.out.params.push((offset as u32, param.bytes as u32));
                self.out.param_bytes = end as u32;
                self.scopes.add(&param.name, Symbol::Param { offset: offset as u32 });
            } else {
                let slot = self.frame_variable(param)?;
                self.out.params.push(slot);
            }
        }
        for param in &function.returns {
            let slot = self.frame_variable(param)?;
            self.out.returns.push(slot);
        }
        Ok(())
    }

    fn frame_variable(&mut self, variable: &Variable) -> Result<(u32, u32), ParseError> {
        let offset = align_up(u64::from(self.out.frame_bytes), variable.align);
        if offset + variable.bytes > MAX_FRAME {
            let message =
                format!("`{}` makes the thread's local memory larger than 512 KiB", variable.name);
            return Err(ParseError::new(variable.line, message));
        }
        let (offset, bytes) = (offset as u32, variable.bytes as u32);
        self.out.frame_bytes = offset + bytes;
        self.add(
            &variable.name,
            Symbol::Frame { offset, bytes, space: variable.space },
            variable.line,
        )?;
        Ok((offset, bytes))
    }

    fn add(&mut self, name: &str, symbol: Symbol, line: u32) -> Result<(), ParseError> {
        if self.scopes.add(name, symbol) {
            Ok(())
        } else {
            Err(ParseError::new(line, format!("`{name}` is declared twice in one scope")))
        }
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), ParseError> {
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    let label = self.labels.len() as u32;
                    self.labels.push(None);
                    self.add(name, Symbol::Label(label), self.line)?;
                }
                Statement::Targets { name, targets } => {
                    self.add(name, Symbol::Targets(targets.clone()), self.line)?;
                }
                Statement::Prototype { name } => self.add(name, Symbol::Prototype, self.line)?,
                _ => {}
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    if let Some(Symbol::Label(label)) = self.scopes.find(name) {
                        self.labels[label as usize] = Some(self.out.code.len() as Pc);
                    }
                }
                Statement::Block(inner) => {
                    self.scopes.enter();
                    self.statements(inner)?;
                    self.scopes.leave();
                }
                Statement::Registers(registers) => self.registers(registers)?,
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Location { file, line, column } => {
                    self.out.locations.push((*file, *line, *column));
                    self.location = self.out.locations.len() as u32 - 1;
                }
                Statement::Instruction(inst) => self.instruction(inst)?,
                Statement::Targets { .. } | Statement::Prototype { .. } => {}
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), ParseError> {
        match variable.space {
            VarSpace::Local | VarSpace::Param => self.frame_variable(variable).map(|_| ()),
            _ => {
                // Laid out with the module's variables under a name of the function's own.
                let name = super::scoped_name(&self.out.name, variable);
                match self.module.get(&name) {
                    Some(symbol) => self.add(&variable.name, symbol.clone(), variable.line),
                    None => Err(ParseError::new(
                        variable.line,
                        format!("`{}` has no storage", variable.name),
                    )),
                }
            }
        }
    }

    fn registers(&mut self, registers: &ast::Registers) -> Result<(), ParseError> {
        for (name, count) in &registers.names {
            let total = u64::from(count.unwrap_or(1));
            let is_pred = registers.ty == Type::Pred;
            let file = if is_pred { &mut self.out.predicates } else { &mut self.out.registers };
            let first = *file;
            let end = u64::from(first) + total * u64::from(rows(registers.ty, registers.vector));
            if end > u64::from(MAX_REGISTERS) {
                return Err(ParseError::new(
                    registers.line,
                    format!("more than {MAX_REGISTERS} registers"),
                ));
            }
            *file = end as u32;
            let (ty, vector) = (registers.ty, registers.vector);
            let symbol = match count {
                Some(count) => Symbol::Family { first, count: *count, ty, vector },
                None if is_pred => Symbol::Pred(first),
                None => Symbol::Reg { reg: first, ty, vector },
            };
            self.add(name, symbol, registers.line)?;
        }
        Ok(())
    }

    fn instruction(&mut self, inst: &ast::Instruction) -> Result<(), ParseError> {
        self.line = inst.line;
        self.opcode.clone_from(&inst.opcode);
        self.guard = None;
        if let Some((name, negated)) = &inst.guard {
            self.guard = Some((self.pred_named(name)?, *negated));
        }
        super::family::decode(self, Mods::new(inst))
    }

    /// Appends an operation under the current guard.
    pub(crate) fn emit(&mut self, op: Op) {
        self.out.code.push(Inst {
            op,
            guard: self.guard,
            line: self.line,
            location: self.location,
        });
    }

    /// A register that no name stands for.
    pub(crate) fn hidden(&mut self) -> Reg {
        self.out.registers += 1;
        self.out.registers - 1
    }

    /// Adds operands to the pool.
    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = Option<Src>>) -> List {
        let at = self.out.pool.len() as u32;
        self.out.pool.extend(items);
        List { at, len: self.out.pool.len() as u32 - at }
    }

    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError::new(self.line, format!("`{}`: {}", self.opcode, message.into())))
    }

    fn pred_named(&self, name: &str) -> Result<Pred, ParseError> {
        match self.scopes.find(name) {
            Some(Symbol::Pred(p)) => Ok(p),
            Some(_) => self.fail(format!("`{name}` is not a predicate register")),
            None => self.fail(format!("`{name}` is not declared")),
        }
    }

    /// A destination predicate; `_` gives none.
    pub(crate) fn pred_dst(&self, operand: &Operand) -> Result<Option<Pred>, ParseError> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(None),
            Operand::Name(name) => self.pred_named(name).map(Some),
            _ => self.fail("expected a predicate register as destination"),
        }
    }

    /// A predicate source.
    pub(crate) fn pred_src(&self, operand: &Operand) -> Result<PredSrc, ParseError> {
        match operand {
            Operand::Name(name) => Ok(PredSrc::Reg(self.pred_named(name)?, false)),
            Operand::Not(name) => Ok(PredSrc::Reg(self.pred_named(name)?, true)),
            Operand::Int(v) => Ok(PredSrc::Const(*v != 0)),
            _ => self.fail("expected a predicate"),
        }
    }

    /// A destination register: its row and the bits it holds; `_` gives none.
    pub(crate) fn dst_or_sink(&self, operand: &Operand) -> Result<Option<(Reg, u32)>, ParseError> {
        let Operand::Name(name) = operand else {
            return self.fail("expected a register as destination");
        };
        if name == "_" {
            return Ok(None);
        }
        match self.register(name) {
            Some((reg, ty)) => Ok(Some((reg, ty.bits()))),
            None => self.fail(format!("`{name}` is not a declared register")),
        }
    }

    /// A destination register that may not be `_`.
    pub(crate) fn dst(&self, operand: &Operand) -> Result<Reg, ParseError> {
        match self.dst_or_sink(operand)? {
            Some((reg, _)) => Ok(reg),
            None => self.fail("`_` can't stand here"),
        }
    }

    /// A scalar register, or an element `v.x` of a vector register.
    pub(crate) fn register(&self, name: &str) -> Option<(Reg, Type)> {
        if let Some(Symbol::Reg { reg, ty, vector: 1 }) = self.scopes.find(name) {
            return Some((reg, ty));
        }
        let (stem, element) = name.rsplit_once('.')?;
        let index = match element {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        match self.scopes.find(stem) {
            Some(Symbol::Reg { reg, ty, vector }) if index < vector => Some((reg + index, ty)),
            _ => None,
        }
    }

    /// The elements of a vector operand, of a vector register, or the one scalar.
    pub(crate) fn elements(&self, operand: &Operand) -> Vec<Operand> {
        match operand {
            Operand::Vector(items) => items.clone(),
            Operand::Name(name) => match self.scopes.find(name) {
                Some(Symbol::Reg { vector, .. }) if vector > 1 => ["x", "y", "z", "w"]
                    [..vector as usize]
                    .iter()
                    .map(|e| Operand::Name(format!("{name}.{e}")))
                    .collect(),
                _ => vec![operand.clone()],
            },
            _ => vec![operand.clone()],
        }
    }

    /// A value operand of type `ty`. Reading a special register or a symbol's address emits the read.
    pub(crate) fn src(&mut self, operand: &Operand, ty: Type) -> Result<Src, ParseError> {
        let mask = crate::num::convert::mask(ty.bits().min(64));
        match operand {
            Operand::Int(v) => Ok(Src::Imm(v & mask)),
            Operand::Single(bits) if ty == Type::F64 => {
                Ok(Src::Imm(f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::Single(bits) => Ok(Src::Imm(u64::from(*bits))),
            Operand::Float(v) if ty.bits() == 32 => Ok(Src::Imm(u64::from((*v as f32).to_bits()))),
            Operand::Float(v) if ty.bits() == 64 => Ok(Src::Imm(v.to_bits())),
            Operand::Float(_) => self.fail("a floating-point literal can't stand here"),
            Operand::Name(name) => {
                if let Some((reg, _)) = self.register(name) {
                    return Ok(Src::Reg(reg));
                }
                if name == "WARP_SZ" {
                    return Ok(Src::Imm(32));
                }
                if let Some(what) = special(name) {
                    let d = self.hidden();
                    self.emit(Op::Alu(Alu::Special { d, what }));
                    return Ok(Src::Reg(d));
                }
                self.symbol_address(name, 0)
            }
            Operand::Offset(name, offset) => self.symbol_address(name, *offset),
            _ => self.fail("expected a register or a constant"),
        }
    }

    /// The address of a variable or function in its own state space, as a value.
    fn symbol_address(&mut self, name: &str, offset: i64) -> Result<Src, ParseError> {
        match self.scopes.find(name) {
            Some(Symbol::Shared(variable)) => {
                self.out.uses.shared.insert(variable);
                let d = self.hidden();
                self.emit(Op::Alu(Alu::SharedAddress { d, variable, offset }));
                Ok(Src::Reg(d))
            }
            Some(Symbol::Param { offset: at }) => {
                Ok(Src::Imm(u64::from(at).wrapping_add(offset as u64)))
            }
            Some(Symbol::Function(index)) => {
                self.out.uses.pointers.insert(index);
                Ok(Src::Imm(crate::memory::address::function(index)))
            }
            Some(Symbol::Module { index, .. }) => {
                let d = self.hidden();
                self.emit(Op::Alu(Alu::VariableAddress { d, variable: index, offset }));
                Ok(Src::Reg(d))
            }
            Some(Symbol::Frame { offset: at, .. }) => {
                let d = self.hidden();
                self.emit(Op::Alu(Alu::FrameAddress {
                    d,
                    offset: i64::from(at).wrapping_add(offset),
                }));
                Ok(Src::Reg(d))
            }
            _ => self.fail(format!("`{name}` is not a register, variable or function in scope")),
        }
    }

    /// An address operand in brackets and the space that its symbol, if any, lies in.
    pub(crate) fn addr(&mut self, operand: &Operand) -> Result<(Addr, Option<Symbol>), ParseError> {
        let Operand::Address { base, offset, .. } = operand else {
            return self.fail("expected an address in brackets");
        };
        let offset = *offset;
        match &**base {
            Operand::Int(v) => {
                Ok((Addr { base: Base::Absolute, offset: (*v as i64).wrapping_add(offset) }, None))
            }
            Operand::Name(name) => {
                if let Some((reg, _)) = self.register(name) {
                    return Ok((Addr { base: Base::Reg(reg), offset }, None));
                }
                let symbol = self.scopes.find(name);
                let (base, start) = match symbol {
                    Some(Symbol::Shared(variable)) => {
                        self.out.uses.shared.insert(variable);
                        (Base::Shared(variable), 0)
                    }
                    Some(Symbol::Param { offset }) => (Base::Absolute, i64::from(offset)),
                    Some(Symbol::Module { index, .. }) => (Base::Variable(index), 0),
                    Some(Symbol::Frame { offset, .. }) => (Base::Frame, i64::from(offset)),
                    _ => {
                        return self
                            .fail(format!("`{name}` is not a register or variable in scope"));
                    }
                };
                Ok((Addr { base, offset: start.wrapping_add(offset) }, symbol))
            }
            _ => self.fail("an address is a register, a variable or a number, plus an offset"),
        }
    }

    /// The number of a label.
    pub(crate) fn label(&self, name: &str) -> Result<u32, ParseError> {
        match self.scopes.find(name) {
            Some(Symbol::Label(label)) => Ok(label),
            _ => self.fail(format!("`{name}` is not a label in scope")),
        }
    }

    /// Resolves labels and finds where branches meet again.
    fn finish(mut self, line: u32) -> Result<Function, ParseError> {
        let labels = self
            .labels
            .iter()
            .map(|l| l.ok_or_else(|| ParseError::new(line, "a label was left without a place")))
            .collect::<Result<Vec<_>, _>>()?;
        let code = &mut self.out.code;
        let pool = &mut self.out.pool;
        for inst in code.iter_mut() {
            match &mut inst.op {
                Op::Branch { target, .. } => *target = labels[*target as usize],
                Op::BranchIndexed { targets, .. } => {
                    for entry in &mut pool[targets.at as usize..(targets.at + targets.len) as usize]
                    {
                        if let Some(Src::Imm(label)) = entry {
                            *label = u64::from(labels[*label as usize]);
                        }
                    }
                }
                _ => {}
            }
        }
        let (graph, block_of) = flow_graph(code, pool);
        let meet = graph.reconvergence();
        for (at, inst) in code.iter_mut().enumerate() {
            let (Op::Branch { reconverge, .. } | Op::BranchIndexed { reconverge, .. }) =
                &mut inst.op
            else {
                continue;
            };
            *reconverge = meet[block_of[at] as usize];
        }
        Ok(self.out)
    }
}

/// The smallest multiple of `align` (a power of two, or 0) that is at least `value`.
pub(crate) fn align_up(value: u64, align: u32) -> u64 {
    value.next_multiple_of(u64::from(align.max(1)))
}

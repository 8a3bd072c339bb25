//! Decodes branches, calls and what ends a thread.

use crate::parse::ParseError;
use crate::parse::ast::{Operand, Type};

use super::function::Builder;
use super::mods::Mods;
use super::op::*;
use super::scope::Symbol;

/// `bra`, `brx`, `call`, `ret`, `exit`, `trap`, `brkpt`.
pub(super) fn decode(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    m.flag("uni");
    let op = match m.name() {
        "bra" => {
            m.done()?;
            m.operands(1..=1)?;
            let Operand::Name(label) = &m.inst.operands[0] else {
                return Err(m.error("needs a label"));
            };
            Op::Branch { target: b.label(label)?, reconverge: NO_PC }
        }
        "brx" => return indexed(b, m),
        "call" => return call(b, m),
        "ret" => Op::Ret,
        "exit" => Op::Exit,
        // A breakpoint without a debugger kills the kernel as a trap does.
        _ => Op::Trap,
    };
    m.done()?;
    b.emit(op);
    Ok(())
}

fn indexed(b: &mut Builder<'_>, mut m: Mods<'_>) -> Result<(), ParseError> {
    if !m.flag("idx") {
        return Err(m.unknown());
    }
    m.done()?;
    m.operands(2..=2)?;
    let index = b.src(&m.inst.operands[0], Type::U32)?;
    let Operand::Name(name) = &m.inst.operands[1] else {
        return Err(m.error("needs the name of a list of targets"));
    };
    let Some(Symbol::Targets(names)) = b.scopes.find(name) else {
        return Err(m.error(format!("`{name}` is not a list of targets in scope")));
    };
    let labels = names.iter().map(|n| b.label(n)).collect::<Result<Vec<_>, _>>()?;
    let targets = b.list(labels.into_iter().map(|l| Some(Src::Imm(u64::from(l)))));
    b.emit(Op::BranchIndexed { index, targets, reconverge: NO_PC });
    Ok(())
}

/// `call (ret), function, (params);` in any of its shorter forms.
fn call(b: &mut Builder<'_>, m: Mods<'_>) -> Result<(), ParseError> {
    m.done()?;
    let mut operands = m.inst.operands.iter().peekable();
    let returns = match operands.peek() {
        Some(Operand::List(items)) => {
            operands.next();
            slots(b, items)?
        }
        _ => Vec::new(),
    };
    let Some(Operand::Name(name)) = operands.next() else {
        return Err(m.error("needs a function"));
    };
    let params = match operands.peek() {
        Some(Operand::List(items)) => {
            operands.next();
            slots(b, items)?
        }
        _ => Vec::new(),
    };
    let callee = if let Some((reg, _)) = b.register(name) {
        Callee::Indirect(Src::Reg(reg))
    } else {
        match (b.scopes.find(name), name.as_str()) {
            (Some(Symbol::Function(index)), _) => Callee::Function(index),
            (_, "vprintf") => Callee::System(System::Vprintf),
            (_, "__assertfail") => Callee::System(System::AssertFail),
            (_, "malloc") => Callee::System(System::Malloc),
            (_, "free") => Callee::System(System::Free),
            _ => return Err(m.error(format!("`{name}` is not defined in this module"))),
        }
    };
    let index = b.out.calls.len() as u32;
    b.out.calls.push(Call { callee, params, returns });
    b.emit(Op::Call(index));
    Ok(())
}

/// The frame's places of a call's parameters. A register stands for itself through a hidden place: LLVM writes none.
fn slots(b: &Builder<'_>, items: &[Operand]) -> Result<Vec<(u32, u32)>, ParseError> {
    items
        .iter()
        .map(|item| match item {
            Operand::Name(name) => match b.scopes.find(name) {
                Some(Symbol::Frame { offset, bytes, .. }) => Ok((offset, bytes)),
                _ => b.fail(format!(
                    "`{name}` is not a `.param` variable: calls pass nothing else here"
                )),
            },
            _ => b.fail("calls pass `.param` variables only"),
        })
        .collect()
}

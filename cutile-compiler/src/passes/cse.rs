//! Common subexpressions: of two operations without effect that do the same on the same operands, the later one goes. Loads
//! count where nobody can write: from parameters that the kernel only reads.

use super::rewrite::Replacements;
use cutile_ir::op::{MemoryOp, OpKind};
use cutile_ir::{Block, Function, ParamRole, Type, Value};
use std::collections::{HashMap, HashSet};

/// Runs the pass.
pub(super) fn run(f: &mut Function) -> bool {
    let shared: HashSet<Value> =
        f.params.iter().filter(|p| p.role == ParamRole::Shared).map(|p| p.value).collect();
    let mut c = Cse {
        f,
        read_only: HashSet::new(),
        shared,
        known: Vec::new(),
        replacements: Replacements::default(),
        gone: HashSet::new(),
    };
    c.block(&f.body);
    let (replacements, gone) = (c.replacements, c.gone);
    let mut body = std::mem::take(&mut f.body);
    remove(&mut body, &gone);
    f.body = body;
    replacements.apply(f)
}

/// Removes the operations that define these values: `dce` would keep one that may fault.
fn remove(block: &mut Block, gone: &HashSet<Value>) {
    block.ops.retain_mut(|op| {
        op.kind.for_each_block_mut(|b| remove(b, gone));
        !op.results.iter().any(|r| gone.contains(r))
    });
}

struct Cse<'a> {
    f: &'a Function,
    /// Views of tensors that the kernel only reads.
    read_only: HashSet<Value>,
    shared: HashSet<Value>,
    /// By enclosing block: what was computed, by its text with operands resolved.
    known: Vec<HashMap<String, Value>>,
    replacements: Replacements,
    /// Results of operations that were done before.
    gone: HashSet<Value>,
}

impl Cse<'_> {
    fn block(&mut self, block: &Block) {
        self.known.push(HashMap::new());
        for op in &block.ops {
            let mut kind = op.kind.clone();
            kind.for_each_operand_mut(|v| *v = self.replacements.resolve(*v));
            if let (OpKind::Memory(MemoryOp::Partition { tensor }), [view]) =
                (&kind, &op.results[..])
                && self.shared.contains(tensor)
            {
                self.read_only.insert(*view);
            }
            if let [r] = op.results[..]
                && self.is_pure(&kind)
            {
                let key = key(&kind, self.f.ty(r));
                match self.known.iter().find_map(|k| k.get(&key)) {
                    Some(old) => {
                        self.replacements.add(r, *old);
                        self.gone.insert(r);
                    }
                    None => {
                        if let Some(known) = self.known.last_mut() {
                            known.insert(key, r);
                        }
                    }
                }
            }
            op.kind.for_each_block(|b| self.block(b));
        }
        self.known.pop();
    }

    /// Computes the same whenever it is reached. A faulting operation counts: where the later one is reached the earlier one
    /// was, and had the fault been there it would have ended the program.
    fn is_pure(&self, kind: &OpKind) -> bool {
        match kind {
            OpKind::Control(_) => false,
            OpKind::Memory(MemoryOp::Load { view, .. }) => self.read_only.contains(view),
            OpKind::Memory(MemoryOp::Store { .. }) => false,
            OpKind::Program(p) => !matches!(p, cutile_ir::op::ProgramOp::Assert { .. }),
            _ => true,
        }
    }
}

/// Operations are equal if these are: the derived text names every field.
fn key(kind: &OpKind, ty: &Type) -> String {
    format!("{kind:?} {ty:?}")
}

//! Which global accesses a path reaches without `griddepcontrol.wait`: what a launch that overlaps the grid before it
//! must not do, found without running it.
//!
//! All instructions that a thread may reach before it has waited are walked, through calls too. Accesses by generic
//! addresses are left out, as they may go to any memory: of those, running finds what is wrong.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::decode::Code;
use crate::decode::async_op::AsyncOp;
use crate::decode::op::{Callee, Function, Inst, Op, Pc, Space, Src};

/// A function and an instruction of it.
type Place = (u32, Pc);

#[derive(Default)]
struct Walk {
    reached: HashSet<Place>,
    rest: Vec<Place>,
    /// Where each function's callers go on.
    after: HashMap<u32, Vec<Place>>,
    /// Functions from which a thread may return without having waited.
    returning: HashSet<u32>,
}

/// Function and index of each global access that a thread of `entry` may reach before it has waited, in order.
pub(crate) fn unwaited(code: &Code, entry: u32) -> Vec<Place> {
    let pointers: BTreeSet<u32> =
        code.functions.iter().flat_map(|f| &f.uses.pointers).copied().collect();
    let mut walk = Walk::default();
    walk.go((entry, 0));
    let mut found = BTreeSet::new();
    while let Some((index, pc)) = walk.rest.pop() {
        let function = &code.functions[index as usize];
        let Some(inst) = function.code.get(pc as usize) else { continue };
        if is_global(&inst.op) {
            found.insert((index, pc));
        }
        walk.step(function, inst, (index, pc), &pointers);
    }
    found.into_iter().collect()
}

impl Walk {
    fn go(&mut self, place: Place) {
        if self.reached.insert(place) {
            self.rest.push(place);
        }
    }

    fn step(
        &mut self,
        function: &Function,
        inst: &Inst,
        (index, pc): Place,
        pointers: &BTreeSet<u32>,
    ) {
        // Lanes whose guard is off go on.
        let mut falls = inst.guard.is_some();
        match &inst.op {
            Op::Async(AsyncOp::DependencyWait) | Op::Exit | Op::Trap => {}
            Op::Ret => {
                if self.returning.insert(index) {
                    let after = self.after.get(&index).cloned().unwrap_or_default();
                    after.into_iter().for_each(|place| self.go(place));
                }
            }
            Op::Branch { target, .. } => self.go((index, *target)),
            Op::BranchIndexed { targets, .. } => {
                for target in
                    &function.pool[targets.at as usize..(targets.at + targets.len) as usize]
                {
                    if let Some(Src::Imm(target)) = target {
                        self.go((index, *target as Pc));
                    }
                }
            }
            Op::Call(call) => match function.calls[*call as usize].callee {
                Callee::Function(callee) => self.call(callee, (index, pc + 1)),
                Callee::Indirect(_) => {
                    pointers.iter().for_each(|callee| self.call(*callee, (index, pc + 1)));
                }
                Callee::System(_) => falls = true,
            },
            _ => falls = true,
        }
        if falls {
            self.go((index, pc + 1));
        }
    }

    fn call(&mut self, callee: u32, after: Place) {
        self.after.entry(callee).or_default().push(after);
        self.go((callee, 0));
        if self.returning.contains(&callee) {
            self.go(after);
        }
    }
}

fn is_global(op: &Op) -> bool {
    match op {
        Op::Load(access) | Op::Store(access) => access.space == Space::Global,
        Op::Atomic(atomic) => atomic.space == Space::Global,
        Op::Async(AsyncOp::Copy(_) | AsyncOp::Tensor(_)) => true,
        Op::Async(AsyncOp::Bulk(copy)) => [copy.to_space, copy.from_space].contains(&Space::Global),
        _ => false,
    }
}

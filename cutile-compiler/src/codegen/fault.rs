//! Checks: a condition that ends the launch, and the table of their sites.

use super::Emitter;
use cutile_bundle::abi::FaultSite;
use cutile_ir::Op;
use std::collections::{HashMap, HashSet};

/// What a check reports of what it looked at: two `i64` expressions.
#[derive(Clone)]
pub(super) struct Operands(pub(super) String, pub(super) String);

/// An operation, by its address in the kernel: what is written in two places (ahead of a loop and in it) is one.
type Identity = usize;

/// The sites of a kernel's checks.
#[derive(Clone, Default, Debug)]
pub(super) struct Faults {
    pub(super) sites: Vec<FaultSite>,
    known: HashMap<(Identity, String), u32>,
    /// Index checks, by operation and axis, that were made before the loop.
    settled: HashSet<(Identity, usize)>,
}

fn identity(op: &Op) -> Identity {
    std::ptr::from_ref(op) as usize
}

impl Emitter<'_> {
    /// Ends the launch where the condition holds, which is the same in every thread.
    pub(super) fn check(
        &mut self,
        op: &Op,
        failed: &str,
        text: String,
        operands: Option<Operands>,
    ) {
        let id = self.site(op, text);
        let Operands(a, b) = operands.unwrap_or(Operands("0".into(), "0".into()));
        self.body.open(format!("if {failed} {{"));
        self.body.line(format!("fault::fault(record, kernel, {id}, program, {a}, {b});"));
        self.body.close("}");
    }

    fn site(&mut self, op: &Op, text: String) -> u32 {
        let key = (identity(op), text.clone());
        if let Some(id) = self.faults.known.get(&key) {
            return *id;
        }
        let id = self.faults.sites.len() as u32;
        let (file, line) = match op.loc {
            Some(loc) => {
                (self.kernel.files().get(loc.file as usize).cloned().unwrap_or_default(), loc.line)
            }
            None => (String::new(), 0),
        };
        self.faults.sites.push(FaultSite { id, file, line, text });
        self.faults.known.insert(key, id);
        id
    }

    /// The same for a condition that differs from thread to thread: lanes come together again after it.
    pub(super) fn check_each(&mut self, op: &Op, failed: &str, text: String) {
        self.check(op, failed, text, None);
        self.body.line("warp::warp_sync();");
    }

    /// The index of an operation along an axis needs no check from here on.
    pub(super) fn settle(&mut self, op: &Op, axis: usize) {
        self.faults.settled.insert((identity(op), axis));
    }

    /// Whether the index of an operation along an axis has been checked before its loop.
    pub(super) fn is_settled(&self, op: &Op, axis: usize) -> bool {
        self.faults.settled.contains(&(identity(op), axis))
    }
}

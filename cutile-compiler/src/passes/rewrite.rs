//! What passes have in common: values that stand for others, and what defines a value.

use cutile_ir::op::{CreateOp, Literal, OpKind};
use cutile_ir::{Function, Op, Value};
use std::collections::HashMap;

/// Values to be replaced by others.
#[derive(Default)]
pub(super) struct Replacements {
    by: HashMap<Value, Value>,
}

impl Replacements {
    /// Uses of `old` become uses of `new`.
    pub(super) fn add(&mut self, old: Value, new: Value) {
        self.by.insert(old, self.resolve(new));
    }

    /// What a value is replaced by, in the end.
    pub(super) fn resolve(&self, v: Value) -> Value {
        let mut v = v;
        while let Some(new) = self.by.get(&v) {
            v = *new;
        }
        v
    }

    /// Replaces them everywhere; whether there were any.
    pub(super) fn apply(self, f: &mut Function) -> bool {
        if self.by.is_empty() {
            return false;
        }
        let mut body = std::mem::take(&mut f.body);
        body.map_uses(&mut |v| self.resolve(v));
        f.body = body;
        true
    }
}

/// The kind of the operation that defines each value.
pub(super) fn definitions(f: &Function) -> HashMap<Value, OpKind> {
    let mut all = HashMap::new();
    f.body.for_each_op(&mut |op: &Op| {
        // Control operations define values that no rewrite looks through.
        if !matches!(op.kind, OpKind::Control(_))
            && let [r] = op.results[..]
        {
            all.insert(r, op.kind.clone());
        }
    });
    all
}

/// The literal that a value is, in every element.
pub(super) fn constant(definitions: &HashMap<Value, OpKind>, v: Value) -> Option<Literal> {
    match definitions.get(&v)? {
        OpKind::Create(CreateOp::Constant { value }) => Some(*value),
        _ => None,
    }
}

//! Rules 1 and 2: definitions before uses, nesting, block parameters, yields.

use super::{Checker, types_agree};
use crate::element::Element;
use crate::module::{Block, Op, Value};
use crate::op::{ControlOp, OpKind};
use crate::print::type_text;
use crate::types::Type;

pub(super) fn check(c: &mut Checker<'_>) {
    let f = c.function;
    let mut s = Scope { defined: vec![State::Unseen; f.values.len()] };
    let params: Vec<Value> = f.params.iter().map(|p| p.value).collect();
    if f.body.params != params {
        c.fail_function("the body's parameters are not the function's");
    }
    s.define_all(c, &params, None);
    block(c, &mut s, &f.body, None);
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    Visible,
    /// Defined in a block that has ended.
    Hidden,
}

struct Scope {
    defined: Vec<State>,
}

impl Scope {
    fn define_all(&mut self, c: &mut Checker<'_>, values: &[Value], op: Option<&Op>) {
        for v in values {
            match self.defined.get_mut(v.0 as usize) {
                Some(s @ State::Unseen) => *s = State::Visible,
                Some(_) => report(c, op, format!("value {} is defined twice", v.0)),
                None => report(c, op, format!("value {} is not of this function", v.0)),
            }
        }
    }

    fn use_one(&self, c: &mut Checker<'_>, v: Value, op: Option<&Op>) {
        match self.defined.get(v.0 as usize) {
            Some(State::Visible) => {}
            Some(State::Unseen) => report(c, op, format!("value {} is used before it is", v.0)),
            Some(State::Hidden) => {
                report(c, op, format!("value {} is used outside the block that defines it", v.0));
            }
            None => report(c, op, format!("value {} is not of this function", v.0)),
        }
    }
}

fn report(c: &mut Checker<'_>, op: Option<&Op>, message: String) {
    // The text of an operation whose values may not exist can't be printed.
    c.errors.push(super::Diagnostic {
        message: match op {
            Some(op) => format!("{message} (in `{}`)", op.kind.name()),
            None => message,
        },
        op: String::new(),
        loc: op.and_then(|op| op.loc),
        file: None,
    });
}

fn block(c: &mut Checker<'_>, s: &mut Scope, b: &Block, owner: Option<&Op>) {
    let mut local: Vec<Value> = Vec::new();
    if let Some(op) = owner {
        s.define_all(c, &b.params, Some(op));
        local.extend(&b.params);
    }
    for op in &b.ops {
        op.kind.for_each_operand(|v| s.use_one(c, v, Some(op)));
        op.kind.for_each_block(|inner| block(c, s, inner, Some(op)));
        s.define_all(c, &op.results, Some(op));
        local.extend(&op.results);
        if c.errors.is_empty() {
            control(c, op);
        }
    }
    for v in &b.yields {
        s.use_one(c, *v, owner);
    }
    for v in local {
        if let Some(state) = s.defined.get_mut(v.0 as usize) {
            *state = State::Hidden;
        }
    }
}

fn control(c: &mut Checker<'_>, op: &Op) {
    let OpKind::Control(control) = &op.kind else { return };
    let results: Vec<Value> = op.results.to_vec();
    match control {
        ControlOp::For { lower, upper, step, init, body } => {
            let counter = c.function.ty(*lower).clone();
            let integer = match &counter {
                Type::Scalar(e) => e.known().is_none_or(Element::is_integer),
                _ => false,
            };
            if !integer {
                c.fail(op, "the counter of `for` is a scalar integer");
            }
            for v in [upper, step] {
                same(
                    c,
                    op,
                    "the bounds and the step of `for`",
                    c.function.ty(*v).clone(),
                    &counter,
                );
            }
            let (first, carried) = match body.params.split_first() {
                Some((first, carried)) => (Some(*first), carried),
                None => (None, &[][..]),
            };
            match first {
                Some(v) => same(c, op, "the counter", c.function.ty(v).clone(), &counter),
                None => c.fail(op, "the body of `for` takes a counter"),
            }
            lists(c, op, "the body's parameters", carried, init);
            lists(c, op, "the body's yields", &body.yields, init);
            lists(c, op, "the results", &results, init);
        }
        ControlOp::While { init, cond, body } => {
            lists(c, op, "the condition's parameters", &cond.params, init);
            match cond.yields[..] {
                [v] if c.function.ty(v).is_scalar(Element::Bool) => {}
                _ => c.fail(op, "the condition of `while` yields one scalar bool"),
            }
            lists(c, op, "the body's parameters", &body.params, init);
            lists(c, op, "the body's yields", &body.yields, init);
            lists(c, op, "the results", &results, init);
        }
        ControlOp::If { cond, on_true, on_false } => {
            if !c.function.ty(*cond).is_scalar(Element::Bool) {
                c.fail(op, "the condition of `if` is a scalar bool");
            }
            if !(on_true.params.is_empty() && on_false.params.is_empty()) {
                c.fail(op, "the blocks of `if` take nothing");
            }
            lists(c, op, "the yields of the first block", &on_true.yields, &results);
            lists(c, op, "the yields of the second block", &on_false.yields, &results);
        }
        ControlOp::Call { .. } => {}
    }
}

fn lists(c: &mut Checker<'_>, op: &Op, what: &str, found: &[Value], expected: &[Value]) {
    if let Some(v) = expected.iter().find(|v| !is_data(c.function.ty(**v))) {
        let ty = type_text(c.function.ty(*v), c.function);
        c.fail(op, format!("{what}: only scalars and tiles change in a block, not {ty}"));
        return;
    }
    if found.len() != expected.len() {
        let (n, m) = (found.len(), expected.len());
        c.fail(op, format!("{what}: {n} values where {m} are expected"));
        return;
    }
    for (a, b) in found.iter().zip(expected) {
        let expected = c.function.ty(*b).clone();
        same(c, op, what, c.function.ty(*a).clone(), &expected);
    }
}

/// A value that control flow may carry; which tensor is meant must be known everywhere.
fn is_data(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(_) | Type::Tile(_))
}

fn same(c: &mut Checker<'_>, op: &Op, what: &str, found: Type, expected: &Type) {
    if !types_agree(&found, expected) {
        let (a, b) = (type_text(&found, c.function), type_text(expected, c.function));
        c.fail(op, format!("{what}: expected {b}, found {a}"));
    }
}

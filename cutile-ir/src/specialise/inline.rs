//! Puts helper functions in place of their calls. A helper's parameters that the call does not give
//! are learned from the arguments' types.

use super::substitute::{Substitution, offset};
use super::{at, plain};
use crate::module::{Block, Function, Module, Op, Param, ParamRole, Value, ValueInfo};
use crate::op::{Callee, ConstArg, ControlOp, OpKind};
use crate::print::type_text;
use crate::verify::{Diagnostic, types_agree};

/// A function with its parameters' values in place and no calls. `stack` holds the names of the
/// functions being instantiated: a helper may not call itself.
pub(super) fn instantiate(
    module: &Module,
    f: &Function,
    with: &Substitution,
    stack: &mut Vec<String>,
) -> (Function, Vec<Diagnostic>) {
    let mut function = f.clone();
    let mut errors: Vec<Diagnostic> =
        with.apply(&mut function).iter().map(|e| plain(&format!("in `{}`: {e}", f.name))).collect();
    if errors.is_empty() {
        stack.push(f.name.clone());
        let body = std::mem::take(&mut function.body);
        let mut inliner = Inliner { module, function: &mut function, errors: &mut errors, stack };
        let body = inliner.block(body);
        function.body = body;
        stack.pop();
    }
    (function, errors)
}

struct Inliner<'a> {
    module: &'a Module,
    function: &'a mut Function,
    errors: &'a mut Vec<Diagnostic>,
    stack: &'a mut Vec<String>,
}

impl Inliner<'_> {
    fn block(&mut self, b: Block) -> Block {
        let mut out = Block { params: b.params, ops: Vec::new(), yields: b.yields };
        // Results of calls that have been replaced, by what replaced them.
        let mut replaced: Vec<(Value, Value)> = Vec::new();
        for mut op in b.ops {
            rename(&mut op, &replaced);
            op.kind.for_each_block_mut(|inner| {
                let taken = std::mem::take(inner);
                *inner = self.block(taken);
            });
            if matches!(op.kind, OpKind::Control(ControlOp::Call { .. })) {
                match self.call(&op) {
                    Ok((ops, results)) => {
                        out.ops.extend(ops);
                        replaced.extend(op.results.iter().copied().zip(results));
                    }
                    Err(e) => self.errors.extend(e),
                }
            } else {
                out.ops.push(op);
            }
        }
        for v in &mut out.yields {
            *v = lookup(*v, &replaced);
        }
        out
    }

    fn call(&mut self, op: &Op) -> Result<(Vec<Op>, Vec<Value>), Vec<Diagnostic>> {
        let OpKind::Control(ControlOp::Call { callee, types, consts, args }) = &op.kind else {
            return Ok(Default::default());
        };
        let fail = |f: &Function, m: String| vec![at(op, f, m)];
        let name = match callee {
            Callee::Local(name) => name.as_str(),
            Callee::Import(_) => return Err(fail(self.function, "an import is not linked".into())),
        };
        let Some(target) = self.module.functions.iter().find(|f| f.name == name) else {
            return Err(fail(self.function, format!("there is no function `{name}`")));
        };
        if self.stack.iter().any(|s| s == name) {
            let m = format!("`{name}` calls itself; kernels have no recursion");
            return Err(fail(self.function, m));
        }
        if target.params.len() != args.len() {
            let (n, m) = (target.params.len(), args.len());
            return Err(fail(
                self.function,
                format!("`{name}` takes {n} arguments, {m} are given"),
            ));
        }
        let with = self.bind(target, types, consts, args).map_err(|m| fail(self.function, m))?;
        let (mut inlined, errors) = instantiate(self.module, target, &with, self.stack);
        if !errors.is_empty() {
            return Err(errors);
        }
        self.compare(op, target, &inlined, args)?;
        Ok(self.place(&mut inlined, args))
    }

    /// The helper's parameters: those that the call gives, then those that the arguments show.
    fn bind(
        &self,
        target: &Function,
        types: &[crate::ElementType],
        consts: &[ConstArg],
        args: &[Value],
    ) -> Result<Substitution, String> {
        let mut with = Substitution::open(target);
        let name = &target.name;
        if !types.is_empty() && types.len() != with.types.len() {
            let (n, m) = (with.types.len(), types.len());
            return Err(format!("`{name}` takes {n} type arguments, {m} are given"));
        }
        if !consts.is_empty() && consts.len() != with.consts.len() {
            let (n, m) = (with.consts.len(), consts.len());
            return Err(format!("`{name}` takes {n} const arguments, {m} are given"));
        }
        for (slot, t) in with.types.iter_mut().zip(types) {
            *slot = t.known();
        }
        for (slots, c) in with.consts.iter_mut().zip(consts) {
            let given: Vec<Option<i64>> = match c {
                ConstArg::One(d) => vec![d.known()],
                ConstArg::Array(ds) => ds.iter().map(crate::Dim::known).collect(),
            };
            if given.len() != slots.len() {
                let (n, m) = (slots.len(), given.len());
                return Err(format!("a const argument of `{name}` has {m} numbers, not {n}"));
            }
            *slots = given;
        }
        for (p, a) in target.params.iter().zip(args) {
            with.bind(target.ty(p.value), self.function.ty(*a));
            if let (ParamRole::Partitioned { tile }, Some(actual)) = (&p.role, self.tile_of(*a)) {
                with.bind_tile(tile, &actual);
            }
        }
        match with.missing(target) {
            Some(param) => Err(format!(
                "the parameter `{param}` of `{name}` does not follow from the arguments; give it: \
                 `{name}::<..>(..)`"
            )),
            None => Ok(with),
        }
    }

    fn tile_of(&self, tensor: Value) -> Option<crate::Shape> {
        let p = self.function.params.iter().find(|p| p.value == tensor)?;
        match &p.role {
            ParamRole::Partitioned { tile } => Some(tile.clone()),
            _ => None,
        }
    }

    /// Argument and result types against the instantiated helper's.
    fn compare(
        &self,
        op: &Op,
        target: &Function,
        inlined: &Function,
        args: &[Value],
    ) -> Result<(), Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let f = &*self.function;
        for (p, a) in inlined.params.iter().zip(args) {
            if !types_agree(inlined.ty(p.value), f.ty(*a)) || !self.role_agrees(p, *a) {
                let (want, have) =
                    (type_text(inlined.ty(p.value), inlined), type_text(f.ty(*a), f));
                errors.push(at(
                    op,
                    f,
                    format!(
                        "the parameter `{}` of `{}` is {want}, the argument is {have}",
                        p.name, target.name
                    ),
                ));
            }
        }
        if inlined.body.yields.len() != op.results.len() {
            let (n, m) = (inlined.body.yields.len(), op.results.len());
            errors.push(at(op, f, format!("`{}` gives {n} results, {m} are taken", target.name)));
        }
        for (y, r) in inlined.body.yields.iter().zip(&op.results) {
            if !types_agree(inlined.ty(*y), f.ty(*r)) {
                let (have, want) = (type_text(inlined.ty(*y), inlined), type_text(f.ty(*r), f));
                errors.push(at(
                    op,
                    f,
                    format!("`{}` gives {have}, {want} is expected", target.name),
                ));
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// A helper that writes needs a tensor that its caller may write, partitioned alike.
    fn role_agrees(&self, p: &Param, arg: Value) -> bool {
        match &p.role {
            ParamRole::Partitioned { tile } => self.tile_of(arg).as_ref() == Some(tile),
            _ => true,
        }
    }

    /// Moves the helper's values into this function.
    fn place(&mut self, inlined: &mut Function, args: &[Value]) -> (Vec<Op>, Vec<Value>) {
        let values: Vec<ValueInfo> = std::mem::take(&mut inlined.values);
        let base = offset(&mut self.function.values, values);
        let params: Vec<Value> = inlined.params.iter().map(|p| p.value).collect();
        let renumber = |v: Value| match params.iter().position(|p| *p == v) {
            Some(i) => args[i],
            None => Value(v.0 + base),
        };
        let mut body = std::mem::take(&mut inlined.body);
        define(&mut body, base);
        body.map_uses(&mut |v| renumber(v));
        (body.ops, body.yields)
    }
}

/// Renumbers definitions: results and block parameters.
fn define(b: &mut Block, base: u32) {
    for op in &mut b.ops {
        op.results.iter_mut().for_each(|v| v.0 += base);
        op.kind.for_each_block_mut(|inner| {
            inner.params.iter_mut().for_each(|v| v.0 += base);
            define(inner, base);
        });
    }
}

fn lookup(v: Value, replaced: &[(Value, Value)]) -> Value {
    replaced.iter().rev().find(|(from, _)| *from == v).map_or(v, |(_, to)| *to)
}

fn rename(op: &mut Op, replaced: &[(Value, Value)]) {
    if replaced.is_empty() {
        return;
    }
    op.kind.for_each_operand_mut(|v| *v = lookup(*v, replaced));
    op.kind.for_each_block_mut(|b| b.map_uses(&mut |v| lookup(v, replaced)));
}

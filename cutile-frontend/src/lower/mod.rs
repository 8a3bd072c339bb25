//! From a checked function to tile IR. Everything here may assume what typing has proved; an error is reported only for
//! control flow that the desugaring has no place for.

mod call;
mod effects;
mod expr;
mod memory;
mod repeat;
mod stmt;

use std::collections::{HashMap, HashSet};

use cutile_ir::{
    ConstKind, Dim, Element, Function, FunctionBuilder, FunctionKind, Loc, ParamRole, Type, Value,
    op::{ControlOp, CreateOp, Literal},
};
use proc_macro2::Span;
use syn::ext::IdentExt;

use self::effects::{Effects, Exit};
use crate::{
    ast::{self, GenericKind},
    messages,
    report::Report,
    typing::{
        LocalId, Typed,
        types::{El, Ty},
    },
};

/// What an expression has become.
#[derive(Clone, Debug)]
enum Val {
    /// A scalar, a tile, a tensor or a view.
    One(Value),
    /// A tuple or an array.
    List(Vec<Val>),
    /// A shape: each extent a number, or that of a tensor along an axis.
    Shape(Vec<Extent>),
    /// A view of the sub-tensor of this shape of a `&mut Tensor`.
    SubView(Value, Vec<Dim>),
    /// Nothing: an order of axes, or a place that control doesn't reach.
    None,
}

#[derive(Clone, Debug)]
enum Extent {
    Known(Dim),
    Of(Value, u32),
}

/// A variable while the function is built.
#[derive(Clone, Debug)]
enum Slot {
    /// Not declared yet.
    Absent,
    /// Declared without a value.
    Unset,
    Set(Val),
}

/// Builds one function.
struct Lower<'a> {
    b: FunctionBuilder,
    typed: &'a Typed,
    report: &'a mut Report,
    slots: Vec<Slot>,
    /// The types of variables, those of the desugaring included.
    slot_types: Vec<Ty>,
    /// The variables that say that control has left in some way.
    flags: HashMap<Exit, LocalId>,
    /// The variables that hold a `break`'s value.
    loop_values: HashMap<u32, LocalId>,
    /// The variable that holds a `return`'s value.
    return_value: Option<LocalId>,
    /// Any `return`, `break` or `continue` in it.
    has_exits: bool,
    /// How many closures of `map` are around.
    lanes: u32,
    /// Those that are reported.
    refused: HashSet<ast::ExprId>,
}

/// Lowers a function that typing has found nothing wrong with.
pub(crate) fn function(f: &ast::Function, typed: &Typed, report: &mut Report) -> Function {
    let kind = if f.entry.is_some() { FunctionKind::Entry } else { FunctionKind::Helper };
    let mut b = FunctionBuilder::new(&*f.path, kind);
    b.set_fast_math(f.entry.as_ref().is_some_and(|o| o.fast_math));
    for g in &f.generics {
        let name = g.name.unraw().to_string();
        match g.kind {
            GenericKind::Element => {
                b.type_param(name);
            }
            GenericKind::Int => {
                b.const_param(name, ConstKind::I32);
            }
            GenericKind::Bool => {
                b.const_param(name, ConstKind::Bool);
            }
            GenericKind::Array(rank) => {
                b.const_param(name, ConstKind::Array(rank));
            }
        }
    }
    let slot_types: Vec<Ty> = typed.locals.iter().map(|l| l.ty.clone()).collect();
    let mut lower = Lower {
        b,
        typed,
        report,
        slots: vec![Slot::Absent; slot_types.len()],
        slot_types,
        flags: HashMap::new(),
        loop_values: HashMap::new(),
        return_value: None,
        has_exits: effects::has_exits(&f.body),
        lanes: 0,
        refused: HashSet::new(),
    };
    for (i, param) in f.params.iter().enumerate() {
        let ty = typed.locals[i].ty.clone();
        let val = lower.param(&param.name.unraw().to_string(), &ty);
        lower.slots[i] = Slot::Set(val);
    }
    let results = lower.body(&f.body);
    lower.b.finish(results)
}

impl Lower<'_> {
    fn param(&mut self, name: &str, ty: &Ty) -> Val {
        match ty {
            Ty::Tuple(types) => Val::List(
                types
                    .iter()
                    .enumerate()
                    .map(|(i, t)| self.param(&format!("{name}.{i}"), t))
                    .collect(),
            ),
            Ty::Array(t, n) => {
                Val::List((0..*n).map(|i| self.param(&format!("{name}.{i}"), t)).collect())
            }
            Ty::Shape(extents) => {
                Val::Shape(extents.iter().flatten().cloned().map(Extent::Known).collect())
            }
            _ => {
                let mut types = Vec::new();
                ty.flatten(&mut types);
                let role = match ty {
                    Ty::Tensor { mutable: true, extents, .. } => {
                        ParamRole::Partitioned { tile: extents.iter().flatten().cloned().collect() }
                    }
                    Ty::Tensor { .. } => ParamRole::Shared,
                    _ => ParamRole::Scalar,
                };
                // The parameter is the whole tensor; its sub-tensor's shape stands in the role.
                if let (ParamRole::Partitioned { .. }, Some(Type::Tensor(t))) =
                    (&role, types.first_mut())
                {
                    t.extents.iter_mut().for_each(|e| *e = None);
                }
                match types.pop() {
                    Some(ty) => Val::One(self.b.param(name, ty, role)),
                    None => Val::None,
                }
            }
        }
    }

    fn body(&mut self, body: &ast::Block) -> Vec<Value> {
        let result = self.typed.result.clone().unwrap_or(Ty::unit());
        let returns = Effects::of_block(self.typed, body).exits.contains(&Exit::Return);
        if returns {
            self.new_flag(Exit::Return);
            if !self.types(&result).is_empty() {
                let slot = self.synthetic(result.clone());
                let default = self.default(&result);
                self.slots[slot.0 as usize] = Slot::Set(default);
                self.return_value = Some(slot);
            }
        }
        let val = self.block(body, &result);
        let val = self.or_default(val, &result);
        let Some(slot) = self.return_value else { return flat(&val) };
        let flag = self.flag_value(Exit::Return);
        self.b.open([]);
        let returned = flat(&self.read(slot));
        let on_true = self.b.close(returned);
        self.b.open([]);
        let on_false = self.b.close(flat(&val));
        self.b.control(ControlOp::If { cond: flag, on_true, on_false }).to_vec()
    }

    /// The IR types of a type.
    fn types(&self, ty: &Ty) -> Vec<Type> {
        let mut types = Vec::new();
        ty.flatten(&mut types);
        types
    }

    /// A value of that type where control never reads it.
    fn default(&mut self, ty: &Ty) -> Val {
        let values: Vec<Value> = self
            .types(ty)
            .into_iter()
            .map(|ty| {
                let value = match ty.element().known() {
                    Some(Element::Bool) => Literal::Bool(false),
                    Some(e) if e.is_float() => Literal::float(0.0),
                    _ => Literal::Int(0),
                };
                self.b.value(CreateOp::Constant { value }, ty)
            })
            .collect();
        rebuild(ty, &mut values.into_iter())
    }

    fn or_default(&mut self, val: Val, ty: &Ty) -> Val {
        if matches!(val, Val::None) && !self.types(ty).is_empty() { self.default(ty) } else { val }
    }

    /// A variable of the desugaring.
    fn synthetic(&mut self, ty: Ty) -> LocalId {
        self.slots.push(Slot::Unset);
        self.slot_types.push(ty);
        LocalId(self.slots.len() as u32 - 1)
    }

    /// A new flag, down.
    fn new_flag(&mut self, exit: Exit) -> LocalId {
        let slot = self.synthetic(Ty::bool());
        self.flags.insert(exit, slot);
        self.set_flag(exit, false);
        slot
    }

    fn set_flag(&mut self, exit: Exit, up: bool) {
        if let Some(slot) = self.flags.get(&exit).copied() {
            let value = self.bool(up);
            self.slots[slot.0 as usize] = Slot::Set(Val::One(value));
        }
    }

    fn bool(&mut self, value: bool) -> Value {
        self.b
            .value(CreateOp::Constant { value: Literal::Bool(value) }, Type::scalar(Element::Bool))
    }

    fn flag_value(&mut self, exit: Exit) -> Value {
        let slot = self.flags.get(&exit).copied();
        match slot.map(|s| self.read(s)) {
            Some(Val::One(v)) => v,
            _ => self.bool(false),
        }
    }

    /// The value of a variable; a placeholder where it has none yet.
    fn read(&mut self, local: LocalId) -> Val {
        match self.slots[local.0 as usize].clone() {
            Slot::Set(val) => val,
            Slot::Unset | Slot::Absent => {
                let ty = self.slot_types[local.0 as usize].clone();
                self.default(&ty)
            }
        }
    }

    fn set(&mut self, local: LocalId, val: Val) {
        if let (Val::One(v), Some(l)) = (&val, self.typed.locals.get(local.0 as usize)) {
            self.b.name(*v, &l.name);
        }
        self.slots[local.0 as usize] = Slot::Set(val);
    }

    /// The variables that live outside a piece of code with these effects and that it may change.
    fn carried(&self, effects: &Effects) -> Vec<LocalId> {
        let mut carried: Vec<LocalId> = effects
            .assigned
            .iter()
            .copied()
            .filter(|l| !matches!(self.slots[l.0 as usize], Slot::Absent))
            .collect();
        for exit in &effects.exits {
            carried.extend(self.flags.get(exit));
            match exit {
                Exit::Return => carried.extend(self.return_value),
                Exit::Break(id) => carried.extend(self.loop_values.get(id)),
                Exit::Continue(_) => {}
            }
        }
        carried.sort_unstable();
        carried.dedup();
        carried
    }

    /// The values of variables, flattened.
    fn values_of(&mut self, locals: &[LocalId]) -> Vec<Value> {
        let mut values = Vec::new();
        for l in locals {
            flatten(&self.read(*l), &mut values);
        }
        values
    }

    /// Sets variables from flattened values.
    fn set_all(&mut self, locals: &[LocalId], values: &mut impl Iterator<Item = Value>) {
        for l in locals {
            let ty = self.slot_types[l.0 as usize].clone();
            let val = rebuild(&ty, values);
            self.set(*l, val);
        }
    }

    fn types_of(&self, locals: &[LocalId]) -> Vec<Type> {
        let mut types = Vec::new();
        locals.iter().for_each(|l| self.slot_types[l.0 as usize].flatten(&mut types));
        types
    }

    /// The place of the operations that follow.
    fn at(&mut self, span: Span) {
        let start = span.start();
        let known = start.line > 0;
        self.b.set_loc(known.then_some(Loc {
            file: 0,
            line: start.line as u32,
            column: start.column as u32 + 1,
        }));
    }

    /// Reports a `return`, `break` or `continue` inside an operand.
    fn no_exit(&mut self, e: &ast::Expr) {
        if !self.has_exits {
            return;
        }
        for (what, exit) in effects::exits_of(e) {
            let leaves = Effects::of(self.typed, e).exits;
            let stays = self.typed.loops.get(&exit.id).is_some_and(|l| {
                !leaves.contains(&Exit::Break(l.0)) && !leaves.contains(&Exit::Continue(l.0))
            });
            if !stays && self.refused.insert(exit.id) {
                self.report.error(exit.span, messages::exit_in_operand(what));
            }
        }
    }
}

/// The values of a tuple or array, innermost in order.
fn flatten(val: &Val, out: &mut Vec<Value>) {
    match val {
        Val::One(v) | Val::SubView(v, _) => out.push(*v),
        Val::List(list) => list.iter().for_each(|v| flatten(v, out)),
        Val::Shape(_) | Val::None => {}
    }
}

fn flat(val: &Val) -> Vec<Value> {
    let mut values = Vec::new();
    flatten(val, &mut values);
    values
}

/// A value of that type from its flattened values.
fn rebuild(ty: &Ty, values: &mut impl Iterator<Item = Value>) -> Val {
    match ty {
        Ty::Tuple(types) => Val::List(types.iter().map(|t| rebuild(t, values)).collect()),
        Ty::Array(t, n) => Val::List((0..*n).map(|_| rebuild(t, values)).collect()),
        Ty::Scalar(_) | Ty::Tile(..) | Ty::Tensor { .. } | Ty::View { .. } => {
            values.next().map_or(Val::None, Val::One)
        }
        Ty::Shape(extents) => {
            Val::Shape(extents.iter().flatten().cloned().map(Extent::Known).collect())
        }
        _ => Val::None,
    }
}

/// The known element of an inferred type.
fn element(ty: &Ty) -> Option<Element> {
    match ty.element() {
        Some(El::Is(e)) => e.known(),
        _ => None,
    }
}

//! What stands for a function's type and const parameters, and putting it there.

use super::{ConstValue, Specialisation};
use crate::dim::Dim;
use crate::element::{Element, ElementType};
use crate::module::{ConstKind, ConstParamDecl, Function, ValueInfo};
use crate::types::Type;

/// Known values of a function's parameters; an array parameter has one number an element.
#[derive(Clone, Debug)]
pub(super) struct Substitution {
    pub(super) types: Vec<Option<Element>>,
    pub(super) consts: Vec<Vec<Option<i64>>>,
}

impl From<&Specialisation> for Substitution {
    fn from(s: &Specialisation) -> Self {
        let consts = s.consts.iter().map(|c| match c {
            ConstValue::I32(n) => vec![Some(i64::from(*n))],
            ConstValue::Bool(b) => vec![Some(i64::from(*b))],
            ConstValue::Array(ns) => ns.iter().map(|n| Some(i64::from(*n))).collect(),
        });
        Substitution { types: s.types.iter().map(|t| Some(*t)).collect(), consts: consts.collect() }
    }
}

impl Substitution {
    /// Nothing is known yet.
    pub(super) fn open(f: &Function) -> Substitution {
        let slots = |d: &ConstParamDecl| match d.kind {
            ConstKind::Array(n) => n as usize,
            _ => 1,
        };
        Substitution {
            types: vec![None; f.type_params.len()],
            consts: f.const_params.iter().map(|d| vec![None; slots(d)]).collect(),
        }
    }

    /// The first parameter without a value.
    pub(super) fn missing<'a>(&self, f: &'a Function) -> Option<&'a str> {
        let types = self.types.iter().zip(&f.type_params).map(|(t, n)| (t.is_some(), n));
        let consts = self
            .consts
            .iter()
            .zip(&f.const_params)
            .map(|(c, d)| (c.iter().all(Option::is_some), &d.name));
        types.chain(consts).find(|(known, _)| !known).map(|(_, name)| name.as_str())
    }

    fn slot(&mut self, d: &Dim) -> Option<&mut Option<i64>> {
        let Dim::Param { param, axis } = d else { return None };
        self.consts.get_mut(param.0 as usize)?.get_mut(axis.unwrap_or(0) as usize)
    }

    fn bind_dim(&mut self, formal: &Dim, actual: &Dim) {
        if let (Some(slot), Some(n)) = (self.slot(formal), actual.known()) {
            slot.get_or_insert(n);
        }
    }

    /// Learns parameters from an argument's type; disagreement shows when types are compared.
    pub(super) fn bind(&mut self, formal: &Type, actual: &Type) {
        if let (ElementType::Param(p), Some(e)) = (formal.element(), actual.element().known())
            && let Some(slot) = self.types.get_mut(p.0 as usize)
        {
            slot.get_or_insert(e);
        }
        match (formal, actual) {
            (Type::Tile(f), Type::Tile(a)) => {
                f.shape.iter().zip(&a.shape).for_each(|(f, a)| self.bind_dim(f, a));
            }
            (Type::View(f), Type::View(a)) => {
                f.shape.iter().zip(&a.shape).for_each(|(f, a)| self.bind_dim(f, a));
            }
            (Type::Tensor(f), Type::Tensor(a)) => {
                for (f, a) in f.extents.iter().zip(&a.extents) {
                    if let (Some(f), Some(a)) = (f, a) {
                        self.bind_dim(f, a);
                    }
                }
            }
            _ => {}
        }
    }

    /// Learns parameters from the tile shape that a `&mut Tensor` argument is partitioned by.
    pub(super) fn bind_tile(&mut self, formal: &[Dim], actual: &[Dim]) {
        formal.iter().zip(actual).for_each(|(f, a)| self.bind_dim(f, a));
    }

    /// The number that an extent becomes; an error text where it has none.
    pub(super) fn number(&self, d: &Dim) -> Result<i64, String> {
        match d {
            Dim::Const(n) => Ok(*n),
            Dim::Param { param, axis } => self
                .consts
                .get(param.0 as usize)
                .and_then(|c| *c.get(axis.unwrap_or(0) as usize)?)
                .ok_or_else(|| "a const parameter has no value".to_string()),
            Dim::Extern(_) => Err("a const of the module has no value".to_string()),
            Dim::Expr(op, a, b) => {
                let (a, b) = (self.number(a)?, self.number(b)?);
                op.apply(a, b)
                    .ok_or_else(|| format!("the extent `{a} {} {b}` has no value", op.symbol()))
            }
        }
    }

    /// Puts the values in place of the parameters everywhere in a function; gives error texts.
    pub(super) fn apply(&self, f: &mut Function) -> Vec<String> {
        let errors = std::cell::RefCell::new(Vec::new());
        f.for_each_symbol_mut(
            &mut |d| match self.number(d) {
                Ok(n) => *d = Dim::Const(n),
                Err(e) => errors.borrow_mut().push(e),
            },
            &mut |e| {
                if let ElementType::Param(p) = e {
                    match self.types.get(p.0 as usize).copied().flatten() {
                        Some(known) => *e = ElementType::Known(known),
                        None => errors.borrow_mut().push("a type parameter has no value".into()),
                    }
                }
            },
        );
        let mut errors = errors.into_inner();
        errors.dedup();
        errors
    }
}

/// A value's type, by its number in another function's table.
pub(super) fn offset(values: &mut Vec<ValueInfo>, more: Vec<ValueInfo>) -> u32 {
    let base = values.len() as u32;
    values.extend(more);
    base
}

//! Names in force at a point of a function: registers, variables, labels, functions, special registers.

use std::collections::HashMap;

use crate::parse::ast::{Space as VarSpace, Type};

use super::op::{Pred, Reg, Special};

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Symbol {
    /// A register: first row, type, elements.
    Reg { reg: Reg, ty: Type, vector: u32 },
    /// A predicate register.
    Pred(Pred),
    /// A parameterised register name: first row or predicate, count, type, elements.
    Family { first: u32, count: u32, ty: Type, vector: u32 },
    /// A label, by number.
    Label(u32),
    /// A variable in shared memory, by its number.
    Shared(u32),
    /// A variable in global or constant memory, by its number.
    Module { index: u32, space: VarSpace },
    /// A variable in the frame: local memory or a call's parameter. Offset and bytes.
    Frame { offset: u32, bytes: u32, space: VarSpace },
    /// A parameter of the entry: offset in the parameter buffer.
    Param { offset: u32 },
    /// A function, by number.
    Function(u32),
    /// A named list of targets.
    Targets(Vec<String>),
    /// A call prototype.
    Prototype,
}

/// A stack of name tables.
#[derive(Debug)]
pub(crate) struct Scopes<'m> {
    module: &'m HashMap<String, Symbol>,
    stack: Vec<HashMap<String, Symbol>>,
}

impl<'m> Scopes<'m> {
    pub(crate) fn new(module: &'m HashMap<String, Symbol>) -> Self {
        Self { module, stack: vec![HashMap::new()] }
    }

    pub(crate) fn enter(&mut self) {
        self.stack.push(HashMap::new());
    }

    pub(crate) fn leave(&mut self) {
        self.stack.pop();
    }

    /// Adds a name to the innermost scope; false if it is there already.
    pub(crate) fn add(&mut self, name: &str, symbol: Symbol) -> bool {
        match self.stack.last_mut() {
            Some(top) => top.insert(name.to_owned(), symbol).is_none(),
            None => false,
        }
    }

    /// What `name` stands for here.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        let exact = self.stack.iter().rev().find_map(|table| table.get(name));
        if let Some(symbol) = exact.or_else(|| self.module.get(name)) {
            return (!matches!(symbol, Symbol::Family { .. })).then(|| symbol.clone());
        }
        self.member(name)
    }

    /// A member such as `%r12` of a family such as `%r<20>`.
    fn member(&self, name: &str) -> Option<Symbol> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // A stem may itself end in digits: `%rd1_<4>` never does so in practice, `x1<4>` gives `x10`.
        for split in stem.len()..name.len() {
            let (stem, digits) = name.split_at(split);
            if digits.len() > 1 && digits.starts_with('0') {
                continue;
            }
            let found = self.stack.iter().rev().find_map(|table| table.get(stem));
            if let (Some(Symbol::Family { first, count, ty, vector }), Ok(index)) =
                (found, digits.parse::<u32>())
            {
                if index >= *count {
                    return None;
                }
                return Some(match ty {
                    Type::Pred => Symbol::Pred(first + index),
                    _ => Symbol::Reg {
                        reg: first + index * rows(*ty, *vector),
                        ty: *ty,
                        vector: *vector,
                    },
                });
            }
        }
        None
    }
}

/// Rows that a register takes.
pub(crate) fn rows(ty: Type, vector: u32) -> u32 {
    vector * if ty == Type::B128 { 2 } else { 1 }
}

/// The special register that a name such as `%tid.x` stands for.
pub(crate) fn special(name: &str) -> Option<Special> {
    let (stem, axis) = match name.rsplit_once('.') {
        Some((stem, "x")) => (stem, 0),
        Some((stem, "y")) => (stem, 1),
        Some((stem, "z")) => (stem, 2),
        Some((stem, "w")) => (stem, 3),
        Some(_) => return None,
        None => return scalar_special(name),
    };
    if axis == 3 {
        return triple_special(stem, 0).map(|_| Special::Zero);
    }
    triple_special(stem, axis)
}

fn triple_special(stem: &str, axis: u8) -> Option<Special> {
    Some(match stem {
        "%tid" => Special::Tid(axis),
        "%ntid" => Special::Ntid(axis),
        "%ctaid" => Special::Ctaid(axis),
        "%nctaid" => Special::Nctaid(axis),
        "%clusterid" => Special::ClusterId(axis),
        "%nclusterid" => Special::NClusterId(axis),
        "%cluster_ctaid" => Special::ClusterCtaId(axis),
        "%cluster_nctaid" => Special::ClusterNctaId(axis),
        _ => return None,
    })
}

fn scalar_special(name: &str) -> Option<Special> {
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%cluster_ctarank" => Special::ClusterCtaRank,
        "%cluster_nctarank" => Special::ClusterNctaRank,
        "%is_explicit_cluster" => Special::IsExplicitCluster,
        "%lanemask_eq" => Special::MaskEq,
        "%lanemask_le" => Special::MaskLe,
        "%lanemask_lt" => Special::MaskLt,
        "%lanemask_ge" => Special::MaskGe,
        "%lanemask_gt" => Special::MaskGt,
        "%clock" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%clock64" => Special::Clock64,
        "%globaltimer" => Special::GlobalTimer,
        "%globaltimer_lo" => Special::GlobalTimerLo,
        "%globaltimer_hi" => Special::GlobalTimerHi,
        "%dynamic_smem_size" => Special::DynamicSharedSize,
        "%total_smem_size" | "%aggr_smem_size" => Special::TotalSharedSize,
        _ => return None,
    })
}

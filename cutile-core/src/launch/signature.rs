//! A kernel's signature, read once from its embedded tile IR: parameters, const parameters, and which of those the
//! arguments bind. Arguments themselves are matched against it in `bind.rs`.

use cutile_ir::blob::Unit;
use cutile_ir::{
    ConstKind, ConstParamDecl, Dim, ElementType, Function, FunctionKind, Module, ParamRole, Type,
};

use crate::error::LaunchReason;

/// What a launch must know of a kernel.
pub(crate) struct Signature {
    /// The IR, with helpers of other modules in place; the entry comes first.
    pub(crate) module: Module,
    /// Names of the element type parameters.
    pub(crate) types: Vec<String>,
    /// The const parameters, an array's elements one by one.
    pub(crate) consts: Vec<ConstSlot>,
    /// Those that no argument binds, in declared order: the launcher gives them.
    pub(crate) free: Vec<usize>,
    /// The parameters.
    pub(crate) params: Vec<ParamSpec>,
}

/// A const parameter, or one element of an array parameter.
pub(crate) struct ConstSlot {
    /// As the author would write it: `BM`, `S[1]`.
    pub(crate) name: String,
    pub(crate) kind: ConstKind,
}

/// A parameter of a kernel.
pub(crate) struct ParamSpec {
    pub(crate) name: String,
    pub(crate) element: ElementType,
    pub(crate) kind: ParamKind,
}

/// What an argument must be.
pub(crate) enum ParamKind {
    Scalar,
    /// A tensor that is read.
    Shared {
        extents: Vec<ExtentSpec>,
    },
    /// A partitioned tensor.
    Partitioned {
        tile: Vec<ExtentSpec>,
    },
}

/// What the signature says of an extent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExtentSpec {
    /// Anything.
    Any,
    /// This number.
    Fixed(i64),
    /// The const with this position in [`Signature::consts`]: binds it, or must agree with it.
    Const(usize),
    /// What an expression over consts gives.
    Expression(Dim),
}

impl Signature {
    pub(crate) fn read(unit: &Unit<'_>) -> Result<Signature, LaunchReason> {
        let damaged = |error: &dyn std::fmt::Display| LaunchReason::Damaged(error.to_string());
        let module = cutile_ir::link(unit).map_err(|e| damaged(&e))?;
        let entry = match module.functions.first() {
            Some(function) if function.kind == FunctionKind::Entry => function,
            _ => return Err(damaged(&"it holds no entry function")),
        };
        let first_slots = first_slots(entry);
        let consts = const_slots(entry);
        let params: Vec<ParamSpec> =
            entry.params.iter().map(|p| param_spec(entry, p, &first_slots)).collect();
        let bound = |slot: usize| params.iter().any(|p| p.binds(slot));
        let free = (0..consts.len()).filter(|slot| !bound(*slot)).collect();
        Ok(Signature { types: entry.type_params.clone(), consts, free, params, module })
    }

    /// The entry function.
    pub(crate) fn entry(&self) -> &Function {
        &self.module.functions[0]
    }

    /// The value of an expression over consts whose values are `values`; `None` on overflow and division by zero.
    pub(crate) fn evaluate(&self, dim: &Dim, values: &[i64]) -> Option<i64> {
        match dim {
            Dim::Const(n) => Some(*n),
            Dim::Param { param, axis } => {
                let first = first_slots(self.entry())[param.0 as usize];
                values.get(first + axis.unwrap_or(0) as usize).copied()
            }
            // Linking has put numbers in their place.
            Dim::Extern(_) => None,
            Dim::Expr(op, a, b) => op.apply(self.evaluate(a, values)?, self.evaluate(b, values)?),
        }
    }

    /// The first parameter whose argument binds a const.
    pub(crate) fn binder(&self, slot: usize) -> Option<&ParamSpec> {
        self.params.iter().find(|p| p.binds(slot))
    }
}

impl ParamSpec {
    /// The extents that an argument's shape is matched with: a tensor's own, or a sub-tensor's.
    pub(crate) fn extents(&self) -> &[ExtentSpec] {
        match &self.kind {
            ParamKind::Scalar => &[],
            ParamKind::Shared { extents } => extents,
            ParamKind::Partitioned { tile } => tile,
        }
    }

    fn binds(&self, slot: usize) -> bool {
        self.extents().contains(&ExtentSpec::Const(slot))
    }
}

/// Position of each const parameter's first element among the slots.
fn first_slots(entry: &Function) -> Vec<usize> {
    let mut next = 0;
    let first = |param: &ConstParamDecl| {
        let first = next;
        next += slots_of(param.kind);
        first
    };
    entry.const_params.iter().map(first).collect()
}

fn slots_of(kind: ConstKind) -> usize {
    match kind {
        ConstKind::I32 | ConstKind::Bool => 1,
        ConstKind::Array(n) => n as usize,
    }
}

fn const_slots(entry: &Function) -> Vec<ConstSlot> {
    let mut slots = Vec::new();
    for param in &entry.const_params {
        match param.kind {
            ConstKind::Array(n) => slots.extend((0..n).map(|axis| ConstSlot {
                name: format!("{}[{axis}]", param.name),
                kind: ConstKind::I32,
            })),
            kind => slots.push(ConstSlot { name: param.name.clone(), kind }),
        }
    }
    slots
}

fn param_spec(entry: &Function, param: &cutile_ir::Param, first_slots: &[usize]) -> ParamSpec {
    let ty = entry.ty(param.value);
    let extent = |dim: &Dim| match dim {
        Dim::Const(n) => ExtentSpec::Fixed(*n),
        Dim::Param { param, axis } => {
            ExtentSpec::Const(first_slots[param.0 as usize] + axis.unwrap_or(0) as usize)
        }
        other => ExtentSpec::Expression(other.clone()),
    };
    let kind = match (&param.role, ty) {
        (ParamRole::Scalar, _) => ParamKind::Scalar,
        (ParamRole::Partitioned { tile }, _) => {
            ParamKind::Partitioned { tile: tile.iter().map(extent).collect() }
        }
        (ParamRole::Shared, Type::Tensor(tensor)) => ParamKind::Shared {
            extents: tensor
                .extents
                .iter()
                .map(|e| e.as_ref().map_or(ExtentSpec::Any, extent))
                .collect(),
        },
        // The text form has no shared parameter of another type.
        (ParamRole::Shared, _) => ParamKind::Shared { extents: Vec::new() },
    };
    ParamSpec { name: param.name.clone(), element: ty.element(), kind }
}

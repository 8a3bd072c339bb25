//! What a launch gives to an entry: which generic parameters the arguments bind, which are free. The rule is the launch's
//! own: a const parameter is bound where it stands bare as an extent of a tensor parameter, an array parameter where it is
//! all the extents of one.

use syn::Ident;

use crate::{
    ast::{Expr, ExprKind, Function, Generic, GenericKind, Param, ShapeSpec, TypeKind},
    messages,
    report::Report,
};

/// The most parameters that a launch can give.
const MAX_PARAMS: usize = 12;

/// The const parameters of an entry that no argument binds, in declared order.
pub fn free_parameters(f: &Function) -> Vec<&Generic> {
    f.generics.iter().filter(|g| g.kind != GenericKind::Element && !is_bound(f, g)).collect()
}

fn is_bound(f: &Function, g: &Generic) -> bool {
    f.params.iter().any(|p| match &p.ty.kind {
        TypeKind::Tensor { shape, .. } => binds(shape, g),
        _ => false,
    })
}

fn binds(shape: &ShapeSpec, g: &Generic) -> bool {
    match (shape, g.kind) {
        (ShapeSpec::Name(name), _) => *name == g.name,
        (ShapeSpec::List(list, _), GenericKind::Array(rank)) => {
            list.len() == rank as usize
                && list.iter().enumerate().all(|(axis, e)| is_element(e, &g.name, axis))
        }
        (ShapeSpec::List(list, _), _) => list.iter().any(|e| is_name(e, &g.name)),
        (ShapeSpec::Error, _) => true,
    }
}

fn is_name(e: &Expr, name: &Ident) -> bool {
    matches!(&e.kind, ExprKind::Path(p) if p.single() == Some(name))
}

fn is_element(e: &Expr, name: &Ident, axis: usize) -> bool {
    match &e.kind {
        ExprKind::Index(base, index) => {
            is_name(base, name) && matches!(index.kind, ExprKind::Int(n, _) if n == axis as u128)
        }
        _ => false,
    }
}

/// The entry writes through some `&mut Tensor`, whose partition gives the grid.
pub fn has_partition(f: &Function) -> bool {
    f.params.iter().any(|p| matches!(p.ty.kind, TypeKind::Tensor { mutable: true, .. }))
}

/// Whether a launcher can be written: the parameters are few enough and of kinds that a launch can give.
pub fn can_launch(f: &Function) -> bool {
    let given = |p: &Param| matches!(p.ty.kind, TypeKind::Tensor { .. } | TypeKind::Name(_));
    (1..=MAX_PARAMS).contains(&f.params.len()) && f.params.iter().all(given)
}

/// Reports what a launch could not give.
pub(crate) fn check(f: &Function, report: &mut Report) {
    if f.entry.is_none() {
        return;
    }
    if f.params.is_empty() {
        report.error(f.name.span(), messages::entry_without_parameters(&f.name));
    }
    if let Some(p) = f.params.get(MAX_PARAMS) {
        report.error(
            p.name.span(),
            messages::entry_parameter_count(&f.name, MAX_PARAMS, f.params.len()),
        );
    }
    for p in &f.params {
        if !matches!(p.ty.kind, TypeKind::Tensor { .. } | TypeKind::Name(_) | TypeKind::Error) {
            report.error(p.ty.span, messages::entry_parameter(&p.name));
        }
    }
    for g in free_parameters(f) {
        if let GenericKind::Array(_) = g.kind {
            report.error(g.name.span(), messages::free_array(&g.name));
        }
    }
}

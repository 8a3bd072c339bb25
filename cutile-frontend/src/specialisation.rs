//! Declared specialisations, `specialize(S = [64, 64], T = f32)`: checked against the entry's parameters, and written as
//! lines for the registry.

use crate::{
    ast::{Binding, Function, GenericKind, Specialization},
    messages,
    report::Report,
};

/// Checks the declared specialisations of an entry.
pub(crate) fn check(f: &Function, report: &mut Report) {
    for s in f.entry.iter().flat_map(|o| &o.specialize) {
        one(f, s, report);
    }
}

fn one(f: &Function, s: &Specialization, report: &mut Report) {
    let known: Vec<String> = f.generics.iter().map(|g| g.name.to_string()).collect();
    for (i, (name, value)) in s.bindings.iter().enumerate() {
        let Some(g) = f.generics.iter().find(|g| g.name == *name) else {
            report.error(name.span(), messages::specialize_unknown(name, &f.name, &known));
            continue;
        };
        if s.bindings[..i].iter().any(|(n, _)| n == name) {
            report.error(name.span(), messages::specialize_twice(name));
        }
        let fits = match (g.kind, value) {
            (GenericKind::Element, Binding::Element(_))
            | (GenericKind::Int, Binding::Int(_))
            | (GenericKind::Bool, Binding::Bool(_)) => true,
            (GenericKind::Array(rank), Binding::Array(list)) => list.len() == rank as usize,
            _ => false,
        };
        if !fits {
            report.error(name.span(), messages::specialize_kind(name, &kind_text(g.kind)));
        }
    }
    let missing: Vec<String> =
        known.into_iter().filter(|k| !s.bindings.iter().any(|(n, _)| n == k)).collect();
    if !missing.is_empty() {
        report.error(s.span, messages::specialize_missing(&f.name, &missing));
    }
}

fn kind_text(kind: GenericKind) -> String {
    match kind {
        GenericKind::Element => "an element type, such as `f32`".into(),
        GenericKind::Int => "an integer".into(),
        GenericKind::Bool => "`true` or `false`".into(),
        GenericKind::Array(rank) => format!("an array of {rank} integers"),
    }
}

/// The declared specialisations, one a line: `S=[64, 64], T=f32`, in the order of the entry's parameters.
pub(crate) fn lines(f: &Function) -> String {
    let line = |s: &Specialization| {
        let parts: Vec<String> = f
            .generics
            .iter()
            .filter_map(|g| {
                let (_, value) = s.bindings.iter().find(|(n, _)| *n == g.name)?;
                Some(format!("{}={}", g.name, value_text(value)))
            })
            .collect();
        parts.join(", ")
    };
    let lines: Vec<String> = f.entry.iter().flat_map(|o| &o.specialize).map(line).collect();
    lines.join("\n")
}

fn value_text(value: &Binding) -> String {
    match value {
        Binding::Int(n) => n.to_string(),
        Binding::Bool(b) => b.to_string(),
        Binding::Element(e) => e.name().to_string(),
        Binding::Array(list) => {
            let numbers: Vec<String> = list.iter().map(i64::to_string).collect();
            format!("[{}]", numbers.join(", "))
        }
    }
}

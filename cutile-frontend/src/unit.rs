//! Units: each function of a module with the helpers that it needs, as one IR module.

use std::collections::HashMap;

use proc_macro2::Span;

use crate::{
    ast::{Function, Module},
    launcher, lower, messages,
    report::Report,
    resolve::{FunctionNames, Names, names},
    specialisation,
    typing::{self, Target, Typed},
};

/// A function with the helpers of its module that it calls.
#[derive(Debug)]
pub struct Unit {
    /// The IR; its first function is the unit's.
    pub module: cutile_ir::Module,
    /// Declared specialisations, one a line.
    pub specialisations: String,
    /// Where each of the module's externs and imports is first used.
    pub uses: HashMap<String, Span>,
}

/// The units of a module's functions, in order; none if anything is wrong with the module.
pub(crate) fn units(module: &Module, report: &mut Report) -> Vec<Unit> {
    let names = names(module, report);
    let calls = check(module, &names, report);
    for f in &module.functions {
        recursion(f, &calls, report);
        specialisation::check(f, report);
        launcher::check(f, report);
    }
    if !report.is_clean() {
        return Vec::new();
    }
    let file = module.functions.first().map(|f| f.name.span().file()).unwrap_or_default();
    let units = module.functions.iter().map(|f| unit(f, &names, &calls, &file, report)).collect();
    if report.is_clean() { units } else { Vec::new() }
}

/// Which helpers each function calls: IR name and the place of the call.
type Calls<'m> = HashMap<&'m str, Vec<String>>;

fn check<'m>(module: &'m Module, names: &Names<'m>, report: &mut Report) -> Calls<'m> {
    let mut calls = Calls::new();
    for f in &module.functions {
        let mut scope = FunctionNames::new(names, f, Vec::new(), Vec::new());
        let typed = typing::check(&mut scope, report);
        if report.is_clean() {
            // For what lowering alone finds.
            lower::function(f, &typed, report);
        }
        calls.insert(&f.path, helpers(&typed));
    }
    calls
}

fn helpers(typed: &Typed) -> Vec<String> {
    let mut paths: Vec<String> = typed
        .targets
        .values()
        .filter_map(|t| match t {
            Target::Helper { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The functions that `root` needs, itself first, each once.
fn reachable(root: &str, calls: &Calls<'_>) -> Vec<String> {
    let mut order = vec![root.to_string()];
    let mut next = 0;
    while next < order.len() {
        for callee in calls.get(order[next].as_str()).into_iter().flatten() {
            if !order.contains(callee) {
                order.push(callee.clone());
            }
        }
        next += 1;
    }
    order
}

fn recursion(f: &Function, calls: &Calls<'_>, report: &mut Report) {
    let calls_itself = calls
        .get(f.path.as_str())
        .into_iter()
        .flatten()
        .any(|callee| reachable(callee, calls).contains(&f.path));
    if calls_itself {
        report.error(f.name.span(), messages::recursion(&f.name));
    }
}

fn unit(
    f: &Function,
    names: &Names<'_>,
    calls: &Calls<'_>,
    file: &str,
    report: &mut Report,
) -> Unit {
    let mut module = cutile_ir::Module { files: vec![file.to_string()], ..Default::default() };
    let mut uses = HashMap::new();
    for path in reachable(&f.path, calls) {
        let Some(function) = names.functions.get(path.as_str()) else { continue };
        let mut scope = FunctionNames::new(
            names,
            function,
            std::mem::take(&mut module.externs),
            std::mem::take(&mut module.imports),
        );
        let typed = typing::check(&mut scope, &mut Report::default());
        module.externs = std::mem::take(&mut scope.externs);
        module.imports = std::mem::take(&mut scope.imports);
        uses.extend(std::mem::take(&mut scope.uses));
        module.functions.push(lower::function(function, &typed, report));
    }
    for function in &module.functions {
        // The verifier is the front end's own check: what it finds is a mistake of this crate, told as an error.
        if let Err(found) = cutile_ir::verify(function) {
            for d in found {
                report.error(f.name.span(), messages::own_fault(&d.to_string()));
            }
        }
    }
    Unit { module, specialisations: specialisation::lines(f), uses }
}

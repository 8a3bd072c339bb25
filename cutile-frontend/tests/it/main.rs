//! Source text in, tile IR out: one kernel a construct. The expected IR stands in `snapshots/`; `INSTA_UPDATE=always`
//! rewrites it. What the kernels compute is tested where they can run, in the workspace's tests.

mod control;
mod errors;
mod functions;
mod generated;
mod imports;
mod run;
mod spec;
mod words;

use cutile_frontend::{Compiled, compile};

/// Compiles the items of a kernel module.
fn front_end(items: &str) -> Compiled {
    let item = syn::parse_str(&format!("mod kernels {{ use cutile::core::*;\n{items}\n}}"))
        .expect("the test's source is Rust");
    compile(&item)
}

/// The IR of the first function of a module.
fn ir(items: &str) -> String {
    let compiled = front_end(items);
    let complaints: Vec<&str> = compiled
        .report
        .errors()
        .iter()
        .chain(compiled.report.left_to_rustc())
        .map(|d| d.message.as_str())
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let root = compiled.module.functions.iter().position(|f| f.entry.is_some()).unwrap_or(0);
    let mut module = compiled.units[root].module.clone();
    let text = module.to_string();
    // What goes into a program comes back from it.
    assert_eq!(cutile_ir::Module::parse(&text).expect("the text form parses").to_string(), text);
    // Places are tested once, in `spec`; here they would only make noise.
    module.files.clear();
    for f in &mut module.functions {
        f.body.for_each_op_mut(&mut |op| op.loc = None);
    }
    module.to_string()
}

/// What the front end says about a module, each with line and column, and what it leaves to rustc.
fn complaints(items: &str) -> Vec<String> {
    let compiled = front_end(items);
    let shown = compiled.report.errors().iter().map(|d| (d, ""));
    let left = compiled.report.left_to_rustc().iter().map(|d| (d, "rustc: "));
    shown
        .chain(left)
        .map(|(d, who)| {
            let at = d.span.start();
            format!("{who}{}:{}: {}", at.line - 1, at.column + 1, d.message)
        })
        .collect()
}

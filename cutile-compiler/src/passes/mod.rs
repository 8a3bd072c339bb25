//! Passes from tile IR to tile IR, one file each. The verifier runs after each of them.

use crate::error::CompileError;
use cutile_ir::{Function, Kernel};

mod canonicalise;
mod cse;
mod dce;
mod fold;
mod hoist;
mod rewrite;

/// A pass; whether it changed anything.
type Pass = fn(&mut Function) -> bool;

/// The passes, in order. `canonicalise` and `fold` feed each other and what comes after; `hoist` goes last, when what is
/// left in a loop is what it needs.
const PASSES: [(&str, Pass); 5] = [
    ("canonicalise", canonicalise::run),
    ("fold", fold::run),
    ("cse", cse::run),
    ("dce", dce::run),
    ("hoist", hoist::run),
];

/// Rounds after which a kernel is taken as it is: each round only ever removes or moves operations.
const ROUNDS: usize = 8;

/// Runs all passes until nothing changes.
pub fn run(kernel: &Kernel) -> Result<Kernel, CompileError> {
    let mut kernel = kernel.clone();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (name, pass) in PASSES {
            let (mut function, files) = kernel.into_parts();
            let entry = function.name.clone();
            changed |= pass(&mut function);
            kernel = Kernel::new(function, files).map_err(|diagnostics| CompileError::Pass {
                kernel: entry,
                pass: name,
                diagnostics,
            })?;
        }
        if !changed {
            break;
        }
    }
    Ok(kernel)
}

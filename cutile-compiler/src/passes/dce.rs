//! Removes operations whose results nobody uses and that have no effect.

use cutile_ir::op::OpKind;
use cutile_ir::{Block, Function};

/// Runs the pass.
pub(super) fn run(f: &mut Function) -> bool {
    let mut changed = false;
    // Removing an operation may leave its operands without uses.
    loop {
        let uses = f.use_counts();
        let mut body = std::mem::take(&mut f.body);
        let removed = sweep(&mut body, &uses);
        f.body = body;
        changed |= removed;
        if !removed {
            return changed;
        }
    }
}

fn sweep(block: &mut Block, uses: &[u32]) -> bool {
    let mut removed = false;
    block.ops.retain_mut(|op| {
        op.kind.for_each_block_mut(|b| removed |= sweep(b, uses));
        let used = op.results.iter().any(|r| uses[r.0 as usize] > 0);
        let keep = used || op.kind.has_effect() || faulting_step(&op.kind);
        removed |= !keep;
        keep
    });
    removed
}

/// A step of 0 or less is a fault of the loop itself, whatever its body does.
fn faulting_step(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Control(cutile_ir::op::ControlOp::For { .. }))
}

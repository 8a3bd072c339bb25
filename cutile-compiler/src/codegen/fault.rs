//! Checks: a condition that ends the launch, and the table of their sites.

use super::Emitter;
use cutile_bundle::abi::FaultSite;
use cutile_ir::Op;

/// What a check reports of what it looked at: two `i64` expressions.
pub(super) struct Operands(pub(super) String, pub(super) String);

impl Emitter<'_> {
    /// Ends the launch where the condition holds, which is the same in every thread.
    pub(super) fn check(
        &mut self,
        op: &Op,
        failed: &str,
        text: String,
        operands: Option<Operands>,
    ) {
        let id = self.faults.len() as u32;
        let (file, line) = match op.loc {
            Some(loc) => {
                (self.kernel.files().get(loc.file as usize).cloned().unwrap_or_default(), loc.line)
            }
            None => (String::new(), 0),
        };
        self.faults.push(FaultSite { id, file, line, text });
        let Operands(a, b) = operands.unwrap_or(Operands("0".into(), "0".into()));
        self.body.open(format!("if {failed} {{"));
        self.body.line(format!("fault::fault(record, kernel, {id}, program, {a}, {b});"));
        self.body.close("}");
    }

    /// The same for a condition that differs from thread to thread: lanes come together again after it.
    pub(super) fn check_each(&mut self, op: &Op, failed: &str, text: String) {
        self.check(op, failed, text, None);
        self.body.line("warp::warp_sync();");
    }
}

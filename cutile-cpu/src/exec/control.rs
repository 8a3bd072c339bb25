//! Scalars, checks and loops.

use super::{Frame, Run, integer, trap};
use crate::fault::FaultKind;
use crate::kernels::map::{DONE, Dst, Lanes, Src};
use crate::plan::{Cell, Check, For, Instr, Length, ScalarOp, Slot};
use cutile_ir::Loc;
use smallvec::SmallVec;

/// The fault of a division.
pub(super) fn division<T>(check: &Check, dividend: u64, divisor: u64) -> Run<T> {
    let operands = [integer(dividend, check.element), integer(divisor, check.element)];
    let kind = check.kind(operands[1]);
    let message = match kind {
        FaultKind::DivisionByZero => format!("`{}` of {} by zero", check.op, operands[0]),
        _ => format!(
            "`{}` of {} by {} overflows {}",
            check.op, operands[0], operands[1], check.element
        ),
    };
    trap(kind, check.loc, operands, message)
}

impl Frame<'_> {
    pub(super) fn scalar(&mut self, op: &ScalarOp) -> Run {
        let src = op.src.map(|s| Src::run(self.slot(s)));
        // SAFETY: slots hold any element, and the result's is its own.
        let lane = unsafe { (op.kernel)(Dst::run(self.slot(op.dst)), &src, Lanes::run(1)) };
        match &op.check {
            Some(check) if lane != DONE => {
                division(check, self.read(op.src[0]), self.read(op.src[1]))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn assert(&self, cond: Slot, message: &str, loc: Option<Loc>) -> Run {
        if self.holds(cond) {
            return Ok(());
        }
        trap(FaultKind::Assertion, loc, [0, 0], message)
    }

    pub(super) fn moves(&mut self, slots: &[(Slot, Slot)], cells: &[(Cell, Length)]) {
        let bits: SmallVec<[u64; 8]> = slots.iter().map(|(_, from)| self.read(*from)).collect();
        let lengths: SmallVec<[usize; 8]> = cells
            .iter()
            .map(|(_, from)| match from {
                Length::Of(c) => self.cells[*c as usize],
                Length::Known(n) => *n,
            })
            .collect();
        for ((to, _), bits) in slots.iter().zip(bits) {
            self.write(*to, bits);
        }
        for ((to, _), length) in cells.iter().zip(lengths) {
            self.set_cell(*to, length);
        }
    }

    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn counting(&mut self, f: &For) -> Run {
        let [lower, upper, step] = [f.lower, f.upper, f.step].map(|s| self.integer(s, f.element));
        if step < 1 {
            let message = format!("the step of `for` is {step}; it must be at least 1");
            return trap(FaultKind::LoopStep, f.loc, [step, 1], message);
        }
        let mut i = lower;
        while i < upper {
            self.check_cancelled()?;
            self.write(f.counter, i as u64);
            // SAFETY: the caller's contract, passed on.
            unsafe { self.steps(&f.body)? };
            i += step;
        }
        Ok(())
    }

    /// # Safety
    /// The launch's tensors are valid as `Program::run` asks.
    pub(super) unsafe fn conditional(
        &mut self,
        cond: &[Instr],
        holds: Slot,
        body: &[Instr],
    ) -> Run {
        loop {
            self.check_cancelled()?;
            // SAFETY: the caller's contract, passed on.
            unsafe { self.steps(cond)? };
            if !self.holds(holds) {
                return Ok(());
            }
            // SAFETY: the caller's contract, passed on.
            unsafe { self.steps(body)? };
        }
    }
}

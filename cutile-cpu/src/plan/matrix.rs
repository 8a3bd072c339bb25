//! Reductions and matrix products: operations on whole tiles, each a step of its own.

use super::lower::{Lower, Lowered, Rep};
use super::*;
use crate::kernels::mma::{multiply, scratch_bytes};
use crate::kernels::reduce;
use cutile_ir::op::ReduceKind;
use cutile_ir::{Op, Value};

impl Lower<'_> {
    pub(super) fn reduce(
        &mut self,
        op: &Op,
        kind: ReduceKind,
        axis: usize,
        x: Value,
    ) -> Lowered<()> {
        let src = self.tile(op, x)?;
        let element = self.element(x);
        let Some(kernel) = reduce::reduction(kind, element) else {
            return self.refuse(op, format!("{element} does not have it"));
        };
        let result = op.results[0];
        let dst = self.new_buffer(result);
        let shape = self.dims(x);
        let dst_bytes = self.element(result).bytes();
        let mut valid = src.valid.clone();
        valid.remove(axis);
        self.buffers.advance();
        src.buffer().into_iter().for_each(|b| self.buffers.touch(b));
        self.buffers.touch(dst);
        let bytes = element.bytes();
        let reduce = Reduce { kernel, axis, src, shape, bytes, dst, dst_bytes };
        self.code.push(Instr::Reduce(Box::new(reduce)));
        let tile = Tile::whole(dst, &self.dims(result), valid);
        self.define(result, Rep::Tile(tile));
        Ok(())
    }

    pub(super) fn mma(&mut self, op: &Op, a: Value, b: Value, acc: Value) -> Lowered<()> {
        let result = op.results[0];
        let (operand, sum) = (self.element(a), self.element(acc));
        let Some(kernel) = multiply(operand, sum) else {
            return self.refuse(op, format!("no product of {operand} accumulates in {sum}"));
        };
        let (shape, k) = (self.dims(acc), self.dims(a)[1]);
        let extents = [shape[0], shape[1], k];
        let a = self.tile(op, a)?;
        let b = self.tile(op, b)?;
        let (buffer, acc_valid) = self.accumulator(op, acc, result)?;
        let sides: Rect = [a.valid[0], b.valid[1]].into_iter().collect();
        let valid = self.min_valid(2, &[sides, acc_valid]);
        let scratch = scratch_bytes(operand, sum, extents);
        let scratch = (scratch > 0).then(|| self.buffers.new_buffer(scratch, None));
        self.buffers.advance();
        for b in a.buffer().into_iter().chain(b.buffer()).chain(scratch).chain([buffer]) {
            self.buffers.touch(b);
        }
        let mma = Mma {
            kernel,
            extents,
            bytes: operand.bytes(),
            a,
            b,
            acc: buffer,
            valid: [valid[0], valid[1]],
            scratch,
        };
        self.code.push(Instr::Mma(Box::new(mma)));
        self.define(result, Rep::Tile(Tile::whole(buffer, &shape, valid)));
        Ok(())
    }

    /// The buffer in which a product accumulates, and how far what it holds is valid: the
    /// accumulator's own if nothing else needs it, else a copy.
    fn accumulator(&mut self, op: &Op, acc: Value, result: Value) -> Lowered<(Buffer, Rect)> {
        self.flush()?;
        if let Rep::Tile(t) = self.rep(op, acc)?
            && let Some(b) = t.as_whole()
            && self.uses[acc.0 as usize] == 1
            && self.homes[acc.0 as usize] == self.block
            && self.buffers.storage(b).owner == Some(acc)
        {
            self.buffers.storage(b).owner = Some(result);
            return Ok((b, t.valid));
        }
        let buffer = self.new_buffer(result);
        let valid = self.copy_to(op, acc, buffer)?;
        self.flush()?;
        Ok((buffer, valid))
    }
}

//! Walks over operations: operands, nested blocks, extents. Built on the fields' own walk.

use crate::dim::Dim;
use crate::element::ElementType;
use crate::module::{Block, Function, Op, ParamRole, Value};
use crate::op::{ControlOp, OpKind, Walk, WalkMut};
use crate::types::Type;

impl OpKind {
    /// Calls `f` for each operand, in order; operands inside nested blocks are not the operation's.
    pub fn for_each_operand(&self, f: impl FnMut(Value)) {
        struct W<F>(F);
        impl<F: FnMut(Value)> Walk for W<F> {
            fn value(&mut self, v: Value) {
                (self.0)(v);
            }
        }
        self.walk(&mut W(f));
    }

    /// The operands, in order.
    pub fn operands(&self) -> Vec<Value> {
        let mut all = Vec::new();
        self.for_each_operand(|v| all.push(v));
        all
    }

    /// Calls `f` for each nested block, in order.
    pub fn for_each_block<'a>(&'a self, mut f: impl FnMut(&'a Block)) {
        let OpKind::Control(control) = self else { return };
        match control {
            ControlOp::For { body, .. } => f(body),
            ControlOp::While { cond, body, .. } => {
                f(cond);
                f(body);
            }
            ControlOp::If { on_true, on_false, .. } => {
                f(on_true);
                f(on_false);
            }
            ControlOp::Call { .. } => {}
        }
    }

    /// Calls `f` for each operand, which it may change.
    pub fn for_each_operand_mut(&mut self, f: impl FnMut(&mut Value)) {
        struct W<F>(F);
        impl<F: FnMut(&mut Value)> WalkMut for W<F> {
            fn value(&mut self, v: &mut Value) {
                (self.0)(v);
            }
        }
        self.walk_mut(&mut W(f));
    }

    /// Calls `f` for each nested block, which it may change.
    pub fn for_each_block_mut(&mut self, f: impl FnMut(&mut Block)) {
        struct W<F>(F);
        impl<F: FnMut(&mut Block)> WalkMut for W<F> {
            fn block(&mut self, b: &mut Block) {
                (self.0)(b);
            }
        }
        self.walk_mut(&mut W(f));
    }

    /// Calls the functions for each extent and element type that the operation itself states.
    pub fn for_each_symbol_mut(
        &mut self,
        dim: &mut dyn FnMut(&mut Dim),
        element: &mut dyn FnMut(&mut ElementType),
    ) {
        struct W<'a>(&'a mut dyn FnMut(&mut Dim), &'a mut dyn FnMut(&mut ElementType));
        impl WalkMut for W<'_> {
            fn dim(&mut self, d: &mut Dim) {
                (self.0)(d);
            }
            fn element(&mut self, e: &mut ElementType) {
                (self.1)(e);
            }
        }
        self.walk_mut(&mut W(dim, element));
    }
}

impl Block {
    /// Calls `f` for every operation of the block and of the blocks in it, outer before inner.
    pub fn for_each_op<'a>(&'a self, f: &mut dyn FnMut(&'a Op)) {
        for op in &self.ops {
            f(op);
            op.kind.for_each_block(|b| b.for_each_op(f));
        }
    }

    /// Calls `f` for every operation of the block and of the blocks in it, outer before inner.
    pub fn for_each_op_mut(&mut self, f: &mut dyn FnMut(&mut Op)) {
        for op in &mut self.ops {
            f(op);
            op.kind.for_each_block_mut(|b| b.for_each_op_mut(f));
        }
    }

    /// Replaces every use (operands and yields, nested ones too) by what `f` makes of it.
    pub fn map_uses(&mut self, f: &mut dyn FnMut(Value) -> Value) {
        for op in &mut self.ops {
            op.kind.for_each_operand_mut(|v| *v = f(*v));
            op.kind.for_each_block_mut(|b| b.map_uses(f));
        }
        for v in &mut self.yields {
            *v = f(*v);
        }
    }
}

impl Type {
    /// Calls the functions for each extent and element type in the type.
    pub fn for_each_symbol_mut(
        &mut self,
        dim: &mut dyn FnMut(&mut Dim),
        element: &mut dyn FnMut(&mut ElementType),
    ) {
        match self {
            Type::Scalar(e) => element(e),
            Type::Tile(t) => {
                element(&mut t.element);
                t.shape.iter_mut().for_each(dim);
            }
            Type::View(t) => {
                element(&mut t.element);
                t.shape.iter_mut().for_each(dim);
            }
            Type::Tensor(t) => {
                element(&mut t.element);
                t.extents.iter_mut().flatten().for_each(dim);
            }
        }
    }
}

impl Function {
    /// Calls the functions for each extent and element type anywhere in the function.
    pub fn for_each_symbol_mut(
        &mut self,
        dim: &mut dyn FnMut(&mut Dim),
        element: &mut dyn FnMut(&mut ElementType),
    ) {
        for v in &mut self.values {
            v.ty.for_each_symbol_mut(dim, element);
        }
        for p in &mut self.params {
            if let ParamRole::Partitioned { tile } = &mut p.role {
                tile.iter_mut().for_each(&mut *dim);
            }
        }
        self.body.for_each_op_mut(&mut |op| op.kind.for_each_symbol_mut(dim, element));
    }

    /// How often each value is used, by number.
    pub fn use_counts(&self) -> Vec<u32> {
        fn count(b: &Block, n: &mut [u32]) {
            for op in &b.ops {
                op.kind.for_each_operand(|v| n[v.0 as usize] += 1);
                op.kind.for_each_block(|b| count(b, n));
            }
            b.yields.iter().for_each(|v| n[v.0 as usize] += 1);
        }
        let mut n = vec![0; self.values.len()];
        count(&self.body, &mut n);
        n
    }
}

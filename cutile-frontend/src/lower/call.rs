//! Calls: helpers, and the vocabulary outside memory.

use cutile_ir::{
    ElementType, Value,
    op::{
        ArithOp, BinaryOp, Callee, ControlOp, CreateOp, Literal, MatrixOp, ProgramOp, ReduceOp,
        ShapeOp,
    },
};

use super::{Lower, Val, flatten};
use crate::{
    ast::{Block, Expr, ExprKind},
    typing::{
        Target,
        types::{El, Ty},
    },
    vocabulary::Word,
};

impl Lower<'_> {
    /// Lowers a call; a method's receiver is the first argument.
    pub(super) fn call(&mut self, e: &Expr, args: &[&Expr], ty: &Ty) -> Val {
        match self.typed.targets.get(&e.id) {
            Some(Target::Word(word, axis)) => self.word(e, *word, *axis, args, ty),
            Some(Target::Helper { path, types, consts }) => {
                let callee = Callee::Local(path.clone());
                let (types, consts) = (elements(types), consts.clone());
                let args = self.arguments(args);
                self.at(e.span);
                self.helper(ControlOp::Call { callee, types, consts, args }, ty)
            }
            Some(Target::Import { id, types, consts }) => {
                let callee = Callee::Import(*id);
                let (types, consts) = (elements(types), consts.clone());
                let args = self.arguments(args);
                self.at(e.span);
                self.helper(ControlOp::Call { callee, types, consts, args }, ty)
            }
            None => Val::None,
        }
    }

    fn arguments(&mut self, args: &[&Expr]) -> Vec<Value> {
        let mut values = Vec::new();
        for arg in args {
            let val = self.expr(arg);
            flatten(&val, &mut values);
        }
        values
    }

    fn word(&mut self, e: &Expr, word: Word, axis: Option<u32>, args: &[&Expr], ty: &Ty) -> Val {
        let axis = axis.unwrap_or(0);
        match word {
            Word::Full => Val::One(self.operand(args[0], ty)),
            Word::Constant(n) => self.constant(Literal::Int(i128::from(n)), ty),
            Word::Iota => self.made(e, ty, CreateOp::Iota {}),
            Word::Ids | Word::Counts | Word::IdArray => {
                let n = match ty {
                    Ty::Array(_, n) => *n as u32,
                    _ => 3,
                };
                let list = (0..n).map(|axis| {
                    let op = if word == Word::Counts {
                        ProgramOp::Count { axis }
                    } else {
                        ProgramOp::Id { axis }
                    };
                    self.made(e, &Ty::i32(), op)
                });
                Val::List(list.collect())
            }
            Word::Id => self.made(e, ty, ProgramOp::Id { axis }),
            Word::Count => self.made(e, ty, ProgramOp::Count { axis }),
            Word::Unary(op) => {
                let x = self.one(args[0]);
                self.made(e, ty, ArithOp::Unary { op, x })
            }
            Word::Binary(op) => {
                let lhs = self.operand(args[0], ty);
                let rhs = self.operand(args[1], ty);
                self.made(e, ty, ArithOp::Binary { op, lhs, rhs })
            }
            Word::Compare(op) => {
                let (a, b) = (self.typed.ty(args[0].id).clone(), self.typed.ty(args[1].id).clone());
                let common = if matches!(b, Ty::Tile(..)) { b } else { a };
                let lhs = self.operand(args[0], &common);
                let rhs = self.operand(args[1], &common);
                self.made(e, ty, ArithOp::Compare { op, lhs, rhs })
            }
            Word::Select => {
                let cond_ty = ty.with_element(El::known(cutile_ir::Element::Bool));
                let cond = self.operand(args[0], &cond_ty);
                let on_true = self.operand(args[1], ty);
                let on_false = self.operand(args[2], ty);
                self.made(e, ty, ArithOp::Select { cond, on_true, on_false })
            }
            Word::Fma => {
                let [a, b, c] = [0, 1, 2].map(|i| self.operand(args[i], ty));
                self.made(e, ty, ArithOp::Fma { a, b, c })
            }
            Word::Convert => {
                let x = self.one(args[0]);
                self.at(e.span);
                match self.types(ty).pop() {
                    Some(ty) => Val::One(self.convert_to(x, &ty)),
                    None => Val::None,
                }
            }
            Word::Bitcast => {
                let x = self.one(args[0]);
                self.made(e, ty, ArithOp::Bitcast { x })
            }
            Word::Reshape | Word::Broadcast | Word::Permute | Word::Transpose | Word::ToScalar => {
                self.shape_word(e, word, args, ty)
            }
            Word::Reduce(kind) => {
                let x = self.one(args[0]);
                self.made(e, ty, ReduceOp::Reduce { kind, axis, x })
            }
            Word::Map => self.map(args, ty),
            Word::Mma => {
                let [a, b, acc] = [0, 1, 2].map(|i| self.one(args[i]));
                self.made(e, ty, MatrixOp::Mma { a, b, acc })
            }
            _ => self.memory_word(e, word, axis, args, ty),
        }
    }

    /// `x.map(|v| body)`: the body once, on whole tiles.
    fn map(&mut self, args: &[&Expr], ty: &Ty) -> Val {
        let x = self.one(args[0]);
        let ExprKind::Closure(params, body) = &args[1].kind else { return Val::None };
        if let [param] = params.as_slice() {
            self.bind(param, Val::One(x));
        }
        self.lanes += 1;
        let value = self.operand(body, ty);
        self.lanes -= 1;
        Val::One(value)
    }

    /// `if cond { a } else { b }` in a closure of `map`.
    pub(super) fn lane_choice(
        &mut self,
        e: &Expr,
        cond: &Expr,
        a: &Block,
        b: &Expr,
        ty: &Ty,
    ) -> Val {
        let cond_ty = ty.with_element(El::known(cutile_ir::Element::Bool));
        let cond = self.operand(cond, &cond_ty);
        let on_true = self.block(a, ty);
        let on_true = self.unwrap_one(&on_true);
        let on_true = self.splat(on_true, ty);
        let on_false = self.operand(b, ty);
        self.made(e, ty, ArithOp::Select { cond, on_true, on_false })
    }

    /// `a && b`, `a || b` in a closure of `map`.
    pub(super) fn lane_logic(
        &mut self,
        e: &Expr,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        ty: &Ty,
    ) -> Val {
        let lhs = self.operand(a, ty);
        let rhs = self.operand(b, ty);
        self.made(e, ty, ArithOp::Binary { op, lhs, rhs })
    }

    fn shape_word(&mut self, e: &Expr, word: Word, args: &[&Expr], ty: &Ty) -> Val {
        let x = self.one(args[0]);
        let op = match word {
            Word::Reshape => ShapeOp::Reshape { x },
            Word::Broadcast => ShapeOp::Broadcast { x },
            Word::ToScalar => ShapeOp::ToScalar { x },
            Word::Transpose => ShapeOp::Permute { order: vec![1, 0], x },
            _ => match self.typed.ty(args[1].id) {
                Ty::Order(order) => ShapeOp::Permute { order: order.clone(), x },
                _ => return Val::None,
            },
        };
        self.made(e, ty, op)
    }

    /// Appends an operation with one result of this type.
    pub(super) fn made(&mut self, e: &Expr, ty: &Ty, op: impl Into<cutile_ir::OpKind>) -> Val {
        self.at(e.span);
        match self.types(ty).pop() {
            Some(ty) => Val::One(self.b.value(op, ty)),
            None => Val::None,
        }
    }
}

fn elements(types: &[El]) -> Vec<ElementType> {
    types
        .iter()
        .filter_map(|e| match e {
            El::Is(e) => Some(*e),
            El::Var(_) => None,
        })
        .collect()
}

//! Calls that touch tensors and views. A `&mut Tensor` is the program's own sub-tensor: the tile at the program's position
//! in the partition that its shape makes.

use cutile_ir::{
    Dim, DimOp, Element, Type, Value,
    op::{ArithOp, BinaryOp, CompareOp, CreateOp, Literal, MemoryOp, Message, Padding, ProgramOp},
};

use super::{Extent, Lower, Val, flat};
use crate::{ast::Expr, messages, typing::types::Ty, vocabulary::Word};

impl Lower<'_> {
    pub(super) fn memory_word(
        &mut self,
        e: &Expr,
        word: Word,
        axis: u32,
        args: &[&Expr],
        ty: &Ty,
    ) -> Val {
        match word {
            Word::LoadLike(_) | Word::LoadOwn => {
                let tensor = self.one(args[0]);
                self.at(e.span);
                let whole = word == Word::LoadOwn && !self.is_mutable(args[0]);
                self.load_own(tensor, ty, whole)
            }
            Word::StoreTile => self.store_own(e, args[1], args[0]),
            Word::StoreOwn => self.store_own(e, args[0], args[1]),
            Word::LoadTile => {
                let tensor = self.one(args[0]);
                let index = self.index(args[2]);
                self.at(e.span);
                let view = self.view(tensor, ty);
                self.made(e, ty, MemoryOp::Load { view, index, padding: Padding::Clip })
            }
            Word::Partition => {
                let tensor = self.one(args[0]);
                self.made(e, ty, MemoryOp::Partition { tensor })
            }
            Word::PartitionMut => {
                let tensor = self.one(args[0]);
                let whole = self.sub_tensor_shape(args[0]);
                match self.made(e, ty, MemoryOp::Partition { tensor }) {
                    Val::One(view) => Val::SubView(view, whole),
                    other => other,
                }
            }
            Word::ViewLoad => {
                let (view, index) = self.viewed(e, args);
                self.made(e, ty, MemoryOp::Load { view, index, padding: Padding::Clip })
            }
            Word::ViewLoadPadded => {
                let (view, index) = self.viewed(e, args);
                let value = self.one(args[2]);
                self.made(e, ty, MemoryOp::Load { view, index, padding: Padding::Fill(value) })
            }
            Word::ViewStore => {
                let (view, index) = self.viewed(e, args);
                let tile = self.one(args[2]);
                self.at(e.span);
                self.b.effect(MemoryOp::Store { tile, view, index });
                Val::List(Vec::new())
            }
            Word::Grid => {
                let view = self.one(args[0]);
                let rank = match self.typed.ty(args[0].id) {
                    Ty::View { shape, .. } => shape.len() as u32,
                    _ => 0,
                };
                Val::List(
                    (0..rank)
                        .map(|axis| self.made(e, &Ty::i32(), MemoryOp::TileCount { view, axis }))
                        .collect(),
                )
            }
            Word::TileCount => {
                let view = self.one(args[0]);
                self.made(e, ty, MemoryOp::TileCount { view, axis })
            }
            Word::ShapeOf => self.shape_of(args[0]),
            _ => Val::None,
        }
    }

    fn is_mutable(&self, tensor: &Expr) -> bool {
        matches!(self.typed.ty(tensor.id), Ty::Tensor { mutable: true, .. })
    }

    fn sub_tensor_shape(&self, tensor: &Expr) -> Vec<Dim> {
        match self.typed.ty(tensor.id) {
            Ty::Tensor { extents, .. } => extents.iter().flatten().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// The tensor cut into tiles of the shape of the tile type `ty`.
    fn view(&mut self, tensor: Value, ty: &Ty) -> Value {
        let shape = match ty {
            Ty::Tile(_, shape) => shape.clone(),
            _ => Default::default(),
        };
        let element = self.b.ty(tensor).element();
        self.b.value(MemoryOp::Partition { tensor }, Type::view(element, shape))
    }

    /// The program's position, by axis; the only tile of a tensor that is one tile is at 0.
    fn own_index(&mut self, rank: usize, whole: bool) -> Vec<Value> {
        (0..rank as u32)
            .map(|axis| {
                let ty = Type::scalar(Element::I32);
                if whole {
                    self.b.value(CreateOp::Constant { value: Literal::Int(0) }, ty)
                } else {
                    self.b.value(ProgramOp::Id { axis }, ty)
                }
            })
            .collect()
    }

    fn load_own(&mut self, tensor: Value, ty: &Ty, whole: bool) -> Val {
        let view = self.view(tensor, ty);
        let rank = self.b.ty(view).rank();
        let index = self.own_index(rank, whole);
        match self.types(ty).pop() {
            Some(ty) => {
                Val::One(self.b.value(MemoryOp::Load { view, index, padding: Padding::Clip }, ty))
            }
            None => Val::None,
        }
    }

    fn store_own(&mut self, e: &Expr, tensor: &Expr, tile: &Expr) -> Val {
        // In the order in which Rust evaluates them; a tensor has no effects, so only the tile's matter.
        let tensor_value = self.one(tensor);
        let tile = self.one(tile);
        self.at(e.span);
        let ty = Ty::Tile(
            super::El::known(Element::Bool),
            self.sub_tensor_shape(tensor).into_iter().collect(),
        );
        let view = self.view(tensor_value, &ty);
        let rank = self.b.ty(view).rank();
        let index = self.own_index(rank, false);
        self.b.effect(MemoryOp::Store { tile, view, index });
        Val::List(Vec::new())
    }

    fn index(&mut self, e: &Expr) -> Vec<Value> {
        let val = self.expr(e);
        flat(&val)
    }

    /// The view and the index of an access; inside a sub-tensor, the index is checked and moved there.
    fn viewed(&mut self, e: &Expr, args: &[&Expr]) -> (Value, Vec<Value>) {
        let view = self.expr(args[0]);
        let index = self.index(args[1]);
        self.at(e.span);
        match view {
            Val::SubView(view, whole) => {
                let index = self.sub_index(view, &whole, &index);
                (view, index)
            }
            other => (self.unwrap_one(&other), index),
        }
    }

    fn sub_index(&mut self, view: Value, whole: &[Dim], index: &[Value]) -> Vec<Value> {
        let parts: Vec<Dim> =
            self.b.ty(view).as_view().map(|v| v.shape.to_vec()).unwrap_or_default();
        let (i32, bool) = (Type::scalar(Element::I32), Type::scalar(Element::Bool));
        let mut moved = Vec::new();
        for (axis, ((whole, part), index)) in whole.iter().zip(parts).zip(index).enumerate() {
            let count = Dim::combine(DimOp::Div, whole.clone(), part.clone());
            let covered = Dim::combine(DimOp::Mul, count.clone(), part);
            let Val::One(count) = self.dim(count, &Ty::i32()) else { continue };
            let (Val::One(whole), Val::One(covered)) =
                (self.dim(whole.clone(), &Ty::i32()), self.dim(covered, &Ty::i32()))
            else {
                continue;
            };
            let zero = self.b.value(CreateOp::Constant { value: Literal::Int(0) }, i32.clone());
            let not_negative = self.b.value(
                ArithOp::Compare { op: CompareOp::Ge, lhs: *index, rhs: zero },
                bool.clone(),
            );
            let below = self.b.value(
                ArithOp::Compare { op: CompareOp::Lt, lhs: *index, rhs: count },
                bool.clone(),
            );
            let divides = self.b.value(
                ArithOp::Compare { op: CompareOp::Eq, lhs: whole, rhs: covered },
                bool.clone(),
            );
            let inside = self.arith(BinaryOp::And, not_negative, below);
            let fine = self.arith(BinaryOp::And, inside, divides);
            self.b.effect(ProgramOp::Assert {
                cond: fine,
                message: Message(messages::sub_index(axis)),
            });
            let id = self.b.value(ProgramOp::Id { axis: axis as u32 }, i32.clone());
            let first = self.arith(BinaryOp::Mul, id, count);
            moved.push(self.arith(BinaryOp::Add, first, *index));
        }
        moved
    }

    fn shape_of(&mut self, e: &Expr) -> Val {
        let extents = match self.typed.ty(e.id).clone() {
            Ty::Tile(_, shape) => shape.into_iter().map(Some).collect(),
            Ty::Tensor { extents, .. } => extents,
            _ => Vec::new(),
        };
        let tensor = if extents.iter().all(Option::is_some) { None } else { Some(self.one(e)) };
        Val::Shape(
            extents
                .into_iter()
                .enumerate()
                .map(|(axis, d)| match (d, tensor) {
                    (None, Some(tensor)) => Extent::Of(tensor, axis as u32),
                    (d, _) => Extent::Known(d.unwrap_or(Dim::Const(1))),
                })
                .collect(),
        )
    }
}

//! Calls that touch tensors and views.

use cutile_ir::{Dim, Shape};

use super::{
    Checker,
    types::{El, Ty},
};
use crate::{ast::Expr, messages, vocabulary::Word};

/// A tensor's type, taken apart.
struct TensorTy {
    mutable: bool,
    element: El,
    extents: Vec<Option<Dim>>,
}

impl Checker<'_, '_, '_> {
    /// Checks a call of the memory family: the result's type, and the axis if it takes one.
    pub(super) fn memory_word(
        &mut self,
        e: &Expr,
        word: Word,
        args: &[&Expr],
    ) -> (Ty, Option<u32>) {
        if self.lanes > 0 && word != Word::ShapeOf {
            self.report.error(e.span, messages::closure_content("loads and stores"));
        }
        let ty = match word {
            Word::LoadLike(rank) => self.load_like(args, rank),
            Word::LoadOwn => match self.tensor(args[0]) {
                Some(t) => self.own_tile(&t, args[0]).map_or(Ty::Error, |s| Ty::Tile(t.element, s)),
                None => Ty::Error,
            },
            Word::StoreTile => self.store(args[1], args[0]),
            Word::StoreOwn => self.store(args[0], args[1]),
            Word::LoadTile => {
                let (Some(t), Some(shape)) = (self.tensor(args[0]), self.shape_arg(args[1])) else {
                    return (Ty::Error, None);
                };
                if t.mutable {
                    self.report.error(args[0].span, messages::partition_of_mutable("load_tile"));
                }
                self.same_rank(t.extents.len(), shape.len(), args[1]);
                self.tile_index(args[2], shape.len());
                Ty::Tile(t.element, shape)
            }
            Word::Partition | Word::PartitionMut => self.partition(word, args),
            Word::ViewLoad => self.view_word(args[0], |c, _, el, shape| {
                c.tile_index(args[1], shape.len());
                Ty::Tile(el, shape)
            }),
            Word::ViewLoadPadded => self.view_word(args[0], |c, _, el, shape| {
                c.tile_index(args[1], shape.len());
                c.expect(args[2], &Ty::Scalar(el));
                Ty::Tile(el, shape)
            }),
            Word::ViewStore => self.view_word(args[0], |c, mutable, el, shape| {
                c.tile_index(args[1], shape.len());
                c.expect(args[2], &Ty::Tile(el, shape));
                if !mutable {
                    c.report.rustc_error(e.span, "a view of a `&Tensor` can't be stored to");
                }
                Ty::unit()
            }),
            Word::Grid => self
                .view_word(args[0], |_, _, _, shape| Ty::Array(Box::new(Ty::i32()), shape.len())),
            Word::TileCount => {
                let mut axis = None;
                let ty = self.view_word(args[0], |c, _, _, shape| {
                    axis = c.axis(args[1], shape.len());
                    Ty::i32()
                });
                return (ty, axis);
            }
            Word::ShapeOf => {
                let ty = self.expr(args[0], None);
                match self.infer.resolve(&ty) {
                    Ty::Tensor { extents, .. } => Ty::Shape(extents),
                    Ty::Tile(_, shape) => Ty::Shape(shape.into_iter().map(Some).collect()),
                    _ => Ty::Error,
                }
            }
            _ => Ty::Error,
        };
        (ty, None)
    }

    fn tensor(&mut self, e: &Expr) -> Option<TensorTy> {
        let ty = self.expr(e, None);
        match self.infer.resolve(&ty) {
            Ty::Tensor { mutable, element, extents } => {
                Some(TensorTy { mutable, element, extents })
            }
            Ty::Error | Ty::Never => None,
            other => {
                self.report.rustc_error(e.span, messages::mismatch("a tensor", &self.show(&other)));
                None
            }
        }
    }

    /// The shape of the whole of a tensor parameter as one tile.
    fn own_tile(&mut self, t: &TensorTy, e: &Expr) -> Option<Shape> {
        let shape: Option<Shape> = t.extents.iter().cloned().collect();
        if shape.is_none() {
            self.report.error(e.span, messages::load_of_dynamic());
        }
        shape
    }

    fn load_like(&mut self, args: &[&Expr], rank: Option<usize>) -> Ty {
        let (x, y) = (self.tensor(args[0]), self.tensor(args[1]));
        let (Some(x), Some(y)) = (x, y) else { return Ty::Error };
        if !y.mutable {
            self.report.error(args[1].span, messages::like_of_shared());
            return Ty::Error;
        }
        if x.mutable {
            self.report.error(args[0].span, messages::partition_of_mutable("load_tile_like"));
        }
        let Some(shape) = self.own_tile(&y, args[1]) else { return Ty::Error };
        if x.extents.len() != shape.len() || rank.is_some_and(|r| r != shape.len()) {
            self.report
                .rustc_error(args[0].span, messages::like_rank(x.extents.len(), shape.len()));
            return Ty::Error;
        }
        Ty::Tile(x.element, shape)
    }

    fn store(&mut self, tensor: &Expr, tile: &Expr) -> Ty {
        let t = self.tensor(tensor);
        match t {
            Some(t) => {
                if !t.mutable {
                    self.report.rustc_error(
                        tensor.span,
                        "a `&Tensor` can't be stored to: take it as `&mut Tensor`",
                    );
                }
                match t.extents.iter().cloned().collect::<Option<Shape>>() {
                    Some(shape) => {
                        self.expect(tile, &Ty::Tile(t.element, shape));
                    }
                    None => {
                        self.expr(tile, None);
                    }
                }
            }
            None => {
                self.expr(tile, None);
            }
        }
        Ty::unit()
    }

    fn partition(&mut self, word: Word, args: &[&Expr]) -> Ty {
        let (tensor, shape) = (self.tensor(args[0]), self.shape_arg(args[1]));
        let (Some(t), Some(shape)) = (tensor, shape) else { return Ty::Error };
        let mutable = word == Word::PartitionMut;
        if t.mutable && !mutable {
            self.report.error(args[0].span, messages::partition_of_mutable("partition"));
            return Ty::Error;
        }
        if !t.mutable && mutable {
            self.report.rustc_error(args[0].span, "a `&Tensor` has no mutable partition");
            return Ty::Error;
        }
        self.same_rank(t.extents.len(), shape.len(), args[1]);
        if mutable {
            for (axis, (whole, part)) in t.extents.iter().zip(&shape).enumerate() {
                if let (Some(Dim::Const(whole)), Dim::Const(part)) = (whole, part)
                    && whole % part != 0
                {
                    self.report.error(args[1].span, messages::sub_partition(axis, *whole, *part));
                }
            }
        }
        Ty::View { mutable, element: t.element, shape }
    }

    fn same_rank(&mut self, tensor: usize, tile: usize, e: &Expr) {
        if tensor != tile {
            self.report.rustc_error(e.span, messages::tile_rank(tensor, tile));
        }
    }

    fn tile_index(&mut self, e: &Expr, rank: usize) {
        self.expect(e, &Ty::Array(Box::new(Ty::i32()), rank));
    }

    fn view_word(&mut self, e: &Expr, then: impl FnOnce(&mut Self, bool, El, Shape) -> Ty) -> Ty {
        let ty = self.expr(e, None);
        match self.infer.resolve(&ty) {
            Ty::View { mutable, element, shape } => then(self, mutable, element, shape),
            Ty::Error | Ty::Never => Ty::Error,
            other => {
                self.report.rustc_error(e.span, messages::mismatch("a view", &self.show(&other)));
                Ty::Error
            }
        }
    }
}

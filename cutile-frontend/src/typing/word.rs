//! Calls of vocabulary functions and methods: argument and result types. Memory is in `memory`.

use cutile_ir::{Dim, Element, Shape, op::ReduceKind};
use syn::Ident;

use super::{
    Checker, ElementRule, Kind,
    types::{El, Ty},
};
use crate::{
    ast::{Expr, GenericArg},
    messages,
    vocabulary::Word,
};

impl Checker<'_, '_, '_> {
    /// Checks a call of the vocabulary; a method's receiver is the first argument.
    pub(super) fn word_call(
        &mut self,
        e: &Expr,
        word: Word,
        name: &Ident,
        generics: &[GenericArg],
        args: &[&Expr],
        expected: Option<&Ty>,
    ) -> Ty {
        let element = self.given_element(generics);
        if !self.count(e, name, args, arity(word)) {
            for arg in args {
                self.expr(arg, None);
            }
            return Ty::Error;
        }
        let mut axis = None;
        let ty = match word {
            Word::Full => self.full(args, expected),
            Word::Constant(_) => {
                let el = element.unwrap_or_else(|| self.infer.el(Kind::Any));
                self.hint_element(el, expected);
                self.shape_arg(args[0]).map_or(Ty::Error, |s| Ty::Tile(el, s))
            }
            Word::Iota => {
                let el = element.unwrap_or_else(|| self.infer.el(Kind::Int));
                self.hint_element(el, expected);
                self.shape_arg(args[0]).map_or(Ty::Error, |s| Ty::Tile(el, s))
            }
            Word::Ids | Word::Counts => Ty::Tuple(vec![Ty::i32(); 3]),
            Word::IdArray => self.id_array(e, generics),
            Word::Id | Word::Count => {
                axis = self.grid_axis(args[0]);
                Ty::i32()
            }
            Word::Unary(op) => self.unary_word(op, args[0], expected, e),
            Word::Binary(op) => {
                let ty = self.operands(args[0], args[1], e);
                if self.lane_branches > 0 && op.may_fault() {
                    self.rule(e.span, &ty, ElementRule::NoFault);
                }
                self.rule(e.span, &ty, ElementRule::BinaryFunction(op));
                ty
            }
            Word::Compare(_) => {
                self.operands(args[0], args[1], e).with_element(El::known(Element::Bool))
            }
            Word::Select => self.select(args, e),
            Word::Fma => self.fma(args, e),
            Word::Convert | Word::Bitcast => self.convert(args[0], element, expected, e),
            Word::Reshape | Word::Broadcast => self.reshape(word, args, e),
            Word::Permute => self.permute(args),
            Word::Transpose => self.transpose(args[0]),
            Word::ToScalar => self.only_element(args[0], e),
            Word::Reduce(kind) => {
                let (ty, at) = self.reduce(kind, name, args);
                axis = at;
                ty
            }
            Word::Mma => self.mma(args, expected),
            Word::Map => return self.map(e, args),
            _ => {
                let (ty, at) = self.memory_word(e, word, args);
                axis = at;
                ty
            }
        };
        self.target(e, word, axis);
        ty
    }

    fn fma(&mut self, args: &[&Expr], e: &Expr) -> Ty {
        let ty = self.operands(args[0], args[1], e);
        let third = self.expr(args[2], None);
        let ty = self.elementwise(&ty, &third, false, args[2].span);
        self.rule(e.span, &ty, ElementRule::Float("fma"));
        ty
    }

    fn transpose(&mut self, x: &Expr) -> Ty {
        match self.tile(x) {
            Some((el, s)) if s.len() == 2 => Ty::Tile(el, s.into_iter().rev().collect()),
            Some((_, s)) => {
                self.report.rustc_error(x.span, messages::transpose_rank(s.len()));
                Ty::Error
            }
            None => Ty::Error,
        }
    }

    fn only_element(&mut self, x: &Expr, e: &Expr) -> Ty {
        match self.tile(x) {
            Some((el, s)) => {
                if s.iter().any(|d| !matches!(d, Dim::Const(1))) {
                    self.report.error(e.span, messages::to_scalar_shape());
                }
                Ty::Scalar(el)
            }
            None => Ty::Error,
        }
    }

    fn given_element(&mut self, generics: &[GenericArg]) -> Option<El> {
        match generics.first()? {
            GenericArg::Name(name) => self.names.element(name).map(El::Is),
            _ => None,
        }
    }

    /// Takes over the element type that the result is expected to have.
    fn hint_element(&mut self, el: El, expected: Option<&Ty>) {
        if let Some(wanted) = expected.map(|t| self.infer.resolve(t)).and_then(|t| t.element()) {
            self.infer.unify_el(el, wanted);
        }
    }

    fn full(&mut self, args: &[&Expr], expected: Option<&Ty>) -> Ty {
        let value = self.expr(args[0], None);
        let shape = self.shape_arg(args[1]);
        match (self.infer.resolve(&value), shape) {
            (Ty::Scalar(el), Some(shape)) => {
                self.hint_element(el, expected);
                Ty::Tile(el, shape)
            }
            (Ty::Error | Ty::Never, _) | (_, None) => Ty::Error,
            (other, _) => {
                self.report
                    .rustc_error(args[0].span, messages::mismatch("a scalar", &self.show(&other)));
                Ty::Error
            }
        }
    }

    /// A shape argument whose extents are all known before the launch.
    pub(super) fn shape_arg(&mut self, e: &Expr) -> Option<Shape> {
        let ty = self.expr(e, None);
        match self.infer.resolve(&ty) {
            Ty::Shape(extents) => {
                let known: Option<Shape> = extents.into_iter().collect();
                if known.is_none() {
                    self.report.error(e.span, messages::dynamic_tile());
                }
                known
            }
            Ty::Error | Ty::Never => None,
            other => {
                self.report.rustc_error(e.span, messages::mismatch("a shape", &self.show(&other)));
                None
            }
        }
    }

    fn id_array(&mut self, e: &Expr, generics: &[GenericArg]) -> Ty {
        let rank = match generics.first() {
            Some(GenericArg::Value(v)) => self.names.dim(v).and_then(|d| d.known()),
            Some(GenericArg::Name(name)) => {
                match self.names.names.consts.get(&name.to_string()).map(|c| &c.value) {
                    Some(crate::consts::ConstValue::Int(n)) => i64::try_from(*n).ok(),
                    _ => None,
                }
            }
            _ => None,
        };
        match rank {
            Some(n) if (1..=cutile_ir::MAX_RANK as i64).contains(&n) => {
                Ty::Array(Box::new(Ty::i32()), n as usize)
            }
            _ => {
                self.report.error(e.span, messages::id_rank());
                Ty::Error
            }
        }
    }

    /// An axis of the grid. Any `i32` suits rustc.
    fn grid_axis(&mut self, e: &Expr) -> Option<u32> {
        match self.names.dim(e) {
            Some(Dim::Const(n)) if !(0..cutile_ir::MAX_RANK as i64).contains(&n) => {
                self.report.error(e.span, messages::grid_axis(n));
                None
            }
            _ => self.axis(e, cutile_ir::MAX_RANK),
        }
    }

    /// An axis: a literal or a const.
    pub(super) fn axis(&mut self, e: &Expr, rank: usize) -> Option<u32> {
        match self.names.dim(e) {
            Some(Dim::Const(n)) if (0..rank as i64).contains(&n) => Some(n as u32),
            Some(Dim::Const(n)) if n < 0 => {
                self.report.error(e.span, messages::axis_out_of_range(n, rank));
                None
            }
            Some(Dim::Const(n)) => {
                self.report.rustc_error(e.span, messages::axis_out_of_range(n, rank));
                None
            }
            _ => {
                self.report.error(e.span, messages::axis_not_constant());
                None
            }
        }
    }

    fn unary_word(
        &mut self,
        op: cutile_ir::op::UnaryOp,
        arg: &Expr,
        expected: Option<&Ty>,
        e: &Expr,
    ) -> Ty {
        let ty = self.expr(arg, expected.filter(|_| !op.gives_bool()));
        let ty = self.infer.resolve(&ty);
        if !ty.is_elementwise() {
            if !matches!(ty, Ty::Error | Ty::Never) {
                self.report.rustc_error(arg.span, messages::operand(&self.show(&ty)));
            }
            return Ty::Error;
        }
        self.rule(e.span, &ty, ElementRule::UnaryFunction(op));
        if op.gives_bool() { ty.with_element(El::known(Element::Bool)) } else { ty }
    }

    fn operands(&mut self, a: &Expr, b: &Expr, e: &Expr) -> Ty {
        let left = self.expr(a, None);
        let right = self.expr(b, None);
        self.elementwise(&left, &right, false, e.span)
    }

    fn select(&mut self, args: &[&Expr], e: &Expr) -> Ty {
        let cond = self.expr(args[0], None);
        let cond = self.infer.resolve(&cond);
        let ty = self.operands(args[1], args[2], e);
        self.rule(args[0].span, &cond, ElementRule::Bool("select"));
        let Some(element) = self.infer.resolve(&ty).element() else { return Ty::Error };
        // A scalar on either side is repeated to the condition's shape.
        match (&cond, &self.infer.resolve(&ty)) {
            (Ty::Tile(_, s), Ty::Tile(_, t)) if s != t => {
                let message = messages::operands(&self.show(&cond), &self.show(&ty));
                self.report.rustc_error(e.span, message);
                Ty::Error
            }
            (Ty::Tile(_, s), _) => Ty::Tile(element, s.clone()),
            (Ty::Scalar(_), _) => ty,
            _ => Ty::Error,
        }
    }

    fn convert(&mut self, arg: &Expr, given: Option<El>, expected: Option<&Ty>, e: &Expr) -> Ty {
        let from = self.expr(arg, None);
        let from = self.infer.resolve(&from);
        if !from.is_elementwise() {
            if !matches!(from, Ty::Error | Ty::Never) {
                self.report.rustc_error(arg.span, messages::operand(&self.show(&from)));
            }
            return Ty::Error;
        }
        let el = given.unwrap_or_else(|| self.infer.el(Kind::Any));
        self.hint_element(el, expected);
        let _ = e;
        from.with_element(el)
    }

    fn reshape(&mut self, word: Word, args: &[&Expr], e: &Expr) -> Ty {
        let (Some((el, from)), Some(to)) = (self.tile(args[0]), self.shape_arg(args[1])) else {
            return Ty::Error;
        };
        let size =
            |s: &Shape| s.iter().try_fold(1i64, |n, d| d.known().and_then(|d| n.checked_mul(d)));
        match word {
            Word::Reshape => {
                if let (Some(a), Some(b)) = (size(&from), size(&to))
                    && a != b
                {
                    self.report.error(e.span, messages::reshape_size(a, b));
                }
            }
            _ if from.len() != to.len() => {
                self.report.rustc_error(e.span, messages::broadcast_rank(from.len(), to.len()))
            }
            _ => {
                for (axis, (a, b)) in from.iter().zip(&to).enumerate() {
                    if let (Some(a), Some(b)) = (a.known(), b.known())
                        && a != 1
                        && a != b
                    {
                        self.report.error(e.span, messages::broadcast_extent(axis, a, b));
                    }
                }
            }
        }
        Ty::Tile(el, to)
    }

    fn permute(&mut self, args: &[&Expr]) -> Ty {
        let tile = self.tile(args[0]);
        let order = self.expr(args[1], None);
        match (tile, self.infer.resolve(&order)) {
            (Some((el, shape)), Ty::Order(order)) if order.len() == shape.len() => {
                Ty::Tile(el, order.iter().map(|a| shape[*a as usize].clone()).collect())
            }
            (Some((_, shape)), Ty::Order(order)) => {
                self.report
                    .rustc_error(args[1].span, messages::permute_rank(shape.len(), order.len()));
                Ty::Error
            }
            (_, Ty::Error) | (None, _) => Ty::Error,
            _ => {
                self.report.rustc_error(
                    args[1].span,
                    "an order of axes is expected: `const_array![1, 0]`",
                );
                Ty::Error
            }
        }
    }

    fn reduce(&mut self, kind: ReduceKind, name: &Ident, args: &[&Expr]) -> (Ty, Option<u32>) {
        let Some((el, mut shape)) = self.tile(args[0]) else { return (Ty::Error, None) };
        let Some(axis) = self.axis(args[1], shape.len()) else { return (Ty::Error, None) };
        shape.remove(axis as usize);
        let ty = self.infer.resolve(self.typed.ty(args[0].id));
        let name = crate::vocabulary::FUNCTIONS
            .iter()
            .find(|(n, _)| name == n)
            .map_or("reduction", |(n, _)| n);
        let element = match kind {
            ReduceKind::ArgMax | ReduceKind::ArgMin => El::known(Element::I32),
            _ => el,
        };
        match kind {
            ReduceKind::Any | ReduceKind::All => {
                self.rule(args[0].span, &ty, ElementRule::Bool(name))
            }
            _ => self.rule(
                args[0].span,
                &ty,
                ElementRule::BinaryFunction(cutile_ir::op::BinaryOp::Add),
            ),
        }
        (Ty::Tile(element, shape), Some(axis))
    }

    fn mma(&mut self, args: &[&Expr], expected: Option<&Ty>) -> Ty {
        let (a, b) = (self.tile(args[0]), self.tile(args[1]));
        // The result has the accumulator's type.
        let Some((acc_el, acc)) = self.tile_like(args[2], expected) else { return Ty::Error };
        let (Some((a_el, a)), Some((b_el, b))) = (a, b) else { return Ty::Error };
        let fits = a.len() == 2
            && b.len() == 2
            && acc.len() == 2
            && a[1] == b[0]
            && a[0] == acc[0]
            && b[1] == acc[1]
            && self.infer.unify_el(a_el, b_el);
        if !fits {
            self.report.rustc_error(args[0].span, messages::mma_shapes());
        }
        if let (El::Is(a), El::Is(acc)) =
            (self.infer.resolve_el(a_el), self.infer.resolve_el(acc_el))
            && let (Some(a), Some(acc)) = (a.known(), acc.known())
            && !mma_elements(a, acc)
        {
            self.report.error(args[2].span, messages::mma_elements(a, acc));
        }
        Ty::Tile(acc_el, acc)
    }

    /// The element type and shape of a tile argument.
    pub(super) fn tile(&mut self, e: &Expr) -> Option<(El, Shape)> {
        self.tile_like(e, None)
    }

    /// As [`Checker::tile`], where a type is expected.
    fn tile_like(&mut self, e: &Expr, expected: Option<&Ty>) -> Option<(El, Shape)> {
        let ty = self.expr(e, expected);
        match self.infer.resolve(&ty) {
            Ty::Tile(el, shape) => Some((el, shape)),
            Ty::Error | Ty::Never => None,
            Ty::Var(_) => None,
            other => {
                self.report.rustc_error(e.span, messages::mismatch("a tile", &self.show(&other)));
                None
            }
        }
    }
}

/// Element types that matrix products take: operands and accumulator.
fn mma_elements(a: Element, acc: Element) -> bool {
    use Element::{BF16, F8E4M3, F8E5M2, F16, F32, F64, I8, I32, TF32, U8};
    matches!(
        (a, acc),
        (F16, F16 | F32) | (BF16 | TF32 | F32 | F8E4M3 | F8E5M2, F32) | (F64, F64) | (I8 | U8, I32)
    )
}

fn arity(word: Word) -> usize {
    match word {
        Word::Ids | Word::Counts | Word::IdArray => 0,
        Word::Constant(_)
        | Word::Iota
        | Word::Id
        | Word::Count
        | Word::LoadOwn
        | Word::Grid
        | Word::ShapeOf => 1,
        Word::Unary(_) | Word::Convert | Word::Bitcast | Word::Transpose | Word::ToScalar => 1,
        Word::Full
        | Word::LoadLike(_)
        | Word::StoreTile
        | Word::StoreOwn
        | Word::Partition
        | Word::PartitionMut => 2,
        Word::ViewLoad | Word::TileCount | Word::Binary(_) | Word::Compare(_) => 2,
        Word::Reshape | Word::Broadcast | Word::Permute | Word::Reduce(_) | Word::Map => 2,
        Word::LoadTile
        | Word::ViewLoadPadded
        | Word::ViewStore
        | Word::Select
        | Word::Fma
        | Word::Mma => 3,
    }
}

//! Control flow. Values that a loop carries, and the results of an `if`, have places of their own,
//! into which each turn or branch copies what it yields.

use super::lower::{Lower, Lowered, Rep};
use super::*;
use cutile_ir::op::ControlOp;
use cutile_ir::{Block, Op, Type, Value};

/// The place of a carried value or of a result.
enum Place {
    Scalar(Slot),
    Tile(Buffer, Tile, Dims),
    /// A tensor or a view, which never changes.
    Fixed(Rep),
}

impl Place {
    fn rep(&self) -> Rep {
        match self {
            Place::Scalar(s) => Rep::Scalar(*s),
            Place::Tile(_, t, _) => Rep::Tile(t.clone()),
            Place::Fixed(r) => r.clone(),
        }
    }
}

/// Scalars and lengths to be moved at the end of a block.
#[derive(Default)]
struct Moves {
    slots: Vec<(Slot, Slot)>,
    cells: Vec<(Cell, Length)>,
}

impl Lower<'_> {
    pub(super) fn control(&mut self, op: &Op, k: &ControlOp) -> Lowered<()> {
        self.flush()?;
        match k {
            ControlOp::For { lower, upper, step, init, body } => {
                self.counting(op, [*lower, *upper, *step], init, body)
            }
            ControlOp::While { init, cond, body } => self.conditional(op, init, cond, body),
            ControlOp::If { cond, on_true, on_false } => self.branch(op, *cond, on_true, on_false),
            ControlOp::Call { .. } => self.refuse(op, "the helper is not in place"),
        }
    }

    fn counting(
        &mut self,
        op: &Op,
        bounds: [Value; 3],
        init: &[Value],
        body: &Block,
    ) -> Lowered<()> {
        let [lower, upper, step] =
            [self.scalar(op, bounds[0])?, self.scalar(op, bounds[1])?, self.scalar(op, bounds[2])?];
        let Some((first, params)) = body.params.split_first() else {
            return self.refuse(op, "the body takes no counter");
        };
        let counter = self.new_slot();
        let places = self.carry(op, init, params)?;
        let start = self.buffers.advance();
        let (code, ()) = self.nested(|l| {
            l.define(*first, Rep::Scalar(counter));
            l.define_all(params, &places);
            l.operations(body)?;
            l.yield_to(op, &body.yields, &places)
        })?;
        self.buffers.end_loop(start);
        let element = self.element(bounds[0]);
        let body = code;
        self.emit(Instr::For(Box::new(For {
            lower,
            upper,
            step,
            counter,
            element,
            body,
            loc: op.loc,
        })));
        self.define_all(&op.results, &places);
        Ok(())
    }

    fn conditional(&mut self, op: &Op, init: &[Value], cond: &Block, body: &Block) -> Lowered<()> {
        let places = self.carry(op, init, &body.params)?;
        let start = self.buffers.advance();
        let (cond_code, holds) = self.nested(|l| {
            l.define_all(&cond.params, &places);
            l.operations(cond)?;
            l.flush()?;
            match cond.yields[..] {
                [v] => l.scalar(op, v),
                _ => l.refuse(op, "the condition yields one value"),
            }
        })?;
        let (body_code, ()) = self.nested(|l| {
            l.define_all(&body.params, &places);
            l.operations(body)?;
            l.yield_to(op, &body.yields, &places)
        })?;
        self.buffers.end_loop(start);
        self.emit(Instr::While { cond: cond_code, holds, body: body_code });
        self.define_all(&op.results, &places);
        Ok(())
    }

    fn branch(&mut self, op: &Op, cond: Value, on_true: &Block, on_false: &Block) -> Lowered<()> {
        let cond = self.scalar(op, cond)?;
        let mut places = op
            .results
            .iter()
            .map(|v| match self.f.ty(*v) {
                Type::Scalar(_) => Ok(Some(Place::Scalar(self.new_slot()))),
                Type::Tile(_) => Ok(Some(self.tile_place(*v))),
                Type::Tensor(_) | Type::View(_) => Ok(None),
            })
            .collect::<Lowered<Vec<_>>>()?;
        let mut code = Vec::new();
        for block in [on_true, on_false] {
            let (instrs, ()) = self.nested(|l| {
                l.operations(block)?;
                for (place, v) in places.iter_mut().zip(&block.yields) {
                    if place.is_none() {
                        *place = Some(Place::Fixed(l.rep(op, *v)?));
                    }
                }
                l.yield_optional(op, &block.yields, &places)
            })?;
            code.push(instrs);
        }
        let on_false = code.pop().unwrap_or_default();
        let on_true = code.pop().unwrap_or_default();
        self.emit(Instr::If { cond, on_true, on_false });
        let places: Vec<Place> = places.into_iter().flatten().collect();
        self.define_all(&op.results, &places);
        Ok(())
    }

    fn yield_optional(
        &mut self,
        op: &Op,
        yields: &[Value],
        places: &[Option<Place>],
    ) -> Lowered<()> {
        let places: Vec<&Place> = places.iter().flatten().collect();
        self.yield_into(op, yields, &places)
    }

    fn define_all(&mut self, values: &[Value], places: &[Place]) {
        for (v, place) in values.iter().zip(places) {
            self.define(*v, place.rep());
        }
    }

    /// A place for a tile, ragged along every axis that can be.
    fn tile_place(&mut self, v: Value) -> Place {
        let shape = self.dims(v);
        let buffer = self.new_buffer(v);
        let valid: Rect = shape
            .iter()
            .map(|n| if *n == 1 { Valid::Full } else { Valid::To(self.new_cell()) })
            .collect();
        Place::Tile(buffer, Tile::whole(buffer, &shape, valid), shape)
    }

    /// Places for what a loop carries, filled with the initial values. `params` are the parameters of
    /// the block that may reuse them.
    fn carry(&mut self, op: &Op, init: &[Value], params: &[Value]) -> Lowered<Vec<Place>> {
        let mut places = Vec::new();
        for (v, param) in init.iter().zip(params) {
            places.push(match self.f.ty(*v) {
                Type::Scalar(_) => Place::Scalar(self.new_slot()),
                Type::Tile(_) => self.tile_place(*param),
                Type::Tensor(_) | Type::View(_) => Place::Fixed(self.rep(op, *v)?),
            });
        }
        let all: Vec<&Place> = places.iter().collect();
        self.yield_into(op, init, &all)?;
        Ok(places)
    }

    fn yield_to(&mut self, op: &Op, yields: &[Value], places: &[Place]) -> Lowered<()> {
        let all: Vec<&Place> = places.iter().collect();
        self.yield_into(op, yields, &all)
    }

    /// Copies values to places, as if all at once.
    fn yield_into(&mut self, op: &Op, yields: &[Value], places: &[&Place]) -> Lowered<()> {
        let mut moves = Moves::default();
        // A yield that is another place's old value is put aside before any place changes.
        let targets: Vec<Option<Buffer>> = places
            .iter()
            .map(|p| match p {
                Place::Tile(b, ..) => Some(*b),
                _ => None,
            })
            .collect();
        let mut aside = vec![None; yields.len()];
        for (i, v) in yields.iter().enumerate() {
            let Rep::Tile(t) = self.rep(op, *v)? else { continue };
            let read = t.buffer();
            if read.is_some() && targets.contains(&read) && t.as_whole() != targets[i] {
                let buffer = self.new_buffer(*v);
                let valid = self.copy_to(op, *v, buffer)?;
                aside[i] = Some(Tile::whole(buffer, &self.dims(*v), valid));
            }
        }
        if aside.iter().any(Option::is_some) {
            self.flush()?;
        }
        for ((v, place), aside) in yields.iter().zip(places).zip(aside) {
            match place {
                Place::Scalar(dst) => {
                    let src = self.scalar(op, *v)?;
                    if src != *dst {
                        moves.slots.push((*dst, src));
                    }
                }
                Place::Tile(buffer, to, shape) => {
                    let valid = match (aside, self.rep(op, *v)?) {
                        (Some(tile), _) => self.copy_tile_to(op, *v, tile, *buffer)?,
                        (None, Rep::Tile(t)) if t.as_whole() == Some(*buffer) => t.valid,
                        _ => self.copy_to(op, *v, *buffer)?,
                    };
                    moves.lengths(&to.valid, &valid, shape);
                }
                Place::Fixed(rep) => {
                    if self.rep(op, *v)? != *rep {
                        return self
                            .refuse(op, "a tensor or a view that differs from turn to turn");
                    }
                }
            }
        }
        self.flush()?;
        if !(moves.slots.is_empty() && moves.cells.is_empty()) {
            self.emit(Instr::Move { slots: moves.slots, cells: moves.cells });
        }
        Ok(())
    }
}

impl Moves {
    fn lengths(&mut self, to: &Rect, from: &Rect, shape: &Dims) {
        for ((to, from), n) in to.iter().zip(from).zip(shape) {
            match (to, from) {
                (Valid::Full, _) => {}
                (Valid::To(a), Valid::To(b)) if a == b => {}
                (Valid::To(a), Valid::To(b)) => self.cells.push((*a, Length::Of(*b))),
                (Valid::To(a), Valid::Full) => self.cells.push((*a, Length::Known(*n))),
            }
        }
    }
}

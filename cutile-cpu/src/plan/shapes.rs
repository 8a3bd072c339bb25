//! Operations that give the same elements another shape. Most only relabel axes; nothing moves
//! unless axes are merged or split over a tile that is not stored row-major, or is ragged there.

use super::lower::{Lower, Lowered, Rep, full};
use super::*;
use cutile_ir::op::ShapeOp;
use cutile_ir::{Op, Value};

impl Lower<'_> {
    pub(super) fn shape(&mut self, op: &Op, k: &ShapeOp) -> Lowered<()> {
        let (ShapeOp::Reshape { x }
        | ShapeOp::Broadcast { x }
        | ShapeOp::Permute { x, .. }
        | ShapeOp::ToScalar { x }) = k;
        let result = op.results[0];
        if let Rep::Uniform(slot) = self.rep(op, *x)? {
            let is_scalar = matches!(k, ShapeOp::ToScalar { .. });
            self.define(result, if is_scalar { Rep::Scalar(slot) } else { Rep::Uniform(slot) });
            return Ok(());
        }
        let tile = self.tile(op, *x)?;
        let rep = match k {
            ShapeOp::ToScalar { .. } => {
                let dst = self.new_slot();
                let buffer = tile.buffer();
                let bytes = self.element(*x).bytes();
                self.emit(Instr::ToScalar { src: tile, bytes, dst });
                buffer.into_iter().for_each(|b| self.buffers.touch(b));
                Rep::Scalar(dst)
            }
            ShapeOp::Permute { order, .. } => {
                let map = order.iter().map(|a| tile.map[*a as usize]).collect();
                let valid = order.iter().map(|a| tile.valid[*a as usize]).collect();
                Rep::Tile(Tile { root: tile.root, map, valid })
            }
            ShapeOp::Broadcast { .. } => {
                let (from, to) = (self.dims(*x), self.dims(result));
                let mut wide = tile;
                for axis in (0..to.len()).filter(|i| from[*i] != to[*i]) {
                    wide.map[axis] = None;
                    wide.valid[axis] = Valid::Full;
                }
                Rep::Tile(wide)
            }
            ShapeOp::Reshape { .. } => Rep::Tile(self.reshape(op, *x, tile, result)?),
        };
        self.define(result, rep);
        Ok(())
    }

    fn reshape(&mut self, op: &Op, x: Value, tile: Tile, result: Value) -> Lowered<Tile> {
        let (from, to) = (self.dims(x), self.dims(result));
        let segments = segments(&from, &to);
        // An axis that stays keeps its valid length; axes of extent 1, and merged or split ones, are
        // full.
        let mut valid = full(to.len());
        let mut kept = vec![None; to.len()];
        for s in &segments {
            if let ([i], [j]) = (&s.from[..], &s.to[..]) {
                valid[*j] = tile.valid[*i];
                kept[*j] = tile.map[*i];
            }
        }
        if let Some(b) = tile.as_whole()
            && segments
                .iter()
                .all(|s| s.is_kept() || s.from.iter().all(|i| tile.valid[*i] == Valid::Full))
        {
            return Ok(Tile::whole(b, &to, valid));
        }
        if segments.iter().all(Segment::is_kept) {
            return Ok(Tile { root: tile.root, map: kept.into_iter().collect(), valid });
        }
        let dst = self.new_buffer(result);
        let ragged: SmallVec<[(Cell, usize); 3]> = segments
            .iter()
            .filter(|s| !s.is_kept())
            .flat_map(|s| &s.from)
            .filter_map(|i| match tile.valid[*i] {
                Valid::Full => None,
                Valid::To(c) => Some((c, from[*i])),
            })
            .collect();
        if !ragged.is_empty() {
            self.emit(Instr::Zero { dst, bytes: self.tile_bytes(result), unless_full: ragged });
            self.buffers.touch(dst);
        }
        self.copy_to(op, x, dst)?;
        self.flush()?;
        Ok(Tile::whole(dst, &to, valid))
    }
}

/// Axes of one shape and of another that hold the same elements in the same order; axes of extent 1
/// are in no segment.
struct Segment {
    from: SmallVec<[usize; 4]>,
    to: SmallVec<[usize; 4]>,
}

impl Segment {
    fn is_kept(&self) -> bool {
        self.from.len() == 1 && self.to.len() == 1
    }
}

/// The finest segments of two shapes with one number of elements.
fn segments(from: &[usize], to: &[usize]) -> Vec<Segment> {
    let mut a = (0..from.len()).filter(|i| from[*i] != 1).peekable();
    let mut b = (0..to.len()).filter(|i| to[*i] != 1).peekable();
    let mut all = Vec::new();
    while a.peek().is_some() || b.peek().is_some() {
        let mut s = Segment { from: SmallVec::new(), to: SmallVec::new() };
        let (mut n, mut m) = (1, 1);
        loop {
            // The side that is behind takes its next axis.
            if n <= m
                && let Some(i) = a.next()
            {
                s.from.push(i);
                n *= from[i];
            } else if let Some(j) = b.next() {
                s.to.push(j);
                m *= to[j];
            } else {
                break;
            }
            if n == m {
                break;
            }
        }
        all.push(s);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::segments;

    fn text(from: &[usize], to: &[usize]) -> String {
        let list: Vec<String> = segments(from, to)
            .iter()
            .map(|s| format!("{:?}={:?}", s.from.to_vec(), s.to.to_vec()))
            .collect();
        list.join(" ")
    }

    #[test]
    fn segments_are_the_finest() {
        assert_eq!(text(&[8], &[8, 1]), "[0]=[0]");
        assert_eq!(text(&[1, 8, 1], &[8]), "[1]=[0]");
        assert_eq!(text(&[4, 6], &[24]), "[0, 1]=[0]");
        assert_eq!(text(&[24], &[4, 6]), "[0]=[0, 1]");
        assert_eq!(text(&[2, 12, 5], &[2, 3, 4, 5]), "[0]=[0] [1]=[1, 2] [2]=[3]");
        assert_eq!(text(&[6, 4], &[4, 6]), "[0, 1]=[0, 1]");
        assert_eq!(text(&[1, 1], &[1]), "");
        assert_eq!(text(&[], &[1, 1]), "");
    }
}

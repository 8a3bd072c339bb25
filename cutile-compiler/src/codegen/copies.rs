//! Matrices into shared memory: asynchronously from global memory, or from registers.

use super::lengths::Length;
use super::view::Place;
use super::{Emitter, LayoutId, names};
use crate::mapping::shared::SharedMatrix;

impl Emitter<'_> {
    /// Starts the copies of a tile, each thread its share of 16-byte chunks; what does not exist becomes zero.
    pub(super) fn start_copies(&mut self, place: &Place, matrix: &SharedMatrix, to: &str) {
        let threads = self.mapping.threads();
        let chunks = matrix.columns * matrix.bytes / 16;
        let per_chunk = 16 / matrix.bytes;
        let all = matrix.rows * chunks;
        let whole: Vec<String> = place
            .lengths
            .iter()
            .zip([matrix.rows, matrix.columns])
            .filter_map(|(l, extent)| match l {
                Length::Variable(n) => Some(format!("{n} == {extent}")),
                Length::Full => None,
            })
            .collect();
        let mut lines = [Vec::new(), Vec::new()];
        for j in 0..all.div_ceil(threads) {
            let id =
                if j == 0 { "thread".to_string() } else { format!("(thread + {})", j * threads) };
            let (row, chunk) = if threads.is_multiple_of(chunks) {
                let row = format!("thread / {chunks}");
                (super::lengths::sum(&row, j * threads / chunks), format!("thread % {chunks}"))
            } else {
                (format!("{id} / {chunks}"), format!("{id} % {chunks}"))
            };
            let column = format!("({chunk}) * {per_chunk}");
            let terms = [(format!("({row}) as i64"), 0), (format!("({column}) as i64"), 1)];
            let offset = self.offset(place.param, &terms).unwrap_or_default();
            let from = format!("{}.wrapping_offset(({offset}) as isize)", place.start);
            let target = format!("{to} + {}", matrix.offset_of(&row, &column));
            let last = (j + 1) * threads > all;
            for (careful, lines) in lines.iter_mut().enumerate() {
                let bytes = if careful == 1 {
                    self.bytes_present(place, matrix, &row, &column)
                } else {
                    "16".into()
                };
                let line = format!("copy::start({target}, {from}, {bytes});");
                lines.push(if last { format!("if {id} < {all} {{ {line} }}") } else { line });
            }
        }
        let [plain, careful] = lines;
        if whole.is_empty() {
            plain.iter().for_each(|l| self.body.line(l));
            return;
        }
        self.body.open(format!("if {} {{", whole.join(" && ")));
        plain.iter().for_each(|l| self.body.line(l));
        self.body.otherwise();
        careful.iter().for_each(|l| self.body.line(l));
        self.body.close("}");
    }

    /// How many bytes of a chunk exist, as an `i32` expression; more than 16 counts as 16.
    fn bytes_present(
        &self,
        place: &Place,
        matrix: &SharedMatrix,
        row: &str,
        column: &str,
    ) -> String {
        let left = match &place.lengths[1] {
            Length::Variable(n) => format!("({n} - ({column}) as i32) * {}", matrix.bytes),
            Length::Full => "16".to_string(),
        };
        match &place.lengths[0] {
            Length::Variable(n) => format!("if (({row}) as i32) < {n} {{ {left} }} else {{ 0 }}"),
            Length::Full => left,
        }
    }

    /// Writes a fragment as a matrix; no barrier before or after.
    pub(super) fn write_matrix(
        &mut self,
        value: &str,
        layout: LayoutId,
        e: cutile_ir::Element,
        matrix: &SharedMatrix,
        to: &str,
    ) {
        let at = self.coordinates(layout);
        let l = self.mapping.get(layout).clone();
        let width = l.vector_width((16 / matrix.bytes).max(1));
        let owner = self.owner(layout);
        let cast = if names::memory_repr(e) == names::repr(e) { "" } else { " as u8" };
        for r in (0..l.register_count()).step_by(width as usize) {
            let coord = l.register_coord(r);
            let row = format!("({}) as u32", super::lengths::sum(&at[0], coord[0]));
            let column = format!("({}) as u32", super::lengths::sum(&at[1], coord[1]));
            let address = format!("{to} + {}", matrix.offset_of(&row, &column));
            let inside = self.valid(layout, r, &[Length::Full, Length::Full], 0..2);
            let present: Vec<String> = owner.iter().cloned().chain(inside).collect();
            let registers: Vec<String> =
                (r..r + width as usize).map(|i| format!("{value}.r{i}{cast}")).collect();
            let registers = registers.join(", ");
            if present.is_empty() {
                self.body.line(format!("shared::store({address}, [{registers}]);"));
            } else {
                let present = present.join(" && ");
                self.body.line(format!("shared::store_if({address}, {present}, [{registers}]);"));
            }
        }
    }
}

//! Matrices into shared memory: asynchronously from global memory, or from registers.

use super::lengths::Length;
use super::view::Place;
use super::{Emitter, LayoutId, names};
use crate::mapping::shared::SharedMatrix;

impl Emitter<'_> {
    /// Starts the copies of a tile, each thread its share of 16-byte chunks; what does not exist becomes zero.
    pub(super) fn start_copies(&mut self, place: &Place, matrix: &SharedMatrix, to: &str) {
        let whole: Vec<String> = place
            .lengths
            .iter()
            .zip([matrix.rows, matrix.columns])
            .filter_map(|(l, extent)| match l {
                Length::Variable(n) => Some(format!("{n} == {extent}")),
                Length::Full => None,
            })
            .collect();
        if whole.is_empty() {
            self.body.open("{");
            self.copy_chunks(place, matrix, to, "16");
            self.body.close("}");
            return;
        }
        let present = bytes_present(place, matrix);
        self.body.open(format!("if {} {{", whole.join(" && ")));
        self.copy_chunks(place, matrix, to, "16");
        self.body.otherwise();
        self.copy_chunks(place, matrix, to, &present);
        self.body.close("}");
    }

    /// The copies themselves: `bytes` of each chunk, an expression of its `row` and `column`. The loops have constant bounds
    /// and are unrolled.
    fn copy_chunks(&mut self, place: &Place, matrix: &SharedMatrix, to: &str, bytes: &str) {
        let threads = self.mapping.threads();
        let chunks = matrix.columns * matrix.bytes / 16;
        let per_chunk = 16 / matrix.bytes;
        let all = matrix.rows * chunks;
        let turns = all.div_ceil(threads);
        let looped = turns > 1;
        // A thread stays in its column where it can.
        let same_column = threads.is_multiple_of(chunks);
        if same_column {
            self.body.line(format!("let column = thread % {chunks} * {per_chunk};"));
        }
        if looped {
            self.body.line("let mut turn = 0;");
            self.body.open(format!("while turn < {turns} {{"));
        }
        let id = if looped { format!("thread + turn * {threads}") } else { "thread".into() };
        let partial = !all.is_multiple_of(threads);
        if partial {
            self.body.open(format!("if {id} < {all} {{"));
        }
        if same_column {
            let step = threads / chunks;
            let turn = if looped { format!(" + turn * {step}") } else { String::new() };
            self.body.line(format!("let row = thread / {chunks}{turn};"));
        } else {
            self.body.line(format!(
                "let (row, column) = (({id}) / {chunks}, ({id}) % {chunks} * {per_chunk});"
            ));
        }
        let terms = [("row as i64".to_string(), 0), ("column as i64".to_string(), 1)];
        let offset = self.offset(place.param, &terms).unwrap_or_default();
        let from = format!("{}.wrapping_offset(({offset}) as isize)", place.start);
        let target = format!("{to} + {}", matrix.offset_of("row", "column"));
        self.body.line(format!("copy::start({target}, {from}, {bytes});"));
        if partial {
            self.body.close("}");
        }
        if looped {
            self.body.line("turn += 1;");
            self.body.close("}");
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

/// How many bytes exist of the chunk at `row` and `column`, as an `i32` expression; more than 16 counts as 16.
fn bytes_present(place: &Place, matrix: &SharedMatrix) -> String {
    let left = match &place.lengths[1] {
        Length::Variable(n) => format!("({n} - column as i32) * {}", matrix.bytes),
        Length::Full => "16".to_string(),
    };
    match &place.lengths[0] {
        Length::Variable(n) => format!("if (row as i32) < {n} {{ {left} }} else {{ 0 }}"),
        Length::Full => left,
    }
}

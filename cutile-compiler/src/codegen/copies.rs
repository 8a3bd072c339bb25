//! Matrices in shared memory: filled asynchronously from global memory or from registers, and stored by rows.

use super::lengths::Length;
use super::view::Place;
use super::{Emitter, LayoutId, names};
use crate::mapping::shared::SharedMatrix;
use cutile_ir::Element;

/// Bytes that memory moves at once.
const SECTOR: u32 = 32;

impl Emitter<'_> {
    /// Starts the copies of a tile, each thread its share of 16-byte chunks; what does not exist becomes zero.
    pub(super) fn start_copies(&mut self, place: &Place, matrix: &SharedMatrix, to: &str) {
        let copy = |this: &mut Self, bytes: &str| {
            let from = this.chunk_start(place);
            let target = format!("{to} + {}", matrix.offset_of("row", "column"));
            this.body.line(format!("copy::start({target}, {from}, {bytes});"));
        };
        let whole = whole(place, matrix);
        if whole.is_empty() {
            self.body.open("{");
        } else {
            self.body.open(format!("if {whole} {{"));
        }
        self.for_chunks(matrix, |this| copy(this, "16"));
        if !whole.is_empty() {
            self.body.otherwise();
            let bytes = match &place.lengths[1] {
                Length::Variable(n) => format!("({n} - column as i32) * {}", matrix.bytes),
                Length::Full => "16".to_string(),
            };
            let bytes = in_present_rows(place, bytes);
            self.for_chunks(matrix, |this| copy(this, &bytes));
        }
        self.body.close("}");
    }

    /// The matrix through which a tile is stored by rows of vectors: where a warp would store less than a sector of a row at
    /// once, as with narrow accumulators of matrix instructions.
    pub(super) fn store_matrix(&self, place: &Place, layout: LayoutId) -> Option<SharedMatrix> {
        let (e, l) = (place.element, self.mapping.get(layout));
        let (bytes, limit) = (e.bytes() as u32, self.vector_limit(place.param));
        let &[rows, columns] = l.shape() else { return None };
        let matrix = SharedMatrix::new(rows, columns, bytes);
        let plain = l.replicated_bits() == 0 && !l.is_padded(0) && !l.is_padded(1);
        let vectors = limit * bytes == 16 && columns.is_multiple_of(limit);
        let narrow = l.warp_width(limit) * bytes < SECTOR && e != Element::Bool;
        (plain && vectors && narrow && self.has_room(matrix.size())).then_some(matrix)
    }

    /// Stores a fragment by way of a matrix in shared memory, each thread its share of 16-byte chunks.
    pub(super) fn store_rows(
        &mut self,
        place: &Place,
        value: &str,
        layout: LayoutId,
        matrix: &SharedMatrix,
    ) {
        let (region, base) = self.large_scratch(matrix.size());
        let base = self.in_variable(base, "rows");
        self.write_matrix(value, layout, place.element, matrix, &base);
        // Settles accesses before this one, too.
        self.barrier();
        let ty = names::memory_repr(place.element);
        let width = 16 / matrix.bytes;
        let load = format!(
            "let chunk: [{ty}; {width}] = shared::load({base} + {});",
            matrix.offset_of("row", "column")
        );
        let whole = whole(place, matrix);
        if whole.is_empty() {
            self.body.open("{");
        } else {
            self.body.open(format!("if {whole} {{"));
        }
        self.for_chunks(matrix, |this| {
            let to = this.chunk_start(place);
            this.body.line(&load);
            this.body.line(format!("global::store({to}, chunk);"));
        });
        if !whole.is_empty() {
            self.body.otherwise();
            let present = match &place.lengths[1] {
                Length::Variable(n) => format!("{n} - column as i32"),
                Length::Full => width.to_string(),
            };
            let present = in_present_rows(place, present);
            self.for_chunks(matrix, |this| {
                let to = this.chunk_start(place);
                this.body.line(&load);
                this.body.line(format!("global::store_first({to}, {present}, chunk);"));
            });
        }
        self.body.close("}");
        region.into_iter().for_each(|region| self.scratch_read(region));
        self.hazards.forget([place.param]);
    }

    /// The pointer to the chunk at `row` and `column`.
    fn chunk_start(&self, place: &Place) -> String {
        let terms = [("row as i64".to_string(), 0), ("column as i64".to_string(), 1)];
        let offset = self.offset(place.param, &terms).unwrap_or_default();
        format!("{}.wrapping_offset(({offset}) as isize)", place.start)
    }

    /// A loop over this thread's share of a matrix's 16-byte chunks, in which `row` and `column` are the place of a chunk's
    /// first element. Its bounds are constants: it is unrolled.
    fn for_chunks(&mut self, matrix: &SharedMatrix, each: impl FnOnce(&mut Self)) {
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
        each(self);
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

/// The condition that a tile is whole; empty where that is known.
fn whole(place: &Place, matrix: &SharedMatrix) -> String {
    let lengths = place.lengths.iter().zip([matrix.rows, matrix.columns]);
    let conditions = lengths.filter_map(|(l, extent)| match l {
        Length::Variable(n) => Some(format!("{n} == {extent}")),
        Length::Full => None,
    });
    conditions.collect::<Vec<_>>().join(" && ")
}

/// An amount, or 0 where the chunk's `row` does not exist.
fn in_present_rows(place: &Place, amount: String) -> String {
    match &place.lengths[0] {
        Length::Variable(n) => format!("if (row as i32) < {n} {{ {amount} }} else {{ 0 }}"),
        Length::Full => amount,
    }
}

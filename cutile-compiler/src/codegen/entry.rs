//! The entry: its parameters, the program's position in the grid, and the file around it.

use super::view::View;
use super::{Binding, Done, Emitter, Generated, names};
use crate::error::CompileError;
use crate::mapping::matrix::Product;
use crate::ptx::EntryPlan;
use cutile_bundle::abi::{Blocks, KernelAbi, LaunchConfig, ScalarKind, Slot};
use cutile_bundle::key::FactsClass;
use cutile_bundle::target::Arch;
use cutile_ir::op::{OpKind, ProgramOp};
use cutile_ir::{Element, Op, ParamRole, Type};

/// The most axes that a grid has.
const GRID_AXES: usize = cutile_ir::MAX_RANK;

/// Threads of a multiprocessor that keep memory busy with a few 16-byte accesses each.
const BUSY_THREADS: u32 = 1536;

/// Blocks that one multiprocessor can hold.
fn most_blocks(arch: Arch) -> u32 {
    match (arch.major, arch.minor) {
        (8, 0) | (9..=10, _) => 32,
        _ => 16,
    }
}

/// How a scalar is passed.
fn scalar_kind(e: Element) -> ScalarKind {
    match (e, e.bytes()) {
        (Element::Bool, _) => ScalarKind::Bool,
        (_, 1) => ScalarKind::B8,
        (_, 2) => ScalarKind::B16,
        (_, 4) => ScalarKind::B32,
        _ => ScalarKind::B64,
    }
}

impl<'k> Emitter<'k> {
    /// The symbol of the entry.
    pub(super) fn entry_name(&self) -> String {
        format!("cutile_{}", names::identifier(&self.f.name))
    }

    /// The prefix of a parameter's names.
    pub(super) fn parameter(&self, i: usize) -> String {
        format!("p{i}_{}", names::identifier(&self.f.params[i].name))
    }

    pub(super) fn parameters(&mut self) {
        for (i, p) in self.f.params.iter().enumerate() {
            let binding = match self.f.ty(p.value) {
                Type::Scalar(e) if e.expect() == Element::Bool => {
                    let name = self.parameter(i);
                    self.head.line(format!("let {name} = {name} != 0;"));
                    Binding::Scalar(name)
                }
                Type::Scalar(_) => Binding::Scalar(self.parameter(i)),
                _ => Binding::Tensor(i),
            };
            self.bind(p.value, binding);
        }
    }

    /// The axes of the launch grid: those of the partitioned parameters, any where there is none.
    fn grid_axes(&self) -> usize {
        let partitioned = self.f.params.iter().filter_map(|p| match &p.role {
            ParamRole::Partitioned { tile } => Some(tile.len().max(1)),
            _ => None,
        });
        partitioned.max().unwrap_or(GRID_AXES)
    }

    /// Parameters in their order: slot, name, Rust type.
    fn slots(&self) -> Vec<(Slot, String, String)> {
        let mut slots = Vec::new();
        for (i, p) in self.f.params.iter().enumerate() {
            let (param, name) = (i as u16, self.parameter(i));
            let ty = match self.f.ty(p.value) {
                Type::Scalar(e) => {
                    let e = e.expect();
                    let slot = Slot::Scalar { param, kind: scalar_kind(e) };
                    slots.push((slot, name, names::memory_repr(e).into()));
                    continue;
                }
                Type::Tensor(t) => t,
                _ => continue,
            };
            let pointer = format!("*mut {}", names::memory_repr(ty.element.expect()));
            slots.push((Slot::Pointer { param }, name.clone(), pointer));
            for (axis, extent) in ty.extents.iter().enumerate() {
                if extent.is_none() {
                    let slot = Slot::Extent { param, axis: axis as u8 };
                    slots.push((slot, format!("{name}_extent{axis}"), "i32".into()));
                }
            }
            for axis in 0..ty.extents.len() {
                if !self.unit_stride(i, axis) {
                    let slot = Slot::Stride { param, axis: axis as u8 };
                    slots.push((slot, format!("{name}_stride{axis}"), "i64".into()));
                }
            }
        }
        for axis in 1..self.grid_axes() {
            slots.push((Slot::Grid { axis: axis as u8 }, format!("grid{axis}"), "u32".into()));
        }
        if !self.faults.sites.is_empty() {
            slots.push((Slot::FaultRecord, "record".into(), "*mut fault::FaultRecord".into()));
            slots.push((Slot::KernelId, "kernel".into(), "u32".into()));
        }
        slots
    }

    /// Whether a tensor's stride along an axis is promised to be 1.
    fn unit_stride(&self, param: usize, axis: usize) -> bool {
        self.settings.facts == FactsClass::Aligned
            && axis + 1 == self.f.ty(self.f.params[param].value).rank()
    }

    /// The stride of a tensor along an axis, as an `i64` expression.
    pub(super) fn stride(&self, param: usize, axis: usize) -> String {
        if self.unit_stride(param, axis) {
            "1".into()
        } else {
            format!("{}_stride{axis}", self.parameter(param))
        }
    }

    /// The extent of a tensor along an axis, as an `i32` expression.
    pub(super) fn extent(&self, param: usize, axis: usize) -> String {
        let tensor = self.f.ty(self.f.params[param].value).as_tensor();
        match tensor.and_then(|t| t.extents[axis].as_ref()) {
            Some(extent) => format!("{}i32", extent.expect()),
            None => format!("{}_extent{axis}", self.parameter(param)),
        }
    }

    pub(super) fn program(&mut self, op: &Op, kind: &ProgramOp) -> Done {
        let axes = self.grid_axes();
        match kind {
            ProgramOp::Id { axis } => {
                let a = *axis as usize;
                let id = if a < axes { format!("program{a}") } else { "0i32".into() };
                self.bind(op.results[0], Binding::Scalar(id));
            }
            ProgramOp::Count { axis } => {
                let count = match *axis as usize {
                    a if a >= axes => "1i32".into(),
                    0 => "grid0 as i32".into(),
                    a => format!("grid{a} as i32"),
                };
                let name = self.name(op.results[0]);
                self.body.line(format!("let {name} = {count};"));
                self.bind(op.results[0], Binding::Scalar(name));
            }
            ProgramOp::Assert { cond, message } => {
                let cond = self.scalar(*cond);
                self.check(
                    op,
                    &format!("!{cond}"),
                    format!("assertion failed: {}", message.0),
                    None,
                );
            }
        }
        Ok(())
    }

    /// The program's position, from its number; grouped where products of neighbouring tiles share operands.
    fn position(&self) -> Vec<String> {
        let axes = self.grid_axes();
        let used = |word: &str| {
            let mut found = false;
            self.f.body.for_each_op(&mut |op| match &op.kind {
                OpKind::Program(ProgramOp::Count { axis: 0 }) => found |= word == "count",
                OpKind::Program(ProgramOp::Id { .. }) => found |= word == "id",
                OpKind::Matrix(_) => found |= word == "product",
                _ => {}
            });
            found
        };
        let mut lines = vec!["let program = _block_idx_x() as u32;".to_string()];
        let grouped = axes == 2 && used("product") && used("id");
        if grouped || used("count") {
            let inner: Vec<String> = (1..axes).map(|a| format!("grid{a}")).collect();
            if inner.is_empty() {
                lines.push("let grid0 = _grid_dim_x() as u32;".into());
            } else {
                lines.push(format!("core::hint::assert_unchecked({} != 0);", inner.join(" * ")));
                lines.push(format!("let grid0 = _grid_dim_x() as u32 / ({});", inner.join(" * ")));
            }
        }
        if grouped {
            lines.extend(GROUPED.iter().map(|s| s.to_string()));
        } else if used("id") {
            lines.push("let rest = program;".into());
            for a in (1..axes).rev() {
                lines.push(format!("core::hint::assert_unchecked(grid{a} != 0);"));
                lines.push(format!(
                    "let (rest, program{a}) = (rest / grid{a}, (rest % grid{a}) as i32);"
                ));
            }
            lines.push("let program0 = rest as i32;".into());
        }
        lines
    }

    /// The file.
    pub(super) fn file(mut self) -> Result<Generated, CompileError> {
        let entry = self.entry_name();
        let slots = self.slots();
        let shared = self.shared_memory()?;
        let mut out = super::text::Text::default();
        for line in HEADER {
            out.line(line);
        }
        self.shared_declarations(&mut out, &entry);
        for n in &self.fragments {
            let registers: Vec<String> = (0..*n).map(|i| format!("r{i}")).collect();
            out.line(format!(
                "simt::fragment::fragment!(Fragment{n} {{ {} }});",
                registers.join(" ")
            ));
        }
        out.line("");
        self.describe_layouts(&mut out);
        out.line("#[unsafe(no_mangle)]");
        out.open(format!("pub unsafe extern \"ptx-kernel\" fn {entry}("));
        for (_, name, ty) in &slots {
            out.line(format!("{name}: {ty},"));
        }
        out.close(") {");
        let mut top = super::text::Text::at_depth(1);
        top.line("let thread = _thread_idx_x() as u32;");
        top.line(format!("core::hint::assert_unchecked(thread < {});", self.mapping.threads()));
        let dependent = self.is_dependent();
        if dependent {
            top.line(
                "// in a chain of launches: after the one before, and the next one may come near",
            );
            top.line("simt::intrinsics::wait_for_dependencies();");
            top.line("simt::intrinsics::launch_dependents();");
        }
        for line in self.position() {
            top.line(line);
        }
        if shared > 0 {
            top.line("let smem = shared_base();");
        }
        out.append(top);
        out.append(std::mem::take(&mut self.head));
        out.line("");
        out.append(std::mem::take(&mut self.body));
        out.line("}");
        simt_modules(&mut out);
        let (text, origins) = out.finish();
        let mut plan = EntryPlan::new(entry.clone(), self.mapping.threads());
        plan.min_blocks = self.blocks_together(shared);
        let abi = KernelAbi {
            entry,
            slots: slots.into_iter().map(|(slot, ..)| slot).collect(),
            tensor_maps: Vec::new(),
            launch: LaunchConfig {
                threads: self.mapping.threads(),
                static_shared: 0,
                dynamic_shared: shared,
                cluster: 1,
                blocks: Blocks::PerTile,
                pdl: dependent,
            },
            fault_sites: self.faults.sites,
        };
        Ok(Generated { text, origins, plan, abi })
    }

    /// Whether the kernel takes part in programmatic dependent launches, which compute capability 9.0 brought.
    fn is_dependent(&self) -> bool {
        self.settings.arch.major >= 9
    }

    /// Blocks that should fit one multiprocessor at once, so that some compute while others wait: two for products whose
    /// accumulators leave registers for it, enough to keep memory busy for everything else that is small. Where that would
    /// spill, the pipeline asks for one.
    fn blocks_together(&self, shared: u32) -> u32 {
        let threads = self.mapping.threads();
        let (mut products, mut accumulators, mut largest) = (false, 0, 0);
        self.f.body.for_each_op(&mut |op| {
            for r in op.results.iter().filter(|r| self.f.ty(**r).as_tile().is_some()) {
                let registers = self.mapping.get(self.layout(*r)).register_count();
                largest = largest.max(registers);
                if let OpKind::Matrix(_) = &op.kind {
                    products = true;
                    if matches!(self.mapping.product(*r), Product::Warp(_)) {
                        accumulators = accumulators.max(registers);
                    }
                }
            }
        });
        let wanted = match products {
            true if (1..=64).contains(&accumulators) && threads <= 256 => 2,
            // 40 registers a thread: a tile of 16, and as many more.
            false if largest <= 16 => (BUSY_THREADS / threads).min(most_blocks(self.settings.arch)),
            _ => 1,
        };
        let fits = super::scratch::shared_memory_limit(self.settings.arch) / shared.max(1);
        let ahead = self.settings.facts == FactsClass::Aligned;
        if ahead { wanted.min(fits).max(1) } else { 1 }
    }

    /// A comment for each layout in use.
    fn describe_layouts(&self, out: &mut super::text::Text) {
        let mut used: Vec<_> = self.coordinates.keys().collect();
        used.sort();
        for id in used {
            let l = self.mapping.get(*id);
            out.line(format!(
                "// layout {}: {:?} over {} threads, {} registers each",
                id.0,
                l.shape(),
                l.thread_count(),
                l.register_count()
            ));
        }
    }

    /// A view's parameter and tile.
    pub(super) fn view(&self, v: cutile_ir::Value) -> View {
        match self.binding(v) {
            Binding::View(view) => view.clone(),
            other => unreachable!("verified IR: a view, not {other:?}"),
        }
    }
}

/// Rows in groups of eight, so that the blocks in flight share columns of one operand and rows of the other in the cache.
const GROUPED: [&str; 9] = [
    "// programs in groups of 8 rows: neighbours share operands in the L2 cache",
    "core::hint::assert_unchecked(grid0 != 0 && grid1 != 0 && grid1 < 1 << 28);",
    "let first = program / (8 * grid1) * 8;",
    "let rows = (grid0 - first).min(8);",
    "core::hint::assert_unchecked(rows != 0);",
    "let rest = program - first * grid1;",
    "let program0 = (first + rest % rows) as i32;",
    "let program1 = (rest / rows) as i32;",
    "let program = program0 as u32 * grid1 + program1 as u32;",
];

const HEADER: [&str; 14] = [
    "#![no_std]",
    "#![feature(abi_ptx, asm_experimental_arch, stdarch_nvptx, link_llvm_intrinsics)]",
    "#![allow(internal_features, unsafe_op_in_unsafe_fn, unused)]",
    "",
    "use core::arch::nvptx::*;",
    "use simt::{convert::Convert, float::*, integer::Int, math::Float};",
    "use simt::{copy, fault, global, math, matrix, reduce, shared, warp};",
    "",
    "#[panic_handler]",
    "fn on_panic(_: &core::panic::PanicInfo) -> ! {",
    "    unsafe { trap() }",
    "}",
    "",
    "",
];

/// The text of cutile-simt, without its tests.
fn simt_modules(out: &mut super::text::Text) {
    out.line("");
    out.open("mod simt {");
    for (name, text) in cutile_simt::SOURCES {
        out.open(format!("pub mod {name} {{"));
        let text = text.split("\n#[cfg(test)]").next().unwrap_or(text);
        text.lines().for_each(|line| out.line(line));
        out.close("}");
    }
    out.close("}");
}

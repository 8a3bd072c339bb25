//! The block's shared memory: what is reserved for one purpose, and two scratch regions in turn, so that a use needs one
//! barrier, between its writes and its reads, and none before the next use.

use super::Emitter;
use super::text::Text;
use crate::error::CompileError;

/// Every region starts at a multiple of this.
const ALIGNMENT: u32 = 128;

#[derive(Clone, Default, Debug)]
pub(super) struct Scratch {
    sizes: [u32; 2],
    /// Some thread may still be reading.
    read: [bool; 2],
    next: usize,
    reserved: Vec<(String, u32)>,
    /// Reserved regions whose purpose is fulfilled.
    idle: Vec<(String, u32)>,
}

/// A scratch region that is being used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region(usize);

impl Scratch {
    /// What may still be read, and which region is next.
    pub(super) fn state(&self) -> ([bool; 2], usize) {
        (self.read, self.next)
    }

    /// Back to an earlier state: the other arm of a branch.
    pub(super) fn restore(&mut self, (read, next): ([bool; 2], usize)) {
        (self.read, self.next) = (read, next);
    }
}

impl Emitter<'_> {
    /// A barrier of the whole block.
    pub(super) fn barrier(&mut self) {
        self.body.line("warp::barrier();");
        self.scratch.read = [false; 2];
        self.hazards.clear();
    }

    /// A region to write to, and its address as an expression.
    pub(super) fn scratch(&mut self, bytes: u32) -> (Region, String) {
        let i = self.scratch.next;
        self.scratch.next = 1 - i;
        if self.scratch.read[i] {
            self.barrier();
        }
        self.scratch.sizes[i] = self.scratch.sizes[i].max(bytes);
        (Region(i), format!("smem + SCRATCH{i}"))
    }

    /// The region has been read, by this thread at least.
    pub(super) fn scratch_read(&mut self, region: Region) {
        self.scratch.read[region.0] = true;
    }

    /// At the start or end of a block that may run more than once or not at all.
    pub(super) fn scratch_unknown(&mut self) {
        self.scratch.read = [true; 2];
    }

    /// Memory for one purpose: a constant's name.
    pub(super) fn reserve(&mut self, purpose: &str, bytes: u32) -> String {
        let name = format!("{purpose}{}", self.scratch.reserved.len());
        self.scratch.reserved.push((name.clone(), bytes));
        name
    }

    fn regions(&self) -> Vec<(String, u32)> {
        let scratch =
            self.scratch.sizes.iter().enumerate().map(|(i, n)| (format!("SCRATCH{i}"), *n));
        self.scratch.reserved.iter().cloned().chain(scratch).filter(|(_, n)| *n > 0).collect()
    }

    /// What was reserved may serve others from here on. Some thread may still be reading it.
    pub(super) fn release(&mut self, name: &str, bytes: u32) {
        self.scratch.idle.push((name.to_string(), bytes));
    }

    /// A region for a large tile, and its address: an idle one if there is one. Follows [`has_room`](Self::has_room).
    pub(super) fn large_scratch(&mut self, bytes: u32) -> (Option<Region>, String) {
        let idle = self.scratch.idle.iter().find(|(_, n)| *n >= bytes);
        match idle.map(|(name, _)| format!("smem + {name}")) {
            Some(address) => {
                self.barrier();
                (None, address)
            }
            None => {
                let (region, address) = self.scratch(bytes);
                (Some(region), address)
            }
        }
    }

    /// Whether a large tile has room that others do not need.
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        if self.scratch.idle.iter().any(|(_, n)| *n >= bytes) {
            return true;
        }
        let taken: u32 = self.regions().iter().map(|(_, n)| n.next_multiple_of(ALIGNMENT)).sum();
        taken + bytes <= shared_memory_limit(self.settings.arch) / 4 * 3
    }

    /// Bytes of shared memory in all.
    pub(super) fn shared_memory(&self) -> Result<u32, CompileError> {
        let needed = self.regions().iter().map(|(_, n)| n.next_multiple_of(ALIGNMENT)).sum();
        let available = shared_memory_limit(self.settings.arch);
        if needed > available {
            let kernel = self.f.name.clone();
            return Err(CompileError::SharedMemory { kernel, needed, available });
        }
        Ok(needed)
    }

    /// The declarations that the code refers to.
    pub(super) fn shared_declarations(&self, out: &mut Text, entry: &str) {
        let mut offset = 0;
        for (name, bytes) in self.regions() {
            out.line(format!("const {name}: u32 = {offset};"));
            offset += bytes.next_multiple_of(ALIGNMENT);
        }
        if offset == 0 {
            return;
        }
        out.line(format!(
            "core::arch::global_asm!(\".extern .shared .align {ALIGNMENT} .b8 {entry}_shared[];\");"
        ));
        out.line("");
        out.line("/// The block's shared memory.");
        out.line("#[inline(always)]");
        out.open("fn shared_base() -> u32 {");
        out.line("let address;");
        out.line(format!(
            "unsafe {{ core::arch::asm!(\"mov.u32 {{0}}, {entry}_shared;\", lateout(reg32) address, options(pure, nomem, nostack)) }}"
        ));
        out.line("address");
        out.close("}");
        out.line("");
    }
}

/// Shared memory that one block can have, in bytes.
pub(super) fn shared_memory_limit(arch: cutile_bundle::target::Arch) -> u32 {
    match (arch.major, arch.minor) {
        (9..=11, _) => 227 * 1024,
        (8, 0 | 7) => 163 * 1024,
        (8, _) | (12, _) => 99 * 1024,
        _ => 64 * 1024,
    }
}

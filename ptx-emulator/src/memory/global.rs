//! Global memory: allocations of 64-bit atomic words with a bit per byte that says whether it was ever written.
//!
//! Words are atomic because blocks run on several threads and a racy program must not be undefined behaviour of ours.
//! Addresses are never used twice, so an access to freed memory is recognised for ever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use super::address::GLOBAL_START;

/// Distance kept free after every allocation, so that running over its end meets nothing.
const GUARD: u64 = 4096;
/// Bytes that host copies move at a time.
const COPY_CHUNK: usize = 4096;

/// Misuse of global memory by the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The bytes do not lie in one live allocation.
    #[error("{bytes} bytes at {address:#x} do not lie inside a live allocation: {found}")]
    OutOfBounds {
        /// First address.
        address: u64,
        /// Number of bytes.
        bytes: u64,
        /// What is there instead.
        found: String,
    },
    /// The address is not the start of a live allocation.
    #[error("{address:#x} is not the start of a live allocation, so it can't be freed: {found}")]
    NotAllocated {
        /// The address given.
        address: u64,
        /// What is there instead.
        found: String,
    },
    /// The host has not that much memory.
    #[error("can't allocate {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// An initial value of a module's variable names a symbol that has no address.
    #[error("the initial value of `{variable}` names `{symbol}`, which has no address")]
    UnknownSymbol {
        /// The variable.
        variable: String,
        /// The symbol named.
        symbol: String,
    },
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    words: Box<[AtomicU64]>,
    /// A bit per byte: set once the byte has been written.
    written: Box<[AtomicU64]>,
    freed: AtomicBool,
    /// Constant memory: kernels may not write it.
    pub(crate) constant: bool,
}

fn words(count: u64) -> Option<Box<[AtomicU64]>> {
    let count = usize::try_from(count).ok()?;
    let mut out = Vec::new();
    out.try_reserve_exact(count).ok()?;
    out.resize_with(count, || AtomicU64::new(0));
    Some(out.into_boxed_slice())
}

impl Allocation {
    fn new(base: u64, bytes: u64, constant: bool) -> Option<Self> {
        let words_count = bytes.div_ceil(8);
        Some(Self {
            base,
            bytes,
            words: words(words_count)?,
            written: words(words_count.div_ceil(8))?,
            freed: AtomicBool::new(false),
            constant,
        })
    }

    /// Whether `bytes` at `address` lie inside.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        offset < self.bytes && bytes <= self.bytes - offset
    }

    pub(crate) fn freed(&self) -> bool {
        self.freed.load(Relaxed)
    }

    /// Reads a value of at most 8 bytes at a naturally aligned offset inside the allocation.
    #[inline(always)]
    pub(crate) fn load(&self, offset: u64, bytes: u32) -> u64 {
        let word = self.words[(offset / 8) as usize].load(Relaxed);
        if bytes == 8 { word } else { word >> (offset % 8 * 8) & (u64::MAX >> (64 - bytes * 8)) }
    }

    /// Writes a value of at most 8 bytes at a naturally aligned offset inside the allocation.
    #[inline(always)]
    pub(crate) fn store(&self, offset: u64, bytes: u32, value: u64) {
        let word = &self.words[(offset / 8) as usize];
        if bytes == 8 {
            word.store(value, Relaxed);
        } else {
            self.update(offset, bytes, |_| value);
        }
        self.mark_written(offset, bytes);
    }

    /// Replaces a value of at most 8 bytes by a function of it, atomically; gives the old value.
    pub(crate) fn update(&self, offset: u64, bytes: u32, f: impl Fn(u64) -> u64) -> u64 {
        let word = &self.words[(offset / 8) as usize];
        let shift = offset % 8 * 8;
        let mask = u64::MAX >> (64 - bytes * 8);
        let mut old = word.load(Relaxed);
        loop {
            let value = old >> shift & mask;
            let new = (old & !(mask << shift)) | ((f(value) & mask) << shift);
            match word.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return value,
                Err(found) => old = found,
            }
        }
    }

    #[inline(always)]
    pub(crate) fn mark_written(&self, offset: u64, bytes: u32) {
        let bits = (u64::MAX >> (64 - bytes)) << (offset % 64);
        let word = &self.written[(offset / 64) as usize];
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    }

    /// Marks a byte as never written.
    fn forget(&self, offset: u64) {
        self.written[(offset / 64) as usize].fetch_and(!(1 << (offset % 64)), Relaxed);
    }

    /// Whether all of at most 8 bytes at a naturally aligned offset have been written.
    #[inline(always)]
    pub(crate) fn is_written(&self, offset: u64, bytes: u32) -> bool {
        let bits = (u64::MAX >> (64 - bytes)) << (offset % 64);
        self.written[(offset / 64) as usize].load(Relaxed) & bits == bits
    }

    /// Copies out any bytes inside the allocation.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        let mut at = offset;
        let mut rest = out;
        while !rest.is_empty() {
            let skip = (at % 8) as usize;
            let take = rest.len().min(8 - skip);
            let bytes = self.words[(at / 8) as usize].load(Relaxed).to_le_bytes();
            let (now, later) = rest.split_at_mut(take);
            now.copy_from_slice(&bytes[skip..skip + take]);
            at += take as u64;
            rest = later;
        }
    }

    /// Copies in any bytes inside the allocation.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let skip = (at % 8) as usize;
            let take = rest.len().min(8 - skip);
            let mut value = [0; 8];
            value[..take].copy_from_slice(&rest[..take]);
            let value = u64::from_le_bytes(value);
            let word = &self.words[(at / 8) as usize];
            if take == 8 {
                word.store(value, Relaxed);
            } else {
                let mask = (u64::MAX >> (64 - 8 * take)) << (8 * skip);
                let new = |old: u64| Some((old & !mask) | (value << (8 * skip)));
                // The closure always gives a value, so the update can't fail.
                let _ = word.fetch_update(Relaxed, Relaxed, new);
            }
            self.mark_written(at, take as u32);
            at += take as u64;
            rest = &rest[take..];
        }
    }
}

#[derive(Debug)]
struct Table {
    live: BTreeMap<u64, Arc<Allocation>>,
    /// Freed ranges: base and bytes.
    freed: BTreeMap<u64, u64>,
    next: u64,
    version: u64,
}

/// A device's global memory. Shared by all programs of the device; every method may be called from any thread.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Table>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// Memory without allocations.
    pub fn new() -> Self {
        let table =
            Table { live: BTreeMap::new(), freed: BTreeMap::new(), next: GLOBAL_START, version: 0 };
        Self { table: RwLock::new(table) }
    }

    /// Allocates `bytes` (0 allowed: an address that nothing may access) aligned to 256; contents count as uninitialised.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`] if the host has not enough.
    pub fn alloc(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.alloc_kind(bytes, 256, false)
    }

    pub(crate) fn alloc_kind(
        &self,
        bytes: u64,
        align: u32,
        constant: bool,
    ) -> Result<u64, MemoryError> {
        let out_of_memory = MemoryError::OutOfMemory { bytes };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let base = table.next.next_multiple_of(u64::from(align.max(256)));
        let Some(end) = base.checked_add(bytes).and_then(|end| end.checked_add(GUARD)) else {
            return Err(out_of_memory);
        };
        let allocation = Allocation::new(base, bytes, constant).ok_or(out_of_memory)?;
        table.next = end;
        table.version += 1;
        table.live.insert(base, Arc::new(allocation));
        Ok(base)
    }

    /// Frees an allocation. Later accesses to it are reported as uses after free.
    ///
    /// # Errors
    ///
    /// [`MemoryError::NotAllocated`] if `address` is not what [`Memory::alloc`] gave, or was freed.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match table.live.remove(&address) {
            Some(allocation) => {
                allocation.freed.store(true, Relaxed);
                table.version += 1;
                table.freed.insert(address, allocation.bytes);
                Ok(())
            }
            None => {
                drop(table);
                Err(MemoryError::NotAllocated { address, found: self.describe(address) })
            }
        }
    }

    fn find(&self, address: u64, bytes: u64) -> Result<Arc<Allocation>, MemoryError> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let found = table.live.range(..=address).next_back().map(|(_, a)| a.clone());
        drop(table);
        let end_ok = |a: &Arc<Allocation>| {
            a.contains(address, bytes) || (bytes == 0 && address - a.base <= a.bytes)
        };
        found.filter(end_ok).ok_or_else(|| MemoryError::OutOfBounds {
            address,
            bytes,
            found: self.describe(address),
        })
    }

    /// Copies host bytes to `address`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfBounds`] if they do not lie in one live allocation.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let allocation = self.find(address, bytes.len() as u64)?;
        allocation.write(address - allocation.base, bytes);
        Ok(())
    }

    /// Copies bytes at `address` to the host; what was never written reads as zero.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfBounds`] if they do not lie in one live allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let allocation = self.find(address, out.len() as u64)?;
        allocation.read(address - allocation.base, out);
        Ok(())
    }

    /// Sets `bytes` bytes at `address` to `value`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfBounds`] if they do not lie in one live allocation.
    pub fn fill(&self, address: u64, value: u8, bytes: u64) -> Result<(), MemoryError> {
        let allocation = self.find(address, bytes)?;
        let chunk = [value; 4096];
        let mut at = 0;
        while at < bytes {
            let take = (bytes - at).min(4096);
            allocation.write(address - allocation.base + at, &chunk[..take as usize]);
            at += take;
        }
        Ok(())
    }

    /// Copies `bytes` bytes from one place to another; the ranges may overlap only if the destination is not after the
    /// source. Bytes that were never written stay so.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfBounds`] if either range does not lie in one live allocation.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        let source = self.find(from, bytes)?;
        let target = self.find(to, bytes)?;
        let mut chunk = [0; COPY_CHUNK];
        let mut at = 0;
        while at < bytes {
            let take = (bytes - at).min(COPY_CHUNK as u64);
            let (offset, target_offset) = (from - source.base + at, to - target.base + at);
            let chunk = &mut chunk[..take as usize];
            source.read(offset, chunk);
            target.write(target_offset, chunk);
            for byte in 0..take {
                if !source.is_written(offset + byte, 1) {
                    target.forget(target_offset + byte);
                }
            }
            at += take;
        }
        Ok(())
    }

    /// Says what lies at or near an address, for messages.
    pub fn describe(&self, address: u64) -> String {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((base, bytes)) = table.freed.range(..=address).next_back()
            && address - base < *bytes
        {
            return format!(
                "{} bytes into an allocation of {bytes} bytes that was freed",
                address - base
            );
        }
        match table.live.range(..=address).next_back() {
            Some((base, a)) if address - base < a.bytes => {
                format!(
                    "{} bytes into an allocation of {} bytes at {base:#x}",
                    address - base,
                    a.bytes
                )
            }
            Some((base, a)) if address - base < a.bytes + GUARD => {
                let past = address - base - a.bytes;
                format!(
                    "{past} bytes past the end of an allocation of {} bytes at {base:#x}",
                    a.bytes
                )
            }
            _ => "no allocation is near".to_owned(),
        }
    }

    /// Whether an address lies in freed memory.
    pub(crate) fn was_freed(&self, address: u64) -> bool {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table
            .freed
            .range(..=address)
            .next_back()
            .is_some_and(|(base, bytes)| address - base < *bytes)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot { allocations: table.live.values().cloned().collect(), version: table.version }
    }

    pub(crate) fn version(&self) -> u64 {
        self.table.read().unwrap_or_else(PoisonError::into_inner).version
    }
}

/// The allocations at a moment, in order of address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) allocations: Vec<Arc<Allocation>>,
    pub(crate) version: u64,
}

impl Snapshot {
    /// The number of the allocation that holds the bytes.
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<usize> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let at = after.checked_sub(1)?;
        self.allocations[at].contains(address, bytes).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_any_offset() {
        let memory = Memory::new();
        let a = memory.alloc(100).unwrap();
        let data: Vec<u8> = (0..61).collect();
        memory.write(a + 3, &data).unwrap();
        let mut out = vec![0; 61];
        memory.read(a + 3, &mut out).unwrap();
        assert_eq!(out, data);
        let b = memory.alloc(61).unwrap();
        memory.copy(b, a + 3, 61).unwrap();
        memory.read(b, &mut out).unwrap();
        assert_eq!(out, data);
        memory.copy(b, a, 8).unwrap();
        let copied = memory.snapshot();
        let written: Vec<bool> = (0..8).map(|i| copied.allocations[1].is_written(i, 1)).collect();
        assert_eq!(written, [false, false, false, true, true, true, true, true]);
    }

    #[test]
    fn misuse_is_named() {
        let memory = Memory::new();
        let a = memory.alloc(16).unwrap();
        assert!(matches!(memory.write(a + 12, &[0; 8]), Err(MemoryError::OutOfBounds { .. })));
        assert!(matches!(memory.free(a + 1), Err(MemoryError::NotAllocated { .. })));
        memory.free(a).unwrap();
        assert!(memory.read(a, &mut [0]).unwrap_err().to_string().contains("freed"));
        assert!(memory.free(a).is_err());
        assert!(memory.was_freed(a + 15) && !memory.was_freed(a + 16));
    }

    #[test]
    fn written_bytes_are_remembered() {
        let memory = Memory::new();
        let a = memory.alloc(256).unwrap();
        memory.write(a + 62, &[1; 4]).unwrap();
        let snapshot = memory.snapshot();
        let allocation = &snapshot.allocations[0];
        assert!(allocation.is_written(62, 2) && allocation.is_written(64, 2));
        assert!(!allocation.is_written(60, 4) && !allocation.is_written(64, 4));
        allocation.store(72, 8, u64::MAX);
        assert!(allocation.is_written(72, 8));
        assert_eq!(allocation.load(76, 2), 0xffff);
    }
}

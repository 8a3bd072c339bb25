//! One block's shared memory.

/// Bytes, and a bit per byte that says whether it was written.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
    written: Vec<u64>,
}

impl Shared {
    pub(crate) fn new(bytes: u32) -> Self {
        Self { bytes: vec![0; bytes as usize], written: vec![0; (bytes as usize).div_ceil(64)] }
    }

    /// Number of bytes, from address 0.
    pub(crate) fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Reads at most 8 bytes that lie inside.
    #[inline(always)]
    pub(crate) fn load(&self, at: u32, bytes: u32) -> u64 {
        let mut out = [0; 8];
        let (at, bytes) = (at as usize, bytes as usize);
        match bytes {
            4 => out[..4].copy_from_slice(&self.bytes[at..at + 4]),
            8 => out.copy_from_slice(&self.bytes[at..at + 8]),
            _ => out[..bytes].copy_from_slice(&self.bytes[at..at + bytes]),
        }
        u64::from_le_bytes(out)
    }

    /// Writes at most 8 bytes that lie inside.
    #[inline(always)]
    pub(crate) fn store(&mut self, at: u32, bytes: u32, value: u64) {
        let (start, count) = (at as usize, bytes as usize);
        self.bytes[start..start + count].copy_from_slice(&value.to_le_bytes()[..count]);
        self.mark_written(at, bytes);
    }

    /// Copies in any number of bytes that lie inside.
    pub(crate) fn write(&mut self, at: u32, bytes: &[u8]) {
        self.bytes[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        for i in 0..bytes.len() as u32 {
            self.mark_written(at + i, 1);
        }
    }

    /// The bytes from `at` on.
    pub(crate) fn read(&self, at: u32, count: u32) -> &[u8] {
        &self.bytes[at as usize..(at + count) as usize]
    }

    #[inline(always)]
    fn mark_written(&mut self, at: u32, bytes: u32) {
        for byte in at..at + bytes {
            self.written[byte as usize / 64] |= 1 << (byte % 64);
        }
    }

    /// Whether all of at most 8 bytes were written.
    #[inline(always)]
    pub(crate) fn is_written(&self, at: u32, bytes: u32) -> bool {
        let shift = at % 64;
        let want = u64::MAX >> (64 - bytes);
        let low = self.written[at as usize / 64] >> shift;
        let have = if shift + bytes > 64 {
            low | self.written[at as usize / 64 + 1] << (64 - shift)
        } else {
            low
        };
        have & want == want
    }
}

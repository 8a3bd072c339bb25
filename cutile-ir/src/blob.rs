//! How a kernel's IR travels inside a compiled program: bytes that the macros build in const
//! evaluation, that stand in the link section [`SECTION`], and that `link` reads back.
//!
//! A *unit* is one entry or helper with everything it needs. All numbers are little-endian.
//!
//! | field | bytes |
//! | --- | --- |
//! | [`MAGIC`] | 8 |
//! | length of the whole unit | u32 |
//! | name, full path (`my_crate::kernels::saxpy`) | u32 + bytes |
//! | text form of the module | u32 + bytes |
//! | declared specialisations, one a line | u32 + bytes |
//! | values of the module's externs | u32 + i64 each |
//! | units of the module's imports, in order | u32 + units |

/// The link section that holds the units of a program's entries.
pub const SECTION: &str = "cutile_kernels";

/// The start of a unit; the last byte is the format's version.
pub const MAGIC: [u8; 8] = *b"cutileK\x01";

/// The bytes of a unit.
#[derive(Clone, Copy, Debug)]
pub struct UnitParts<'a> {
    /// Full path of the function.
    pub name: &'a str,
    /// Text form of its module.
    pub text: &'a str,
    /// Declared specialisations, one a line.
    pub specialisations: &'a str,
    /// Values of the module's externs.
    pub externs: &'a [i64],
    /// Units of the module's imports.
    pub imports: &'a [&'a [u8]],
}

impl UnitParts<'_> {
    /// The unit's length in bytes.
    pub const fn size(&self) -> usize {
        let mut n = MAGIC.len() + 4 * 6;
        n += self.name.len() + self.text.len() + self.specialisations.len();
        n += 8 * self.externs.len();
        let mut i = 0;
        while i < self.imports.len() {
            n += self.imports[i].len();
            i += 1;
        }
        n
    }

    /// The unit's bytes.
    ///
    /// # Panics
    /// When `N` is not [`size`](UnitParts::size): at compile time, since this runs in const evaluation.
    pub const fn bytes<const N: usize>(&self) -> [u8; N] {
        assert!(N == self.size());
        let mut out = Writer { bytes: [0; N], at: 0 };
        out.put(&MAGIC);
        out.number(N);
        out.chunk(self.name.as_bytes());
        out.chunk(self.text.as_bytes());
        out.chunk(self.specialisations.as_bytes());
        out.number(self.externs.len());
        let mut i = 0;
        while i < self.externs.len() {
            out.put(&self.externs[i].to_le_bytes());
            i += 1;
        }
        out.number(self.imports.len());
        let mut i = 0;
        while i < self.imports.len() {
            out.put(self.imports[i]);
            i += 1;
        }
        out.bytes
    }
}

struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    const fn put(&mut self, bytes: &[u8]) {
        let mut i = 0;
        while i < bytes.len() {
            self.bytes[self.at + i] = bytes[i];
            i += 1;
        }
        self.at += bytes.len();
    }

    const fn number(&mut self, n: usize) {
        assert!(n <= u32::MAX as usize);
        self.put(&(n as u32).to_le_bytes());
    }

    const fn chunk(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.put(bytes);
    }
}

/// A unit, read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// Full path of the function.
    pub name: &'a str,
    /// Text form of its module.
    pub text: &'a str,
    /// Declared specialisations, one a line.
    pub specialisations: &'a str,
    /// Values of the module's externs.
    pub externs: Vec<i64>,
    /// Units of the module's imports.
    pub imports: Vec<Unit<'a>>,
}

/// Bytes that are not a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says it")]
pub enum BlobError {
    #[error("the kernel data at byte {at} ends too early: the program file is damaged")]
    Truncated { at: usize },
    #[error(
        "the kernel data at byte {at} is of another format: the program was built with another \
         version of cutile; rebuild it"
    )]
    Foreign { at: usize },
    #[error("the kernel data at byte {at} is not text: the program file is damaged")]
    NotText { at: usize },
}

impl<'a> Unit<'a> {
    /// Reads the unit that starts the bytes; also gives its length.
    pub fn read(bytes: &'a [u8]) -> Result<(Unit<'a>, usize), BlobError> {
        let mut r = Reader { bytes, at: 0 };
        let unit = r.unit(0)?;
        Ok((unit, r.at))
    }

    /// Reads every unit of a link section; zero bytes between them are padding.
    pub fn read_section(bytes: &'a [u8]) -> Result<Vec<Unit<'a>>, BlobError> {
        let mut r = Reader { bytes, at: 0 };
        let mut units = Vec::new();
        while r.at < bytes.len() {
            if bytes[r.at] == 0 {
                r.at += 1;
            } else {
                units.push(r.unit(0)?);
            }
        }
        Ok(units)
    }
}

/// Deeper than any chain of helpers that Rust itself would accept; guards against damaged files.
const MAX_IMPORT_DEPTH: u32 = 64;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], BlobError> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(BlobError::Truncated { at: self.at })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize, BlobError> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    fn text(&mut self) -> Result<&'a str, BlobError> {
        let n = self.number()?;
        let at = self.at;
        std::str::from_utf8(self.take(n)?).map_err(|_| BlobError::NotText { at })
    }

    fn unit(&mut self, depth: u32) -> Result<Unit<'a>, BlobError> {
        let start = self.at;
        if self.take(MAGIC.len())? != MAGIC || depth > MAX_IMPORT_DEPTH {
            return Err(BlobError::Foreign { at: start });
        }
        let length = self.number()?;
        let (name, text, specialisations) = (self.text()?, self.text()?, self.text()?);
        let externs = self.number()?;
        let externs = self
            .take(externs.saturating_mul(8))?
            .chunks_exact(8)
            .map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect();
        let imports = self.number()?;
        let imports = (0..imports).map(|_| self.unit(depth + 1)).collect::<Result<_, _>>()?;
        if self.at - start != length {
            return Err(BlobError::Truncated { at: start });
        }
        Ok(Unit { name, text, specialisations, externs, imports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELPER: UnitParts<'_> = UnitParts {
        name: "k::helper",
        text: "helper @helper() {\n    yield\n}\n",
        specialisations: "",
        externs: &[-7],
        imports: &[],
    };
    const HELPER_BYTES: [u8; HELPER.size()] = HELPER.bytes();
    const ENTRY: UnitParts<'_> = UnitParts {
        name: "k::entry",
        text: "entry @entry() {\n    yield\n}\n",
        specialisations: "S=[64]\nS=[128]",
        externs: &[],
        imports: &[&HELPER_BYTES, &HELPER_BYTES],
    };
    const ENTRY_BYTES: [u8; ENTRY.size()] = ENTRY.bytes();

    #[test]
    fn units_come_back_from_a_padded_section() {
        let mut section = ENTRY_BYTES.to_vec();
        section.extend([0; 5]);
        section.extend(HELPER_BYTES);
        let units = Unit::read_section(&section).unwrap();
        assert_eq!(units.len(), 2);
        assert_eq!(units[0].imports.len(), 2);
        assert_eq!(units[0].imports[1], units[1]);
        assert_eq!(units[1].externs, [-7]);
        assert_eq!(units[0].specialisations.lines().count(), 2);
    }

    #[test]
    fn damage_is_an_error_at_every_length() {
        for n in 1..ENTRY_BYTES.len() {
            assert!(Unit::read(&ENTRY_BYTES[..n]).is_err(), "cut at {n}");
        }
        let mut other = ENTRY_BYTES;
        other[7] = 9;
        assert_eq!(Unit::read(&other), Err(BlobError::Foreign { at: 0 }));
    }
}

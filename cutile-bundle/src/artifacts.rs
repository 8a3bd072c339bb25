//! Reads the kernels out of compiled programs and libraries: the link section that the macros fill, in ELF, Mach-O and COFF
//! files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cutile_ir::blob::{BlobError, SECTION, Unit};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

/// Units of a file, by the full path of their entry. The bytes are the file's; [`Unit::read`] reads them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Units(BTreeMap<String, Vec<u8>>);

/// A file whose kernels cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// It cannot be opened.
    #[error("could not read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It is not a program or library of a known format.
    #[error("{} is not a program that kernels can be read from: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: object::Error,
    },
    /// Its kernel data cannot be read.
    #[error("{}: {source}", path.display())]
    Blob {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: BlobError,
    },
}

impl Units {
    /// Adds the units of a program, a shared library, or a library of objects (`.rlib`, `.a`).
    pub fn add_file(&mut self, path: &Path) -> Result<(), ArtifactError> {
        let bytes =
            fs::read(path).map_err(|source| ArtifactError::Io { path: path.into(), source })?;
        let format = |source| ArtifactError::Format { path: path.into(), source };
        let Ok(archive) = ArchiveFile::parse(&*bytes) else {
            return self.add_object(&object::File::parse(&*bytes).map_err(format)?, path);
        };
        for member in archive.members() {
            let data = member.and_then(|member| member.data(&*bytes)).map_err(format)?;
            // Beside objects a Rust library holds metadata, which has no sections.
            if let Ok(object) = object::File::parse(data) {
                self.add_object(&object, path)?;
            }
        }
        Ok(())
    }

    fn add_object(&mut self, file: &object::File<'_>, path: &Path) -> Result<(), ArtifactError> {
        for section in file.sections().filter(|section| section.name().is_ok_and(is_ours)) {
            let data = section
                .uncompressed_data()
                .map_err(|source| ArtifactError::Format { path: path.into(), source })?;
            self.add_section(&data)
                .map_err(|source| ArtifactError::Blob { path: path.into(), source })?;
        }
        Ok(())
    }

    /// Adds the units in the bytes of a section.
    pub fn add_section(&mut self, data: &[u8]) -> Result<(), BlobError> {
        let mut at = 0;
        while at < data.len() {
            if data[at] == 0 {
                at += 1; // padding between units
                continue;
            }
            let (unit, length) = Unit::read(&data[at..])?;
            let name = unit.name.to_owned();
            self.0.insert(name, data[at..at + length].to_vec());
            at += length;
        }
        Ok(())
    }

    /// The units, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = Unit<'_>> {
        // They were read once on the way in.
        self.0.values().filter_map(|bytes| Some(Unit::read(bytes).ok()?.0))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a section holds units. COFF keeps eight characters of a section's name, Mach-O sixteen.
fn is_ours(name: &str) -> bool {
    !name.is_empty() && (name == SECTION || (name.len() >= 8 && SECTION.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutile_ir::blob::UnitParts;

    const PARTS: UnitParts<'static> = UnitParts {
        name: "cutile_bundle::a",
        text: "entry @a() {\n    yield\n}\n",
        specialisations: "S=[64]",
        externs: &[],
        imports: &[],
    };

    // A unit in this very test program, placed as the macros place it.
    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = "cutile_kernels"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,cutile_kernels"))]
    static UNIT: [u8; PARTS.size()] = PARTS.bytes();

    #[test]
    fn this_program_holds_its_unit() {
        let mut units = Units::default();
        units.add_file(&std::env::current_exe().unwrap()).unwrap();
        let names: Vec<_> = units.iter().map(|unit| unit.name.to_owned()).collect();
        assert_eq!(names, ["cutile_bundle::a"]);
        assert_eq!(units.iter().next().unwrap().specialisations, "S=[64]");
    }

    #[test]
    fn what_is_no_program_is_an_error_that_names_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "text").unwrap();
        let error = Units::default().add_file(file.path()).unwrap_err();
        assert!(matches!(error, ArtifactError::Format { .. }), "{error}");
        let missing = Units::default().add_file(Path::new("no/such/file")).unwrap_err().to_string();
        assert!(missing.contains("no/such/file"), "{missing}");
    }

    #[test]
    fn the_same_entry_counts_once_and_padding_is_skipped() {
        let mut section = UNIT.to_vec();
        section.extend([0; 13]);
        section.extend(UNIT);
        let mut units = Units::default();
        units.add_section(&section).unwrap();
        assert_eq!((units.len(), units.is_empty()), (1, false));
        section.truncate(section.len() - 1);
        assert!(units.add_section(&section).is_err());
    }
}

//! Built kernels with their manifest: in memory, as a folder, and as one file that a program can embed.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::manifest::{FORMAT, KernelRecord, Manifest};

/// Name of the manifest in a folder.
pub const MANIFEST: &str = "manifest.json";

/// The start of a bundle in one file.
pub const MAGIC: [u8; 8] = *b"cutileB\x01";

/// A kernel ready to be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltKernel {
    /// What it is and how it is called.
    pub record: KernelRecord,
    /// Its PTX.
    pub ptx: Cow<'static, str>,
}

/// A set of built kernels. PTX of a folder is read when it is asked for.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    kernels: Vec<Kernel>,
}

#[derive(Clone, Debug)]
struct Kernel {
    record: KernelRecord,
    ptx: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Text(Cow<'static, str>),
    File(PathBuf),
}

/// A bundle that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file operation failed.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The manifest is not a manifest.
    #[error("{place} is not a manifest of built kernels: {source}")]
    Manifest {
        /// The file, or "the embedded bundle".
        place: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Written by another version.
    #[error(
        "{place} was written by cutile {cutile} in format {found}, and this is format {FORMAT}: \
         build the kernels again"
    )]
    Format {
        /// The file, or "the embedded bundle".
        place: String,
        /// The format found.
        found: u32,
        /// The version that wrote it.
        cutile: String,
    },
    /// A bundle in one file that ends early or is something else.
    #[error("the embedded bundle is damaged: {what}; build the kernels again")]
    Damaged {
        /// What is wrong with it.
        what: &'static str,
    },
}

fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BundleError {
    let path = path.to_owned();
    move |source| BundleError::Io { action, path, source }
}

impl Bundle {
    /// A bundle of these kernels.
    pub fn new(kernels: impl IntoIterator<Item = BuiltKernel>) -> Bundle {
        let kernels = kernels
            .into_iter()
            .map(|kernel| Kernel { record: kernel.record, ptx: Source::Text(kernel.ptx) })
            .collect();
        Bundle { kernels }
    }

    /// The kernels' records, in order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = &KernelRecord> {
        self.kernels.iter().map(|kernel| &kernel.record)
    }

    /// The kernel at this place among [`Bundle::records`], with its PTX.
    ///
    /// # Panics
    ///
    /// There is no such place.
    pub fn kernel(&self, index: usize) -> Result<BuiltKernel, BundleError> {
        let Kernel { record, ptx } = &self.kernels[index];
        let ptx = match ptx {
            Source::Text(text) => text.clone(),
            Source::File(path) => fs::read_to_string(path).map_err(on("read", path))?.into(),
        };
        Ok(BuiltKernel { record: record.clone(), ptx })
    }

    /// Reads a folder; `None` if it has no manifest.
    pub fn read_folder(folder: &Path) -> Result<Option<Bundle>, BundleError> {
        let path = folder.join(MANIFEST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(on("read", &path)(error)),
        };
        let manifest = read_manifest(&text, &path.display().to_string())?;
        let kernels = manifest
            .kernels
            .into_iter()
            .map(|record| {
                let path = folder.join(record.file_stem() + ".ptx");
                Kernel { record, ptx: Source::File(path) }
            })
            .collect();
        Ok(Some(Bundle { kernels }))
    }

    /// Writes a folder: first each PTX, then the manifest, each complete or not at all. Other files of ours in the folder, left
    /// by an earlier build, are removed.
    pub fn write_folder(&self, folder: &Path) -> Result<(), BundleError> {
        fs::create_dir_all(folder).map_err(on("create", folder))?;
        let mut manifest = Manifest::default();
        let mut written = Vec::new();
        for index in 0..self.kernels.len() {
            let BuiltKernel { record, ptx } = self.kernel(index)?;
            let name = record.file_stem() + ".ptx";
            replace(&folder.join(&name), ptx.as_bytes())?;
            written.push(name);
            manifest.kernels.push(record);
        }
        replace(&folder.join(MANIFEST), &manifest_text(&manifest))?;
        remove_stale(folder, &written)
    }

    /// Reads a bundle in one file, as [`Bundle::to_bytes`] makes it. No bytes at all are a bundle without kernels.
    pub fn from_bytes(bytes: &'static [u8]) -> Result<Bundle, BundleError> {
        let damaged = |what| BundleError::Damaged { what };
        if bytes.is_empty() {
            return Ok(Bundle::default());
        }
        let rest =
            bytes.strip_prefix(&MAGIC).ok_or(damaged("it does not begin as a bundle does"))?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or(damaged("it ends too early"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok();
        let split = length.and_then(|length| rest.split_at_checked(length));
        let (manifest, mut rest) = split.ok_or(damaged("it ends too early"))?;
        let manifest = read_manifest(manifest, "the embedded bundle")?;
        let mut kernels = Vec::with_capacity(manifest.kernels.len());
        for record in manifest.kernels {
            let length = usize::try_from(record.ptx_bytes).ok();
            let split = length.and_then(|length| rest.split_at_checked(length));
            let (ptx, behind) = split.ok_or(damaged("it ends too early"))?;
            let ptx = std::str::from_utf8(ptx).map_err(|_| damaged("its PTX is not text"))?;
            kernels.push(Kernel { record, ptx: Source::Text(ptx.into()) });
            rest = behind;
        }
        Ok(Bundle { kernels })
    }

    /// The bundle as one file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleError> {
        let mut manifest = Manifest::default();
        let mut texts = Vec::new();
        for index in 0..self.kernels.len() {
            let BuiltKernel { record, ptx } = self.kernel(index)?;
            texts.extend_from_slice(ptx.as_bytes());
            manifest.kernels.push(record);
        }
        let manifest = manifest_text(&manifest);
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&manifest);
        bytes.extend_from_slice(&texts);
        Ok(bytes)
    }
}

fn read_manifest(text: &[u8], place: &str) -> Result<Manifest, BundleError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
        cutile: String,
    }
    let error = |source| BundleError::Manifest { place: place.to_owned(), source };
    // The format first: another one need not have our fields.
    let Head { format, cutile } = serde_json::from_slice(text).map_err(error)?;
    if format != FORMAT {
        return Err(BundleError::Format { place: place.to_owned(), found: format, cutile });
    }
    serde_json::from_slice(text).map_err(error)
}

fn manifest_text(manifest: &Manifest) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(manifest).expect("a manifest has only string keys");
    text.push(b'\n');
    text
}

/// Puts a file in place of another at once, so that a program that reads meanwhile sees one or the other.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), BundleError> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(()); // its time stamp tells builds that nothing changed
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.draft", std::process::id()));
    let draft = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&draft)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&draft, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&draft); // the first error is the one to tell
        on("write", path)(error)
    })
}

/// Removes PTX files that the manifest does not name.
fn remove_stale(folder: &Path, written: &[String]) -> Result<(), BundleError> {
    for entry in fs::read_dir(folder).map_err(on("read", folder))? {
        let path = entry.map_err(on("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".ptx") && !written.iter().any(|kept| *kept == name) {
            fs::remove_file(&path).map_err(on("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::abi::{Blocks, LaunchConfig, Slot};
    use crate::key::{FactsClass, Key};
    use crate::manifest::{Builder, GlobalAccess, Usage};
    use crate::target::{Arch, PtxVersion};

    pub(crate) fn kernel(name: &str, key: u8, arch: &str, rustc: &str) -> BuiltKernel {
        let ptx = format!("// {name} for {arch} by {rustc}\n");
        let abi = crate::abi::KernelAbi {
            entry: name.into(),
            slots: vec![Slot::Pointer { param: 0 }],
            tensor_maps: Vec::new(),
            launch: LaunchConfig {
                threads: 128,
                static_shared: 0,
                dynamic_shared: 0,
                cluster: 1,
                blocks: Blocks::PerTile,
                pdl: false,
            },
            fault_sites: Vec::new(),
        };
        let record = KernelRecord {
            kernel: format!("app::kernels::{name}"),
            specialisation: "S=[64, 64]".into(),
            facts: FactsClass::Aligned,
            key: format!("{key:032x}").parse::<Key>().unwrap(),
            arch: arch.parse::<Arch>().unwrap(),
            ptx_version: PtxVersion::new(8, 0),
            builder: Builder {
                cutile: "0".into(),
                rustc: rustc.into(),
                llvm: "22".into(),
                flags: Vec::new(),
            },
            abi,
            usage: Some(Usage { registers: 32, shared: 0, spills: 0, stack: 0 }),
            access: GlobalAccess { load: 16, store: 16 },
            ptx_bytes: ptx.len() as u64,
        };
        BuiltKernel { record, ptx: ptx.into() }
    }

    fn all(bundle: &Bundle) -> Vec<BuiltKernel> {
        (0..bundle.records().len()).map(|index| bundle.kernel(index).unwrap()).collect()
    }

    #[test]
    fn a_folder_round_trips_and_forgets_what_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Bundle::read_folder(folder.path()).unwrap().is_none());
        let (a, b) = (kernel("a", 1, "sm_80", "r"), kernel("b", 2, "sm_90a", "r"));
        Bundle::new([a.clone(), b.clone()]).write_folder(folder.path()).unwrap();
        let read = Bundle::read_folder(folder.path()).unwrap().unwrap();
        assert_eq!(all(&read), [a.clone(), b]);
        Bundle::new([a.clone()]).write_folder(folder.path()).unwrap();
        assert_eq!(all(&Bundle::read_folder(folder.path()).unwrap().unwrap()), [a]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn one_file_round_trips() {
        let kernels = [kernel("a", 1, "sm_80", "r"), kernel("b", 2, "sm_90a", "r")];
        let bytes = Bundle::new(kernels.clone()).to_bytes().unwrap();
        let bytes: &'static [u8] = bytes.leak();
        let read = Bundle::from_bytes(bytes).unwrap();
        assert_eq!(all(&read), kernels);
        let borrowed = |k: &BuiltKernel| matches!(k.ptx, Cow::Borrowed(_));
        assert!(all(&read).iter().all(borrowed), "the program's own bytes are not copied");
        assert_eq!(Bundle::from_bytes(b"").unwrap().records().len(), 0);
    }

    #[test]
    fn damage_is_an_error_at_every_length() {
        let bytes = Bundle::new([kernel("a", 1, "sm_80", "r")]).to_bytes().unwrap();
        let bytes: &'static [u8] = bytes.leak();
        for length in 1..bytes.len() {
            assert!(Bundle::from_bytes(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn another_format_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MANIFEST);
        fs::write(&path, r#"{"format": 9, "cutile": "3.0.0", "other": []}"#).unwrap();
        let error = Bundle::read_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cutile 3.0.0 in format 9"), "{error}");
        fs::write(&path, "{").unwrap();
        let error = Bundle::read_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not a manifest"), "{error}");
    }

    #[test]
    fn file_names_are_plain() {
        let mut record = kernel("a", 1, "sm_80", "r").record;
        record.kernel = "app::r#mod::é".into();
        assert_eq!(record.file_stem(), "app-r_mod-_.aligned.sm_80.0000000000000000");
    }
}

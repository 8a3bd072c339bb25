//! Where a program finds its built kernels, in order: embedded, `CUTILE_KERNELS`, beside the executable, its target folder, the
//! user's cache. Compiling at run time comes after all of these and is not here.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustc_stable_hash::hashers::{SipHasher128Hash, StableSipHasher128};
use rustc_stable_hash::{FromStableHash, StableHasher};

use crate::bundle::{BuiltKernel, Bundle, BundleError};
use crate::cache::{Cache, CacheError};
use crate::key::Key;
use crate::manifest::{Builder, KernelRecord};
use crate::options::Options;
use crate::target::{Arch, PtxVersion};

/// Name of the folder with built kernels, beside an executable or in cargo's target folder.
pub const FOLDER: &str = "cutile";

/// What a kernel must fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Compute capability: (9, 0).
    pub capability: (u16, u16),
    /// The newest PTX version that the driver knows; `None` if it need not be looked at.
    pub ptx: Option<PtxVersion>,
}

impl Device {
    fn loads(self, record: &KernelRecord) -> bool {
        record.arch.runs_on(self.capability)
            && self.ptx.is_none_or(|newest| record.ptx_version <= newest)
    }
}

/// All built kernels that this program can find.
#[derive(Debug)]
pub struct Library {
    embedded: Vec<Bundle>,
    folders: Vec<Folder>,
    cache: Option<Cache>,
}

/// A folder with a bundle, read at the first lookup that reaches it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    bundle: OnceLock<Result<Option<Bundle>, String>>,
}

impl Folder {
    fn bundle(&self) -> Result<Option<&Bundle>, LookupError> {
        let read = || Bundle::read_folder(&self.path).map_err(|error| error.to_string());
        match self.bundle.get_or_init(read) {
            Ok(bundle) => Ok(bundle.as_ref()),
            Err(message) => Err(LookupError::Folder { message: message.clone() }),
        }
    }
}

/// A place with built kernels that is damaged: it is told, not passed over.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// A folder's manifest cannot be used.
    #[error("{message}")]
    Folder {
        /// What is wrong with it, with its path.
        message: String,
    },
    /// A kernel was found and cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The user's cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Bundles that the program embeds.
static EMBEDDED: Mutex<Vec<&'static [u8]>> = Mutex::new(Vec::new());

/// Makes a bundle in one file known to every later [`Library::of_program`]. `cutile::embed_kernels!()` calls this.
pub fn embed(bytes: &'static [u8]) {
    let mut known = EMBEDDED.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.iter().any(|other| std::ptr::eq(*other, bytes)) {
        known.push(bytes);
    }
}

impl Library {
    /// The kernels of this program.
    ///
    /// # Errors
    ///
    /// An embedded bundle is damaged. Folders are read later, when a lookup reaches them.
    pub fn of_program(options: &Options) -> Result<Library, LookupError> {
        let known = EMBEDDED.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let embedded = known.into_iter().map(Bundle::from_bytes).collect::<Result<_, _>>()?;
        let mut folders = options.kernels.clone();
        folders.extend(std::env::current_exe().iter().flat_map(|program| beside(program)));
        Ok(Library::new(embedded, folders, Cache::of_user(options).ok()))
    }

    /// A library of these places, in this order.
    pub fn new(embedded: Vec<Bundle>, folders: Vec<PathBuf>, cache: Option<Cache>) -> Library {
        let folders =
            folders.into_iter().map(|path| Folder { path, bundle: OnceLock::new() }).collect();
        Library { embedded, folders, cache }
    }

    /// The best kernel with this key for a device: from the first place that has one, the nearest architecture there.
    pub fn find(&self, key: Key, device: Device) -> Result<Option<BuiltKernel>, LookupError> {
        self.first(|record| record.key == key && device.loads(record))
    }

    /// The kernel with this key for exactly this architecture, from the first place that has it.
    pub fn find_exact(&self, key: Key, arch: Arch) -> Result<Option<BuiltKernel>, LookupError> {
        self.first(|record| record.key == key && record.arch == arch)
    }

    /// The kernel of the nearest architecture among those that fit, from the first place that has one.
    fn first(
        &self,
        fits: impl Fn(&KernelRecord) -> bool,
    ) -> Result<Option<BuiltKernel>, LookupError> {
        for bundle in &self.embedded {
            if let Some(index) = best(bundle, &fits) {
                return Ok(Some(bundle.kernel(index)?));
            }
        }
        for folder in &self.folders {
            if let Some(bundle) = folder.bundle()?
                && let Some(index) = best(bundle, &fits)
            {
                return Ok(Some(bundle.kernel(index)?));
            }
        }
        Ok(None)
    }

    /// The kernel that an earlier run compiled for exactly this architecture, by exactly this compiler.
    pub fn find_cached(
        &self,
        key: Key,
        arch: Arch,
        builder: &Builder,
    ) -> Result<Option<BuiltKernel>, LookupError> {
        let name = cache_name(key, arch, builder);
        let Some(folder) = self.cache.as_ref().and_then(|cache| cache.get(&name)) else {
            return Ok(None);
        };
        let Some(bundle) = Bundle::read_folder(&folder)? else { return Ok(None) };
        // The name holds a hash of the compiler; the record says it in full.
        let same = |r: &KernelRecord| r.key == key && r.arch == arch && r.builder == *builder;
        Ok(bundle.records().position(same).map(|index| bundle.kernel(index)).transpose()?)
    }

    /// Keeps a kernel that was compiled at run time. Another process may have done so already: its kernel stays.
    pub fn store(&self, kernel: &BuiltKernel) -> Result<(), LookupError> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let record = &kernel.record;
        let name = cache_name(record.key, record.arch, &record.builder);
        cache.get_or_fill(&name, |draft| {
            Bundle::new([kernel.clone()]).write_folder(draft).map_err(LookupError::from)
        })?;
        Ok(())
    }

    /// What was looked at, and the built kernels of this name there: for the message when none fits.
    pub fn describe(&self, kernel: &str) -> String {
        let mut text = String::new();
        if !self.embedded.is_empty() {
            text += "\n  the embedded kernels";
            text += &variants(self.embedded.iter(), kernel);
        }
        for folder in &self.folders {
            let found = match folder.bundle() {
                Ok(Some(bundle)) => variants([bundle], kernel),
                Ok(None) => " (no kernels there)".to_owned(),
                Err(error) => format!(": {error}"),
            };
            text += &format!("\n  {}{found}", folder.path.display());
        }
        text
    }
}

/// The specialisations of a kernel in some bundles, for a message.
fn variants<'a>(bundles: impl IntoIterator<Item = &'a Bundle>, kernel: &str) -> String {
    let mut found: Vec<String> = bundles
        .into_iter()
        .flat_map(Bundle::records)
        .filter(|record| record.kernel == kernel)
        .map(|record| format!("{} for {}", record.specialisation, record.arch))
        .collect();
    found.sort();
    found.dedup();
    if found.is_empty() { String::new() } else { format!(": has {}", found.join("; ")) }
}

fn best(bundle: &Bundle, fits: impl Fn(&KernelRecord) -> bool) -> Option<usize> {
    let candidates = bundle.records().enumerate().filter(|(_, record)| fits(record));
    candidates.max_by_key(|(_, record)| record.arch).map(|(index, _)| index)
}

/// `cutile/` beside the executable and in each folder above it, up to cargo's target folder: programs are
/// `target/<profile>/<name>`, examples and tests one folder deeper.
fn beside(program: &Path) -> Vec<PathBuf> {
    program.ancestors().skip(1).take(4).map(|folder| folder.join(FOLDER)).collect()
}

fn cache_name(key: Key, arch: Arch, builder: &Builder) -> String {
    struct Short(u64);
    impl FromStableHash for Short {
        type Hash = SipHasher128Hash;
        fn from(SipHasher128Hash([high, _]): SipHasher128Hash) -> Short {
            Short(high)
        }
    }
    let mut hasher: StableSipHasher128 = StableHasher::new();
    std::hash::Hash::hash(builder, &mut hasher);
    let Short(builder) = hasher.finish();
    format!("kernels/{key}/{arch}-{builder:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::tests::kernel;

    const HOPPER: Device = Device { capability: (9, 0), ptx: None };

    fn key(number: u8) -> Key {
        format!("{number:032x}").parse().unwrap()
    }

    fn found(library: &Library, number: u8, device: Device) -> Option<String> {
        let kernel = library.find(key(number), device).unwrap()?;
        Some(format!("{} {}", kernel.record.builder.rustc, kernel.record.arch))
    }

    #[test]
    fn places_are_searched_in_order_and_the_nearest_architecture_wins() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let embedded = Bundle::new([kernel("a", 1, "sm_80", "embedded")]);
        Bundle::new([kernel("a", 1, "sm_90a", "first"), kernel("b", 2, "sm_80", "first")])
            .write_folder(first.path())
            .unwrap();
        Bundle::new([
            kernel("b", 2, "sm_90a", "second"),
            kernel("c", 3, "sm_90", "second"),
            kernel("c", 3, "sm_90a", "second"),
            kernel("c", 3, "sm_100a", "second"),
        ])
        .write_folder(second.path())
        .unwrap();
        let missing = first.path().join("nothing");
        let folders = vec![missing, first.path().into(), second.path().into()];
        let library = Library::new(vec![embedded], folders, None);
        assert_eq!(found(&library, 1, HOPPER).as_deref(), Some("embedded sm_80"));
        assert_eq!(found(&library, 2, HOPPER).as_deref(), Some("first sm_80"));
        assert_eq!(found(&library, 3, HOPPER).as_deref(), Some("second sm_90a"));
        assert_eq!(found(&library, 4, HOPPER), None);
        let ampere = Device { capability: (8, 6), ptx: None };
        assert_eq!(found(&library, 3, ampere), None);
        let exact = |number, arch: &str| {
            let kernel = library.find_exact(key(number), arch.parse().unwrap()).unwrap()?;
            Some(kernel.record.builder.rustc)
        };
        assert_eq!(exact(1, "sm_90a").as_deref(), Some("first"));
        assert_eq!(exact(2, "sm_90a").as_deref(), Some("second"));
        assert_eq!(exact(3, "sm_80"), None);
        let old = Device { ptx: Some(PtxVersion::new(7, 8)), ..HOPPER };
        assert_eq!(found(&library, 3, old), None);
        let text = library.describe("app::kernels::c");
        assert!(text.contains("has S=[64, 64] for sm_100a; S=[64, 64] for sm_90;"), "{text}");
    }

    #[test]
    fn a_damaged_folder_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(crate::bundle::MANIFEST), "[]").unwrap();
        let library = Library::new(Vec::new(), vec![folder.path().into()], None);
        let error = library.find(key(1), HOPPER).unwrap_err().to_string();
        assert!(error.contains("manifest.json is not a manifest"), "{error}");
    }

    #[test]
    fn the_cache_gives_back_only_what_the_same_compiler_made() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(Vec::new(), Vec::new(), Some(Cache::at(folder.path())));
        let made = kernel("a", 1, "sm_90a", "1.96.0");
        let cached = |arch: &str, builder: &Builder| {
            library.find_cached(key(1), arch.parse().unwrap(), builder).unwrap()
        };
        assert_eq!(cached("sm_90a", &made.record.builder), None);
        library.store(&made).unwrap();
        library.store(&made).unwrap();
        assert_eq!(cached("sm_90a", &made.record.builder), Some(made.clone()));
        assert_eq!(cached("sm_80", &made.record.builder), None);
        let newer = Builder { rustc: "1.97.0".into(), ..made.record.builder.clone() };
        assert_eq!(cached("sm_90a", &newer), None);
    }

    #[test]
    fn kernels_are_looked_for_up_to_the_target_folder() {
        let folders = beside(Path::new("/w/target/debug/examples/hello"));
        let expected = [
            "/w/target/debug/examples/cutile",
            "/w/target/debug/cutile",
            "/w/target/cutile",
            "/w/cutile",
        ];
        assert_eq!(folders, expected.map(PathBuf::from));
    }
}

//! Finding the driver and opening it once for the process. The only place that knows file names.

use std::error::Error;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::OnceLock;

use super::error::{CudaVersion, DriverError};
use super::sys::{CUresult, Table};

/// Where the driver's library is looked for: first by the system's own rules, then where systems
/// put it that have others (WSL, NixOS, container runtimes).
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &[
    "libcuda.so.1",
    "libcuda.so",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
];

/// The library behind [`Driver::get`], once it is opened.
static LIBRARY: OnceLock<libloading::Library> = OnceLock::new();

/// The opened driver: a table of functions. Copying it copies a pointer.
#[derive(Clone, Copy)]
pub struct Driver {
    table: &'static Table,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

impl Driver {
    /// The machine's driver, opened and initialised by the first call; later calls give the same
    /// answer at the cost of a load.
    ///
    /// # Errors
    /// [`DriverError::is_absent`] tells "no driver or no device" from a driver that is there and
    /// fails.
    pub fn get() -> Result<Self, DriverError> {
        static DRIVER: OnceLock<Result<Driver, DriverError>> = OnceLock::new();
        DRIVER.get_or_init(Self::open).clone()
    }

    fn open() -> Result<Self, DriverError> {
        let library = open_library()?;
        // SAFETY: the library is the CUDA driver, whose functions have these names and signatures;
        // it is never unloaded.
        let table = unsafe { Table::resolve(|name| find_symbol(&library, name)) }
            .map_err(|symbol| DriverError::TooOld { symbol })?;
        // The driver keeps threads and exit handlers of its own: it must stay loaded for the life
        // of the process.
        let _ = LIBRARY.set(library);
        let driver = Self::from_table(Box::leak(Box::new(table)));
        driver.init()?;
        Ok(driver)
    }

    /// A driver whose functions stand in `table`.
    pub(crate) const fn from_table(table: &'static Table) -> Self {
        Self { table }
    }

    /// The raw functions. Calling one is as unsafe as the driver's manual says.
    pub const fn table(self) -> &'static Table {
        self.table
    }

    /// A raw call's code as an error, in the driver's words.
    pub fn explain(self, call: &'static str, code: CUresult) -> DriverError {
        DriverError::Call(self.error(call, code))
    }

    /// The address of a function of the installed library that [`Table`] doesn't have; `None`
    /// without a library or such a function.
    pub fn symbol(name: &str) -> Option<NonNull<c_void>> {
        // What matters is that it was tried; a library whose initialisation failed still has its
        // functions.
        let _ = Self::get();
        NonNull::new(find_symbol(LIBRARY.get()?, name))
    }

    /// The CUDA release that the driver implements.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn version(self) -> Result<CudaVersion, DriverError> {
        self.driver_version()
    }
}

fn open_library() -> Result<libloading::Library, DriverError> {
    let mut reason = String::new();
    for &name in LIBRARIES {
        // SAFETY: loading the NVIDIA driver runs its initialisers, which have no preconditions.
        match unsafe { libloading::Library::new(name) } {
            Ok(library) => return Ok(library),
            // The first name is the one that an installed driver has: its answer is the one worth
            // reading.
            Err(error) if reason.is_empty() => reason = details(&error),
            Err(_) => {}
        }
    }
    Err(DriverError::NoLibrary { tried: LIBRARIES, reason })
}

/// The system's own words, which name the file, where there are any.
fn details(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

fn find_symbol(library: &libloading::Library, name: &str) -> *mut c_void {
    // SAFETY: the address is only stored here; the table gives it the right type.
    match unsafe { library.get::<*mut c_void>(name) } {
        // SAFETY: the symbol's address outlives the borrow because the library is never unloaded.
        Ok(symbol) => unsafe { symbol.try_as_raw_ptr() }.unwrap_or(std::ptr::null_mut()),
        Err(_) => std::ptr::null_mut(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine without a driver the error is "absent"; with one, the driver opens. Neither may
    /// panic, and both are repeatable.
    #[test]
    fn opening_is_an_answer_and_not_a_crash() {
        match (Driver::get(), Driver::get()) {
            (Ok(driver), Ok(_)) => {
                assert!(driver.version().is_ok_and(|version| version >= CudaVersion(11020)))
            }
            (Err(first), Err(second)) => assert_eq!(first, second),
            (first, second) => panic!("two answers to one question: {first:?}, {second:?}"),
        }
    }
}

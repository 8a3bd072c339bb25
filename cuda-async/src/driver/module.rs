//! Loaded code and its kernels. Loading compiles PTX in the driver (tens of milliseconds and more):
//! not for a poll.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::sync::Arc;

use super::context::Context;
use super::error::{DriverError, LoadError};
use super::load::Driver;
use super::result::Answer;
use super::sys::{self, CUdeviceptr, CUfunction, CUmodule};

/// Room for what the driver's compiler has to say.
const LOG_BYTES: usize = 16 * 1024;

/// Code loaded into a context. Kept alive by its [`Function`]s.
///
/// Unloading waits for the device, so dropping a module only sets it aside: the next load in the
/// same context unloads it.
#[derive(Debug)]
pub struct Module {
    context: Context,
    raw: CUmodule,
}

impl Module {
    /// Loads PTX text.
    ///
    /// # Errors
    /// [`DriverError::Load`] with the PTX version, the driver's version and the compiler's log.
    pub fn from_ptx(context: Context, ptx: &str) -> Result<Arc<Self>, DriverError> {
        let Ok(image) = CString::new(ptx) else {
            let cause = context.driver().error("cuModuleLoadDataEx", sys::CUDA_ERROR_INVALID_PTX);
            return Err(load_error(context, cause, ptx, "the PTX text contains a NUL byte".into()));
        };
        // SAFETY: NUL-terminated text, which the driver parses.
        unsafe { Self::load(context, image.as_ptr().cast(), ptx) }
    }

    /// Loads an image that is machine code for this device (a cubin or a fat binary).
    ///
    /// # Errors
    /// [`DriverError::Load`] with what the driver says.
    ///
    /// # Safety
    /// `image` must be such a file, whole: its size is read from its own header.
    pub unsafe fn from_binary(context: Context, image: &[u8]) -> Result<Arc<Self>, DriverError> {
        // SAFETY: a whole image by this function's contract.
        unsafe { Self::load(context, image.as_ptr().cast(), "") }
    }

    /// # Safety
    /// `image` must be NUL-terminated PTX or a whole binary image.
    unsafe fn load(
        context: Context,
        image: *const c_void,
        ptx: &str,
    ) -> Result<Arc<Self>, DriverError> {
        context.bind()?;
        for retired in std::mem::take(&mut *context.retired_modules()) {
            // SAFETY: no function of it is left. That it can't be unloaded concerns nobody here.
            let _ = unsafe { context.driver().module_unload(retired) };
        }
        let mut log = vec![0u8; LOG_BYTES];
        let mut options: [c_uint; 2] =
            [sys::CU_JIT_ERROR_LOG_BUFFER, sys::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The driver takes a number in place of a pointer for the size, and leaves the size used
        // there.
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
        // SAFETY: the buffer is as long as said; the image is the caller's promise.
        let answer = unsafe { context.driver().module_load(image, &mut options, &mut values) };
        match answer {
            Ok(raw) => Ok(Arc::new(Self { context, raw })),
            Err(cause) if super::error::loses_the_context(cause.code) => {
                Err(context.check::<()>(Err(cause)).unwrap_err())
            }
            Err(cause) => {
                let text =
                    CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
                Err(load_error(context, cause, ptx, text.trim().to_owned()))
            }
        }
    }

    /// Somebody else's module, which stays theirs: it is not unloaded.
    ///
    /// # Safety
    /// `raw` must be a module of `context` that stays loaded for the life of the process.
    pub unsafe fn borrow(context: Context, raw: CUmodule) -> Arc<Self> {
        let module = Arc::new(Self { context, raw });
        // One count that is never given back: the destructor does not run.
        std::mem::forget(Arc::clone(&module));
        module
    }

    /// The context that it is loaded in.
    pub fn context(&self) -> Context {
        self.context
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUmodule {
        self.raw
    }

    /// The kernel `name`, ready to be launched with up to `max_dynamic_shared` bytes of dynamic
    /// shared memory.
    ///
    /// # Errors
    /// [`DriverError::Unsupported`] if the device has not that much shared memory; otherwise what
    /// the driver answers (`CUDA_ERROR_NOT_FOUND` for a name that is not there).
    pub fn function(
        self: &Arc<Self>,
        name: &str,
        max_dynamic_shared: u32,
    ) -> Result<Function, DriverError> {
        let context = self.context;
        let driver = context.driver();
        context.bind()?;
        let name = c_name(context, name)?;
        // SAFETY: the module is live.
        let raw = context.check(unsafe { driver.module_function(self.raw, &name) })?;
        // This also makes a lazily loading driver load the kernel now, and not at its first launch.
        let read = |attribute| {
            // SAFETY: the function is of a live module.
            unsafe { driver.function_attribute(raw, attribute) }
                .map(|value| u32::try_from(value).unwrap_or(0))
        };
        let attributes = context.check(FunctionAttributes::read(read))?;
        let limit = context
            .properties()
            .max_shared_memory_per_block
            .saturating_sub(attributes.static_shared);
        if max_dynamic_shared > limit {
            let name = name.to_string_lossy();
            return Err(DriverError::Unsupported {
                ordinal: context.ordinal(),
                name: context.properties().name.clone(),
                what: format!(
                    "{max_dynamic_shared} bytes of dynamic shared memory for kernel `{name}` (at most {limit} beside its static part)"
                ),
            });
        }
        // SAFETY: the function is of this module, which is live.
        context.check(unsafe { allow_shared(driver, raw, max_dynamic_shared) })?;
        Ok(Function { module: Arc::clone(self), raw, attributes })
    }

    /// Device address and size in bytes of the global variable `name`.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn global(&self, name: &str) -> Result<(CUdeviceptr, usize), DriverError> {
        self.context.bind()?;
        let name = c_name(self.context, name)?;
        // SAFETY: the module is live.
        self.context.check(unsafe { self.context.driver().module_global(self.raw, &name) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.context.retired_modules().push(self.raw);
    }
}

/// A kernel that can be launched. Cloning it counts a reference to its module.
#[derive(Debug, Clone)]
pub struct Function {
    module: Arc<Module>,
    raw: CUfunction,
    attributes: FunctionAttributes,
}

/// What the driver's compiler made of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of static shared memory a block.
    pub static_shared: u32,
    /// Bytes of local memory a thread (spills and arrays).
    pub local: u32,
    /// Threads in a block at most, given its registers.
    pub max_threads_per_block: u32,
}

impl FunctionAttributes {
    fn read(read: impl Fn(i32) -> Answer<u32>) -> Answer<Self> {
        Ok(Self {
            registers: read(sys::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared: read(sys::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local: read(sys::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: read(sys::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }
}

impl Function {
    /// The module that it is in.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUfunction {
        self.raw
    }

    /// What the driver's compiler made of it.
    pub fn attributes(&self) -> FunctionAttributes {
        self.attributes
    }

    /// Allows clusters of more than 8 blocks, which not every device of a generation can run.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn allow_large_clusters(&self) -> Result<(), DriverError> {
        let context = self.module.context;
        context.bind()?;
        // SAFETY: the function is of a live module.
        context.check(unsafe {
            context.driver().set_function_attribute(
                self.raw,
                sys::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                1,
            )
        })
    }
}

/// Raises the dynamic shared memory that launches may ask for. One name has one handle in the
/// driver, so another user of the kernel may have asked for more already.
///
/// # Safety
/// `function` must be of a live module of the current context.
unsafe fn allow_shared(driver: Driver, function: CUfunction, bytes: u32) -> Answer<()> {
    let attribute = sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let wanted = i32::try_from(bytes).unwrap_or(i32::MAX);
    // SAFETY: this function's contract.
    unsafe {
        if wanted <= driver.function_attribute(function, attribute)? {
            return Ok(());
        }
        driver.set_function_attribute(function, attribute, wanted)
    }
}

fn c_name(context: Context, name: &str) -> Result<CString, DriverError> {
    CString::new(name).map_err(|_| context.no_function())
}

#[cold]
fn load_error(
    context: Context,
    cause: super::error::CallError,
    ptx: &str,
    log: String,
) -> DriverError {
    DriverError::Load(Box::new(LoadError {
        cause,
        ptx_version: directive(ptx, ".version").and_then(|version| {
            let (major, minor) = version.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        }),
        ptx_target: directive(ptx, ".target").map(|target| target.trim_end_matches(',').to_owned()),
        driver_version: context.driver().version().unwrap_or(super::error::CudaVersion(0)),
        compute_capability: context.properties().compute_capability,
        log,
    }))
}

/// The first word after a directive that begins a line of the PTX.
fn directive<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    ptx.lines().find_map(|line| line.trim_start().strip_prefix(name)?.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_found_in_ptx() {
        let ptx = "// .version 1.0\n  .version 8.7\n.target sm_90a, debug\n";
        assert_eq!(directive(ptx, ".version"), Some("8.7"));
        assert_eq!(directive(ptx, ".target"), Some("sm_90a,"));
        assert_eq!(directive("", ".version"), None);
    }
}

//! A CUDA device as the runtime's interface wants it.

use std::any::Any;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::backend::{Backend, BackendStream, MemoryInfo, RawFunction, RawModule};
use crate::cuda::error::translate;
use crate::cuda::stream::CudaStream;
use crate::cuda::timeline::Words;
use crate::device::DeviceId;
use crate::driver::{Context, DriverError, Module, PinnedMemory};
use crate::error::Result;
use crate::sync::{Mutex, lock};

/// One CUDA device. Reached by a downcast of [`Device::backend`](crate::Device::backend).
#[derive(Debug)]
pub struct CudaBackend {
    device: DeviceId,
    context: Context,
    words: Words,
    /// Loaded modules, by number; never unloaded, so that a launch needs no count of its module.
    modules: Mutex<Vec<Arc<Module>>>,
}

/// How files begin that the driver takes as machine code: ELF, and its own container of several.
const BINARY_MAGICS: [[u8; 4]; 2] = [*b"\x7fELF", [0x50, 0xED, 0x55, 0xBA]];

impl CudaBackend {
    pub(super) fn new(device: DeviceId, context: Context) -> Self {
        Self { device, context, words: Words::default(), modules: Mutex::default() }
    }

    /// The device's primary context, for properties and the fault record.
    pub fn context(&self) -> Context {
        self.context
    }

    fn explain<T>(&self, result: std::result::Result<T, DriverError>) -> Result<T> {
        result.map_err(|error| translate(self.device, error))
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> String {
        self.context.properties().name.clone()
    }

    fn open_stream(&self) -> Result<Box<dyn BackendStream>> {
        Ok(Box::new(CudaStream::open(self.device, self.context, &self.words)?))
    }

    fn memory(&self) -> Result<MemoryInfo> {
        let (used, _) = self.explain(self.context.pool_usage())?;
        let total = self.context.properties().total_memory;
        Ok(MemoryInfo { used: usize::try_from(used).unwrap_or(usize::MAX), total })
    }

    fn alloc_staging(&self, bytes: usize) -> Result<NonNull<u8>> {
        let block = self.explain(PinnedMemory::allocate(self.context, bytes))?;
        Ok(block.into_raw().cast())
    }

    unsafe fn free_staging(&self, ptr: NonNull<u8>, bytes: usize) {
        // SAFETY: from `alloc_staging`, unused, by this method's contract.
        drop(unsafe { PinnedMemory::from_raw(self.context, ptr.cast(), bytes) });
    }

    fn load_module(&self, image: &[u8]) -> Result<RawModule> {
        let binary = BINARY_MAGICS.iter().any(|magic| image.starts_with(magic));
        let module = if binary {
            // SAFETY: the driver checks what it can; a truncated image is the caller's bug.
            unsafe { Module::from_binary(self.context, image) }
        } else {
            let text = image.strip_suffix(b"\0").unwrap_or(image);
            Module::from_ptx(self.context, &String::from_utf8_lossy(text))
        };
        let module = self.explain(module)?;
        let mut modules = lock(&self.modules);
        modules.push(module);
        Ok(RawModule(modules.len() - 1))
    }

    fn function(&self, module: RawModule, name: &CStr, shared_bytes: u32) -> Result<RawFunction> {
        let module = lock(&self.modules).get(module.0).cloned();
        let name = name.to_string_lossy();
        let function = match module {
            Some(module) => module.function(&name, shared_bytes),
            None => Err(self.context.no_function()),
        };
        Ok(RawFunction(self.explain(function)?.raw().0 as usize))
    }

    fn id(&self) -> DeviceId {
        self.device
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! What a device is: the facts that launches, errors and the kernel loader need, read once.

use super::error::DriverError;
use super::load::Driver;
use super::result::Answer;
use super::sys::{self, CUdevice};

/// Facts about a CUDA device that don't change while the process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The driver's name of the device, e.g. `NVIDIA H200`.
    pub name: String,
    /// Compute capability, e.g. `(9, 0)`.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of device memory.
    pub total_memory: usize,
    /// PCI domain, bus, device, function as the driver writes them, e.g. `0000:1b:00.0`.
    pub pci_bus_id: String,
    /// Bytes of shared memory that one block may ask for at most (static and dynamic together).
    pub max_shared_memory_per_block: u32,
    /// Threads in a block at most.
    pub max_threads_per_block: u32,
    /// Bytes of the last-level cache.
    pub l2_cache: u32,
    /// Threads in a warp.
    pub warp_size: u32,
    /// Whether streams can write and wait for 64-bit words in memory.
    pub stream_memory_operations: bool,
    pub(crate) memory_pools: bool,
    pub(crate) unified_addressing: bool,
}

impl DeviceProperties {
    pub(crate) fn read(driver: Driver, device: CUdevice) -> Answer<Self> {
        let number = |attribute| {
            driver
                .device_attribute(device, attribute)
                .map(|value| u32::try_from(value).unwrap_or(0))
        };
        // An attribute that the driver is too old to know is a capability that it doesn't have.
        let flag =
            |attribute| driver.device_attribute(device, attribute).is_ok_and(|value| value != 0);
        let table = driver.table();
        Ok(Self {
            name: driver.device_name(device)?,
            compute_capability: (
                number(sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                number(sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: number(sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            total_memory: driver.device_total_memory(device)?,
            pci_bus_id: driver.device_pci_bus_id(device)?,
            max_shared_memory_per_block: number(
                sys::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            max_threads_per_block: number(sys::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            l2_cache: number(sys::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            warp_size: number(sys::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            stream_memory_operations: table.cuStreamWriteValue64.is_some()
                && table.cuStreamWaitValue64.is_some()
                && flag(sys::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS),
            memory_pools: flag(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
            unified_addressing: flag(sys::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING),
        })
    }

    /// What every device must have for us to use it.
    pub(crate) fn require(&self, ordinal: usize) -> Result<(), DriverError> {
        let missing = if !self.memory_pools {
            "stream-ordered memory pools (cuMemAllocAsync)"
        } else if !self.unified_addressing {
            "unified addressing"
        } else {
            return Ok(());
        };
        Err(DriverError::Unsupported { ordinal, name: self.name.clone(), what: missing.into() })
    }
}

impl Driver {
    /// How many CUDA devices the driver shows to this process.
    ///
    /// # Errors
    /// What the driver answers; no device is 0, not an error.
    pub fn count(self) -> Result<usize, DriverError> {
        self.device_count().map_err(DriverError::Call)
    }
}

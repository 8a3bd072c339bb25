//! Launching a kernel: one driver call, parameters in one packed buffer, nothing allocated.

use std::ffi::c_void;
use std::ptr;

use super::error::DriverError;
use super::stream::Stream;
use super::sys::{self, CUfunction, CUlaunchAttribute, CUlaunchAttributeValue, CUlaunchConfig};

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory a block.
    pub dynamic_shared: u32,
    /// Blocks of a cluster along x, y, z; `[1, 1, 1]` for none.
    pub cluster: [u32; 3],
    /// Whether the kernel may start before the previous one in the stream has ended.
    ///
    /// Right only if this kernel waits for its predecessor itself (`griddepcontrol.wait`), and if
    /// the work enqueued just before it is a kernel that does so too: the wait reaches back one
    /// kernel. A driver that can't do it runs the kernels one after the other.
    pub programmatic: bool,
}

impl LaunchConfig {
    /// A launch with no dynamic shared memory, no cluster, after all earlier work.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, dynamic_shared: 0, cluster: [1, 1, 1], programmatic: false }
    }
}

impl Stream {
    /// Enqueues `function` with `params`: the kernel's parameters, packed as it declares them (each
    /// at its own alignment).
    ///
    /// # Errors
    /// What the driver answers; [`DriverError::Unsupported`] for a cluster where the driver is
    /// older than CUDA 11.8.
    ///
    /// # Safety
    /// `function` must be a kernel loaded in the stream's context (see
    /// [`Function::raw`](super::Function::raw)) and `params` what it takes; all memory that it
    /// touches must live, and not be used in conflict, until it is done; `config.programmatic` must
    /// be right.
    #[inline]
    pub unsafe fn launch(
        &self,
        function: CUfunction,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<(), DriverError> {
        let context = self.context();
        context.bind()?;
        let mut size = params.len();
        let mut extra = [
            sys::CU_LAUNCH_PARAM_BUFFER_POINTER,
            params.as_ptr().cast_mut().cast::<c_void>(),
            sys::CU_LAUNCH_PARAM_BUFFER_SIZE,
            (&raw mut size).cast::<c_void>(),
            sys::CU_LAUNCH_PARAM_END,
        ];
        let extra = if params.is_empty() { ptr::null_mut() } else { extra.as_mut_ptr() };
        let clustered = config.cluster != [1, 1, 1];
        if config.programmatic || clustered {
            // SAFETY: as this function's contract says; `extra` and what it points at live across
            // the call.
            if let Some(launched) = unsafe { self.launch_with_attributes(function, config, extra) }
            {
                return launched;
            }
            if clustered {
                return Err(DriverError::Unsupported {
                    ordinal: context.ordinal(),
                    name: context.properties().name.clone(),
                    what: "clusters of blocks: its driver is older than CUDA 11.8".into(),
                });
            }
        }
        // SAFETY: as above.
        context.check(unsafe {
            context.driver().launch_kernel(
                function,
                config.grid,
                config.block,
                config.dynamic_shared,
                self.raw(),
                ptr::null_mut(),
                extra,
            )
        })
    }

    /// `None` where the driver has no such launch.
    ///
    /// # Safety
    /// As [`launch`](Self::launch).
    unsafe fn launch_with_attributes(
        &self,
        function: CUfunction,
        config: &LaunchConfig,
        extra: *mut *mut c_void,
    ) -> Option<Result<(), DriverError>> {
        let attribute = |id, value| CUlaunchAttribute { id, pad: [0; 4], value };
        let programmatic = attribute(
            sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            CUlaunchAttributeValue::programmatic_stream_serialization(),
        );
        let mut attributes = [programmatic; 2];
        let mut count = u32::from(config.programmatic);
        if config.cluster != [1, 1, 1] {
            attributes[count as usize] = attribute(
                sys::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                CUlaunchAttributeValue::cluster(config.cluster),
            );
            count += 1;
        }
        let launch = CUlaunchConfig {
            grid_dim: config.grid,
            block_dim: config.block,
            shared_mem_bytes: config.dynamic_shared,
            stream: self.raw(),
            attrs: attributes.as_mut_ptr(),
            num_attrs: count,
        };
        // SAFETY: as this function's contract says; the attributes live across the call.
        let answer = unsafe { self.context().driver().launch_kernel_ex(&launch, function, extra) }?;
        Some(self.context().check(answer))
    }
}

//! The kernels that are launched, as PTX text, and the device objects that all sections share.

use std::sync::Arc;

use cuda_async::Device;
use cuda_async::backend::RawFunction;
use cuda_async::driver::sys::CUfunction;
use cuda_async::driver::{Context, DriverError, Function, Module};

/// `step` adds one to the word at `data`, so that a chain of launches can be counted; its other
/// parameters are there to be passed. `spin` occupies the GPU for a number of nanoseconds.
const PLAIN: &str = "\
.version 7.0
.target sm_80
.address_size 64

.visible .entry step(.param .u64 data, .param .u64 a, .param .u64 b, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    mov.u32 %r1, %tid.x;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r2, [%rd2];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd2], %r3;
DONE:
    ret;
}

.visible .entry spin(.param .u64 nanoseconds)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [nanoseconds];
    mov.u64 %rd2, %globaltimer;
AGAIN:
    mov.u64 %rd3, %globaltimer;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra AGAIN;
    ret;
}
";

/// `step` for programmatic dependent launch: it waits for its predecessor, then lets its successor
/// start.
const DEPENDENT: &str = "\
.version 7.8
.target sm_90
.address_size 64

.visible .entry step(.param .u64 data, .param .u64 a, .param .u64 b, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    mov.u32 %r1, %tid.x;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r2, [%rd2];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd2], %r3;
DONE:
    ret;
}
";

/// Threads of a block in every launch.
pub(crate) const THREADS: u32 = 32;

/// The device and its loaded kernels.
pub(crate) struct Kernels {
    pub(crate) context: Context,
    pub(crate) device: Device,
    pub(crate) step: Function,
    pub(crate) spin: Function,
    /// Where the device can do it (sm_90 and up).
    pub(crate) dependent_step: Option<Function>,
    _modules: Vec<Arc<Module>>,
}

impl Kernels {
    pub(crate) fn load(context: Context) -> Result<Self, DriverError> {
        let plain = Module::from_ptx(context, PLAIN)?;
        let mut modules = vec![Arc::clone(&plain)];
        let mut dependent_step = None;
        if context.properties().compute_capability >= (9, 0) {
            let module = Module::from_ptx(context, DEPENDENT)?;
            dependent_step = Some(module.function("step", 0)?);
            modules.push(module);
        }
        Ok(Self {
            context,
            device: Device::cuda(context.ordinal()),
            step: plain.function("step", 0)?,
            spin: plain.function("spin", 0)?,
            dependent_step,
            _modules: modules,
        })
    }
}

/// A kernel as the runtime names it. Both sides share the device's primary context.
pub(crate) fn runtime_name(function: CUfunction) -> RawFunction {
    RawFunction(function.0 as usize)
}

/// The packed parameters of `step`.
pub(crate) fn step_params(data: u64) -> [u8; 28] {
    let mut packed = [0; 28];
    for (at, word) in [(0, data), (8, data), (16, data)] {
        packed[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }
    packed[24..].copy_from_slice(&1u32.to_ne_bytes());
    packed
}

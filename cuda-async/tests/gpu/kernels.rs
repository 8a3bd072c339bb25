//! The kernels of these tests, as PTX text.

use cuda_async::Device;
use cuda_async::backend::RawFunction;

/// For every device that we support.
pub(crate) const BASE: &str = "\
.version 7.0
.target sm_80
.address_size 64

.visible .entry add_one(.param .u64 data, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [count];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    add.s32 %r7, %r6, 1;
    st.global.u32 [%rd4], %r7;
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

// Writes its parameter to the last word of its dynamic shared memory and copies that word to `to`.
.extern .shared .align 16 .b8 dynamic[];
.visible .entry last_word(.param .u64 to, .param .u32 bytes, .param .u32 value)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u32 %r1, [bytes];
    ld.param.u32 %r2, [value];
    mov.u32 %r3, dynamic;
    add.s32 %r4, %r3, %r1;
    st.shared.u32 [%r4+-4], %r2;
    ld.shared.u32 %r5, [%r4+-4];
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r5;
    ret;
}

// Fails check 9 of kernel 2, as generated code does: claim the record, fill it, trap.
.visible .entry fail(.param .u64 record)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [record];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u64 %rd3, 0;
    mov.u64 %rd4, 12884901897;
    atom.global.sys.cas.b64 %rd5, [%rd2], %rd3, %rd4;
    setp.ne.u64 %p1, %rd5, 0;
    @%p1 bra TRAP;
    mov.u64 %rd6, 5;
    st.volatile.global.u64 [%rd2+16], %rd6;
    mov.u64 %rd6, 64;
    st.volatile.global.u64 [%rd2+24], %rd6;
    mov.u64 %rd7, 63;
    st.volatile.global.u64 [%rd2+32], %rd7;
    membar.sys;
    mov.u32 %r1, 1;
    st.volatile.global.u32 [%rd2+8], %r1;
    membar.sys;
TRAP:
    trap;
    ret;
}
";

/// For programmatic dependent launch: adds what the previous kernel left in `from` to what is in
/// `to`, plus one.
pub(crate) const HOPPER: &str = "\
.version 7.8
.target sm_90
.address_size 64

.visible .entry pass_on(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<5>;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    ld.param.u64 %rd1, [from];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [to];
    cvta.to.global.u64 %rd4, %rd3;
    ld.global.u32 %r1, [%rd2];
    add.s32 %r2, %r1, 1;
    st.global.u32 [%rd4], %r2;
    ret;
}
";

/// A kernel of `ptx`, loaded on `device`.
pub(crate) fn load(device: Device, ptx: &str, name: &std::ffi::CStr, shared: u32) -> RawFunction {
    let backend = device.backend().expect("the device is there");
    let module = backend.load_module(ptx.as_bytes()).expect("the PTX loads");
    backend.function(module, name, shared).expect("the kernel is there")
}

/// Packs parameters, each at its own alignment.
#[derive(Default)]
pub(crate) struct Params(Vec<u8>);

impl Params {
    pub(crate) fn u32(self, value: u32) -> Self {
        self.push(&value.to_ne_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Self {
        self.push(&value.to_ne_bytes())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn push(mut self, bytes: &[u8]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(bytes.len()), 0);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// What loading a kernel that is not there answers.
pub(crate) fn load_error(device: Device, name: &std::ffi::CStr) -> String {
    let backend = device.backend().expect("the device is there");
    let module = backend.load_module(BASE.as_bytes()).expect("the PTX loads");
    backend.function(module, name, 0).expect_err("no such kernel").to_string()
}

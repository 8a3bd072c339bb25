//! A launch made with `cust` in the middle of a graph of operations.
//!
//! ```text
//! upload x ──┐
//!            ├─ zip ─ saxpy launched by cust, on the operation's stream ─ add one (ours) ─ download
//! upload y ──┘
//! ```
//!
//! `cargo run -p cuda-async --features cust --example cust_interop`. Without a GPU it says so and
//! ends.

use cuda_async::backend::Launch;
use cuda_async::cuda::CudaBackend;
use cuda_async::cust_interop::{cust_context, cust_pointer, cust_stream};
use cuda_async::driver::sys::CUstream;
use cuda_async::driver::{Driver, DriverError};
use cuda_async::prelude::*;
use cust::error::CudaError;
use cust::launch;
use cust::module::Module;

const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64

.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
}

.visible .entry add_one(.param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [y];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f2, %f1, 0f3F800000;
    st.global.f32 [%rd4], %f2;
DONE:
    ret;
}
";

const N: u32 = 10_000;
const THREADS: u32 = 128;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Driver::get() {
        Ok(_) => run(),
        Err(error) if error.is_absent() => {
            println!("no GPU here, so there is nothing to mix: {error}");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::cuda(0);
    let ours = device.backend()?;
    let context = ours.as_any().downcast_ref::<CudaBackend>().map(CudaBackend::context);
    let context = context.ok_or(DriverError::NoDevice)?;

    // What `cust` loads lives in the same primary context as everything of ours.
    let _current = cust_context(context)?;
    let module = Module::from_ptx(PTX, &[])?;
    let saxpy = &module.get_function("saxpy")?;
    let add_one = ours.function(ours.load_module(PTX.as_bytes())?, c"add_one", 0)?;

    let (x, y) = ((0..N).map(|i| i as f32), (0..N).map(|i| 0.5 * i as f32));
    let blocks = N.div_ceil(THREADS);
    let mixed = zip((upload(bytes(x)), upload(bytes(y)))).apply(|x: Buffer, y: Buffer| {
        with_context(move |ctx| {
            // Declared, so that the runtime orders this after the uploads and keeps both buffers
            // until it is done.
            let (from, to) =
                (cust_pointer::<f32>(ctx.read(&x)?), cust_pointer::<f32>(ctx.write(&y)?));
            let native = CUstream(ctx.raw_stream()?.as_ptr());
            // SAFETY: streams of the runtime live as long as the process; the arguments are the
            // kernel's.
            unsafe {
                let stream = cust_stream(native);
                launch!(saxpy<<<blocks, THREADS, 0, stream>>>(2.0f32, from, to, N))
                    .map_err(wrap)?;
            }
            Ok(y)
        })
    });
    let op = mixed.then(move |y| {
        with_context(move |ctx| {
            let mut params = ctx.write(&y)?.0.to_ne_bytes().to_vec();
            params.extend_from_slice(&N.to_ne_bytes());
            let launch = Launch {
                function: add_one,
                grid: [blocks, 1, 1],
                block: [THREADS, 1, 1],
                cluster: [1; 3],
                shared_bytes: 0,
                dependent: false,
                params: &params,
            };
            // SAFETY: the parameters of `add_one`, over a buffer that is declared as written.
            unsafe { ctx.launch(&launch) }?;
            Ok(y)
        })
    });
    let result = op.then(download).sync_on(&device.new_stream()?)?;

    for (i, value) in result.chunks_exact(4).enumerate() {
        let (found, expected) =
            (f32::from_ne_bytes([value[0], value[1], value[2], value[3]]), 2.5 * i as f32 + 1.0);
        if found != expected {
            return Err(format!("element {i} is {found}, expected {expected}").into());
        }
    }
    println!(
        "{}: {N} elements went through a launch of cust and one of ours, all right",
        device.name()?
    );
    Ok(())
}

fn bytes(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_ne_bytes).collect()
}

fn wrap(error: CudaError) -> DeviceError {
    DeviceError::new(error)
}

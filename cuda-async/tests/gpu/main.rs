//! The runtime and the driver's owners on a real GPU. Without one each test says so and passes.
//!
//! The binary is self-contained: it runs wherever the NVIDIA driver is, with nothing else
//! installed.

mod allocations;
mod fault;
mod kernels;
mod memory;
mod ordering;

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_async::backend::{Launch, RawFunction};
use cuda_async::cuda::CudaBackend;
use cuda_async::driver::{Context, Driver};
use cuda_async::prelude::*;

use kernels::Params;

/// The first CUDA device, unless there is none: then the test says so and ends.
macro_rules! gpu {
    () => {
        match crate::device(0) {
            Some(device) => {
                crate::take_turn();
                device
            }
            None => return,
        }
    };
}
pub(crate) use gpu;

/// Lets tests take turns, whatever the harness does: some of them count what is allocated on the
/// device. The turn ends with the test's thread.
fn take_turn() {
    static TURN: Mutex<()> = Mutex::new(());
    thread_local! {
        static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }
    HELD.with_borrow_mut(|held| {
        held.get_or_insert_with(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
    });
}

/// CUDA device `index`, if it is there. A driver that is there and broken fails the test.
fn device(index: usize) -> Option<Device> {
    let count = match Driver::get().and_then(Driver::count) {
        Ok(count) => count,
        Err(error) if error.is_absent() => {
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("the driver is there and fails: {error}"),
    };
    if index >= count {
        println!("skipped: CUDA device {index} is needed, there are {count}");
        return None;
    }
    Some(Device::cuda(index))
}

/// The device's context, for what the runtime does not show.
fn context(device: Device) -> Context {
    let backend = device.backend().expect("the device is there").as_any();
    backend.downcast_ref::<CudaBackend>().expect("a CUDA device").context()
}

/// Enqueues one launch over `count` threads in blocks of 128.
fn launch(
    ctx: &mut ExecutionContext<'_>,
    function: RawFunction,
    count: u32,
    params: &Params,
) -> Result<(), DeviceError> {
    launch_with(ctx, function, count, 0, false, params)
}

fn launch_with(
    ctx: &mut ExecutionContext<'_>,
    function: RawFunction,
    count: u32,
    shared_bytes: u32,
    dependent: bool,
    params: &Params,
) -> Result<(), DeviceError> {
    let grid = [count.div_ceil(128), 1, 1];
    let block = [count.min(128), 1, 1];
    let launch = Launch {
        function,
        grid,
        block,
        cluster: [1; 3],
        shared_bytes,
        dependent,
        params: params.bytes(),
    };
    // SAFETY: each test passes what its kernel takes, over buffers that it has declared.
    unsafe { ctx.launch(&launch) }
}

/// Adds one to each 32-bit word of `buffer`.
fn add_one(function: RawFunction, buffer: Buffer) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        let count = (buffer.len() / 4) as u32;
        let data = ctx.write(&buffer)?;
        launch(ctx, function, count, &Params::default().u64(data.0).u32(count))?;
        Ok(buffer)
    })
}

/// Occupies the stream for so long.
fn spin(function: RawFunction, nanoseconds: u64) -> impl DeviceOperation<Output = ()> {
    with_context(move |ctx| launch(ctx, function, 1, &Params::default().u64(nanoseconds)))
}

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

#[test]
fn the_device_says_what_it_is() {
    let device = gpu!();
    let properties = context(device).properties();
    println!("{properties:?}");
    assert_eq!(device.name().unwrap(), properties.name);
    assert!(!properties.name.is_empty() && properties.pci_bus_id.contains(':'));
    assert!(
        properties.compute_capability >= (7, 0)
            && properties.multiprocessors > 0
            && properties.warp_size == 32
    );
    assert!(properties.max_shared_memory_per_block >= 48 << 10 && properties.l2_cache > 0);
    let memory = device.memory().unwrap();
    assert_eq!(memory.total, properties.total_memory);
    let version = Driver::get().unwrap().version().unwrap();
    println!("CUDA {version}, PTX ISA up to {:?}", version.newest_ptx_isa());
    assert!(Device::cuda(9_999).name().unwrap_err().to_string().contains("9999"));
}

#[test]
fn a_kernel_runs() {
    let device = gpu!();
    let function = kernels::load(device, kernels::BASE, c"add_one", 0);
    let count = 100_003;
    let op = upload(words(0..count)).then(move |buffer| add_one(function, buffer)).then(download);
    assert!(op.sync_on(&device.new_stream().unwrap()).unwrap() == words(1..=count));
}

#[test]
fn a_block_gets_the_shared_memory_that_was_asked_for() {
    let device = gpu!();
    let most = context(device).properties().max_shared_memory_per_block;
    let function = kernels::load(device, kernels::BASE, c"last_word", most);
    // A second user of the same kernel with a smaller wish must not take it away.
    kernels::load(device, kernels::BASE, c"last_word", 1024);
    let op = zeroed(4).then(move |buffer| {
        with_context(move |ctx| {
            let to = ctx.write(&buffer)?;
            let params = Params::default().u64(to.0).u32(most).u32(0xC0FFEE);
            launch_with(ctx, function, 1, most, false, &params)?;
            Ok(buffer)
        })
    });
    let bytes = op.then(download).sync_on(&device.new_stream().unwrap()).unwrap();
    assert_eq!(bytes, words([0xC0FFEE]));
    let backend = device.backend().unwrap();
    let module = backend.load_module(kernels::BASE.as_bytes()).unwrap();
    let error = backend.function(module, c"last_word", most + 1).unwrap_err().to_string();
    assert!(error.contains("last_word") && error.contains(&most.to_string()), "{error}");
}

#[test]
fn code_that_does_not_load_is_explained() {
    let device = gpu!();
    let backend = device.backend().unwrap();
    let broken = kernels::BASE.replace("setp.ge.u32", "setp.zz.u32");
    let error = backend.load_module(broken.as_bytes()).unwrap_err().to_string();
    println!("{error}\n");
    assert!(
        error.contains("ISA 7.0") && error.contains("compiler log") && error.contains("setp"),
        "{error}"
    );
    let newer = kernels::BASE.replace(".version 7.0", ".version 19.0");
    let error = backend.load_module(newer.as_bytes()).unwrap_err().to_string();
    println!("{error}");
    assert!(error.contains("ISA 19.0") && error.contains("the driver implements CUDA"), "{error}");
    let error = kernels::load_error(device, c"absent");
    assert!(error.contains("CUDA_ERROR_NOT_FOUND"), "{error}");
}

//! The owners' promises, against the fake driver.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::fake::{self, Fake, PTX, Param, pack};
use super::sys::*;
use super::*;

fn add_one(stream: &Stream, function: &Function, data: u64, count: u32) {
    let params = pack(&[Param::U64(data), Param::U32(count)]);
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    // SAFETY: what the kernel takes, over memory that the tests keep.
    unsafe { stream.launch(function.raw(), &config, &params) }.expect("the launch is enqueued");
}

/// Occupies `stream` until the flag is set.
fn hold(stream: &Stream, module: &std::sync::Arc<Module>, flag: &'static AtomicU32) {
    let function = module.function("hold", 0).expect("the kernel is there");
    let params = pack(&[Param::U64(std::ptr::from_ref(flag) as u64)]);
    // SAFETY: the flag is static.
    unsafe { stream.launch(function.raw(), &LaunchConfig::new([1; 3], [1; 3]), &params) }
        .expect("the launch is enqueued");
}

fn flag() -> &'static AtomicU32 {
    Box::leak(Box::new(AtomicU32::new(0)))
}

#[test]
fn a_round_trip_through_the_device() {
    let context = Fake::new().context;
    let stream = Stream::new(context, 0).unwrap();
    let module = Module::from_ptx(context, PTX).unwrap();
    let function = module.function("add_one", 0).unwrap();
    let memory = DeviceMemory::allocate(&stream, 16).unwrap();
    let mut data = [1u32, 2, 3, 4];
    // SAFETY: both ranges live until the synchronisation below.
    unsafe {
        stream.copy_to_device(memory.address(), data.as_ptr().cast(), 16).unwrap();
        add_one(&stream, &function, memory.address(), 4);
        stream.fill(memory.address() + 4, FillValue::U32(7), 1).unwrap();
        stream.copy_to_host(data.as_mut_ptr().cast(), memory.address(), 16).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(data, [2, 7, 4, 5]);
    assert!(stream.query().unwrap());
}

#[test]
fn the_context_is_bound_on_any_thread_and_after_others_changed_it() {
    let (here, there) = (Fake::new().context, Fake::new().context);
    let stream = Stream::new(here, 0).unwrap();
    let other = Stream::new(there, 0).unwrap();
    for _ in 0..2 {
        stream.query().unwrap();
        other.query().unwrap();
    }
    std::thread::spawn(move || stream.synchronize().unwrap()).join().unwrap();
}

#[test]
fn events_order_streams() {
    let context = Fake::new().context;
    let (first, second) = (Stream::new(context, 0).unwrap(), Stream::new(context, 0).unwrap());
    let module = Module::from_ptx(context, PTX).unwrap();
    let function = module.function("add_one", 0).unwrap();
    let memory = DeviceMemory::allocate(&first, 4).unwrap();
    let mut data = 0u32;
    let go = flag();
    // SAFETY: `memory` and `data` live until the synchronisations.
    unsafe { first.fill(memory.address(), FillValue::U32(41), 1).unwrap() };
    hold(&first, &module, go);
    add_one(&first, &function, memory.address(), 1);
    let event = Event::new(context).unwrap();
    event.record(&first).unwrap();
    second.wait(&event).unwrap();
    // SAFETY: as above.
    unsafe { second.copy_to_host((&raw mut data).cast(), memory.address(), 4).unwrap() };
    assert!(!event.query().unwrap() && !second.query().unwrap());
    go.store(1, Ordering::SeqCst);
    second.synchronize().unwrap();
    assert_eq!(data, 42);
}

#[test]
fn stream_writes_and_waits_order_streams() {
    let context = Fake::new().context;
    let (first, second) = (Stream::new(context, 0).unwrap(), Stream::new(context, 0).unwrap());
    let word = PinnedMemory::allocate(context, 8).unwrap();
    // SAFETY: the word lives to the end of the test, and the write is enqueued before it is relied
    // on.
    unsafe {
        word.host_address().cast::<u64>().write(0);
        assert!(first.write_value(word.device_address(), 3).unwrap());
        assert!(second.wait_value(word.device_address(), 3).unwrap());
    }
    second.synchronize().unwrap();
}

#[test]
fn a_programmatic_launch_says_so_and_a_plain_one_does_not() {
    let fake = Fake::new();
    let stream = Stream::new(fake.context, 0).unwrap();
    let function = Module::from_ptx(fake.context, PTX).unwrap().function("store", 0).unwrap();
    let memory = DeviceMemory::allocate(&stream, 4).unwrap();
    let params = pack(&[Param::U64(memory.address()), Param::U32(1)]);
    fake.calls();
    for programmatic in [true, false] {
        let config = LaunchConfig { programmatic, ..LaunchConfig::new([1; 3], [32, 1, 1]) };
        // SAFETY: what the kernel takes.
        unsafe { stream.launch(function.raw(), &config, &params) }.unwrap();
    }
    assert_eq!(fake.calls(), ["cuLaunchKernelEx, programmatic", "cuLaunchKernel"]);
}

#[test]
fn out_of_memory_says_how_much_of_what() {
    let fake = Fake::new();
    let stream = Stream::new(fake.context, 0).unwrap();
    let held = DeviceMemory::allocate(&stream, 4096).unwrap();
    let error = DeviceMemory::allocate(&stream, fake::MEMORY).unwrap_err();
    let expected = DriverError::OutOfMemory {
        ordinal: fake.context.ordinal(),
        requested: fake::MEMORY,
        used: 4096,
        free: fake::MEMORY - 4096,
        total: fake::MEMORY,
    };
    assert_eq!(error, expected);
    drop(held);
    // The device lives on.
    stream.synchronize().unwrap();
}

#[test]
fn freed_in_stream_order_is_after_earlier_work_and_before_later() {
    let fake = Fake::new();
    let stream = Stream::new(fake.context, 0).unwrap();
    let module = Module::from_ptx(fake.context, PTX).unwrap();
    let function = module.function("add_one", 0).unwrap();
    let memory = DeviceMemory::allocate(&stream, 4).unwrap();
    let address = memory.address();
    let go = flag();
    hold(&stream, &module, go);
    add_one(&stream, &function, address, 1);
    memory.free(&stream).unwrap();
    assert_eq!(fake.live().0, 1, "freed before the work that uses it");
    go.store(1, Ordering::SeqCst);
    stream.synchronize().unwrap();
    assert_eq!(fake.live().0, 0);
    // The fake sees a use after free, so that the runtime's tests do.
    add_one(&stream, &function, address, 1);
    assert!(matches!(stream.synchronize(), Err(DriverError::Fault(_))));
}

#[test]
fn a_trap_loses_the_context_with_kernel_and_site() {
    let fake = Fake::new();
    let stream = Stream::new(fake.context, 0).unwrap();
    let other = Stream::new(fake.context, 0).unwrap();
    let module = Module::from_ptx(fake.context, PTX).unwrap();
    let function = module.function("trap", 0).unwrap();
    let memory = DeviceMemory::allocate(&stream, 64).unwrap();
    let params = pack(&[Param::U64(fake.context.fault_record_address())]);
    // SAFETY: what the kernel takes.
    unsafe { stream.launch(function.raw(), &LaunchConfig::new([1; 3], [1; 3]), &params) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    let DriverError::Fault(fault) = &error else { panic!("not a fault: {error}") };
    let details = Some(FaultDetails { program: 5, operands: [64, 63] });
    assert_eq!(fault.site, Some(FaultSite { kernel: 2, site: 9, details }));
    assert_eq!(fault.cause.code, CUDA_ERROR_LAUNCH_FAILED);
    // Everything of this device answers the same, without asking the driver again.
    fake.calls();
    assert_eq!(other.query().unwrap_err(), error);
    assert_eq!(DeviceMemory::allocate(&other, 4).unwrap_err(), error);
    assert_eq!(Module::from_ptx(fake.context, PTX).unwrap_err(), error);
    // Destructors don't wait, panic or call into a lost context.
    drop((memory, module, function, stream, other));
    assert!(fake.calls().is_empty());
    // Another device does not care.
    Stream::new(Fake::new().context, 0).unwrap().synchronize().unwrap();
}

#[test]
fn a_too_new_ptx_is_explained() {
    let context = Fake::new().context;
    let error = Module::from_ptx(context, &PTX.replace("8.0", "9.1")).unwrap_err();
    let text = error.to_string();
    for part in
        ["ISA 9.1", "CUDA 12.4", "unsupported .version", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"]
    {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[test]
fn a_kernel_that_is_not_there_or_asks_for_too_much_is_an_error() {
    let context = Fake::new().context;
    let module = Module::from_ptx(context, PTX).unwrap();
    assert_eq!(module.function("absent", 0).unwrap_err().code(), Some(CUDA_ERROR_NOT_FOUND));
    assert_eq!(module.function("a\0b", 0).unwrap_err().code(), Some(CUDA_ERROR_NOT_FOUND));
    let limit = (227 << 10) - 1024;
    module.function("store", limit).unwrap();
    let text = module.function("store", limit + 1).unwrap_err().to_string();
    assert!(text.contains("`store`") && text.contains(&limit.to_string()), "{text}");
}

#[test]
fn dropped_modules_and_host_blocks_are_reclaimed_later() {
    let fake = Fake::new();
    drop(Module::from_ptx(fake.context, PTX).unwrap());
    fake.calls();
    drop(Module::from_ptx(fake.context, PTX).unwrap());
    assert_eq!(fake.modules(), 1, "the first was unloaded by the second load");
    let block = PinnedMemory::allocate(fake.context, 5000).unwrap();
    let address = block.host_address();
    let (_, blocks) = fake.live();
    drop(block);
    let again = PinnedMemory::allocate(fake.context, 6000).unwrap();
    assert_eq!((again.host_address(), fake.live().1), (address, blocks));
}

#[test]
fn a_function_outlives_its_last_module_handle() {
    let fake = Fake::new();
    let stream = Stream::new(fake.context, 0).unwrap();
    let function = Module::from_ptx(fake.context, PTX).unwrap().function("store", 0).unwrap();
    let _second = Module::from_ptx(fake.context, PTX).unwrap();
    assert_eq!(fake.modules(), 2);
    let memory = DeviceMemory::allocate(&stream, 4).unwrap();
    let params = pack(&[Param::U64(memory.address()), Param::U32(1)]);
    // SAFETY: what the kernel takes.
    unsafe { stream.launch(function.raw(), &LaunchConfig::new([1; 3], [1; 3]), &params) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn peers_are_enabled_once_and_copies_cross() {
    let (here, there) = (Fake::new(), Fake::new());
    assert!(here.context.enable_peer(there.context).unwrap());
    assert!(
        here.context.enable_peer(there.context).unwrap()
            && there.context.enable_peer(here.context).unwrap()
    );
    let enables =
        |calls: Vec<&str>| calls.iter().filter(|call| **call == "cuCtxEnablePeerAccess").count();
    assert_eq!((enables(here.calls()), enables(there.calls())), (1, 1));

    let (from_stream, to_stream) =
        (Stream::new(there.context, 0).unwrap(), Stream::new(here.context, 0).unwrap());
    let (from, to) = (
        DeviceMemory::allocate(&from_stream, 4).unwrap(),
        DeviceMemory::allocate(&to_stream, 4).unwrap(),
    );
    let mut value = 0u32;
    // SAFETY: all live until the synchronisations.
    unsafe {
        from_stream.fill(from.address(), FillValue::U32(77), 1).unwrap();
        from_stream.synchronize().unwrap();
        to_stream
            .copy_peer((to.address(), here.context), (from.address(), there.context), 4)
            .unwrap();
        to_stream.copy_to_host((&raw mut value).cast(), to.address(), 4).unwrap();
    }
    to_stream.synchronize().unwrap();
    assert_eq!(value, 77);
}

#[test]
fn a_foreign_stream_is_borrowed_and_not_destroyed() {
    let (fake, elsewhere) = (Fake::new(), Fake::new());
    let foreign = Stream::new(fake.context, 0).unwrap();
    // SAFETY: `foreign` lives.
    let borrowed = unsafe { Stream::borrow(fake.context, foreign.raw()) }.unwrap();
    // SAFETY: as above.
    assert!(unsafe { Stream::borrow(elsewhere.context, foreign.raw()) }.is_err());
    fake.calls();
    drop(borrowed);
    assert!(fake.calls().is_empty());
    drop(foreign);
    assert_eq!(fake.calls(), ["cuStreamDestroy"]);
}

#[test]
fn each_failing_call_is_named_and_the_device_lives_on() {
    let fake = Fake::new();
    let stream = Stream::new(fake.context, 0).unwrap();
    let check = |call: &'static str, run: &dyn Fn() -> Result<(), DriverError>| {
        fake.fail(call, 0, CUDA_ERROR_INVALID_VALUE);
        let error = run().unwrap_err();
        assert!(error.to_string().contains(call), "{error}");
        run().unwrap_or_else(|error| panic!("after {call}: {error}"));
    };
    check("cuStreamCreateWithPriority", &|| Stream::new(fake.context, 0).map(drop));
    check("cuMemAllocFromPoolAsync", &|| DeviceMemory::allocate(&stream, 64)?.free(&stream));
    check("cuMemFreeAsync", &|| DeviceMemory::allocate(&stream, 64)?.free(&stream));
    check("cuStreamSynchronize", &|| stream.synchronize());
    check("cuEventCreate", &|| Event::new(fake.context).map(drop));
    check("cuEventRecord", &|| Event::new(fake.context)?.record(&stream));
    check("cuStreamWaitEvent", &|| stream.wait(&Event::new(fake.context)?));
    check("cuModuleLoadDataEx", &|| Module::from_ptx(fake.context, PTX).map(drop));
    check("cuModuleGetFunction", &|| {
        Module::from_ptx(fake.context, PTX)?.function("store", 0).map(drop)
    });
    check("cuMemHostAlloc", &|| PinnedMemory::allocate(fake.context, 1 << 20).map(drop));
    assert!(fake.context.fault().is_none());
}

#[test]
fn absence_and_age_of_a_driver_are_told_apart() {
    unsafe extern "system" fn no_device(_: u32) -> CUresult {
        CUDA_ERROR_NO_DEVICE
    }
    unsafe extern "system" fn mismatch(_: u32) -> CUresult {
        803
    }
    let with = |cu_init| {
        let table = Box::leak(Box::new(Table { cuInit: cu_init, ..fake::TABLE }));
        Driver::from_table(table).init().unwrap_err()
    };
    assert!(with(no_device).is_absent());
    assert!(!with(mismatch).is_absent());
    let count = fake::driver().count().unwrap();
    let error = Context::primary(fake::driver(), count).unwrap_err();
    assert_eq!(error, DriverError::NoSuchDevice { ordinal: count, count });
}

#[test]
fn an_old_driver_launches_plainly_and_refuses_clusters() {
    let context = Fake::old().context;
    assert!(!context.properties().stream_memory_operations);
    let stream = Stream::new(context, 0).unwrap();
    // SAFETY: nothing is enqueued.
    assert!(!unsafe { stream.write_value(0, 1) }.unwrap());
    let function = Module::from_ptx(context, PTX).unwrap().function("store", 0).unwrap();
    let memory = DeviceMemory::allocate(&stream, 4).unwrap();
    let params = pack(&[Param::U64(memory.address()), Param::U32(1)]);
    let mut config =
        LaunchConfig { programmatic: true, ..LaunchConfig::new([2, 1, 1], [32, 1, 1]) };
    // SAFETY: what the kernel takes.
    unsafe {
        stream.launch(function.raw(), &config, &params).unwrap();
        config.cluster = [2, 1, 1];
        assert!(matches!(
            stream.launch(function.raw(), &config, &params),
            Err(DriverError::Unsupported { .. })
        ));
    }
    stream.synchronize().unwrap();
}

#[test]
fn destroying_a_busy_stream_does_not_wait() {
    let context = Fake::new().context;
    let module = Module::from_ptx(context, PTX).unwrap();
    let (stream, go) = (Stream::new(context, 0).unwrap(), flag());
    hold(&stream, &module, go);
    let start = Instant::now();
    drop(stream);
    assert!(start.elapsed() < Duration::from_secs(1));
    go.store(1, Ordering::SeqCst);
}

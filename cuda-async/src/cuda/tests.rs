//! The runtime over the CUDA backend, with the driver that runs in the test process behind it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Wake, Waker};
use std::time::{Duration, Instant};

use crate::backend::{Launch, RawFunction};
use crate::cuda::CudaBackend;
use crate::driver::fake::{self, Fake, PTX, Param, pack};
use crate::driver::sys::CUDA_ERROR_INVALID_VALUE;
use crate::prelude::*;

/// A device of its own over a fake one.
#[derive(Clone, Copy)]
struct Rig {
    device: Device,
    fake: Fake,
}

impl Rig {
    fn new() -> Self {
        Self::over(Fake::new())
    }

    fn over(fake: Fake) -> Self {
        let id = DeviceId::new(DeviceKind::Cuda, fake.context.ordinal());
        let backend = CudaBackend::new(id, fake.context);
        Self { device: Device::with_backend(id, Ok(Box::new(backend))), fake }
    }

    fn function(&self, name: &std::ffi::CStr) -> RawFunction {
        let backend = self.device.backend().unwrap();
        let module = backend.load_module(PTX.as_bytes()).unwrap();
        backend.function(module, name, 0).unwrap()
    }

    fn stream(&self) -> Stream {
        self.device.new_stream().unwrap()
    }

    /// Waits until so many blocks are live.
    #[track_caller]
    fn assert_blocks(&self, expected: usize) {
        let until = Instant::now() + Duration::from_secs(5);
        while self.fake.live().0 != expected && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.fake.live().0, expected, "live blocks");
    }
}

fn launch(
    ctx: &mut ExecutionContext<'_>,
    function: RawFunction,
    params: &[Param],
    dependent: bool,
) -> Result<(), DeviceError> {
    let params = pack(params);
    let launch = Launch {
        function,
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: [1; 3],
        shared_bytes: 0,
        dependent,
        params: &params,
    };
    // SAFETY: the kernels of the fake, over memory that the tests declare or keep.
    unsafe { ctx.launch(&launch) }
}

/// Adds one to each word of `buffer`.
fn add_one(function: RawFunction, buffer: Buffer) -> impl DeviceOperation<Output = Buffer> {
    with_context(move |ctx| {
        let data = ctx.write(&buffer)?;
        launch(ctx, function, &[Param::U64(data.0), Param::U32((buffer.len() / 4) as u32)], false)?;
        Ok(buffer)
    })
}

/// Occupies the stream until the flag is set.
fn hold(function: RawFunction, flag: &'static AtomicU32) -> impl DeviceOperation<Output = ()> {
    with_context(move |ctx| {
        launch(ctx, function, &[Param::U64(std::ptr::from_ref(flag) as u64)], false)
    })
}

fn flag() -> &'static AtomicU32 {
    Box::leak(Box::new(AtomicU32::new(0)))
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_operation_runs_through_the_backend() {
    let rig = Rig::new();
    let function = rig.function(c"add_one");
    let op = upload(words(&[1, 2, 3])).then(move |buffer| add_one(function, buffer)).then(download);
    assert_eq!(op.sync_on(&rig.stream()).unwrap(), words(&[2, 3, 4]));
    rig.assert_blocks(0);
    assert_eq!(rig.device.name().unwrap(), "Fake GPU");
}

#[test]
fn work_on_another_stream_waits_for_what_it_reads() {
    let rig = Rig::new();
    let (first, second) = (rig.stream(), rig.stream());
    let (add, holding, go) = (rig.function(c"add_one"), rig.function(c"hold"), flag());
    let buffer = upload(words(&[41])).sync_on(&first).unwrap();
    let mut held = hold(holding, go).schedule(first.clone()).started();
    let mut added = add_one(add, buffer.clone()).schedule(first).started();
    let read = std::thread::spawn(move || download(buffer).sync_on(&second));
    std::thread::sleep(Duration::from_millis(20));
    assert!(!read.is_finished(), "it read before the write");
    go.store(1, Ordering::SeqCst);
    assert_eq!(read.join().unwrap().unwrap(), words(&[42]));
    let mut context = TaskContext::from_waker(Waker::noop());
    while pin!(&mut held).poll(&mut context).is_pending()
        || pin!(&mut added).poll(&mut context).is_pending()
    {}
    assert!(
        rig.fake.calls().contains(&"cuStreamWaitEvent"),
        "the cheap way: nothing was enqueued after the write"
    );
}

#[test]
fn a_wait_for_a_stream_that_has_gone_on_is_exact() {
    let rig = Rig::new();
    let (first, second) = (rig.stream(), rig.stream());
    let (add, holding, go) = (rig.function(c"add_one"), rig.function(c"hold"), flag());
    let buffer = upload(words(&[1])).sync_on(&first).unwrap();
    // The buffer's write is announced, then the stream gets stuck on something else: nobody may
    // wait for that.
    let gate = flag();
    let _gated = hold(holding, gate).schedule(first.clone()).started();
    let mut added = add_one(add, buffer.clone()).schedule(first.clone());
    let _ = pin!(&mut added).poll(&mut TaskContext::from_waker(Waker::noop()));
    let _stuck = hold(holding, go).schedule(first).started();
    let read = std::thread::spawn(move || download(buffer).sync_on(&second));
    std::thread::sleep(Duration::from_millis(10));
    gate.store(1, Ordering::SeqCst);
    assert_eq!(read.join().unwrap().unwrap(), words(&[2]));
    assert!(rig.fake.calls().contains(&"cuStreamWaitValue64"));
    go.store(1, Ordering::SeqCst);
}

#[test]
fn ten_thousand_submissions_dropped_and_forgotten_at_every_point() {
    let rig = Rig::new();
    let streams = [rig.stream(), rig.stream(), rig.stream()];
    let function = rig.function(c"add_one");
    let shared = upload(words(&[0])).sync_on(&streams[0]).unwrap();
    let mut submitted = 0;
    let mut state = 0x9E37_79B9_u32;
    for i in 0..10_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let stream = streams[state as usize >> 8 & 1 | i & 1].clone();
        let add = add_one(function, shared.clone()).then(move |shared| {
            upload(words(&[7])).then(move |own| add_one(function, own)).map(move |_| shared)
        });
        let mut future = add.schedule(stream);
        match state >> 28 {
            0 => continue,
            1..=12 => future = future.started(),
            _ => drop(pin!(&mut future).poll(&mut TaskContext::from_waker(Waker::noop()))),
        }
        submitted += 1;
        if state >> 24 & 1 == 0 {
            std::mem::forget(future);
        }
    }
    assert_eq!(download(shared).sync_on(&streams[2]).unwrap(), words(&[submitted]));
    // Forgotten futures own their output, which is the shared buffer, and nothing else.
    rig.assert_blocks(1);
    rig.device.check_alive().unwrap();
}

#[test]
fn threads_share_streams_and_buffers() {
    let rig = Rig::new();
    let streams: Vec<Stream> = (0..3).map(|_| rig.stream()).collect();
    let function = rig.function(c"add_one");
    let shared = upload(words(&[0])).sync_on(&streams[0]).unwrap();
    const THREADS: usize = 6;
    const EACH: usize = 200;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (streams, shared) = (&streams, &shared);
            scope.spawn(move || {
                for i in 0..EACH {
                    let stream = &streams[(thread + i) % streams.len()];
                    add_one(function, shared.clone()).sync_on(stream).unwrap();
                }
            });
        }
    });
    let total = (THREADS * EACH) as u32;
    assert_eq!(download(shared).sync_on(&streams[1]).unwrap(), words(&[total]));
    rig.assert_blocks(0);
}

#[test]
fn dependent_kernels_overlap_only_their_like() {
    let rig = Rig::new();
    let function = rig.function(c"add_one");
    let op = zeroed(4).then(move |buffer| {
        with_context(move |ctx| {
            for dependent in [true, true, false, true, true] {
                let data = ctx.write(&buffer)?;
                launch(ctx, function, &[Param::U64(data.0), Param::U32(1)], dependent)?;
            }
            Ok(buffer)
        })
    });
    let stream = rig.stream();
    rig.fake.calls();
    assert_eq!(op.then(download).sync_on(&stream).unwrap(), words(&[5]));
    let launches: Vec<bool> = rig
        .fake
        .calls()
        .iter()
        .filter(|call| call.starts_with("cuLaunch"))
        .map(|call| call.contains("programmatic"))
        .collect();
    // The first follows a fill, the fourth a kernel that does not wait for its predecessor by
    // itself.
    assert_eq!(launches, [false, true, false, false, true]);
}

#[test]
fn out_of_memory_is_typed_and_the_device_lives_on() {
    let rig = Rig::new();
    let error = zeroed(fake::MEMORY + 1).sync_on(&rig.stream()).unwrap_err();
    let ErrorKind::OutOfMemory { requested, total, .. } = error.kind() else { panic!("{error}") };
    assert_eq!((*requested, *total), (fake::MEMORY + 1, fake::MEMORY));
    assert_eq!(zeroed(1).then(download).sync_on(&rig.stream()).unwrap(), [0]);
}

#[test]
fn a_trap_wakes_ten_parked_futures_on_other_streams() {
    let rig = Rig::new();
    let (holding, trap, never) = (rig.function(c"hold"), rig.function(c"trap"), flag());
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut context = TaskContext::from_waker(&waker);
    let mut parked: Vec<_> =
        (0..10).map(|_| Box::pin(hold(holding, never).fallible().schedule(rig.stream()))).collect();
    // Past the time in which a young submission wakes its own task, so that the reactor is what
    // wakes.
    let until = Instant::now() + Duration::from_millis(20);
    while Instant::now() < until {
        for future in &mut parked {
            assert!(future.as_mut().poll(&mut context).is_pending());
        }
    }
    let record = rig.fake.context.fault_record_address();
    let begin = Instant::now();
    let trapped = with_context(move |ctx| launch(ctx, trap, &[Param::U64(record)], false))
        .sync_on(&rig.stream());
    let error = trapped.unwrap_err();
    count.0.store(0, Ordering::SeqCst);
    for future in &mut parked {
        while future.as_mut().poll(&mut context).is_pending() {
            assert!(begin.elapsed() < Duration::from_millis(100), "a parked future was forgotten");
            std::thread::yield_now();
        }
    }
    assert!(error.is_device_lost(), "{error}");
    let text = error.to_string();
    for part in ["check 9 of kernel 2", "operands 64 and 63", "CUDA_ERROR_LAUNCH_FAILED"] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    assert!(rig.device.new_stream().unwrap_err().is_device_lost());
}

#[test]
fn a_failing_call_fails_its_operation_alone() {
    for call in [
        "cuMemAllocFromPoolAsync",
        "cuMemcpyHtoDAsync",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync",
        "cuStreamWriteValue64",
        "cuMemFreeAsync",
    ] {
        let rig = Rig::new();
        let (function, stream) = (rig.function(c"add_one"), rig.stream());
        let run = || {
            let op =
                upload(words(&[1])).then(move |buffer| add_one(function, buffer)).then(download);
            op.sync_on(&stream)
        };
        rig.fake.fail(call, 0, CUDA_ERROR_INVALID_VALUE);
        match run() {
            Err(error) => {
                let ErrorKind::Driver { call: named, code, .. } = error.kind() else {
                    panic!("{call}: {error}")
                };
                assert_eq!((*named, *code), (call, 1));
            }
            // A free that fails concerns nobody who still waits; the bytes are counted.
            Ok(_) => assert_eq!((call, rig.device.leaked_bytes()), ("cuMemFreeAsync", 4)),
        }
        assert_eq!(run().unwrap(), words(&[2]), "after {call}");
        let kept = usize::from(call == "cuMemFreeAsync");
        rig.assert_blocks(kept);
    }
}

#[test]
fn without_stream_writes_events_keep_the_timeline() {
    let rig = Rig::over(Fake::old());
    let (first, second) = (rig.stream(), rig.stream());
    let function = rig.function(c"add_one");
    let buffer =
        upload(words(&[1])).then(move |buffer| add_one(function, buffer)).sync_on(&first).unwrap();
    let submitted = add_one(function, buffer.clone()).schedule(first).started();
    assert_eq!(download(buffer).sync_on(&second).unwrap(), words(&[3]));
    drop(submitted);
    let calls = rig.fake.calls();
    assert!(calls.contains(&"cuEventQuery") && !calls.iter().any(|call| call.contains("Value64")));
}

#[test]
fn a_copy_between_devices_enables_peers() {
    let (here, there) = (Rig::new(), Rig::new());
    let source = upload(words(&[5, 6])).sync_on(&there.stream()).unwrap();
    let op = with_context(move |ctx| {
        let copy = ctx.alloc(8)?;
        ctx.copy_from_peer(&source, &copy, 8)?;
        Ok(copy)
    });
    assert_eq!(op.then(download).sync_on(&here.stream()).unwrap(), words(&[5, 6]));
}

#[test]
fn a_module_that_does_not_load_keeps_the_drivers_reasons() {
    let rig = Rig::new();
    let image = PTX.replace("8.0", "9.9");
    let error = rig.device.backend().unwrap().load_module(image.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("ISA 9.9"), "{error}");
}

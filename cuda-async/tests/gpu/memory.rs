//! Allocation, copies, running out, descriptors.

use cuda_async::driver::{
    DeviceMemory, Driver, FillValue, PinnedMemory, Stream as RawStream, TensorMap,
    TensorMapElement, TensorMapSpec, TensorMapSwizzle,
};
use cuda_async::prelude::*;

use crate::{context, gpu, words};

#[test]
fn bytes_go_there_and_come_back() {
    let device = gpu!();
    let stream = device.new_stream().unwrap();
    for len in [0usize, 1, 3, 4096, 65_537, 64 << 20] {
        let bytes: Vec<u8> = (0..len).map(|i| ((i * 31) >> 3) as u8).collect();
        let back = upload(bytes.clone()).then(download).sync_on(&stream).unwrap();
        assert!(back == bytes, "{len} bytes came back changed");
    }
}

#[test]
fn copies_and_fills_of_every_width() {
    let device = gpu!();
    let stream = device.new_stream().unwrap();
    let op = with_context(|ctx| {
        let (from, to) = (ctx.alloc(32)?, ctx.alloc(32)?);
        ctx.fill(&from, 0, 0x11, 1, 8)?;
        ctx.fill(&from, 8, 0x2233, 2, 4)?;
        ctx.fill(&from, 16, 0x4455_6677, 4, 4)?;
        ctx.copy(&from, 4, &to, 0, 28)?;
        ctx.fill(&to, 28, 0, 4, 1)?;
        Ok(to)
    });
    let bytes = op.then(download).sync_on(&stream).unwrap();
    let mut expected = words([0x1111_1111, 0x2233_2233, 0x2233_2233]);
    expected.extend(words([0x4455_6677; 4]));
    expected.extend(words([0]));
    assert_eq!(bytes, expected);
}

#[test]
fn out_of_memory_is_an_answer() {
    let device = gpu!();
    let stream = device.new_stream().unwrap();
    let total = device.memory().unwrap().total;
    let error = zeroed(2 * total).sync_on(&stream).unwrap_err();
    println!("{error}");
    assert!(error.is_out_of_memory(), "{error}");
    assert!(error.to_string().contains(&(2 * total).to_string()));
    // The device lives on, and so does what was there before.
    assert_eq!(zeroed(3).then(download).sync_on(&stream).unwrap(), [0; 3]);
}

#[test]
fn dropped_memory_goes_back_to_the_pool() {
    let device = gpu!();
    let context = context(device);
    let stream = RawStream::new(context, 0).unwrap();
    const BYTES: usize = 96 << 20;
    let mut addresses = Vec::new();
    for round in 0..50 {
        let memory = DeviceMemory::allocate(&stream, BYTES).unwrap();
        // SAFETY: the block lives until its free, which is ordered after the fill.
        unsafe { stream.fill(memory.address(), FillValue::U32(round), BYTES / 4) }.unwrap();
        addresses.push(memory.address());
        memory.free(&stream).unwrap();
    }
    stream.synchronize().unwrap();
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() < 10, "the pool never reused a block: {} places", addresses.len());
    let held = DeviceMemory::allocate(&stream, BYTES).unwrap();
    let (used, reserved) = context.pool_usage().unwrap();
    assert!(used >= BYTES as u64 && reserved >= used, "{used} used, {reserved} reserved");
    drop(held);
    context.trim_pool(0).unwrap();
}

#[test]
fn pinned_memory_is_seen_by_both_sides() {
    let device = gpu!();
    let context = context(device);
    let stream = RawStream::new(context, 0).unwrap();
    let mut block = PinnedMemory::allocate(context, 256).unwrap();
    // SAFETY: no device work yet; then the block outlives the synchronisation.
    unsafe {
        block.fill_from(&[1; 256]);
        stream.fill(block.device_address() + 128, FillValue::U8(9), 128).unwrap();
        stream.synchronize().unwrap();
        let bytes = block.as_slice();
        assert!(
            bytes[..128].iter().all(|&byte| byte == 1)
                && bytes[128..].iter().all(|&byte| byte == 9)
        );
    }
}

#[test]
fn a_stream_write_is_seen_by_the_host() {
    let device = gpu!();
    let context = context(device);
    println!("64-bit stream writes and waits: {}", context.properties().stream_memory_operations);
    let stream = RawStream::new(context, 0).unwrap();
    let word = PinnedMemory::allocate(context, 8).unwrap();
    // SAFETY: the word outlives the synchronisation.
    unsafe {
        word.host_address().cast::<u64>().write(0);
        let written = stream.write_value(word.device_address(), u64::MAX - 1).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(
            word.host_address().cast::<u64>().read_volatile(),
            if written { u64::MAX - 1 } else { 0 }
        );
    }
}

#[test]
fn tensor_maps_are_encoded() {
    let device = gpu!();
    if context(device).properties().compute_capability < (9, 0) {
        println!("skipped: tensor maps need sm_90");
        return;
    }
    let stream = RawStream::new(context(device), 0).unwrap();
    let memory = DeviceMemory::allocate(&stream, 1 << 20).unwrap();
    let spec = TensorMapSpec {
        element: TensorMapElement::Bf16,
        address: memory.address(),
        extents: &[512, 1024],
        strides: &[1024],
        tile: &[64, 128],
        swizzle: TensorMapSwizzle::Bytes128,
    };
    let driver = Driver::get().unwrap();
    let map = TensorMap::encode(driver, &spec).unwrap();
    assert!(map.as_bytes().iter().any(|&byte| byte != 0));
    let odd = TensorMapSpec { strides: &[1025], ..spec };
    assert!(
        TensorMap::encode(driver, &odd).unwrap_err().to_string().contains("cuTensorMapEncodeTiled")
    );
}

#[test]
fn bytes_go_from_one_gpu_to_another() {
    let here = gpu!();
    let Some(there) = crate::device(1) else { return };
    let direct = context(here).enable_peer(context(there)).unwrap();
    println!("direct access between the two: {direct}");
    let bytes = words(0..1 << 20);
    let source = upload(bytes.clone()).sync_on(&there.new_stream().unwrap()).unwrap();
    let len = bytes.len();
    let op = with_context(move |ctx| {
        let copy = ctx.alloc(len)?;
        ctx.copy_from_peer(&source, &copy, len)?;
        Ok(copy)
    });
    assert!(op.then(download).sync_on(&here.new_stream().unwrap()).unwrap() == bytes);
}

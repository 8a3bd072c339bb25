//! Device memory: limits, reuse in stream order, nothing left behind.

use std::sync::Mutex;
use std::time::Duration;

use cuda_async::prelude::*;

use crate::support::{Gate, PollNow, device, duplicate, fill, increment, poll_once, small_device};

#[test]
fn running_out_names_the_bytes_asked_for_used_and_in_total() {
    let device = small_device(10 << 10);
    let stream = device.new_stream().unwrap();
    let held = upload(vec![1; 4096]).sync_on(&stream).unwrap();
    let error = zeroed(8192).sync_on(&stream).unwrap_err();
    let ErrorKind::OutOfMemory { requested, used, total, .. } = *error.kind() else {
        panic!("{error}");
    };
    assert_eq!((requested, used, total), (8192, 4096, 10 << 10));
    for number in ["8192", "4096", "10240"] {
        assert!(error.to_string().contains(number), "{error}");
    }
    // What there is stays usable, and what is given back can be had again.
    assert_eq!(download(held.clone()).sync_on(&stream).unwrap(), [1; 4096]);
    drop(held);
    assert_eq!(zeroed(8192).sync_on(&stream).unwrap().len(), 8192);
    assert!(zeroed(usize::MAX - 100).sync_on(&stream).unwrap_err().is_out_of_memory());
}

#[test]
fn a_long_chain_needs_the_memory_of_what_is_alive() {
    let device = small_device(3 << 16);
    let stream = device.new_stream().unwrap();
    let mut op = upload(vec![0; 1 << 16]).boxed();
    for _ in 0..300 {
        op = op.then(duplicate).then(increment).boxed();
    }
    let bytes = op.then(download).sync_on(&stream).unwrap();
    assert!(bytes.iter().all(|byte| usize::from(*byte) == 300 % 256));
    assert_eq!(device.memory().unwrap().used, 0);
}

#[test]
fn memory_freed_on_one_stream_is_used_on_another_only_when_it_is_free() {
    let device = device();
    let streams: Vec<_> = (0..4).map(|_| device.new_stream().unwrap()).collect();
    for round in 0..200_usize {
        let stream = &streams[round % 4];
        let byte = round as u8;
        let x = upload(vec![byte; 4096]).sync_on(stream).unwrap();
        let y = duplicate(x).then(increment).then(download).sync_on(stream).unwrap();
        assert!(y.iter().all(|b| *b == byte.wrapping_add(1)));
    }
    assert_eq!(device.memory().unwrap().used, 0);
}

#[test]
fn empty_buffers_go_through_everything() {
    let stream = device().new_stream().unwrap();
    let op = upload(Vec::new()).then(duplicate).then(increment).then(download);
    assert_eq!(op.sync_on(&stream).unwrap(), []);
    let (x, y) = zip((zeroed(0), zeroed(0))).sync_on(&stream).unwrap();
    with_context(move |ctx| ctx.copy(&x, 0, &y, 0, 0)).sync_on(&stream).unwrap();
}

#[test]
fn buffers_are_dropped_from_anywhere() {
    let device = device();
    let stream = device.new_stream().unwrap();
    let x = upload(vec![1; 100]).sync_on(&stream).unwrap();
    // The last handle goes inside work on the stream itself.
    with_context(move |ctx| {
        ctx.run_on_host("drop", move || {
            drop(x);
            Ok(())
        })
    })
    .sync_on(&stream)
    .unwrap();
    let y = upload(vec![1; 100]).sync_on(&stream).unwrap();
    std::thread::spawn(move || drop(y)).join().unwrap();
    assert_eq!(device.memory().unwrap().used, 0);
}

#[test]
fn copies_between_devices_and_within_one() {
    let (here, there) = (device(), device());
    let (s, t) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    let x = upload((0..100).collect()).then(increment).sync_on(&s).unwrap();
    let moved = with_context(|ctx| {
        let y = ctx.alloc(x.len())?;
        ctx.copy_from_peer(&x, &y, x.len())?;
        Ok(y)
    });
    let y = moved.then(increment).sync_on(&t).unwrap();
    assert_eq!(y.device(), there);
    let part = with_context(|ctx| {
        let z = ctx.alloc(10)?;
        ctx.copy(&y, 50, &z, 3, 4)?;
        ctx.upload(&z, 0, &[1, 2, 3])?;
        ctx.fill(&z, 8, 0x0807, 2, 1)?;
        ctx.fill(&z, 7, 0xff, 1, 1)?;
        Ok(z)
    });
    let expected = [1, 2, 3, 52, 53, 54, 55, 255, 7, 8];
    assert_eq!(part.then(download).sync_on(&t).unwrap(), expected);
}

#[test]
fn memory_that_one_stream_reuses_early_is_used_on_another_only_later() {
    const BYTES: usize = 1 << 16;
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let x = upload(vec![1; BYTES]).sync_on(&a).unwrap();
    // A reader of `x`, held back; then `x` is freed, and allocated again on the same stream, which
    // is in order there.
    let mut copy = gate.block().then(move |()| duplicate(x)).then(download).schedule(&a);
    assert!(poll_once(&mut copy).is_pending());
    let slot = Mutex::new(None);
    let again = with_context(|ctx| {
        *slot.lock().unwrap() = Some(ctx.alloc(BYTES)?);
        Ok(())
    });
    drop(again.schedule(&a).poll_now());
    let y = slot.into_inner().unwrap().unwrap();
    // Its first use is on the other stream.
    let mut filled = fill(y, 9).schedule(&b);
    assert!(poll_once(&mut filled).is_pending());
    std::thread::sleep(Duration::from_millis(5));
    assert!(poll_once(&mut filled).is_pending(), "it did not wait");
    gate.open();
    assert!(copy.sync().unwrap().iter().all(|byte| *byte == 1));
    assert!(download(filled.sync().unwrap()).sync_on(&b).unwrap().iter().all(|byte| *byte == 9));
}

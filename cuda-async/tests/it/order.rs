//! Work on several streams: ordered by what it reads and writes, with no rule for the user.

use cuda_async::prelude::*;

use crate::support::{Gate, PollNow, block_on, device, duplicate, fill, increment, poll_once};

#[test]
fn a_reader_on_another_stream_waits_for_the_writer() {
    let device = device();
    let (a, b) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let gate = Gate::default();
    let x = upload(vec![1; 1000]).sync_on(&a).unwrap();
    let written = x.clone();
    let mut writer = gate.block().then(move |()| increment(written)).schedule(&a);
    assert!(poll_once(&mut writer).is_pending());
    let mut reader = duplicate(x).then(download).schedule(&b);
    assert!(poll_once(&mut reader).is_pending());
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!(poll_once(&mut reader).is_pending(), "it did not wait");
    gate.open();
    assert!(block_on(reader).iter().all(|byte| *byte == 2));
    drop(block_on(writer));
}

#[test]
fn a_writer_waits_for_readers_on_other_streams() {
    let device = device();
    let streams: Vec<_> = (0..3).map(|_| device.new_stream().unwrap()).collect();
    let gate = Gate::default();
    let x = upload(vec![1; 1000]).sync_on(&streams[0]).unwrap();
    let mut readers: Vec<_> = streams[1..]
        .iter()
        .map(|stream| {
            let (x, gate) = (x.clone(), gate.clone());
            gate.block().then(move |()| duplicate(x)).then(download).schedule(stream)
        })
        .collect();
    for reader in &mut readers {
        assert!(poll_once(reader).is_pending());
    }
    let mut writer = fill(x, 9).schedule(&streams[0]);
    assert!(poll_once(&mut writer).is_pending());
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!(poll_once(&mut writer).is_pending(), "it did not wait");
    gate.open();
    for reader in readers {
        assert!(block_on(reader).iter().all(|byte| *byte == 1), "it read what came later");
    }
    drop(block_on(writer));
}

/// Copies one buffer to another of the same size.
fn copy(from: Buffer, to: Buffer) -> impl DeviceOperation<Output = ()> {
    with_context(move |ctx| ctx.copy(&from, 0, &to, 0, from.len()))
}

/// A little generator, so that a failing run can be repeated from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Runs random programs over a few buffers on random streams, all submitted without waiting, and
/// compares with the same program run in order.
#[test]
fn random_programs_give_what_running_them_in_order_gives() {
    const LEN: usize = 512;
    for seed in 0..60 {
        let device = device();
        let streams: Vec<_> = (0..4).map(|_| device.new_stream().unwrap()).collect();
        let mut random = Random(seed);
        let mut expected: Vec<u8> = (0..5).collect();
        let mut buffers: Vec<Buffer> = expected
            .iter()
            .map(|byte| upload(vec![*byte; LEN]).sync_on(&streams[0]).unwrap())
            .collect();
        for _ in 0..60 {
            let (i, j) = (random.below(5), random.below(5));
            let stream = &streams[random.below(4)];
            let x = buffers[i].clone();
            match random.below(3) {
                0 => {
                    drop(increment(x).schedule(stream).poll_now());
                    expected[i] += 1;
                }
                1 => {
                    // The copy is made by an operation that nobody waits for.
                    let (from, to) = (x, zeroed(LEN).sync_on(stream).unwrap());
                    buffers[j] = to.clone();
                    drop(copy(from, to).schedule(stream).poll_now());
                    expected[j] = expected[i];
                }
                _ if i != j => {
                    drop(copy(x, buffers[j].clone()).schedule(stream).poll_now());
                    expected[j] = expected[i];
                }
                _ => {}
            }
        }
        for (buffer, byte) in buffers.into_iter().zip(expected) {
            let bytes = download(buffer).sync_on(&streams[random.below(4)]).unwrap();
            assert!(bytes.iter().all(|b| *b == byte), "seed {seed}: {} is not {byte}", bytes[0]);
        }
    }
}

#[test]
fn forked_parts_run_side_by_side() {
    let device = device();
    let policy = ForkJoin::with_streams(device, 3);
    let gate = Gate::default();
    // The first part is held back until the second has run, which needs another stream.
    let (held, opener) = (gate.clone(), gate);
    let first = held.block().then(|()| upload(vec![1])).then(download);
    let second = with_context(move |ctx| {
        ctx.run_on_host("open", move || {
            opener.open();
            Ok(())
        })
    })
    .then(|()| upload(vec![2]).then(download));
    let op = zip((first, second));
    assert_eq!(op.schedule(&policy).sync().unwrap(), (vec![1], vec![2]));
}

#[test]
fn outputs_of_forked_parts_meet_in_order() {
    let policy = ForkJoin::with_streams(device(), 4);
    for _ in 0..50 {
        let parts: Vec<_> = (0..8).map(|n| upload(vec![n; 64]).then(increment)).collect();
        let op = parts.join().then(|parts| {
            parts.into_iter().map(|part| duplicate(part).then(download)).collect::<Vec<_>>().join()
        });
        let outputs = op.schedule(&policy).sync().unwrap();
        for (n, output) in outputs.iter().enumerate() {
            assert!(output.iter().all(|byte| usize::from(*byte) == n + 1));
        }
    }
}

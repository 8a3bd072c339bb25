//! The reactor: prompt while something finishes, asleep otherwise.

use std::time::{Duration, Instant};

use cuda_async::prelude::*;

use crate::support::{Gate, block_on, device, in_child, poll_once};

/// A device that tells when work is done, and one where the runtime has to look, as on a GPU.
fn devices() -> [Device; 2] {
    [false, true].map(|silent| Device::private_host(HostOptions { silent, ..Default::default() }))
}

#[test]
fn a_parked_future_is_woken_soon_after_its_work_is_done() {
    for device in devices() {
        let stream = device.new_stream().unwrap();
        for _ in 0..5 {
            let gate = Gate::default();
            let future = gate.block().schedule(&stream);
            let opener = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                let begin = Instant::now();
                gate.open();
                begin
            });
            block_on(future);
            let late = opener.join().unwrap().elapsed();
            assert!(late < Duration::from_millis(100), "it took {late:?}");
        }
    }
}

/// CPU time of this process's thread of that name, in clock ticks (10 ms).
#[cfg(target_os = "linux")]
fn ticks(thread: &str) -> u64 {
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name.trim() == thread {
            let stat = std::fs::read_to_string(path.join("stat")).unwrap();
            let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
            return fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap();
        }
    }
    panic!("there is no thread `{thread}`");
}

#[cfg(target_os = "linux")]
#[test]
fn a_waiting_reactor_and_an_idle_one_burn_nothing() {
    in_child("reactor::a_waiting_reactor_and_an_idle_one_burn_nothing", &[], || {
        for device in devices() {
            let stream = device.new_stream().unwrap();
            let gate = Gate::default();
            let mut future = gate.block().schedule(&stream);
            assert!(poll_once(&mut future).is_pending());
            std::thread::sleep(Duration::from_millis(2));
            // Now it stands with the reactor, which has started.
            assert!(poll_once(&mut future).is_pending());
            std::thread::sleep(Duration::from_millis(20));
            let before = ticks("cuda-async reac");
            std::thread::sleep(Duration::from_millis(600));
            let waiting = ticks("cuda-async reac") - before;
            assert!(waiting <= 6, "{waiting} of 60 ticks while waiting");
            gate.open();
            block_on(future);
            let before = ticks("cuda-async reac");
            std::thread::sleep(Duration::from_millis(600));
            let idle = ticks("cuda-async reac") - before;
            assert_eq!(idle, 0, "ticks while idle");
        }
    });
}

#[test]
fn work_off_the_stream_wakes_its_operation() {
    let stream = device().new_stream().unwrap();
    let slow = cuda_async::offload("slow", || {
        std::thread::sleep(Duration::from_millis(5));
        Ok(5)
    });
    assert_eq!(Op::new(slow).map(|n| n + 1).sync_on(&stream).unwrap(), 6);
    let bad = cuda_async::offload("bad", || -> Result<i32, DeviceError> { panic!("no") });
    let error = Op::new(bad).sync_on(&stream).unwrap_err();
    assert!(error.to_string().contains("bad") && error.to_string().contains("no"), "{error}");
}

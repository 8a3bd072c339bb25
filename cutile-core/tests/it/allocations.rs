//! What a warm launch costs the thread that submits it: no allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cuda_async::HostOptions;
use cutile_core::api;
use cutile_core::prelude::*;

use crate::kernels::saxpy;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting each thread's allocations.
struct Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no counter any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_launch_allocates_nothing() {
    let device = Device::private_host(HostOptions::default());
    let stream = device.new_stream().unwrap();
    let x = api::ones::<f32>([64, 64]).arc().sync_on(&stream).unwrap();
    let mut y = api::ones::<f32>([64, 64]).sync_on(&stream).unwrap();
    let mut launches = |count| {
        for _ in 0..count {
            saxpy(1.0, &x, y.partition_mut([16, 16])).sync_on(&stream).unwrap();
        }
    };
    // What a busy machine makes necessary once (a pool that grows, the first wait that really waits) may fall into a round; what
    // every launch needs falls into all of them.
    let rounds: Vec<usize> = (0..6)
        .map(|_| {
            let before = COUNT.get();
            launches(100);
            COUNT.get() - before
        })
        .collect();
    assert!(rounds.contains(&0), "allocations in rounds of 100 launches: {rounds:?}");
}

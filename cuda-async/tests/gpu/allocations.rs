//! Submitting a kernel allocates nothing on the host.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cuda_async::prelude::*;

use crate::kernels::{BASE, Params, load};
use crate::{gpu, launch};

/// Counts the allocations of each thread; the driver's own are made elsewhere and don't count.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no count any more, and none is needed.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_launch_allocates_nothing() {
    let device = gpu!();
    let add = load(device, BASE, c"add_one", 0);
    let stream = device.new_stream().unwrap();
    let buffer = zeroed(4).sync_on(&stream).unwrap();
    let params = |ptr: u64| Params::default().u64(ptr).u32(1);
    let mut allocated = 0;
    // The first round fills what is kept for reuse.
    for _ in 0..2 {
        let buffer = buffer.clone();
        let op = with_context(move |ctx| {
            let packed = params(ctx.write(&buffer)?.0);
            let before = COUNT.get();
            for _ in 0..1000 {
                ctx.write(&buffer)?;
                launch(ctx, add, 1, &packed)?;
            }
            Ok(COUNT.get() - before)
        });
        allocated = op.sync_on(&stream).unwrap();
    }
    assert_eq!(allocated, 0, "allocations in 1000 launches");
    assert_eq!(download(buffer).sync_on(&stream).unwrap(), 2000u32.to_ne_bytes());
}

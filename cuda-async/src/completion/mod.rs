//! How completions reach those who wait: wait lists by stream, and one thread that looks.
//!
//! - `waiters`: who waits for which number of one stream; checked by loom.
//! - `signal`: wakes the reactor thread; checked by loom.
//! - `reactor`: the thread; scans the timelines of streams that have waiters, and parks.
//!
//! Nothing here enqueues anything.

mod reactor;
mod signal;
mod waiters;

pub(crate) use reactor::{progress, watch};
pub(crate) use waiters::WaitList;

#[cfg(all(test, loom))]
mod loom_tests;

//! Closures that are queued without allocating.
//!
//! A closure of up to `INLINE` bytes lives in the task itself; a larger one is boxed.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};

use crate::error::Result;

const INLINE: usize = 128;

#[repr(align(16))]
struct Space(#[allow(dead_code)] [MaybeUninit<u8>; INLINE]);

/// A closure for a host stream's worker, and what to call it in messages.
pub struct HostTask {
    site: &'static str,
    /// Moves the closure out of the space and calls it.
    call: unsafe fn(*mut Space) -> Result<()>,
    /// Drops the closure in the space.
    discard: unsafe fn(*mut Space),
    space: Space,
}

// SAFETY: the closure inside is `Send`; nothing is shared.
unsafe impl Send for HostTask {}

impl HostTask {
    pub(crate) fn new<F>(site: &'static str, closure: F) -> Self
    where
        F: FnOnce() -> Result<()> + Send + 'static,
    {
        if size_of::<F>() <= INLINE && align_of::<F>() <= align_of::<Space>() {
            HostTask::inline(site, closure)
        } else {
            let boxed: Box<F> = Box::new(closure);
            HostTask::inline(site, boxed)
        }
    }

    fn inline<F: FnOnce() -> Result<()>>(site: &'static str, closure: F) -> Self {
        unsafe fn call<F: FnOnce() -> Result<()>>(space: *mut Space) -> Result<()> {
            // SAFETY: the space holds an `F`, which is moved out here, once.
            (unsafe { space.cast::<F>().read() })()
        }
        unsafe fn discard<F>(space: *mut Space) {
            // SAFETY: the space holds an `F`, which nobody has moved out.
            unsafe { space.cast::<F>().drop_in_place() };
        }
        let mut space = Space([MaybeUninit::uninit(); INLINE]);
        // SAFETY: `new` has seen to size and alignment.
        unsafe { (&raw mut space).cast::<F>().write(closure) };
        HostTask { site, call: call::<F>, discard: discard::<F>, space }
    }

    pub(crate) fn site(&self) -> &'static str {
        self.site
    }

    pub(crate) fn run(self) -> Result<()> {
        let mut task = ManuallyDrop::new(self);
        // SAFETY: the space still holds the closure; `task` is not dropped after this.
        unsafe { (task.call)(&raw mut task.space) }
    }
}

impl Drop for HostTask {
    fn drop(&mut self) {
        // SAFETY: `run` did not take place, so the space still holds the closure.
        unsafe { (self.discard)(&raw mut self.space) };
    }
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host task `{}`", self.site)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_task_runs_its_closure_once_whatever_its_size() {
        fn check<const N: usize>() {
            let held = Arc::new(());
            let (inside, payload) = (Arc::clone(&held), [7u8; N]);
            let task = HostTask::new("test", move || {
                assert!(payload.iter().all(|byte| *byte == 7));
                drop(inside);
                Ok(())
            });
            assert_eq!(Arc::strong_count(&held), 2);
            task.run().unwrap();
            assert_eq!(Arc::strong_count(&held), 1);
        }
        check::<1>();
        check::<100>();
        check::<1000>();
    }

    #[test]
    fn a_task_that_is_not_run_drops_its_closure() {
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        drop(HostTask::new("test", move || {
            let _inside = &inside;
            Ok(())
        }));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

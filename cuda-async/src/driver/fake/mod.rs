//! A CUDA driver that runs in the test process: a table of functions with the driver's semantics
//! and no GPU behind it.
//!
//! Streams are threads that run their queues in order; events, stream writes and waits, pools and
//! peer copies work; a trapping kernel loses the context as the real driver does it (every stream
//! stops, every call answers the same code). It is stricter than the driver: a call with the wrong
//! context current fails, and work that touches freed memory loses the context. Any call can be
//! made to fail. Tests take a device each, so they run side by side.
//!
//! For tests of this crate only; never compiled otherwise.

mod calls;
mod kernels;
mod machine;

use std::sync::atomic::{AtomicUsize, Ordering};

use super::sys::{CUresult, Table};
use super::{Context, Driver};
pub(crate) use calls::TABLE;
use calls::TABLE_OF_NOW;
use machine::{DEVICES, FakeDevice, device};

/// Bytes of memory that a fake device has.
pub(crate) const MEMORY: usize = 64 << 20;

/// Code with all kernels of the fake.
pub(crate) const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 data, .param .u32 count) { }
.visible .entry store(.param .u64 to, .param .u32 value) { }
.visible .entry hold(.param .u64 flag) { }
.visible .entry trap(.param .u64 record) { }
";

/// One device of the fake driver, with the handles to steer it.
#[derive(Clone, Copy)]
pub(crate) struct Fake {
    pub(crate) context: Context,
    device: &'static FakeDevice,
}

impl Fake {
    /// A device that no other test uses.
    pub(crate) fn new() -> Self {
        Self::with(driver())
    }

    /// The same, with a driver from before stream writes and launch attributes.
    pub(crate) fn old() -> Self {
        Self::with(Driver::from_table(&OLD_TABLE))
    }

    fn with(driver: Driver) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let ordinal = NEXT.fetch_add(1, Ordering::Relaxed);
        assert!(ordinal < DEVICES, "raise DEVICES: more tests than fake devices");
        let context = Context::primary(driver, ordinal).expect("the fake device opens");
        Self { context, device: device(ordinal) }
    }

    /// Makes the call after the next `skip` ones of this name answer `code`, once.
    pub(crate) fn fail(&self, call: &'static str, skip: usize, code: CUresult) {
        self.device.inject(call, skip, code);
    }

    /// Names of the calls made on this device since the last look.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        self.device.take_calls()
    }

    /// How many allocations are live, and how many page-locked blocks.
    pub(crate) fn live(&self) -> (usize, usize) {
        self.device.live()
    }

    /// How many modules are loaded.
    pub(crate) fn modules(&self) -> usize {
        self.device.modules()
    }
}

static OLD_TABLE: Table = Table {
    cuLaunchKernelEx: None,
    cuStreamWriteValue64: None,
    cuStreamWaitValue64: None,
    ..TABLE_OF_NOW
};

/// The fake driver.
pub(crate) fn driver() -> Driver {
    Driver::from_table(&TABLE)
}

/// Packs kernel parameters, each at its own alignment.
pub(crate) fn pack(params: &[Param]) -> Vec<u8> {
    let mut packed = Vec::new();
    for param in params {
        let bytes: &[u8] = match param {
            Param::U32(value) => &value.to_ne_bytes(),
            Param::U64(value) => &value.to_ne_bytes(),
        };
        packed.resize(packed.len().next_multiple_of(bytes.len()), 0);
        packed.extend_from_slice(bytes);
    }
    packed
}

/// A kernel parameter.
#[derive(Clone, Copy)]
pub(crate) enum Param {
    U32(u32),
    U64(u64),
}

//! Lazy, composable GPU operations on streams, awaited from any async runtime or blocked on with none.
//!
//! An *operation* describes device work and what it yields. Operations compose like values; nothing
//! happens until one is awaited, submitted or run with [`sync`](DeviceOperation::sync). Then it is
//! put on a *stream*, in one go as far as its data dependencies on the host allow, and the caller is
//! woken once, when all of it is complete.
//!
//! ```
//! use cuda_async::prelude::*;
//!
//! /// Adds 1 to every byte, on the device.
//! fn increment(buffer: Buffer) -> impl DeviceOperation<Output = Buffer> {
//!     with_context(move |ctx| {
//!         let (bytes, len) = (ctx.write(&buffer)?, buffer.len());
//!         ctx.run_on_host("increment", move || {
//!             for i in 0..len {
//!                 // SAFETY: the buffer has `len` bytes and is declared as written.
//!                 unsafe { *bytes.as_mut_ptr::<u8>().add(i) += 1 };
//!             }
//!             Ok(())
//!         })?;
//!         Ok(buffer)
//!     })
//! }
//!
//! # fn main() -> Result<(), DeviceError> {
//! let stream = Device::host(0).new_stream()?;
//! let op = upload(vec![1, 2, 3]).then(increment).then(increment).then(download);
//! let bytes = op.sync_on(&stream)?; // or `op.await`, in any async runtime
//! assert_eq!(bytes, [3, 4, 5]);
//! # Ok(())
//! # }
//! ```
//!
//! # The flow
//!
//! ```text
//! value or kernel call -> DeviceOperation        lazy, typed, inert              operation/
//!   -> schedule(policy) -> DeviceFuture          a stream is reserved            schedule/, future.rs
//!   -> poll: advance                             enqueued, in order, with waits  context/, stream/
//!   -> the stream's timeline passes              the reactor wakes the task      completion/
//!   -> Output
//! ```
//!
//! # What holds
//!
//! - Work is ordered by what it reads and writes, across streams and devices: no rule to remember.
//! - A future may be dropped, forgotten or aborted at any moment. Memory in flight belongs to its
//!   stream, frees happen in stream order, and no destructor waits.
//! - No closure sees host memory that the device has not finished writing.
//! - A failure is a [`DeviceError`] that says what was given, what was expected and what to do.
//!   `.await` yields the output itself and panics if the device fails; [`fallible`] and `sync` give a
//!   `Result`.
//! - Submitting allocates nothing, takes one lock for the one driver call, and never blocks.
//!
//! # Devices
//!
//! [`Device::default`] is a GPU where there is one, else the *host device*: streams, memory and
//! failures on the CPU, for development and tests anywhere. Environment variables: `CUTILE_DEVICE`
//! (`cuda`, `host`, `emulator`), `CUTILE_HOST_DEVICES`, `CUTILE_HOST_MEMORY`, `CUTILE_STREAMS`.
//!
//! [`fallible`]: DeviceOperation::fallible

pub mod backend;
mod block;
mod completion;
mod config;
mod context;
pub mod cuda;
#[cfg(feature = "cust")]
pub mod cust_interop;
mod device;
pub mod driver;
mod error;
mod future;
mod host;
mod memory;
mod offload;
mod operation;
pub mod prelude;
mod schedule;
mod stream;
mod sync;

pub use context::{ExecutionContext, RawStream, ReadBack};
pub use device::{Device, DeviceId, DeviceKind};
pub use error::{DeviceError, ErrorKind, Result};
pub use future::DeviceFuture;
pub use host::{HostOptions, HostTask};
pub use memory::{Buffer, Readable, Writable};
pub use offload::{Offload, offload};
pub use operation::*;
pub use schedule::{
    ForkJoin, GlobalPolicy, Hints, LeastLoaded, Placement, SchedulingPolicy, SingleStream,
    StreamPoolRoundRobin, global_policy, set_global_policy,
};
pub use stream::{Stream, StreamCore};

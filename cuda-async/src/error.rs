//! The one error type of the runtime: what went wrong, where, and what to do next.
//!
//! [`DeviceError`] is one pointer wide and `Clone`, so results stay small on the submission path and
//! one failure can be handed to everybody it concerns. No other module formats messages.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::device::DeviceId;

/// Short for a result that fails with a [`DeviceError`].
pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

/// Why a device operation failed.
///
/// Cloning is cheap (a reference count). Match on [`kind`](DeviceError::kind); the `Display` text
/// names what was given, what was expected and what to do.
///
/// ```
/// use cuda_async::prelude::*;
///
/// let error = with_context(|_| Ok(1)).schedule(global_policy(99)).sync().unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::NoSuchDevice { .. }));
/// assert!(error.to_string().contains("99"));
/// ```
#[derive(Clone)]
pub struct DeviceError(Arc<ErrorKind>);

/// What kind of failure a [`DeviceError`] is.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A device was named that this process does not have.
    #[error(
        "there is no device {device}: this process has {count} of that kind \
         (numbered from 0); choose a smaller number{}", hint_for_host(*device)
    )]
    NoSuchDevice {
        /// The device asked for.
        device: DeviceId,
        /// How many devices of that kind there are.
        count: usize,
    },
    /// CUDA was asked for, or is present but unusable.
    #[error("CUDA can't be used: {reason}; {advice}")]
    CudaUnavailable {
        /// What is missing or failed.
        reason: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// An environment variable has a value that means nothing.
    #[error("{variable}={value} is not understood: expected {expected}")]
    Configuration {
        /// The variable's name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A call into the CUDA driver failed.
    #[error("{call} failed on {device}: {name} ({code}): {text}")]
    Driver {
        /// The device whose context was current.
        device: DeviceId,
        /// The driver function.
        call: &'static str,
        /// The driver's `CUresult`.
        code: i32,
        /// The name of that code, such as `CUDA_ERROR_INVALID_VALUE`.
        name: String,
        /// The driver's own description.
        text: String,
    },
    /// The device has not enough free memory.
    #[error(
        "out of memory on {device}: {requested} bytes asked for, {used}{} bytes used; \
         drop tensors that are no longer needed, or work in smaller pieces", of(*total)
    )]
    OutOfMemory {
        /// The device.
        device: DeviceId,
        /// Bytes asked for.
        requested: usize,
        /// Bytes in use at that moment.
        used: usize,
        /// Bytes that the device has; `usize::MAX` for a host device without a limit.
        total: usize,
    },
    /// Work that ran on the device failed: a kernel trapped, a host kernel returned an error.
    #[error("{site} failed on {device}: {message}")]
    Fault {
        /// The device.
        device: DeviceId,
        /// The kernel, or the place in it.
        site: String,
        /// What happened.
        message: String,
    },
    /// The device is gone: every operation on it fails from now on.
    #[error(
        "{device} is lost, nothing runs on it any more in this process; first failure: {origin}"
    )]
    DeviceLost {
        /// The device.
        device: DeviceId,
        /// The failure that took it.
        origin: DeviceError,
    },
    /// A buffer holds what failed work left behind.
    #[error(
        "a buffer of {bytes} bytes on {device} was left undefined by work that failed; \
         make it anew; that failure: {origin}"
    )]
    Poisoned {
        /// The buffer's device.
        device: DeviceId,
        /// The buffer's size.
        bytes: usize,
        /// The failure that left it so.
        origin: DeviceError,
    },
    /// Data of one device met an operation that runs on another.
    #[error(
        "data on {found} is used by an operation that runs on {expected}: \
         move it with `copy_to`, or schedule the operation on {found}"
    )]
    WrongDevice {
        /// Where the operation runs.
        expected: DeviceId,
        /// Where the data is.
        found: DeviceId,
    },
    /// A byte range reaches beyond its buffer.
    #[error("bytes {offset}..{} are outside a buffer of {len} bytes", offset.saturating_add(*bytes))]
    OutOfRange {
        /// Start of the range.
        offset: usize,
        /// Length of the range.
        bytes: usize,
        /// Length of the buffer.
        len: usize,
    },
    /// The device can't do what was asked.
    #[error("{device} can't {what}")]
    Unsupported {
        /// The device.
        device: DeviceId,
        /// The missing ability, as a verb phrase.
        what: &'static str,
    },
    /// A closure of the user panicked where the panic could not be passed on.
    #[error("{site} panicked: {message}")]
    Panicked {
        /// Where.
        site: &'static str,
        /// The panic's message.
        message: String,
    },
    /// An `Arc` that others still hold was to be unwrapped.
    #[error(
        "the value is shared by {holders} holders, so it can't be unwrapped or written: \
         drop the other `Arc` clones first"
    )]
    Shared {
        /// How many hold it.
        holders: usize,
    },
    /// Something waited for a device from the thread that does the device's work.
    #[error(
        "{device} can't be waited for from work that runs on its stream: \
         it would wait for itself; wait from outside"
    )]
    WaitInsideWork {
        /// The device.
        device: DeviceId,
    },
    /// A device was given a policy while it had one.
    #[error(
        "{device} has a scheduling policy already and keeps it: set another before the first \
         operation is scheduled there"
    )]
    PolicyInUse {
        /// The device.
        device: DeviceId,
    },
    /// An error of a layer above, see [`DeviceError::source`](std::error::Error::source).
    #[error("{0}")]
    Operation(Arc<dyn Error + Send + Sync>),
}

fn hint_for_host(device: DeviceId) -> &'static str {
    match device.kind() {
        crate::DeviceKind::Host => ", or set CUTILE_HOST_DEVICES",
        _ => "",
    }
}

impl DeviceError {
    /// Wraps the typed error of a layer above (a shape error, a missing kernel).
    ///
    /// ```
    /// # use cuda_async::prelude::*;
    /// let error = DeviceError::new(std::fmt::Error);
    /// assert!(error.downcast_ref::<std::fmt::Error>().is_some());
    /// ```
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        ErrorKind::Operation(Arc::new(error)).into()
    }

    /// A failure of work that ran on `device`: what a host kernel returns.
    pub fn fault(device: DeviceId, site: impl Into<String>, message: impl Into<String>) -> Self {
        ErrorKind::Fault { device, site: site.into(), message: message.into() }.into()
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The error of the layer above, if this wraps one of type `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match self.kind() {
            ErrorKind::Operation(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// The first failure in a chain of consequences: what a lost device or a poisoned buffer is due to.
    pub fn origin(&self) -> &DeviceError {
        match self.kind() {
            ErrorKind::DeviceLost { origin, .. } | ErrorKind::Poisoned { origin, .. } => {
                origin.origin()
            }
            _ => self,
        }
    }

    /// Whether this says that memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.kind(), ErrorKind::OutOfMemory { .. })
    }

    /// Whether the whole device is gone, not just this operation.
    pub fn is_device_lost(&self) -> bool {
        matches!(self.kind(), ErrorKind::DeviceLost { .. })
    }
}

/// The total of a device's memory in a message, where it has one.
fn of(total: usize) -> String {
    match total {
        usize::MAX => String::new(),
        total => format!(" of {total}"),
    }
}

impl From<ErrorKind> for DeviceError {
    fn from(kind: ErrorKind) -> Self {
        DeviceError(Arc::new(kind))
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The same text as `Display`, since this is what `unwrap` and a `main` that returns a `Result` print; `{:#?}` shows the
/// fields.
impl fmt::Debug for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { fmt::Debug::fmt(&*self.0, f) } else { fmt::Display::fmt(self, f) }
    }
}

impl Error for DeviceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.kind() {
            ErrorKind::Operation(error) => error.source(),
            ErrorKind::DeviceLost { origin, .. } | ErrorKind::Poisoned { origin, .. } => {
                Some(origin)
            }
            _ => None,
        }
    }
}

/// The message of a caught panic.
pub(crate) fn panic_message(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => match other.downcast::<&'static str>() {
            Ok(text) => (*text).to_string(),
            Err(_) => "(a panic without a message)".to_string(),
        },
    }
}

//! What an operation can declare as read or written: a [`Buffer`], or a value of a layer above that has one.
//!
//! No tracking here: the context marks the buffer that a value names.

use std::sync::Arc;

use crate::error::Result;
use crate::memory::Buffer;

/// What [`ExecutionContext::read`](crate::ExecutionContext::read) takes: a [`Buffer`], a tensor of the layer above, or a
/// reference or an `Arc` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device memory that can be read",
    label = "expected a buffer, a tensor, or a partition"
)]
pub trait Readable {
    /// The buffer, and where in it the value begins, in bytes.
    ///
    /// # Errors
    /// If the value is not what it was meant to be, such as a reshape that was not possible.
    fn readable(&self) -> Result<(&Buffer, usize)>;
}

/// What [`ExecutionContext::write`](crate::ExecutionContext::write) takes: `&Buffer`, or `&mut` of a value that owns its
/// memory alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device memory that can be written",
    label = "expected a `&Buffer`, a `&mut Tensor` or a `&mut Partition`"
)]
pub trait Writable {
    /// The buffer, and where in it the value begins, in bytes.
    ///
    /// # Errors
    /// If the value is not what it was meant to be, such as a reshape that was not possible.
    fn writable(&self) -> Result<(&Buffer, usize)>;
}

impl Readable for Buffer {
    fn readable(&self) -> Result<(&Buffer, usize)> {
        Ok((self, 0))
    }
}

impl Writable for &Buffer {
    fn writable(&self) -> Result<(&Buffer, usize)> {
        Ok((self, 0))
    }
}

impl<R: Readable + ?Sized> Readable for &R {
    fn readable(&self) -> Result<(&Buffer, usize)> {
        R::readable(self)
    }
}

impl<R: Readable + ?Sized> Readable for &mut R {
    fn readable(&self) -> Result<(&Buffer, usize)> {
        R::readable(self)
    }
}

impl<R: Readable + ?Sized> Readable for Arc<R> {
    fn readable(&self) -> Result<(&Buffer, usize)> {
        R::readable(self)
    }
}

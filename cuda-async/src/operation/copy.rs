//! Operations on plain buffers of bytes: enough to use the runtime with no tensor.

use std::task::Poll;

use crate::context::{ExecutionContext, ReadBack};
use crate::error::Result;
use crate::memory::Buffer;
use crate::operation::{Execute, Op, advanced_after_ready, ready};
use crate::schedule::Hints;

/// See [`upload`].
pub struct Upload(Option<Vec<u8>>);

/// Copies bytes to a new buffer on the device.
///
/// ```
/// # use cuda_async::prelude::*;
/// assert_eq!(upload(vec![1, 2, 3]).then(download).sync_on(&Device::host(0).new_stream()?)?, [1, 2, 3]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn upload(bytes: Vec<u8>) -> Op<Upload> {
    Op::new(Upload(Some(bytes)))
}

impl Execute for Upload {
    type Out = Buffer;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Buffer>> {
        let Some(bytes) = self.0.take() else { advanced_after_ready() };
        let upload = |ctx: &mut ExecutionContext<'_>| {
            let buffer = ctx.alloc(bytes.len())?;
            ctx.upload_vec(&buffer, 0, bytes)?;
            Ok(buffer)
        };
        Poll::Ready(upload(ctx))
    }
}

/// See [`zeroed`].
pub struct Zeroed(usize);

/// Makes a buffer of `bytes` zero bytes on the device.
pub fn zeroed(bytes: usize) -> Op<Zeroed> {
    Op::new(Zeroed(bytes))
}

impl Execute for Zeroed {
    type Out = Buffer;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Buffer>> {
        let buffer = ctx.alloc(self.0)?;
        ctx.fill(&buffer, 0, 0, 1, self.0)?;
        Poll::Ready(Ok(buffer))
    }
}

/// See [`download`].
pub struct Download {
    buffer: Buffer,
    copy: Option<ReadBack>,
}

/// Copies a buffer's bytes to the host.
pub fn download(buffer: Buffer) -> Op<Download> {
    Op::new(Download { buffer, copy: None })
}

impl Execute for Download {
    type Out = Vec<u8>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Vec<u8>>> {
        let copy = match &mut self.copy {
            Some(copy) => copy,
            None => self.copy.insert(ctx.copy_to_host(&self.buffer, 0, self.buffer.len())?),
        };
        let bytes = ready!(copy.poll(ctx));
        Poll::Ready(Ok(bytes.to_vec()))
    }

    fn hints(&self) -> Hints {
        Hints { device: Some(self.buffer.device()), ..Hints::default() }
    }
}

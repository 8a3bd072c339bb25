//! `with_context`: an operation from a closure that enqueues work itself.

use std::task::Poll;

use crate::context::ExecutionContext;
use crate::error::Result;
use crate::operation::{Execute, Op, advanced_after_ready};

/// See [`with_context`].
pub struct ContextFn<F>(Option<F>);

/// Makes an operation from a closure: the door for other libraries and for work of one's own.
///
/// The closure declares what it touches (`ctx.read`, `ctx.write`), then enqueues: with the context's
/// methods, or with foreign calls on [`ctx.raw_stream()`](ExecutionContext::raw_stream).
///
/// ```
/// use cuda_async::prelude::*;
///
/// let op = with_context(|ctx| {
///     let buffer = ctx.alloc(3)?;
///     ctx.fill(&buffer, 0, 7, 1, 3)?;
///     Ok(buffer)
/// });
/// let stream = Device::host(0).new_stream()?;
/// assert_eq!(op.then(download).sync_on(&stream)?, [7, 7, 7]);
/// # Ok::<(), DeviceError>(())
/// ```
pub fn with_context<T, F>(f: F) -> Op<ContextFn<F>>
where
    F: FnOnce(&mut ExecutionContext<'_>) -> Result<T> + Send,
    T: Send,
{
    Op::new(ContextFn(Some(f)))
}

impl<T, F> Execute for ContextFn<F>
where
    F: FnOnce(&mut ExecutionContext<'_>) -> Result<T> + Send,
    T: Send,
{
    type Out = T;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<T>> {
        let Some(f) = self.0.take() else { advanced_after_ready() };
        let output = f(ctx);
        // Work that the closure put on the raw stream counts even if the closure failed later.
        let finished = ctx.finish_raw();
        Poll::Ready(output.and_then(|output| finished.map(|()| output)))
    }
}

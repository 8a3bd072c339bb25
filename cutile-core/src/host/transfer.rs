//! `copy_to`: a tensor on another device, or a second one on the same. The copy runs on a stream of the target.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use cuda_async::{
    Buffer, Device, DeviceError, DeviceFuture, DeviceOperation, Download, ErrorKind, Execute,
    ExecutionContext, Fallible, Hints, Op, download,
};

use super::element::HostElement;
use super::read::{Read, ReadTensor};
use super::tensor::{RawTensor, Tensor};

/// See [`Tensor::copy_to`].
pub struct CopyTo<O: DeviceOperation<Output: ReadTensor>> {
    target: Device,
    stage: Stage<O>,
}

enum Stage<O: DeviceOperation> {
    Upstream(O),
    /// Between devices of different kinds the bytes go through the host.
    ThroughHost {
        tensor: O::Output,
        bytes: Box<DeviceFuture<Op<Fallible<Op<Download>>>>>,
    },
}

impl<O: DeviceOperation<Output: ReadTensor>> CopyTo<O> {
    pub(crate) fn new(upstream: O, target: Device) -> Self {
        CopyTo { target, stage: Stage::Upstream(upstream) }
    }
}

type Element<O> = <<O as IntoFuture>::Output as ReadTensor>::Element;

impl<O: DeviceOperation<Output: ReadTensor>> Execute for CopyTo<O> {
    type Out = Tensor<Element<O>>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out, DeviceError>> {
        if ctx.device() != self.target {
            let (expected, found) = (ctx.device().id(), self.target.id());
            return Poll::Ready(Err(ErrorKind::WrongDevice { expected, found }.into()));
        }
        if let Stage::Upstream(upstream) = &mut self.stage {
            let tensor = ready!(upstream.advance(ctx))?;
            let raw = tensor.raw_tensor().check()?;
            let from = raw.buffer.device();
            if from.kind() == self.target.kind() {
                let buffer = copy_buffer(ctx, raw)?;
                return Poll::Ready(Ok(on_target(raw, buffer)));
            }
            let bytes = download(raw.buffer.clone()).fallible().into_future();
            self.stage = Stage::ThroughHost { tensor, bytes: Box::new(bytes) };
        }
        match &mut self.stage {
            Stage::ThroughHost { tensor, bytes } => {
                let mut task = Context::from_waker(ctx.waker());
                let bytes = ready!(Pin::new(&mut **bytes).poll(&mut task))?;
                let buffer = ctx.alloc(bytes.len())?;
                ctx.upload_vec(&buffer, 0, bytes)?;
                Poll::Ready(Ok(on_target(tensor.raw_tensor(), buffer)))
            }
            Stage::Upstream(_) => Poll::Pending,
        }
    }

    fn hints(&self) -> Hints {
        let upstream = match &self.stage {
            Stage::Upstream(upstream) => upstream.hints(),
            Stage::ThroughHost { .. } => Hints::default(),
        };
        Hints { device: Some(self.target), ..upstream }
    }
}

fn on_target<T: HostElement>(source: &RawTensor, buffer: Buffer) -> Tensor<T> {
    Tensor::from_raw(RawTensor::new(buffer, source.dtype, source.layout.clone()))
}

/// A copy of the whole buffer, so that the layout stays what it is.
fn copy_buffer(ctx: &mut ExecutionContext<'_>, source: &RawTensor) -> Result<Buffer, DeviceError> {
    let bytes = source.byte_offset() + source.byte_span();
    let buffer = ctx.alloc(bytes)?;
    if source.buffer.device() == ctx.device() {
        ctx.copy(&source.buffer, 0, &buffer, 0, bytes)?;
    } else {
        ctx.copy_from_peer(&source.buffer, &buffer, bytes)?;
    }
    Ok(buffer)
}

impl<T: HostElement> Tensor<T> {
    /// A tensor with the same elements on `device`: an operation that borrows this one and runs on `device`. On the same
    /// device it is a second tensor.
    pub fn copy_to<'a>(
        &'a self,
        device: &Device,
    ) -> impl DeviceOperation<Output = Tensor<T>> + use<'a, T> {
        use cuda_async::IntoDeviceOperation;
        Op::new(CopyTo::new(self.into_operation(), *device))
    }
}

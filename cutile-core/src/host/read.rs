//! `to_host_vec`: a tensor's elements as a `Vec`, in row-major order whatever the strides are.

use std::sync::Arc;
use std::task::{Poll, ready};

use cuda_async::{
    DeviceError, DeviceOperation, DeviceValue, Execute, ExecutionContext, Hints,
    IntoDeviceOperation, Op, ReadBack,
};

use super::element::HostElement;
use super::partition::Partition;
use super::shape::Layout;
use super::tensor::{RawTensor, Tensor};

mod sealed {
    use super::RawTensor;

    pub trait Read {
        fn raw_tensor(&self) -> &RawTensor;
    }
}
pub(crate) use sealed::Read;

/// What holds a tensor that can be read: `Tensor<T>`, `&Tensor<T>`, `Arc<Tensor<T>>`, and partitions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` holds no tensor that can be read",
    label = "expected a `Tensor`, a `&Tensor`, an `Arc<Tensor>` or a partition"
)]
pub trait ReadTensor: sealed::Read + DeviceValue {
    /// The element type.
    type Element: HostElement;

    /// The tensor's extents, outermost axis first.
    fn shape_of(&self) -> &[usize] {
        &self.raw_tensor().layout.shape
    }
}

macro_rules! readable {
    ($($t:ty),*) => {$(
        impl<T: HostElement> sealed::Read for $t {
            fn raw_tensor(&self) -> &RawTensor {
                self.raw()
            }
        }
        impl<T: HostElement> ReadTensor for $t {
            type Element = T;
        }
    )*};
}
readable!(
    Tensor<T>,
    &Tensor<T>,
    Arc<Tensor<T>>,
    &Arc<Tensor<T>>,
    Partition<Tensor<T>>,
    Partition<&mut Tensor<T>>
);

/// See [`Tensor::to_host_vec`].
pub struct ToHostVec<O>
where
    O: DeviceOperation<Output: ReadTensor>,
{
    stage: Stage<O>,
}

enum Stage<O: DeviceOperation> {
    Upstream(O),
    /// The copy is enqueued. The tensor is held until its elements are here, so that a caller who moved it in does not
    /// give its memory back earlier than needed.
    Copying {
        _tensor: O::Output,
        copy: ReadBack,
        layout: Layout,
    },
}

impl<O> ToHostVec<O>
where
    O: DeviceOperation<Output: ReadTensor>,
{
    pub(crate) fn new(upstream: O) -> Self {
        ToHostVec { stage: Stage::Upstream(upstream) }
    }
}

/// [`ToHostVec`] of something that is at hand.
pub(crate) fn read<V>(value: V) -> Op<ToHostVec<<V as IntoDeviceOperation<V>>::Operation>>
where
    V: ReadTensor + IntoDeviceOperation<V>,
{
    Op::new(ToHostVec::new(value.into_operation()))
}

impl<O> Execute for ToHostVec<O>
where
    O: DeviceOperation<Output: ReadTensor>,
{
    type Out = Vec<<O::Output as ReadTensor>::Element>;

    fn advance(&mut self, ctx: &mut ExecutionContext<'_>) -> Poll<Result<Self::Out, DeviceError>> {
        if let Stage::Upstream(upstream) = &mut self.stage {
            let tensor = ready!(upstream.advance(ctx))?;
            let raw = tensor.raw_tensor().check()?;
            let layout = raw.layout.clone();
            let copy = ctx.copy_to_host(&raw.buffer, raw.byte_offset(), raw.byte_span())?;
            self.stage = Stage::Copying { _tensor: tensor, copy, layout };
        }
        match &mut self.stage {
            Stage::Copying { copy, layout, .. } => {
                let bytes = ready!(copy.poll(ctx))?;
                Poll::Ready(Ok(elements(bytes, layout)))
            }
            Stage::Upstream(_) => Poll::Pending,
        }
    }

    fn hints(&self) -> Hints {
        match &self.stage {
            Stage::Upstream(upstream) => upstream.hints(),
            Stage::Copying { .. } => Hints::default(),
        }
    }
}

/// The elements of a tensor, from the bytes that its layout spans.
fn elements<T: HostElement>(bytes: &[u8], layout: &Layout) -> Vec<T> {
    let size = T::DTYPE.bytes();
    if layout.is_contiguous() {
        return bytes.chunks_exact(size).map(T::from_bytes).collect();
    }
    let mut elements = Vec::with_capacity(layout.len());
    layout.for_each_position(|at| elements.push(T::from_bytes(&bytes[at * size..][..size])));
    elements
}

impl<T: HostElement> Tensor<T> {
    /// The elements in row-major order: an operation that borrows the tensor.
    ///
    /// ```
    /// use cutile_core::{api, prelude::*};
    /// # fn main() -> Result<(), DeviceError> {
    /// let x = api::arange::<i32>(4).sync()?;
    /// assert_eq!(x.to_host_vec().sync()?, [0, 1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_host_vec(&self) -> impl DeviceOperation<Output = Vec<T>> {
        read(self)
    }

    /// [`to_host_vec`](Tensor::to_host_vec) that takes the tensor, so that the operation borrows nothing.
    pub fn into_host_vec(self) -> impl DeviceOperation<Output = Vec<T>> {
        read(self)
    }
}

//! Tensors in operations of one's own: `ctx.read(&x)` and `ctx.write(&mut y)` give the address of the first element. What is
//! behind it is row-major where [`Tensor::is_contiguous`], else as [`Tensor::strides`] says.

use cuda_async::{Buffer, DeviceError, Readable, Writable};

use super::partition::{Partition, PartitionTarget};
use super::tensor::{RawTensor, Tensor};

fn place(raw: &RawTensor) -> Result<(&Buffer, usize), DeviceError> {
    let raw = raw.check()?;
    Ok((&raw.buffer, raw.byte_offset()))
}

impl<T> Readable for Tensor<T> {
    fn readable(&self) -> Result<(&Buffer, usize), DeviceError> {
        place(self.raw())
    }
}

impl<V: PartitionTarget> Readable for Partition<V> {
    fn readable(&self) -> Result<(&Buffer, usize), DeviceError> {
        place(self.raw())
    }
}

impl<T> Writable for &mut Tensor<T> {
    fn writable(&self) -> Result<(&Buffer, usize), DeviceError> {
        place(self.raw())
    }
}

impl<V: PartitionTarget> Writable for &mut Partition<V> {
    fn writable(&self) -> Result<(&Buffer, usize), DeviceError> {
        place(Partition::raw(self))
    }
}

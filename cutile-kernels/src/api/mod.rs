//! Functions of tensors. Each gives an operation that checks its arguments, allocates the result and launches a kernel.
//!
//! Arguments are tensors, `Arc`s of tensors, references, or operations that yield one of these. What does not fit together is
//! an error of the operation, as a [`TensorError`](cutile_core::TensorError).

mod elementwise;
mod flat;
mod matmul;
mod sum;

pub use cutile_core::api::{
    Filled, FromVec, Random, arange, copy_to, eye, from_slice, from_vec, full, linspace, ones,
    rand, randn, uninit, zeros, zip,
};
pub use elementwise::{add, div, maximum, mul, relu, sub};
pub use matmul::{MatMul, matmul};
pub use sum::{Sum, sum};

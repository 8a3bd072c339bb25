//! Tensors and launches, with kernels written as tile IR: what can be tested without the macro.

mod allocations;
mod kernels;
mod launch;

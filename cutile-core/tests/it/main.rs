//! Tensors and launches, with kernels written as tile IR: what can be tested without the macro.

mod kernels;
mod launch;

//! Kernels and tensor functions of cutile, written in its own language.
//!
//! - [`kernels`]: the kernels, with their launchers.
//! - [`api`]: functions of tensors that launch them, and those that need no kernel.

pub mod api;
pub mod kernels;

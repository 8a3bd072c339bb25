//! GPU tile kernels and asynchronous GPU work in Rust, without a CUDA toolkit.

//! Tests of the CPU backend, one file a topic. Expected values are computed in the test, in f64 or
//! by Rust's own operators, never by the backend.

mod harness;

mod control;
mod convert;
mod faults;
mod floats;
mod integers;
mod kernels;
mod matrix;
mod memory;
mod random;
mod reduce;

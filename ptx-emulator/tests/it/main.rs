//! Runs whole programs of PTX through the public interface.

mod alu;
mod async_faults;
mod faults;
mod flow;
mod gemm;
mod harness;

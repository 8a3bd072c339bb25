//! Runs whole programs of PTX through the public interface.

mod alu;
mod faults;
mod flow;
mod gemm;
mod harness;

//! Runs whole programs of PTX through the public interface.

mod alu;
mod async_faults;
mod conversions;
mod faults;
mod flow;
mod fuzz;
mod gemm;
mod hardware;
mod harness;
mod idioms;
mod isa;
mod lanes;
mod launches;
mod reports;
mod rust;
mod sync;

//! Compiles kernels given as tile IR and runs their PTX in the emulator, all its checks on, against values computed here.

mod attention;
mod control;
mod elementwise;
mod harness;
mod operations;
mod product;
mod reduce;

//! Reads kernels out of compiled programs.

//! Runs cutile's tile IR on the CPU.

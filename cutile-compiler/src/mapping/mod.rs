//! Mapping: where tiles live. Everything about threads, registers and shared memory is decided here, and read by `codegen`.

pub mod assign;
pub mod layout;
pub mod matrix;
pub mod shared;
pub mod stages;
pub mod threads;

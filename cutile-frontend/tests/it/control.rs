//! Control flow, from Rust's to the IR's.

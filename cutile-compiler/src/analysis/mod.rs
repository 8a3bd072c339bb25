//! What is known of values before anything is mapped. Reads the IR, changes nothing.

pub mod ragged;
pub mod range;

//! Tests of the runtime on host devices, by scenario.

mod compose;

//! The tests that are about the whole: one binary, a module for each subject.

mod spec;
mod tensors;
mod ui;

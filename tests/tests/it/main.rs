//! The tests that are about the whole: one binary, a module for each subject.

mod child;
mod devices;
mod differential;
mod documents;
mod emulated;
mod everywhere;
mod field_cases;
mod in_flight;
mod language;
mod launch_errors;
mod spec;
mod tensors;
mod ui;

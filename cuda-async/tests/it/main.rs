//! Tests of the runtime on host devices, one module a scenario.
//!
//! Everything here runs on any machine. Each test uses devices of its own, so they do not disturb
//! each other; what needs a process of its own runs in a child.

#![cfg(not(loom))]

mod compose;
mod drop_in_flight;
mod errors;
mod faults;
mod memory;
mod once;
mod order;
mod overlap;
mod reactor;
mod schedule;
mod submit_cost;
mod support;
mod threads;

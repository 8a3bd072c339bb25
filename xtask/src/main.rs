//! The workspace's own commands: `cargo xtask <command>`.
fn main() {}

//! Wrong kernels and launches, and what the compiler says of them, exactly: `tests/ui`. `TRYBUILD=overwrite` rewrites the
//! expected messages; read each before it is committed.

use std::process::{Command, Stdio};

#[test]
fn wrong_programs_are_told_what_is_wrong() {
    let cargo = Command::new("cargo").arg("--version").stdout(Stdio::null()).status();
    if cargo.is_err() {
        println!("left out: there is no cargo here");
        return;
    }
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}

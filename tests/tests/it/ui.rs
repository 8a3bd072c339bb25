//! Wrong kernels and launches, and what the compiler says of them, exactly: `tests/ui`. `TRYBUILD=overwrite` rewrites the
//! expected messages; read each before it is committed.

use std::path::Path;

#[test]
fn wrong_programs_are_told_what_is_wrong() {
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join("ui").is_dir() {
        println!("left out: the sources are not here");
        return;
    }
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}

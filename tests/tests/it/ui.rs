//! Wrong kernels and launches, and what the compiler says of them, exactly: `tests/ui`. `TRYBUILD=overwrite` rewrites the
//! expected messages; read each before it is committed.

#[test]
fn wrong_programs_are_told_what_is_wrong() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}

//! Running the built examples.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The folder of the built examples: cargo builds them before this test, into the folder beside this one's. A bundle has
/// the same neighbours under other names.
fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("the path of the test binary");
    let parent = program.parent().and_then(|folder| folder.parent()).expect("two folders up");
    ["examples", "example"]
        .map(|name| parent.join(name))
        .into_iter()
        .find(|folder| folder.is_dir())
        .expect("the built examples beside the tests")
}

/// The program of an example.
pub(crate) fn path(name: &str) -> PathBuf {
    folder().join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// The example's whole output, however it ends.
pub(crate) fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let program = path(name);
    let mut command = Command::new(&program);
    command.args(arguments).envs(environment.iter().copied());
    command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// What the example prints; it must succeed.
pub(crate) fn run(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = start(name, arguments, environment);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

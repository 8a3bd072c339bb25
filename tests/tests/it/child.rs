//! Tests that need a process of their own: the environment is read once, and a GPU's fault ends its context.

use std::process::Command;

const CHILD: &str = "CUTILE_TEST_CHILD";

/// Runs `body` in a child process that has these environment variables. `test` is the calling test's full name.
pub(crate) fn in_child(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .envs(variables.iter().copied())
        .env(CHILD, test)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test} in a child: {text}{errors}"
    );
}

/// Whether this is such a child process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

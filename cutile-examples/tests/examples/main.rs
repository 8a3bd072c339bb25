//! Every example runs, as a user would run it. Each asserts its own results; here is what it prints and how it is called.

mod emulated;
mod programs;

use programs::{run, start};

#[test]
fn hello_world() {
    assert!(run("hello_world", &[], &[]).contains("[0, 0, 0, 0, 1, 1, 1, 1, 2, 2]"));
}

#[test]
fn saxpy() {
    assert!(run("saxpy", &[], &[]).contains("2 * 255 + 1 = 511"));
}

#[test]
fn async_add() {
    assert_eq!(run("async_add", &[], &[]).matches("256 values, each 2").count(), 4);
}

#[test]
fn composing() {
    let said = run("composing", &[], &[]);
    assert!(said.contains("(3 + 4) / 2 = 3.5, three times that = 10.5"), "{said}");
    assert!(said.contains("equal shape"), "{said}");
}

#[test]
fn custom_operation() {
    assert!(run("custom_operation", &[], &[]).contains("2 * 999 = 1998"));
}

#[test]
fn gemm() {
    assert!(run("gemm", &[], &[]).contains("150 x 200 times 200 x 170"));
}

#[test]
fn softmax() {
    assert!(run("softmax", &[], &[]).contains("10 rows of 100"));
}

#[test]
fn out_of_range() {
    let said = run("out_of_range", &[], &[("CUTILE_DEVICE", "host")]);
    assert!(said.contains("out_of_range.rs:21") && said.contains("tile program [3]"), "{said}");
}

/// The last four lines of `async_mlp`, as `(key, value)`.
fn mlp(environment: &[(&str, &str)]) -> Vec<(String, String)> {
    let said = run("async_mlp", &["--rounds", "2"], environment);
    let lines = said.lines().map(|line| line.split_once(": ").expect("key: value"));
    lines.map(|(key, value)| (key.into(), value.into())).collect()
}

#[test]
fn async_mlp_is_right_and_the_same_on_any_number_of_devices() {
    let one = mlp(&[("CUTILE_DEVICE", "host"), ("CUTILE_HOST_DEVICES", "1")]);
    let keys: Vec<&str> = one.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["device", "samples", "accuracy", "samples per second"]);
    assert_eq!((one[0].1.as_str(), one[1].1.as_str()), ("host:0", "900"));
    assert!(one[2].1.parse::<f64>().expect("a number") >= 0.95, "accuracy {}", one[2].1);
    assert!(one[3].1.parse::<f64>().expect("a number") > 0.0);

    let three = mlp(&[("CUTILE_DEVICE", "host"), ("CUTILE_HOST_DEVICES", "3")]);
    assert_eq!(three[0].1, "host:0, host:1, host:2");
    assert_eq!(three[1..3], one[1..3], "samples and accuracy");
}

#[test]
fn async_mlp_runs_on_the_default_device() {
    let said = mlp(&[]);
    assert!(said[2].1.parse::<f64>().expect("a number") >= 0.95, "{said:?}");
}

#[test]
fn arguments_that_mean_nothing_are_refused() {
    for arguments in [&["--rounds", "none"][..], &["--rounds", "0"], &["--rounds"], &["--fast"]] {
        let output = start("async_mlp", arguments, &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains("--rounds N"),
            "{arguments:?}: {errors}"
        );
    }
}

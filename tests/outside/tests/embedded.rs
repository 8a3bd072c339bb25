//! A program alone in a folder, without a kernel toolchain and without a cache: it runs on a device that needs PTX if its
//! kernels are inside, and says what is missing if they are not.
#![cfg(feature = "embedded")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a copy of the program where no kernel can be found and none can be compiled.
fn run_alone(program: &str) -> Output {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(Path::new(program).file_stem().unwrap());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("cache")).unwrap();
    let copy = folder.join(Path::new(program).file_name().unwrap());
    fs::copy(program, &copy).unwrap();
    Command::new(copy)
        .env("CUTILE_DEVICE", "emulator")
        .env("CUTILE_CACHE", folder.join("cache"))
        .env("CUTILE_RUSTC", folder.join("no-compiler"))
        .env_remove("CUTILE_KERNELS")
        .output()
        .unwrap()
}

#[test]
fn a_program_with_its_kernels_inside_runs_alone() {
    let output = run_alone(env!("CARGO_BIN_EXE_embedded"));
    let (said, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{error}");
    assert!(said.contains("7000 values, all 1.5"), "{said}");
}

#[test]
fn a_program_without_them_says_which_kernel_is_missing() {
    let output = run_alone(env!("CARGO_BIN_EXE_outside"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("shifted_square"), "{error}");
}

#[test]
fn kernels_that_no_program_launches_are_built_too() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/cutile-kernels.bundle");
    let bundle = fs::read(path).unwrap();
    let name = b"outside::spare::halved";
    assert!(bundle.windows(name.len()).any(|bytes| bytes == name));
}

//! What other tests of this binary say of results holds on emulated devices too, whose kernels are PTX: they run again there,
//! in a process whose default device is an emulated one, for each architecture that kernels are built for. Left out where no kernel toolchain is at hand.

use std::process::Command;

use crate::child::{in_child, is_child};
use crate::emulated::{ARCHS, can_compile, emulator};

/// The modules whose tests name no device.
const SUBJECTS: [&str; 6] =
    ["field_cases::", "in_flight::", "language::", "launch_errors::", "spec::", "tensors::"];

#[test]
fn results_are_the_same_on_emulated_devices() {
    let test = "everywhere::results_are_the_same_on_emulated_devices";
    for arch in ARCHS {
        in_child(test, &emulator(arch), || {
            if !can_compile() {
                return;
            }
            let program = std::env::current_exe().unwrap();
            let output = Command::new(program).args(SUBJECTS).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let passed = text.lines().filter(|line| line.ends_with("... ok")).count();
            assert!(output.status.success() && passed > 60, "{passed} passed\n{text}");
        });
        if is_child() {
            return;
        }
    }
}

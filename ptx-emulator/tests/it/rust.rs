//! Ordinary Rust compiled to PTX gives what it gives on the host (`tests/ptx/rust_programs.rs`).

use crate::harness::Device;
use ptx_emulator::{FaultKind, Launch, Options};

#[path = "../ptx/rust_programs.rs"]
mod programs;

type Program = fn(u32) -> u64;

const PROGRAMS: [(&str, Program); 8] = [
    ("k_shapes", programs::shapes),
    ("k_sorting", programs::sorting),
    ("k_recursion", programs::recursion),
    ("k_pointers", programs::pointers),
    ("k_wide", programs::wide),
    ("k_bits", programs::bits),
    ("k_floats", programs::floats),
    ("k_bytes", programs::bytes),
];

const TEXT: &str = include_str!("../ptx/rust.ptx");

#[test]
fn programs_give_what_they_give_on_the_host() {
    let device = Device::new(TEXT);
    let out = device.alloc(256 * 8);
    for (name, program) in PROGRAMS {
        let launch = Launch::new([4, 1, 1], [64, 1, 1]);
        device
            .program
            .launch(name, &launch, &out.to_le_bytes(), &Options::default())
            .unwrap_or_else(|e| panic!("{e}"));
        let expected: Vec<u64> = (0..256).map(program).collect();
        assert_eq!(device.download::<u64>(out, 256), expected, "{name}");
    }
}

#[test]
fn a_fault_names_the_line_of_rust() {
    let device = Device::new(TEXT);
    let out = device.alloc(63 * 8);
    let launch = Launch::new([1, 1, 1], [64, 1, 1]);
    let report = device
        .program
        .launch("k_bits", &launch, &out.to_le_bytes(), &Options::default())
        .unwrap_err();
    assert!(matches!(report.kind, FaultKind::OutOfBounds { access: "write", .. }), "{report}");
    assert_eq!(report.thread.unwrap().thread, [63, 0, 0]);
    let source = report.source.clone().unwrap();
    assert!(source.file.ends_with("rust.rs"), "{report}");
    let line = include_str!("../ptx/rust.rs").lines().nth(source.line as usize - 1).unwrap();
    assert!(line.contains("*out.add(t as usize)") || line.contains("entries!"), "{line}");
}

//! Ordinary Rust compiled to PTX gives what it gives on the host (`tests/ptx/rust_programs.rs`).

use crate::harness::Device;
use ptx_emulator::{FaultKind, Launch, Options};

mod programs {
    include!("../ptx/rust_programs.rs");

    type Program = fn(u32) -> u64;

    pub(super) const ALL: [(&str, Program); 8] = [
        ("k_shapes", |t| shapes(t)),
        ("k_sorting", |t| sorting(t)),
        ("k_recursion", |t| recursion(t)),
        ("k_pointers", |t| pointers(t)),
        ("k_wide", |t| wide(t)),
        ("k_bits", |t| bits(t)),
        ("k_floats", |t| floats(t)),
        ("k_bytes", |t| bytes(t)),
    ];
}

const TEXT: &str = include_str!("../ptx/rust.ptx");

#[test]
fn programs_give_what_they_give_on_the_host() {
    let device = Device::new(TEXT);
    let out = device.alloc(256 * 8);
    for (name, program) in programs::ALL {
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

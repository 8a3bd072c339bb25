//! The examples on emulated devices, whose kernels are PTX: whole programs say what they say on the CPU, and every kernel gives
//! what it gives there. Left out where no kernel toolchain is at hand.

use cutile_bundle::artifacts::Units;
use cutile_compiler::toolchain::Toolchain;
use cutile_tests::registry::{Given, Registry, Value, compare};

use crate::programs::{path, run};

/// Every example, and what of its output does not depend on the device: up to these words, where there are any.
const EXAMPLES: [(&str, Option<&str>); 9] = [
    ("hello_world", None),
    ("saxpy", None),
    ("async_add", None),
    ("composing", None),
    ("custom_operation", None),
    // The order of a sum is the device's own.
    ("gemm", Some("largest error")),
    ("softmax", None),
    ("async_mlp", Some("samples per second")),
    // The report is each device's own.
    ("out_of_range", Some("failed on")),
];

fn toolchain() -> Option<Toolchain> {
    Toolchain::find().map_err(|error| eprintln!("left out: {error}")).ok()
}

/// The examples' own sources say how many there are; a bundle has no sources.
#[test]
fn every_example_is_here() {
    let Ok(files) = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")) else {
        return eprintln!("left out: the sources are not here");
    };
    let files = files.map(|file| file.expect("a readable folder").path());
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let (mut sources, mut known) = (names.collect::<Vec<_>>(), EXAMPLES.map(|(name, _)| name));
    sources.sort();
    known.sort_unstable();
    assert_eq!(sources, known);
}

#[test]
fn every_example_says_in_the_emulator_what_it_says_on_the_cpu() {
    if toolchain().is_none() {
        return;
    }
    for (name, until) in EXAMPLES {
        let said = |environment: &[(&str, &str)], device| {
            let said = run(name, &[], environment);
            let told = until.map_or(said.len(), |words| said.find(words).expect("the words"));
            said[..told].replace(device, "DEVICE")
        };
        let expected = said(&[("CUTILE_DEVICE", "host")], "host:0");
        for arch in ["sm_80", "sm_90a"] {
            let emulated = [("CUTILE_DEVICE", "emulator"), ("CUTILE_EMULATOR_ARCH", arch)];
            assert_eq!(said(&emulated, "emulator:0"), expected, "{name} for {arch}");
        }
    }
}

#[test]
fn every_kernel_of_the_examples_gives_in_the_emulator_what_the_cpu_gives() {
    let Some(toolchain) = toolchain() else { return };
    let mut units = Units::default();
    for (name, _) in EXAMPLES {
        units.add_file(&path(name)).expect("a program with kernels");
    }
    let registry = Registry {
        units: &units,
        recorded: include_str!("../../cutile-kernels.txt"),
        // These are compared by the workspace's own tests.
        wanted: |name| !name.starts_with("cutile_kernels::"),
        given: &[Given {
            kernel: "out_of_range::kernels::with_next",
            args: &[Value::Tensor(&[15], &[1, -2, 3, 4, 5]), Value::Tensor(&[11], &[-1])],
            grid: &[],
        }],
    };
    match compare(&registry, &toolchain) {
        Ok(summary) => {
            println!("{summary}");
            assert!(summary.kernels >= 6, "{summary}");
        }
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn a_wrong_kernel_is_told_by_line_program_thread_and_instruction() {
    if toolchain().is_none() {
        return;
    }
    let said = run("out_of_range", &[], &[("CUTILE_DEVICE", "emulator")]);
    assert!(said.starts_with("[4.0, 6.0, 8.0, 10.0,"), "{said}");
    for part in [
        "out_of_range::kernels::with_next",
        "out_of_range.rs:21: tile index out of range",
        "program 3",
        "operands 4 and 4",
        "in thread (",
        "of block (3, 0, 0)",
        "at PTX line ",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

//! Every kernel that this program holds, in the emulator against the CPU backend: the tests' own and all of `cutile-kernels`.

use cutile_bundle::artifacts::Units;
use cutile_compiler::toolchain::Toolchain;
use cutile_tests::registry::{Given, Registry, Value, compare};

/// The source of the kernels behind `api`.
const API_KERNELS: &str = include_str!("../../../../cutile-kernels/src/kernels.rs");

/// Kernels that check what they are given.
const GIVEN: &[Given] = &[
    Given {
        kernel: "it::field_cases::numbers::kernels::case_15_scalars",
        args: &[
            Value::Scalar(-7),
            Value::Scalar(2),
            Value::Scalar(4_000_000_000),
            Value::Scalar(3),
            Value::Tensor(&[4], &[5, 6]),
            Value::Tensor(&[2], &[-1]),
        ],
        grid: &[],
    },
    Given {
        kernel: "it::field_cases::numbers::kernels::case_15_tiles",
        args: &[
            Value::Tensor(&[5], &[-7, 7, -7, 7, 0]),
            Value::Tensor(&[5], &[2, 2, 3, -3, 5]),
            Value::Tensor(&[3, 5], &[-1]),
        ],
        grid: &[],
    },
    Given {
        kernel: "it::field_cases::shapes::kernels::case_45",
        args: &[
            Value::Tensor(&[5], &[1, -2, 3]),
            Value::Tensor(&[7], &[4, 0, 2, 1, 3]),
            Value::Tensor(&[7], &[-1]),
        ],
        grid: &[],
    },
    Given {
        kernel: "it::language::launchers::kernels::positions",
        args: &[Value::Tensor(&[2, 3], &[0, 1, 2, 3, 4, 5])],
        grid: &[2, 3],
    },
    Given {
        kernel: "it::language::shapes::kernels::ids",
        args: &[Value::Tensor(&[2, 3, 4], &[-1])],
        grid: &[],
    },
];

#[test]
fn every_kernel_of_this_program_gives_in_the_emulator_what_the_cpu_gives() {
    let toolchain = match Toolchain::find() {
        Ok(toolchain) => toolchain,
        Err(error) => return eprintln!("left out: {error}"),
    };
    let mut units = Units::default();
    units.add_file(&std::env::current_exe().unwrap()).unwrap();
    // A library's kernel that nothing refers to is not linked, and would be passed over.
    let ours = units.iter().filter(|unit| unit.name.starts_with("cutile_kernels::")).count();
    assert_eq!(ours, API_KERNELS.matches("cutile_macros::entry(").count(), "use each of them here");
    let recorded = include_str!("../../../cutile-kernels.txt");
    let registry = Registry { units: &units, recorded, wanted: |_| true, given: GIVEN };
    match compare(&registry, &toolchain) {
        Ok(summary) => println!("{summary}"),
        Err(failures) => panic!("{failures}"),
    }
}

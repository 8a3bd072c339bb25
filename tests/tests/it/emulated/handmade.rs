//! What no compiled kernel does: PTX written by hand, put where the program looks for the kernel `twice`. It shows that
//! everything a launch can carry reaches the emulator, and that each edit of it that makes it wrong is told in full.

use cutile::MissingKernel;
use cutile::cuda_async::ErrorKind;
use cutile::prelude::*;
use cutile_bundle::abi::{Blocks, KernelAbi, LaunchConfig, Slot, TensorMapSpec};
use cutile_bundle::artifacts::Units;
use cutile_bundle::bundle::{BuiltKernel, Bundle};
use cutile_bundle::key::{FactsClass, Key};
use cutile_bundle::manifest::{Builder, GlobalAccess, KernelRecord};
use cutile_bundle::target::PtxVersion;
use cutile_ir::Specialisation;

use crate::child::{in_child, is_child};

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn twice(x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, { [4, 8] }>) {
        let tile: Tile<f32, { [4, 8] }> = load_tile_like_2d(x, y);
        y.store(tile * 2.0);
    }
}
use kernels::twice;

/// A block of 32 threads for each tile of 4 x 8: a bulk copy brings it, ragged tiles filled with zeros; each thread multiplies an
/// element by the blocks of a cluster, of which there are two.
const TWICE: &str = include_str!("twice.ptx");

/// How `twice.ptx` is called.
fn abi() -> KernelAbi {
    KernelAbi {
        entry: "twice".into(),
        slots: vec![
            Slot::Pointer { param: 1 },
            Slot::Extent { param: 1, axis: 0 },
            Slot::Extent { param: 1, axis: 1 },
            Slot::Grid { axis: 1 },
            Slot::TensorMap { param: 0, map: 0 },
        ],
        tensor_maps: vec![TensorMapSpec { box_shape: vec![4, 8], swizzle: 0 }],
        launch: LaunchConfig {
            threads: 32,
            static_shared: 136,
            dynamic_shared: 0,
            cluster: 2,
            blocks: Blocks::PerTile,
            pdl: true,
        },
        fault_sites: Vec::new(),
    }
}

/// The bundle entry of a PTX text for an architecture.
fn built(arch: &str, ptx: String) -> BuiltKernel {
    let mut units = Units::default();
    units.add_file(&std::env::current_exe().unwrap()).unwrap();
    let name = "it::emulated::handmade::kernels::twice";
    let unit = units.iter().find(|unit| unit.name == name).expect("the kernel of this program");
    let facts = FactsClass::Aligned;
    let record = KernelRecord {
        kernel: name.into(),
        specialisation: String::new(),
        facts,
        key: Key::of(&unit, &Specialisation::default(), facts),
        arch: arch.parse().unwrap(),
        ptx_version: PtxVersion::new(8, 0),
        builder: Builder {
            cutile: "by hand".into(),
            rustc: String::new(),
            llvm: String::new(),
            flags: Vec::new(),
        },
        abi: abi(),
        usage: None,
        access: GlobalAccess::default(),
        ptx_bytes: ptx.len() as u64,
    };
    BuiltKernel { record, ptx: ptx.into() }
}

/// The variable that tells a child which of a test's cases it runs.
const CASE: &str = "CUTILE_TEST_CASE";

/// Runs a case of a test in a process that finds these kernels and no others, on an emulated device of this architecture.
fn with_kernels(
    test: &str,
    case: &str,
    arch: Option<&str>,
    kernels: &[(&str, String)],
    body: impl FnOnce(),
) {
    if is_child() {
        if std::env::var(CASE).is_ok_and(|mine| mine == case) {
            body();
        }
        return;
    }
    let name = format!("cutile-{}-{case}-{}", test.replace("::", "-"), std::process::id());
    let folder = std::env::temp_dir().join(name);
    let kernels = kernels.iter().map(|(arch, ptx)| built(arch, ptx.clone()));
    Bundle::new(kernels).write_folder(&folder).unwrap();
    let mut variables = vec![
        ("CUTILE_DEVICE", "emulator"),
        ("CUTILE_KERNELS", folder.to_str().unwrap()),
        ("CUTILE_RUSTC", "/nowhere/rustc"),
        (CASE, case),
    ];
    variables.extend(arch.map(|arch| ("CUTILE_EMULATOR_ARCH", arch)));
    in_child(test, &variables, || unreachable!("this is the parent"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// `twice.ptx` with `from`, which occurs once, replaced.
fn edited(from: &str, to: &str) -> String {
    assert_eq!(TWICE.matches(from).count(), 1, "{from}");
    TWICE.replace(from, to)
}

/// One launch: 6 x 12 elements in tiles of 4 x 8, ragged on both sides.
fn run() -> Result<Vec<f32>, DeviceError> {
    let x = api::arange::<f32>(72).reshape([6, 12]);
    let (_, y) = twice(x.arc(), api::full(-1.0f32, [6, 12]).partition([4, 8])).sync()?;
    y.unpartition().to_host_vec().sync()
}

#[test]
fn everything_that_a_launch_can_carry_reaches_the_emulator() {
    let test = "emulated::handmade::everything_that_a_launch_can_carry_reaches_the_emulator";
    with_kernels(test, "whole", None, &[("sm_90a", TWICE.into())], || {
        let expected: Vec<f32> = (0..72).map(|i| 2.0 * i as f32).collect();
        assert_eq!(run().unwrap(), expected);
    });
}

#[test]
fn the_architecture_that_is_asked_for_runs_and_no_other() {
    let test = "emulated::handmade::the_architecture_that_is_asked_for_runs_and_no_other";
    let kernels = [("sm_80", edited("%cluster_nctaid.x", "80")), ("sm_90a", TWICE.into())];
    for (arch, factor) in [("", 2.0), ("sm_80", 80.0), ("sm_90a", 2.0)] {
        with_kernels(test, arch, Some(arch), &kernels, || {
            assert_eq!(run().unwrap()[71], 71.0 * factor);
        });
    }
    with_kernels(test, "sm_86", Some("sm_86"), &kernels, || {
        let error = run().unwrap_err();
        let missing = error.downcast_ref::<MissingKernel>().unwrap_or_else(|| panic!("{error}"));
        assert_eq!(missing.command, "cargo cutile build-kernels --arch sm_86");
        for arch in ["sm_80", "sm_90a"] {
            assert!(missing.detail.contains(&format!(" for {arch}")), "{}", missing.detail);
        }
    });
}

#[test]
fn an_architecture_that_means_nothing_is_an_error() {
    let test = "emulated::handmade::an_architecture_that_means_nothing_is_an_error";
    with_kernels(test, "hopper", Some("hopper"), &[], || {
        let text = run().unwrap_err().to_string();
        for part in ["CUTILE_EMULATOR_ARCH=hopper", "sm_80", "sm_90a"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    });
}

/// An edit, and what the report says of it.
struct Fault {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    told: &'static [&'static str],
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "outside",
        from: "setp.lt.u32 %p1, %r12, %r3;",
        to: "setp.le.u32 %p1, %r12, %r3;",
        told: &["out-of-bounds write of 4 bytes", "st.global.f32", "twice.rs:9:5"],
    },
    Fault {
        name: "misaligned",
        from: "add.s64 %rd3, %rd1, %rd3;",
        to: "add.s64 %rd3, %rd1, %rd3; add.s64 %rd3, %rd3, 2;",
        told: &["misaligned write", "not a multiple of 4", "twice.rs:9:5"],
    },
    Fault {
        name: "race",
        from: "rem.u32 %r7, %r2, %r5;",
        to: "mov.u32 %r7, 0;",
        told: &["data race on global address", "earlier write by thread", "twice.rs:9:5"],
    },
    Fault {
        name: "dependent",
        from: "griddepcontrol.wait;",
        to: "",
        told: &["before griddepcontrol.wait", "cp.async.bulk.tensor.2d", "twice.rs:5:5"],
    },
    Fault {
        name: "early",
        from: "@!%p2 bra WAIT;",
        to: "",
        told: &["shared address", "ld.shared.f32", "twice.rs:8:5"],
    },
    Fault {
        name: "trap",
        from: "ret;",
        to: "@%p1 trap; ret;",
        told: &["the kernel trapped", "trap;"],
    },
];

#[test]
fn what_is_wrong_is_told_in_full_and_fails_its_operation_alone() {
    let test = "emulated::handmade::what_is_wrong_is_told_in_full_and_fails_its_operation_alone";
    for Fault { name, from, to, told } in FAULTS {
        with_kernels(test, name, None, &[("sm_90a", edited(from, to))], || {
            let x = api::arange::<f32>(72).reshape([6, 12]).arc().sync().unwrap();
            let mut y = api::zeros::<f32>([6, 12]).sync().unwrap();
            let error = twice(&x, y.partition_mut([4, 8])).sync().map(|_| ()).unwrap_err();
            let ErrorKind::Fault { site, message, .. } = error.kind() else { panic!("{error:?}") };
            assert_eq!(site, "kernel `it::emulated::handmade::kernels::twice`");
            let place = ["in thread (", "of block (", "at PTX line ", "PTX for sm_90a"];
            for part in place.iter().chain(*told) {
                assert!(message.contains(part), "{name}: `{part}` in {message}");
            }
            // What it may have written is gone; what it read, and the device, are as they were.
            let error = y.to_host_vec().sync().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Poisoned { .. }), "{error}");
            assert_eq!(x.to_host_vec().sync().unwrap()[71], 71.0);
            let z = api::ones::<f32>([4]).sync().unwrap();
            assert_eq!(z.to_host_vec().sync().unwrap(), [1.0; 4]);
        });
    }
}

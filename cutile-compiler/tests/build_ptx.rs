//! Generated Rust through the real rustc of this machine: both flavours of `core`, several targets, good and bad kernels.
//!
//! Needs a kernel toolchain (`cargo xtask doctor --install`), no GPU.

use std::sync::OnceLock;

use cutile_bundle::target::{Arch, PtxVersion, Target};
use cutile_compiler::CompileError;
use cutile_compiler::ptx::facts::Space;
use cutile_compiler::ptx::{
    BuiltPtx, EntryPlan, Expected, InstructionClass, Origin, SimtSource, Violation, build_ptx,
};
use cutile_compiler::toolchain::{CoreFlavour, Toolchain};

const PRELUDE: &str = r#"#![no_std]
#![feature(abi_ptx, asm_experimental_arch, stdarch_nvptx, link_llvm_intrinsics)]
#![allow(internal_features, improper_ctypes_definitions)]
use core::arch::nvptx::*;
#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo) -> ! { unsafe { trap() } }
unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    fn barrier(id: u32);
}
#[repr(C, align(16))] #[derive(Clone, Copy)] pub struct F4([f32; 4]);
#[repr(C)] pub struct TensorMap([u64; 16]);
"#;

fn toolchain() -> Toolchain {
    static FOUND: OnceLock<Toolchain> = OnceLock::new();
    FOUND.get_or_init(|| Toolchain::find().unwrap_or_else(|error| panic!("{error}"))).clone()
}

fn build(body: &str, plan: EntryPlan, target: Target) -> Result<BuiltPtx, CompileError> {
    build_with(body, plan, target, &toolchain())
}

fn build_with(
    body: &str,
    plan: EntryPlan,
    target: Target,
    toolchain: &Toolchain,
) -> Result<BuiltPtx, CompileError> {
    let simt = SimtSource {
        name: plan.name.clone(),
        text: format!("{PRELUDE}{body}"),
        entries: vec![plan],
        origins: vec![Origin { first_line: 13, at: "src/k.rs:7".into() }],
    };
    build_ptx(&simt, &target, toolchain)
}

const COPY: &str = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn copy(to: *mut F4, from: *const F4, n: u32) { unsafe {
    let i = (_block_idx_x() as u32).wrapping_mul(128).wrapping_add(_thread_idx_x() as u32);
    let inside = i < n;
    let value = if inside { *from.add(i as usize) } else { F4([0.0; 4]) };
    barrier(0);
    if inside { *to.add(i as usize) = value; }
} }
"#;

fn copy_plan() -> EntryPlan {
    let mut plan = EntryPlan::new("copy", 128);
    plan.announced.insert(InstructionClass::Barrier, Expected::Exactly(1));
    plan
}

#[test]
fn a_kernel_is_the_same_with_both_flavours_of_core() {
    for arch in ["sm_75", "sm_80", "sm_90a"] {
        let target = Target::new(arch.parse().unwrap());
        let plain = build(COPY, copy_plan(), target).unwrap();
        let hardened = toolchain().with_core(CoreFlavour::Hardened);
        let hardened = build_with(COPY, copy_plan(), target, &hardened).unwrap();
        assert_eq!(plain.text, hardened.text, "{arch}");
        let facts = plain.facts.entry("copy").unwrap();
        assert_eq!(facts.widest(Space::Global, false), Some(16));
        assert_eq!(facts.widest(Space::Global, true), Some(16));
        assert!(plain.text.contains("\n.reqntid 128, 1, 1\n.minnctapersm 1\n{"), "{}", plain.text);
        assert_eq!(plain.warnings, []);
        if let Some(report) = plain.assembled {
            assert!((8..64).contains(&report.entry("copy").unwrap().registers), "{report:?}");
        }
    }
}

#[test]
fn tensor_maps_and_clusters_are_patched_in() {
    let body = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn mapped(map: TensorMap, to: *mut u32) { unsafe { *to = 1; } }
"#;
    let plan = EntryPlan { cluster: 2, tensor_maps: vec![0], ..EntryPlan::new("mapped", 384) };
    let built = build(body, plan, Target::new(Arch::exact(9, 0))).unwrap();
    assert!(built.text.contains(".param .align 64 .b8 mapped_param_0[128]"), "{}", built.text);
    assert!(built.text.contains(".reqnctapercluster 2, 1, 1"), "{}", built.text);
}

#[test]
fn the_ptx_version_is_raised_on_request() {
    let target = Target { arch: Arch::new(8, 0), ptx: Some(PtxVersion::new(8, 6)) };
    let built = build(COPY, copy_plan(), target).unwrap();
    assert_eq!(built.facts.version, PtxVersion::new(8, 6));
}

#[test]
fn a_panic_path_is_found_before_a_driver_finds_it() {
    let body = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn divide(to: *mut u32, n: u32) { unsafe { *to = 7 / n; } }
"#;
    let target = Target::new(Arch::new(8, 0));
    let error = build(body, EntryPlan::new("divide", 32), target).unwrap_err();
    let CompileError::Check { violations, .. } = &error else { panic!("{error}") };
    assert!(matches!(&violations[..], [Violation::Unresolved { name }] if name.contains("panic")));
    // With every panic path a trap, the same kernel stands on its own.
    let hardened = toolchain().with_core(CoreFlavour::Hardened);
    let built = build_with(body, EntryPlan::new("divide", 32), target, &hardened).unwrap();
    assert_eq!(built.facts.entry("divide").unwrap().count(InstructionClass::Trap), 1);
}

#[test]
fn a_count_that_differs_is_an_error() {
    let mut plan = EntryPlan::new("copy", 128);
    plan.announced.insert(InstructionClass::Barrier, Expected::Exactly(2));
    let error = build(COPY, plan, Target::new(Arch::new(8, 0))).unwrap_err().to_string();
    assert!(error.contains("has 1 instructions of class Barrier instead of 2"), "{error}");
}

#[test]
fn an_error_in_generated_rust_names_the_line_of_the_kernel() {
    let body = "\nfn broken() -> u32 { missing }\n";
    let error = build(body, EntryPlan::new("broken", 32), Target::new(Arch::new(8, 0)));
    let error = error.unwrap_err();
    let CompileError::Rustc(failure) = &error else { panic!("{error}") };
    assert_eq!(failure.diagnostics.len(), 1, "{failure}");
    assert_eq!(failure.diagnostics[0].line, Some(14));
    assert_eq!(failure.diagnostics[0].origin.as_deref(), Some("src/k.rs:7"));
    assert!(failure.diagnostics[0].message.contains("missing"));
}

#[test]
fn what_ptxas_refuses_is_an_error_with_its_words() {
    let toolchain = toolchain();
    if toolchain.ptxas().is_none() {
        panic!("no ptxas: `cargo xtask doctor --install` fetches it");
    }
    let body = r#"
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn odd(to: *mut u32) { unsafe { core::arch::asm!("no.such.instruction;"); *to = 1; } }
"#;
    let error = build(body, EntryPlan::new("odd", 32), Target::new(Arch::new(8, 0))).unwrap_err();
    assert!(matches!(&error, CompileError::Ptxas { .. }), "{error}");
    assert!(error.to_string().contains("Not a name of any known instruction"), "{error}");
}

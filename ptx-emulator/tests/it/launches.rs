//! What a launch needs: shared memory as the assembler counts it, and a wait before global memory in a dependent grid.

use std::sync::Arc;

use crate::harness::{Device, block, entry};
use ptx_emulator::{FaultKind, Launch, Memory, Module, Options, Program, Report, Stats};

fn head(target: &str) -> String {
    format!(".version 8.3\n.target {target}\n.address_size 64\n")
}

/// Two kernels with a tile each, a function with a third, and dynamic memory that only one kernel names.
const TILES: &str = ".shared .align 16 .b8 a[40960]; .shared .align 128 .b8 b[32768]; .shared .b8 nobody[4096];
    .shared .align 4 .b8 helper[4096]; .shared .align 4 .b8 far[2048]; .extern .shared .align 256 .b8 dyn[];
    .func help() { .reg .b32 %r1; mov.u32 %r1, helper; st.shared.u32 [%r1+4092], 1; ret; }
    .func pointed() { st.shared.u32 [far], 1; ret; }
    .visible .entry first(.param .u64 out) { .reg .b32 %r1; .reg .b64 %rd1; st.shared.u32 [a+40956], 1;
        mov.u32 %r1, %total_smem_size; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1; ret; }
    .visible .entry second(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd1; mov.u32 %r1, b; st.shared.u32 [%r1+32764], 1;
        call.uni help; mov.u32 %r1, %total_smem_size; mov.u32 %r2, dyn; and.b32 %r2, %r2, 255; add.u32 %r1, %r1, %r2;
        mov.u32 %r3, dyn; st.shared.u32 [%r3+508], 1; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1; ret; }
    .visible .entry third(.param .u64 out) { .reg .b32 %r1; .reg .b64 %rd<3>; mov.u64 %rd2, pointed; call %rd2, (), p;
        p: .callprototype _ ();
        mov.u32 %r1, %total_smem_size; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1; ret; }
    .visible .entry big(.param .u64 out) { .shared .b8 x[49153]; st.shared.u8 [x], 1; ret; }
    .visible .entry stray() { st.shared.u32 [a+40960], 1; ret; }";

fn program(target: &str) -> Program {
    let module =
        Module::parse(&format!("{}{TILES}", head(target))).unwrap_or_else(|e| panic!("{e}"));
    module.load(&Arc::new(Memory::new())).unwrap()
}

fn run(
    program: &Program,
    memory: u64,
    name: &str,
    dynamic_shared: u32,
) -> Result<Stats, Box<Report>> {
    let launch = Launch { dynamic_shared, ..block(1) };
    let params = if name == "stray" { Vec::new() } else { memory.to_le_bytes().to_vec() };
    program.launch(name, &launch, &params, &Options::default())
}

#[test]
fn a_kernel_has_the_shared_memory_that_it_and_its_functions_name() {
    let memory = Arc::new(Memory::new());
    let module = Module::parse(&format!("{}{TILES}", head("sm_90a"))).unwrap();
    let program = module.load(&memory).unwrap();
    let out = memory.alloc(4).unwrap();
    let total = |name: &str, dynamic: u32| {
        run(&program, out, name, dynamic).unwrap_or_else(|e| panic!("{e}"));
        let mut bytes = [0; 4];
        memory.read(out, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    assert_eq!(total("first", 0), 40960, "its own tile alone");
    assert_eq!(
        total("second", 512),
        32768 + 4096 + 512,
        "its tile, the function's, the dynamic part at its alignment"
    );
    assert_eq!(total("third", 0), 2048, "what a function behind a pointer names");
    assert_eq!(module.entry("first").unwrap().shared_bytes, 40960);
    assert_eq!(module.entry("stray").unwrap().shared_bytes, 40960);
    let report = run(&program, 0, "stray", 0).unwrap_err();
    assert!(matches!(report.kind, FaultKind::OutOfBounds { space: "shared", .. }), "{report}");
}

#[test]
fn more_shared_memory_than_the_target_has_is_refused() {
    for (target, limit) in
        [("sm_80", 163), ("sm_86", 99), ("sm_89", 99), ("sm_90a", 227), ("sm_70", 96)]
    {
        let program = program(target);
        for name in ["third", "second"] {
            let fixed = program.module().entry(name).unwrap().shared_bytes;
            // The dynamic part of `second` begins at the next multiple of 256, which its static part already is.
            let left = limit * 1024 - fixed;
            let report = run(&program, 0, name, left + 1).unwrap_err();
            let FaultKind::SharedMemory { fixed: found, dynamic, limit: most, .. } = &report.kind
            else {
                panic!("{report}")
            };
            assert_eq!((*found, *dynamic, *most), (fixed, left + 1, limit * 1024), "{target}");
            let report = run(&program, 0, name, left).unwrap_err();
            assert!(
                matches!(report.kind, FaultKind::OutOfBounds { space: "global", .. }),
                "{target}: {report}"
            );
        }
        let report = run(&program, 0, "big", 0).unwrap_err();
        assert!(
            matches!(report.kind, FaultKind::SharedMemory { fixed: 49153, limit: 49152, .. }),
            "{report}"
        );
        assert!(report.to_string().contains(".extern .shared"), "{report}");
    }
}

/// Prologue: %r0 = tid, %rd1 = buffer, %rd2 = buffer + 16 * tid, %r1 = shared + 16 * tid.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 16; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r1, dyn; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2; st.shared.v4.u32 [%r1], {%r0, 1, 2, 3}; mov.u32 %r3, 5;\n";

/// Runs a body in a dependent launch of two warps.
fn dependent(body: &str) -> Result<Stats, Box<Report>> {
    let device = Device::new(&entry(&format!("{START}{body}\nret;")));
    let at = device.upload(&[0u32; 512]);
    device.run(Launch { dependent: true, dynamic_shared: 2048, ..block(64) }, &[at])
}

#[test]
fn every_kind_of_global_access_must_wait_in_a_dependent_launch() {
    for access in [
        "ld.global.u32 %r4, [%rd2];",
        "ld.global.nc.u32 %r4, [%rd2];",
        "ld.u32 %r4, [%rd2];",
        "st.global.v2.u32 [%rd2], {1, 2};",
        "st.u32 [%rd2], %r3;",
        "atom.global.add.u32 %r4, [%rd1], 1;",
        "red.global.max.s32 [%rd1], 1;",
        "cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.wait_all;",
        "fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        "fence.proxy.async.shared::cta; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r1], 16;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ] {
        let report = dependent(access).expect_err(access);
        assert!(
            matches!(&report.kind, FaultKind::Async(m) if m.contains("before griddepcontrol.wait")),
            "{report}"
        );
        let line = report.instruction.as_ref().unwrap();
        assert!(access.contains(line.split(';').next_back().unwrap()) && report.thread.is_some(), "{report}");
        dependent(&format!("griddepcontrol.wait; {access}")).unwrap_or_else(|e| panic!("{e}"));
    }
    // What the grid before can't write needs no wait.
    dependent("ld.param.u64 %rd3, [k_param_1]; ld.shared.u32 %r4, [%r1]; prefetch.global.L2 [%rd2]; griddepcontrol.launch_dependents;")
        .unwrap_or_else(|e| panic!("{e}"));
    let device = Device::new(&entry(&format!("{START}st.global.u32 [%rd2], 1; ret;")));
    let at = device.alloc(2048);
    device
        .run(Launch { dynamic_shared: 2048, ..block(64) }, &[at])
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn each_thread_waits_for_itself_in_a_dependent_launch() {
    for (wait, skipped) in [
        ("setp.lt.u32 %p1, %r0, 16; @%p1 griddepcontrol.wait;", 16..64),
        ("setp.lt.u32 %p1, %r0, 16; @!%p1 bra J; griddepcontrol.wait; J: bar.sync 0;", 16..64),
        ("setp.ge.u32 %p1, %r0, 32; @%p1 bra J; griddepcontrol.wait; J: bar.sync 0;", 32..64),
        ("setp.ge.u32 %p1, %r0, 1; @!%p1 bra J; griddepcontrol.wait; J: bar.sync 0;", 0..1),
    ] {
        let report = dependent(&format!("{wait}\nst.global.u32 [%rd2], 1;")).expect_err(wait);
        assert!(skipped.contains(&report.thread.unwrap().thread[0]), "{report}");
        assert_eq!(report.instruction.as_deref(), Some("st.global.u32 [%rd2], 1;"));
    }
}

#[test]
fn a_path_that_was_not_taken_must_wait_too() {
    // No thread of this launch goes to C; one of another launch may.
    let skip = "setp.gt.u32 %p1, %r0, 1000; @%p1 bra C; griddepcontrol.wait; st.global.u32 [%rd2], 1; ret;\nC: st.global.u32 [%rd2], 2;";
    let report = dependent(skip).unwrap_err();
    assert!(
        matches!(&report.kind, FaultKind::Async(m) if m.contains("a path"))
            && report.thread.is_none(),
        "{report}"
    );
    assert_eq!(report.instruction.as_deref(), Some("C: st.global.u32 [%rd2], 2;"));
    let text = format!(
        "{}.func help() {{ .reg .b64 %rd1; mov.u64 %rd1, 0;\nld.global.u32 _, [%rd1]; griddepcontrol.wait; ret; }}
         .func late() {{ .reg .b64 %rd1; mov.u64 %rd1, 0; ld.global.u32 _, [%rd1]; ret; }}
         .visible .entry calls() {{ .reg .pred %p1; .reg .b64 %rd1; call.uni help; call.uni late; ld.global.u32 _, [%rd1]; ret; }}
         .visible .entry guarded() {{ .reg .pred %p1; .reg .b64 %rd1; @%p1 griddepcontrol.wait;
           ld.global.u32 _, [%rd1];\ngriddepcontrol.wait; L: ld.global.u32 _, [%rd1]; @%p1 bra L; ret; }}
         .visible .entry first() {{ .reg .b64 %rd1; griddepcontrol.wait; ld.global.u32 _, [%rd1]; call.uni late; ret; }}",
        head("sm_90")
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let lines = |name: &str| {
        let found = module.unwaited_accesses(name).unwrap();
        found.iter().map(|access| access.ptx_line).collect::<Vec<_>>()
    };
    assert_eq!(lines("calls"), [5], "the function waits before it returns");
    assert_eq!(lines("guarded"), [9]);
    assert!(lines("first").is_empty());
    assert!(module.unwaited_accesses("late").is_none(), "not an entry");
}

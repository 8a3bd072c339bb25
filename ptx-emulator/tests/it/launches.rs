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

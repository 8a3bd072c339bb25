//! Seeded faults: each must be caught and named.

use crate::harness::{Device, block, entry, fault};
use ptx_emulator::{Checks, FaultKind, Launch, Options};

/// Prologue: %r0 = tid, %rd1 = buffer, %rd2 = buffer + 4 * tid, %r1 = shared, %r2 = shared + 4 * tid.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r1, dyn; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2;\n";

fn seeded(body: &str, threads: u32) -> FaultKind {
    fault(&format!("{START}{body}\nret;"), Launch { dynamic_shared: 1024, ..block(threads) }, 256)
}

#[test]
fn accesses_outside() {
    assert!(matches!(
        seeded("st.global.u32 [%rd2], 1;", 65),
        FaultKind::OutOfBounds { space: "global", .. }
    ));
    assert!(matches!(seeded("ld.global.u32 %r3, [%rd1+-4];", 1), FaultKind::OutOfBounds { .. }));
    assert!(matches!(seeded("ld.u32 %r3, [0];", 1), FaultKind::OutOfBounds { .. }));
    assert!(matches!(
        seeded("st.shared.u32 [%r2+1020], 1;", 64),
        FaultKind::OutOfBounds { space: "shared", .. }
    ));
    assert!(matches!(
        seeded("st.shared.u32 [0], 1;", 1),
        FaultKind::OutOfBounds { space: "shared", .. }
    ));
    assert!(matches!(
        seeded("{ .local .b8 x[8]; st.local.u64 [x+8], 1; }", 1),
        FaultKind::OutOfBounds { space: "local", .. }
    ));
    assert!(matches!(
        seeded("ld.param.u64 %rd3, [k_param_3+8];", 1),
        FaultKind::OutOfBounds { space: "parameter", .. }
    ));
}

#[test]
fn misaligned_accesses() {
    assert!(matches!(
        seeded("ld.global.u32 %r3, [%rd1+2];", 1),
        FaultKind::Misaligned { bytes: 4, .. }
    ));
    assert!(matches!(
        seeded("st.shared.v4.u32 [%r2], {1, 2, 3, 4};", 2),
        FaultKind::Misaligned { bytes: 16, .. }
    ));
}

#[test]
fn memory_nobody_wrote() {
    assert!(matches!(
        seeded("ld.shared.u32 %r3, [%r2];", 1),
        FaultKind::Uninitialised { space: "shared", .. }
    ));
    let device = Device::new(&entry(&format!("{START} ld.global.u32 %r3, [%rd1]; ret;")));
    let at = device.alloc(16);
    let report = device.run(block(1), &[at]).unwrap_err();
    assert!(matches!(report.kind, FaultKind::Uninitialised { space: "global", .. }), "{report}");
    device.memory.free(at).unwrap();
    let report = device.run(block(1), &[at]).unwrap_err();
    assert!(matches!(report.kind, FaultKind::UseAfterFree { .. }), "{report}");
}

#[test]
fn read_only_memory() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 c = 1;
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c1, .param .u64 d) {
        .reg .b64 %rd1; mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1; st.u32 [%rd1], 3; ret; }";
    let report = Device::new(text).run(block(1), &[]).unwrap_err();
    assert!(matches!(report.kind, FaultKind::ReadOnly { .. }), "{report}");
}

#[test]
fn a_removed_barrier_is_a_race() {
    let exchange = |barrier: &str| {
        format!(
            "st.shared.u32 [%r2], %r0; {barrier} xor.b32 %r3, %r2, 128; ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd2], %r4;"
        )
    };
    assert!(matches!(
        seeded(&exchange(""), 64),
        FaultKind::Race { space: "shared", .. } | FaultKind::Uninitialised { .. }
    ));
    // A barrier of the warp alone does not order two warps.
    assert!(matches!(
        seeded(&exchange("bar.warp.sync -1;"), 64),
        FaultKind::Race { .. } | FaultKind::Uninitialised { .. }
    ));
    let device = Device::new(&entry(&format!("{START}{} ret;", exchange("bar.sync 0;"))));
    let out = device.alloc(256);
    device
        .run(Launch { dynamic_shared: 1024, ..block(64) }, &[out])
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_buffer_reused_too_early_is_a_race() {
    // Read by all, then overwritten without a barrier between.
    let body =
        "st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r4, [%r1]; setp.eq.u32 %p1, %r0, 0;
        @%p1 st.shared.u32 [%r1], 5;";
    let FaultKind::Race { access, other_access, .. } = seeded(body, 64) else { panic!("no race") };
    assert!([access, other_access].contains(&"read"));
}

#[test]
fn lanes_of_a_warp_race_without_a_warp_barrier() {
    let exchange = |barrier: &str| {
        format!(
            "st.shared.u32 [%r2], %r0; {barrier} xor.b32 %r3, %r2, 4; ld.shared.u32 %r4, [%r3];"
        )
    };
    assert!(matches!(seeded(&exchange(""), 32), FaultKind::Race { .. }));
    let device = Device::new(&entry(&format!("{START}{} ret;", exchange("bar.warp.sync -1;"))));
    let out = device.alloc(256);
    device
        .run(Launch { dynamic_shared: 1024, ..block(32) }, &[out])
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn blocks_race_without_a_fence() {
    let publish = |fence: &str| {
        format!(
            "mov.u32 %r5, %ctaid.x; setp.ne.u32 %p1, %r5, 0; @%p1 bra R;
             st.global.u32 [%rd1], 42; {fence} st.relaxed.gpu.global.u32 [%rd1+4], 1; ret;
             R: ld.relaxed.gpu.global.u32 %r6, [%rd1+4]; setp.eq.u32 %p2, %r6, 0; @%p2 bra R; fence.acq_rel.gpu;
             ld.global.u32 %r7, [%rd1]; st.global.u32 [%rd1+8], %r7;"
        )
    };
    let two = Launch { dynamic_shared: 1024, ..Launch::new([2, 1, 1], [1, 1, 1]) };
    assert!(matches!(
        fault(&format!("{START}{} ret;", publish("")), two, 64),
        FaultKind::Race { space: "global", .. }
    ));
    let device = Device::new(&entry(&format!("{START}{} ret;", publish("fence.acq_rel.gpu;"))));
    let at = device.upload(&[0u32; 4]);
    device.run(two, &[at]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.download::<u32>(at, 3)[2], 42);
}

#[test]
fn blocks_that_write_one_place_race() {
    let launch = Launch::new([2, 1, 1], [1, 1, 1]);
    let body = "ld.param.u64 %rd1, [k_param_0]; st.global.u32 [%rd1], 1; ret;";
    assert!(matches!(fault(body, launch, 16), FaultKind::Race { space: "global", .. }));
}

#[test]
fn divergence_at_collective_instructions() {
    let split =
        |inst: &str| format!("setp.lt.u32 %p1, %r0, 7; @%p1 bra L; {inst} bra E; L: {inst} E:");
    assert!(matches!(seeded(&split("bar.sync 0;"), 32), FaultKind::Divergence { .. }));
    assert!(matches!(
        seeded(&split("shfl.sync.idx.b32 %r3, %r0, 0, 31, -1;"), 32),
        FaultKind::Divergence { .. }
    ));
    assert!(matches!(
        seeded("@%p1 bar.warp.sync -1; setp.lt.u32 %p1, %r0, 7; @%p1 bar.warp.sync -1;", 32),
        FaultKind::Divergence { .. }
    ));
    assert!(matches!(seeded("vote.sync.any.pred %p1, %p2, 1;", 32), FaultKind::Illegal(_)));
}

#[test]
fn barriers_misused() {
    assert!(matches!(seeded("bar.sync 16;", 32), FaultKind::Barrier(_)));
    assert!(matches!(seeded("bar.sync 1, 33;", 64), FaultKind::Barrier(_)));
    let counts =
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.sync 1, 96; bra E; L: bar.sync 1, 64; E:";
    assert!(matches!(seeded(counts, 64), FaultKind::Barrier(_)));
}

#[test]
fn a_deadlock_says_who_waits() {
    let body = "setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.sync 1, 64; bra E; L: bar.sync 2, 64; E:";
    let FaultKind::Deadlock(waits) = seeded(body, 64) else { panic!("no deadlock") };
    assert!(waits.iter().any(|w| w.contains("barrier 1, at which 32 of 64")), "{waits:?}");
    assert!(waits.iter().any(|w| w.contains("barrier 2")), "{waits:?}");
}

#[test]
fn endless_loops_end() {
    let device = Device::new(&entry("L: bra L;"));
    let options = Options { instruction_budget: 10_000, ..Options::default() };
    let report = device.run_with(block(32), &[], &options).unwrap_err();
    assert!(matches!(report.kind, FaultKind::Budget(10_000)), "{report}");
}

#[test]
fn many_blocks_share_a_budget() {
    // Blocks that end give back what they did not use: 5000 of them use three thread-instructions each at most.
    let device = Device::new(&entry("mov.u32 %r0, %tid.x; ret;"));
    for (budget, enough) in [(20_000, true), (9_000, false)] {
        let options = Options { instruction_budget: budget, ..Options::default() };
        let launch = Launch::new([5000, 1, 1], [1, 1, 1]);
        assert_eq!(device.run_with(launch, &[], &options).is_ok(), enough, "{budget}");
    }
}

#[test]
fn traps_name_thread_and_lines() {
    let text =
        entry(".loc 1 77 5\nmov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 33;\n@%p1 trap;\nret;")
            .replace(".visible", ".file 1 \"kernel.rs\"\n.visible");
    let report = Device::new(&text).run(block(64), &[]).unwrap_err();
    assert_eq!(report.kind, FaultKind::Trap);
    assert_eq!(report.thread.unwrap().thread, [33, 0, 0]);
    assert_eq!(report.source.as_ref().unwrap().line, 77);
    let shown = report.to_string();
    assert!(shown.contains("@%p1 trap;") && shown.contains("kernel.rs:77:5"), "{shown}");
}

#[test]
fn a_dependent_launch_must_wait_first() {
    let body = |wait: &str| format!("{START} {wait} st.global.u32 [%rd2], 1; ret;");
    let launch = Launch { dependent: true, dynamic_shared: 64, ..block(4) };
    assert!(matches!(fault(&body(""), launch, 64), FaultKind::Async(_)));
    let device = Device::new(&entry(&body("griddepcontrol.wait;")));
    let at = device.alloc(64);
    device.run(launch, &[at]).unwrap();
}

#[test]
fn copies_read_before_their_wait_are_seen() {
    let copy = |wait: &str| {
        format!(
            "cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group; {wait} ld.shared.u32 %r4, [%r2]; st.global.u32 [%rd2], %r4;"
        )
    };
    for wait in ["", "cp.async.wait_group 1;"] {
        let found = seeded(&copy(wait), 32);
        assert!(
            matches!(&found, FaultKind::Race { space: "shared", other, .. } if other.contains("not waited for")),
            "{found}"
        );
    }
    let blind = Options { checks: Checks { races: false, ..Checks::ALL }, ..Options::default() };
    let device = Device::new(&entry(&format!("{START}{} ret;", copy(""))));
    let at = device.upload(&[3u32; 32]);
    let launch = Launch { dynamic_shared: 1024, ..block(32) };
    let report = device.run_with(launch, &[at], &blind).unwrap_err();
    assert!(matches!(report.kind, FaultKind::Uninitialised { space: "shared", .. }), "{report}");
    let device = Device::new(&entry(&format!("{START}{} ret;", copy("cp.async.wait_group 0;"))));
    let at = device.upload(&[3u32; 32]);
    device
        .run(Launch { dynamic_shared: 1024, ..block(32) }, &[at])
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn launches_that_a_driver_would_refuse() {
    let device = Device::new(&entry("ret;"));
    for launch in [block(0), block(1025), Launch { cluster: Some([2, 1, 1]), ..block(32) }] {
        let report = device.run(launch, &[]).unwrap_err();
        assert!(matches!(report.kind, FaultKind::InvalidLaunch(_)), "{launch:?}");
    }
    let report = device.run(Launch { dynamic_shared: 1 << 20, ..block(32) }, &[]).unwrap_err();
    assert!(matches!(report.kind, FaultKind::SharedMemory { .. }), "{report}");
    let report = device.program.launch("absent", &block(1), &[], &Options::default()).unwrap_err();
    assert!(matches!(report.kind, FaultKind::InvalidLaunch(_)));
}

#[test]
fn a_race_names_both_places() {
    let body = ".loc 1 8 5\nst.shared.u32 [%r2], %r0;\nbar.warp.sync -1;\nmov.u32 %r6, 0;
        L: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 2000; @%p1 bra L;
        .loc 1 9 9\nxor.b32 %r3, %r2, 128;\nld.shared.u32 %r4, [%r3];\nret;";
    let text = entry(&format!("{START}{body}")).replace(".visible", ".file 1 \"k.rs\"\n.visible");
    let device = Device::new(&text);
    let at = device.alloc(256);
    let report = device.run(Launch { dynamic_shared: 1024, ..block(64) }, &[at]).unwrap_err();
    let FaultKind::Race { access: "read", other_access: "write", other, .. } = &report.kind else {
        panic!("{report}")
    };
    assert!(other.starts_with("thread (") && other.ends_with("(k.rs:8:5)"), "{other}");
    assert_eq!(report.source.as_ref().unwrap().line, 9);
}

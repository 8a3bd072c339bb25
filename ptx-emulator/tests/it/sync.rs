//! Memory barrier objects, bulk copies, clusters, device-side calls: statements of the PTX ISA as cases.

use crate::harness::{Device, block, entry, fault};
use ptx_emulator::{ElementType, FaultKind, Launch, Options, Swizzle, TensorMap};

const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2; mov.u32 %r1, dyn;\n";

fn launch(threads: u32) -> Launch {
    Launch { dynamic_shared: 4096, ..block(threads) }
}

fn run(body: &str, threads: u32, words: usize) -> Vec<u32> {
    let device = Device::new(&entry(&format!("{START}{body} ret;")));
    let out = device.upload(&vec![0u32; words]);
    device.run(launch(threads), &[out]).unwrap_or_else(|e| panic!("{e}\n{body}"));
    device.download(out, words)
}

fn seeded(body: &str, threads: u32) -> FaultKind {
    fault(&format!("{START}{body} ret;"), launch(threads), 1024)
}

#[test]
fn an_object_counts_arrivals_and_bytes() {
    // Two arrivals and 64 bytes complete phase 0; its state then tests true, and parity 0 with it.
    let out = run(
        "mbarrier.init.shared::cta.b64 [%r1], 2;
         mbarrier.arrive.shared::cta.b64 %rd3, [%r1];
         mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3;
         mbarrier.arrive.expect_tx.shared::cta.b64 %rd4, [%r1], 64;
         mbarrier.test_wait.shared::cta.b64 %p2, [%r1], %rd3;
         mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 64;
         mbarrier.test_wait.shared::cta.b64 %p3, [%r1], %rd3;
         mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r1], 0;
         mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r1], 1;
         mbarrier.pending_count.b64 %r7, %rd3; mbarrier.pending_count.b64 %r8, %rd4;
         selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 1, 0, %p3; selp.u32 %r5, 1, 0, %p4; selp.u32 %r6, 1, 0, %p5;
         st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%rd1+16], {%r6, %r7, %r8, 9};",
        1,
        8,
    );
    assert_eq!(out, [0, 0, 1, 1, 0, 2, 1, 9]);
}

#[test]
fn a_dropped_arrival_lowers_later_phases() {
    let out = run(
        "mbarrier.init.shared::cta.b64 [%r1], 2;
         mbarrier.arrive_drop.shared::cta.b64 %rd3, [%r1]; mbarrier.arrive.shared::cta.b64 %rd3, [%r1];
         mbarrier.arrive.shared::cta.b64 %rd3, [%r1];
         mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1], %r2;",
        1,
        1,
    );
    assert_eq!(out, [1], "the second phase needs one arrival");
}

#[test]
fn objects_misused() {
    let init = "mbarrier.init.shared::cta.b64 [%r1], 1;";
    for (body, what) in [
        ("mbarrier.arrive.shared::cta.b64 %rd3, [%r1];", "not initialised"),
        ("mbarrier.init.shared::cta.b64 [%r1], 0;", "arrival count"),
        (&format!("{init} {init}"), "initialised twice"),
        (
            &format!("{init} st.shared.u32 [%r1], 5; mbarrier.arrive.shared::cta.b64 %rd3, [%r1];"),
            "overwritten",
        ),
        (
            &format!(
                "{init} mbarrier.inval.shared::cta.b64 [%r1]; mbarrier.arrive.shared::cta.b64 %rd3, [%r1];"
            ),
            "not initialised",
        ),
        (&format!("{init} mbarrier.arrive.shared::cta.b64 %rd3, [%r1], 2;"), "expects 1 more"),
        (
            &format!("{init} mbarrier.arrive.noComplete.shared::cta.b64 %rd3, [%r1], 1;"),
            "noComplete",
        ),
        (
            &format!("{init} mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 2000000;"),
            "transactions",
        ),
        (&format!("{init} mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 2;"), "parity"),
        (
            &format!("{init} mbarrier.test_wait.shared::cta.b64 %p1, [%r1], 0x700000001;"),
            "may be tested",
        ),
    ] {
        let found = seeded(body, 1);
        assert!(matches!(&found, FaultKind::Async(m) if m.contains(what)), "{body}: {found}");
    }
}

#[test]
fn a_wait_for_a_phase_nobody_completes_is_a_deadlock() {
    let body =
        "mbarrier.init.shared::cta.b64 [%r1], 3; mbarrier.arrive.shared::cta.b64 %rd3, [%r1];
        L: mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd3; @!%p1 bra L;";
    let FaultKind::Deadlock(waits) = seeded(body, 1) else { panic!("no deadlock") };
    assert!(waits[0].contains("2 of 3 arrivals"), "{waits:?}");
}

#[test]
fn copies_arrive_on_an_object() {
    let out = run(
        "st.global.u32 [%rd1+4], 77; add.u32 %r2, %r1, 64; mbarrier.init.shared::cta.b64 [%r1], 1;
         cp.async.ca.shared.global [%r2], [%rd1+4], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
         L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra L;
         ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;",
        1,
        2,
    );
    assert_eq!(out, [77, 77]);
}

#[test]
fn bulk_reductions_add_at_their_destination() {
    let out = run(
        "st.shared.v4.u32 [%r1], {1, 2, 3, 4}; fence.proxy.async.shared::cta;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%rd1+16], [%r1], 16;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        1,
        8,
    );
    assert_eq!(out, [1, 2, 3, 4, 1, 2, 3, 4]);
}

#[test]
fn bulk_copies_need_their_alignment_and_size() {
    let group = "cp.async.bulk.global.shared::cta.bulk_group";
    assert!(matches!(
        seeded(&format!("{group} [%rd1+8], [%r1], 16;"), 1),
        FaultKind::Misaligned { .. }
    ));
    assert!(matches!(seeded(&format!("{group} [%rd1], [%r1], 8;"), 1), FaultKind::Async(_)));
    assert!(matches!(
        seeded(&format!("{group} [%rd1], [%r1+4090], 16;"), 1),
        FaultKind::Misaligned { .. }
    ));
    assert!(matches!(
        seeded(&format!("{group} [%rd1+1024], [%r1], 16;"), 1),
        FaultKind::OutOfBounds { .. }
    ));
}

#[test]
fn tensor_copies_fill_what_lies_outside() {
    // A 6 x 3 tensor of u32 (rows of 32 bytes), a box of 8 x 2 at (-4, 2): row 2, columns -4..4, and row 3.
    let body = "add.u32 %r2, %r1, 128; mbarrier.init.shared::cta.b64 [%r1], 1;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd3, {%r5, 2}], [%r1];
        L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra L;
        mov.u32 %r3, 0; C: add.u32 %r4, %r2, %r3; ld.shared.u32 %r6, [%r4]; cvt.u64.u32 %rd4, %r3; add.s64 %rd5, %rd1, %rd4;
        st.global.u32 [%rd5], %r6; add.u32 %r3, %r3, 4; setp.lt.u32 %p2, %r3, 64; @%p2 bra C;";
    let text = entry(&format!(
        "{START} mov.u32 %r5, -4; mov.b64 %rd3, map; cvta.param.u64 %rd3, %rd3; {body} ret;"
    ))
    .replace("k(.param .u64 k_param_0", "k(.param .align 64 .b8 map[128], .param .u64 k_param_0");
    let device = Device::new(&text);
    let tensor: Vec<u32> =
        (0..24).map(|i| if i % 8 < 6 { i / 8 * 10 + i % 8 } else { 999 }).collect();
    let address = device.upload(&tensor);
    let out = device.alloc(64);
    let map = TensorMap {
        element: ElementType::U32,
        address,
        extents: vec![6, 3],
        strides: vec![32],
        box_extents: vec![8, 2],
        element_strides: vec![1; 2],
        swizzle: Swizzle::None,
        nan_fill: false,
    };
    let mut params = map.encode().unwrap().to_vec();
    params.extend(out.to_le_bytes());
    params.resize(160, 0);
    device
        .program
        .launch("k", &launch(1), &params, &Options::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let expected = [0, 0, 0, 0, 20, 21, 22, 23, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(device.download::<u32>(out, 16), expected);
}

#[test]
fn a_block_reads_and_writes_its_neighbours_shared_memory() {
    let body = "mov.u32 %r2, %cluster_ctarank; st.shared.u32 [%r1], %r2;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        xor.b32 %r3, %r2, 1; mapa.shared::cluster.u32 %r4, %r1, %r3; ld.shared::cluster.u32 %r5, [%r4];
        atom.shared::cluster.add.u32 %r6, [%r4+4], 10;
        mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r5;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let body = body.replace(
        "st.shared.u32 [%r1], %r2;",
        "st.shared.u32 [%r1], %r2; st.shared.u32 [%r1+4], 0;",
    );
    let device = Device::new(&entry(&format!("{START}{body} ret;")));
    let out = device.alloc(16);
    let pair = Launch {
        cluster: Some([2, 1, 1]),
        ..Launch { dynamic_shared: 64, ..Launch::new([4, 1, 1], [1, 1, 1]) }
    };
    let report = device.run(pair, &[out]).unwrap_err();
    assert!(
        matches!(report.kind, FaultKind::Race { space: "global", .. }),
        "two clusters write one place: {report}"
    );
    let two = Launch { grid: [2, 1, 1], ..pair };
    device.run(two, &[out]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.download::<u32>(out, 2), [1, 0]);
    let far = body.replace("xor.b32 %r3, %r2, 1;", "add.u32 %r3, %r2, 2;");
    let report = Device::new(&entry(&format!("{START}{far} ret;"))).run(two, &[out]).unwrap_err();
    assert!(matches!(report.kind, FaultKind::OutOfBounds { space: "shared", .. }), "{report}");
    let unsynchronised =
        body.replacen("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", "", 1);
    let report =
        Device::new(&entry(&format!("{START}{unsynchronised} ret;"))).run(two, &[out]).unwrap_err();
    assert!(
        matches!(report.kind, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }),
        "{report}"
    );
}

#[test]
fn values_arrive_at_a_neighbours_object() {
    // Each block sends two words and adds 7 to a third in the other one; 16 bytes and one arrival complete the phase.
    let body = "mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1; mapa.shared::cluster.u32 %r4, %r1, %r3;
        mbarrier.init.shared::cta.b64 [%r1], 1; st.shared.u32 [%r1+24], %r2; fence.mbarrier_init.release.cluster;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 12; add.u32 %r5, %r2, 40;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r4+16], {%r5, 9}, [%r4];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4+24], 7, [%r4];
        L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra L;
        ld.shared.v2.u32 {%r6, %r7}, [%r1+16]; ld.shared.u32 %r8, [%r1+24];
        mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd1, %rd3; st.global.v4.u32 [%rd3], {%r6, %r7, %r8, 0};
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let device = Device::new(&entry(&format!("{START}{body} ret;")));
    let out = device.alloc(32);
    let pair = Launch {
        cluster: Some([2, 1, 1]),
        dynamic_shared: 64,
        ..Launch::new([2, 1, 1], [1, 1, 1])
    };
    device.run(pair, &[out]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.download::<u32>(out, 8), [41, 9, 7, 0, 40, 9, 8, 0]);
    let early = body.replace(
        "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra L;",
        "",
    );
    let report =
        Device::new(&entry(&format!("{START}{early} ret;"))).run(pair, &[out]).unwrap_err();
    assert!(
        matches!(report.kind, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }),
        "{report}"
    );
}

#[test]
fn a_block_that_has_ended_has_no_shared_memory() {
    let body = "mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, 1; @%p1 ret; mov.u32 %r3, 0;
        L: nanosleep.u32 100; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 5000; @%p2 bra L;
        mapa.shared::cluster.u32 %r4, %r1, 1; st.shared::cluster.u32 [%r4], 5;";
    let device = Device::new(&entry(&format!("{START}{body} ret;")));
    let at = device.alloc(16);
    let pair = Launch {
        cluster: Some([2, 1, 1]),
        dynamic_shared: 64,
        ..Launch::new([2, 1, 1], [1, 1, 1])
    };
    let report = device.run(pair, &[at]).unwrap_err();
    assert!(report.to_string().contains("block 1 of the cluster has ended"), "{report}");
}

#[test]
fn a_block_may_not_end_under_a_copy() {
    let body = "mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32;
        add.u32 %r2, %r1, 128;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 32, [%r1];";
    let found = seeded(body, 1);
    assert!(
        matches!(&found, FaultKind::Async(m) if m.contains("32 bytes are outstanding")),
        "{found}"
    );
}

#[test]
fn cluster_barriers_misused() {
    let wait = "barrier.cluster.wait.aligned;";
    assert!(matches!(seeded(wait, 32), FaultKind::Barrier(_)));
    let twice = "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;";
    assert!(matches!(seeded(twice, 64), FaultKind::Barrier(_)));
}

#[test]
fn threads_print_and_allocate() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .global .align 1 .b8 f[24] = {37, 100, 58, 37, 48, 53, 46, 50, 102, 32, 37, 115, 10, 0};
        .global .align 1 .b8 s[4] = {111, 107, 0};
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {
            .reg .b32 %r<4>; .reg .b64 %rd<8>; .local .align 8 .b8 args[24];
            mov.u32 %r1, %tid.x; mov.b64 %rd1, args; cvta.local.u64 %rd1, %rd1; st.u32 [%rd1], %r1;
            st.f64 [%rd1+8], 0dBFF8000000000000; mov.u64 %rd2, s; cvta.global.u64 %rd2, %rd2; st.u64 [%rd1+16], %rd2;
            mov.u64 %rd3, f; cvta.global.u64 %rd3, %rd3;
            { .param .b64 p; .param .b64 q; .param .b32 o; st.param.b64 [p], %rd3; st.param.b64 [q], %rd1; call.uni (o), vprintf, (p, q); }
            { .param .b64 p; .param .b64 o; st.param.b64 [p], 16; call.uni (o), malloc, (p); ld.param.b64 %rd4, [o]; }
            st.u32 [%rd4+12], 5;
            { .param .b64 p; st.param.b64 [p], %rd4; call.uni free, (p); }
            ld.u32 %r2, [%rd4+12]; ret; }";
    let report = Device::new(text).run(block(1), &[]).unwrap_err();
    assert!(matches!(report.kind, FaultKind::UseAfterFree { .. }), "{report}");
    let text = text.replace("ld.u32 %r2, [%rd4+12];", "");
    let stats = Device::new(&text).run(block(2), &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(stats.output, "0:-1.50 ok\n1:-1.50 ok\n");
}

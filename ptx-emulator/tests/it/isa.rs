//! The rarer forms of the instruction set: what they give, and that what is not known is named, not skipped.

use crate::harness::{Device, block, entry, fault};
use ptx_emulator::{FaultKind, Launch, Module};

/// Prologue: %r0 = tid, %rd1 = buffer, %rd2 = buffer + 16 * tid, %r1 = shared.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 16; add.s64 %rd2, %rd1, %rd2; mov.u32 %r1, dyn;\n";

fn text(body: &str) -> String {
    entry(&format!(".reg .b128 %q<8>; {START}{body}\nret;"))
}

/// Words that threads of one block leave in the buffer.
fn run(body: &str, threads: u32, words: usize) -> Vec<u32> {
    let device = Device::new(&text(body));
    let at = device.upload(&vec![0u32; words]);
    let launch = Launch { dynamic_shared: 1024, ..block(threads) };
    device.run(launch, &[at]).unwrap_or_else(|e| panic!("{e}\n{body}"));
    device.download(at, words)
}

/// What one thread leaves in %r2.
fn word(body: &str) -> u32 {
    run(&format!("{body} st.global.u32 [%rd1], %r2;"), 1, 1)[0]
}

#[test]
fn integers_are_packed_with_saturation() {
    for (inst, expected) in [
        ("cvt.pack.sat.u16.s32 %r2, 70000, -5;", 0xffff_0000),
        ("cvt.pack.sat.s16.s32 %r2, 40000, -5;", 0x7fff_fffb),
        ("cvt.pack.sat.u8.s32.b32 %r2, 300, 7, 0xabcd1234;", 0x1234_ff07),
        ("cvt.pack.sat.s8.s32.b32 %r2, -200, 100, 0xabcd1234;", 0x1234_8064),
        ("cvt.pack.sat.u4.s32.b32 %r2, 20, 3, 0x00abcdef;", 0xabcd_eff3),
        ("cvt.pack.sat.s4.s32.b32 %r2, -9, 9, 1;", 0x187),
        ("cvt.pack.sat.u2.s32.b32 %r2, 1, 9, 1;", 0x17),
        ("mov.u32 %r2, 5; cvt.pack.sat.s2.s32.b32 %r2, -3, 0, %r2;", 0x58),
    ] {
        assert_eq!(word(inst), expected, "{inst}");
    }
}

#[test]
fn logic_of_three_with_a_predicate() {
    let with =
        |inst: &str| word(&format!("setp.eq.u32 %p2, 1, 1; {inst} selp.u32 %r2, 1, 0, %p1;"));
    assert_eq!(with("lop3.and.b32 %r3|%p1, 0xf0, 0xcc, 0xaa, 0x80, %p2;"), 1);
    assert_eq!(with("lop3.and.b32 %r3|%p1, 0xf0, 0xcc, 0xaa, 0x80, !%p2;"), 0);
    assert_eq!(with("lop3.and.b32 _|%p1, 0xf0, 0xcc, 0xaa, 0, %p2;"), 0);
    assert_eq!(with("lop3.or.b32 _|%p1, 0xf0, 0xcc, 0xaa, 0, %p2;"), 1);
    assert_eq!(with("lop3.or.b32 _|%p1, 0xf0, 0xcc, 0xaa, 0, !%p2;"), 0);
    assert_eq!(word("lop3.or.b32 %r2|%p1, 0xf0, 0xcc, 0xaa, 0xfe, %p2;"), 0xfe);
}

#[test]
fn sums_of_24_bit_products_saturate() {
    let inst = "mad24.hi.sat.s32 %r2, 0x7fffff, 0x7fffff, 0x7fffffff;";
    assert_eq!(word(inst), 0x7fff_ffff);
    assert_eq!(word("mad24.hi.sat.s32 %r2, 0x7fffff, -0x7fffff, 0x80000000;"), 0x8000_0000);
    assert_eq!(word("mad24.hi.sat.s32 %r2, 0x10000, 0x10000, -3;"), 0xfffd);
}

#[test]
fn atomics_of_128_bits() {
    let body = "mov.b128 %q1, {%rd3, %rd4}; mov.u64 %rd5, 7; mov.u64 %rd6, 8; mov.b128 %q2, {%rd5, %rd6};
        mov.u64 %rd3, 0; mov.u64 %rd4, 0; mov.b128 %q1, {%rd3, %rd4};
        atom.global.cas.b128 %q3, [%rd1], %q2, %q1; atom.acq_rel.gpu.global.cas.b128 %q4, [%rd1], %q1, %q2;
        atom.exch.b128 %q5, [%rd1], %q1; st.shared.v2.u64 [%r1], {1, 2}; atom.shared::cta.exch.b128 %q6, [%r1], %q2;
        mov.b128 {%rd7, %rd8}, %q4; st.global.v2.u64 [%rd1+16], {%rd7, %rd8};
        mov.b128 {%rd7, %rd8}, %q5; st.global.v2.u64 [%rd1+32], {%rd7, %rd8};
        mov.b128 {%rd7, %rd8}, %q6; ld.shared.v2.u64 {%rd9, %rd10}, [%r1]; st.global.v4.u32 [%rd1+48], {1, 2, 7, 8};
        add.u64 %rd7, %rd7, %rd9; add.u64 %rd8, %rd8, %rd10; st.global.v2.u64 [%rd1+48], {%rd7, %rd8};";
    let out = run(body, 1, 16);
    assert_eq!(out[..4], [0; 4], "exchanged back to zero");
    assert_eq!(out[4..8], [0; 4], "what the successful comparison found");
    assert_eq!(out[8..12], [7, 0, 8, 0], "what it left");
    assert_eq!(out[12..], [8, 0, 10, 0]);
    let found = fault(
        &format!(".reg .b128 %q<2>; {START}atom.exch.b128 %q1, [%rd1+8], %q0; ret;"),
        block(1),
        64,
    );
    assert!(matches!(found, FaultKind::Misaligned { bytes: 16, .. }), "{found}");
}

#[test]
fn atomics_of_16_bits_and_vectors() {
    let out = run(
        "st.global.u32 [%rd1], 0x00050003; mov.b16 %rs1, 5; mov.b16 %rs2, 9; atom.global.cas.b16 %rs3, [%rd1+2], %rs1, %rs2;
         atom.global.cas.b16 %rs3, [%rd1], %rs1, %rs2; cvt.u32.u16 %r2, %rs3; st.global.u32 [%rd1+4], %r2;",
        1,
        2,
    );
    assert_eq!(out, [0x0009_0003, 3]);
    // 1.0 and 2.0 in bfloat and in half, added to themselves.
    let out = run(
        "st.global.v4.u32 [%rd1], {0x3f804000, 0x3f804000, 0x3c004000, 0}; mov.u32 %r2, 0x3f804000; mov.u32 %r3, 0x3c004000;
         red.global.add.noftz.v2.bf16x2 [%rd1], {%r2, %r2}; red.relaxed.gpu.global.add.noftz.f16x2 [%rd1+8], %r3;
         mov.f32 %f1, 0f3F800000; red.global.v4.f32.add [%rd1+16], {%f1, %f1, %f1, %f1};
         atom.global.v2.f32.add {%f2, %f3}, [%rd1+16], {%f1, %f1}; st.global.v2.f32 [%rd1+32], {%f2, %f3};",
        1,
        12,
    );
    assert_eq!(out[..4], [0x4000_4080, 0x4000_4080, 0x4000_4400, 0]);
    let one = 1f32.to_bits();
    let two = 2f32.to_bits();
    assert_eq!(out[4..10], [two, two, one, one, one, one]);
}

#[test]
fn asynchronous_copies_may_ignore_their_source() {
    let out = run(
        "st.global.v4.u32 [%rd2], {5, 6, 7, 8}; setp.eq.u32 %p1, %r0, 1; shl.b32 %r2, %r0, 4; add.u32 %r2, %r1, %r2;
         cp.async.cg.shared.global [%r2], [%rd2], 16, %p1; cp.async.wait_all; ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];
         st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};",
        2,
        8,
    );
    assert_eq!(out, [5, 6, 7, 8, 0, 0, 0, 0]);
    // An ignored source may be anything.
    run(
        "setp.eq.u32 %p1, 1, 1; mov.u64 %rd3, 0; cp.async.ca.shared.global [%r1], [%rd3], 4, %p1; cp.async.wait_all;",
        1,
        1,
    );
}

#[test]
fn barriers_that_need_no_convergence() {
    // Lanes reach the barrier on both ways of a branch; the reduction counts all threads.
    let body = "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1; setp.lt.u32 %p2, %r0, 40; @%p1 bra O;
        barrier.red.popc.u32 %r3, 2, %p2; bra E; O: barrier.cta.red.popc.u32 %r3, 2, %p2; E:
        barrier.red.and.pred %p3, 3, %p2; barrier.cta.red.or.aligned.pred %p4, 4, 64, !%p2;
        selp.u32 %r4, 100, 0, %p3; selp.u32 %r5, 1000, 0, %p4; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;
        shl.b32 %r6, %r0, 2; cvt.u64.u32 %rd3, %r6; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r3;";
    assert_eq!(run(body, 64, 64), [1040; 64]);
    // A producer that only arrives: barrier 5 orders its store before the other warp's load.
    let hand_over = |arrive: &str| {
        format!(
            "shl.b32 %r6, %r0, 2; add.u32 %r7, %r1, %r6; setp.lt.u32 %p1, %r0, 32; @!%p1 bra C;
             st.shared.u32 [%r7], %r0; {arrive} bra E;
             C: barrier.sync 5, 64; ld.shared.u32 %r8, [%r7+-128]; cvt.u64.u32 %rd3, %r6; add.s64 %rd3, %rd1, %rd3;
             st.global.u32 [%rd3+-128], %r8; E:"
        )
    };
    for arrive in
        ["barrier.arrive 5, 64;", "barrier.cta.arrive.aligned 5, 64;", "bar.arrive 5, 64;"]
    {
        assert_eq!(run(&hand_over(arrive), 64, 32), (0..32).collect::<Vec<_>>());
    }
    let late =
        hand_over("").replace("bra E;\n", "barrier.arrive 5, 64; st.shared.u32 [%r7], 3; bra E;\n");
    let found =
        fault(&format!("{START}{late} ret;"), Launch { dynamic_shared: 1024, ..block(64) }, 128);
    assert!(matches!(found, FaultKind::Race { space: "shared", .. }), "{found}");
}

#[test]
fn what_is_not_known_is_named_with_its_line() {
    for inst in [
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2}, [%rd1];",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}, {%r1}, {%r2}, {%f1};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r5,%r6}, {%f1,%f2,%f3,%f4}, %r7, 0;",
        "vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;",
        "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];",
        "multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%rd1];",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;",
        "fma.rn.oob.f16 %rs1, %rs2, %rs3, %rs4;",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];",
        "cp.async.bulk.prefetch.nonsense [%rd1], 16;",
        "cp.async.bulk.prefetch.L2.global [%rd1];",
        "prefetch.global.L3 [%rd1];",
        "prefetch.global.L2 %rd1;",
        "prefetchu.L2 [%rd1];",
        "discard.global.L2 [%rd1], 64;",
        "applypriority.global.L1::evict_normal [%rd1], 128;",
        "createpolicy.fractional.b64 %rd1, 1.0;",
        "createpolicy.fractional.L2::evict_sometimes.b64 %rd1, 1.0;",
        "nanosleep.u64 5;",
        "pmevent.nonsense 3;",
        "mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd1, 100;",
        "fence.proxy.async %r1;",
        "ld.global.u32.twice %r1, [%rd1];",
        "add.f32.f32 %f1, %f2, %f3;",
        "frobnicate.b32 %r1, %r2;",
    ] {
        let error = Module::parse(&entry(&format!("\n{inst}\nret;")))
            .err()
            .unwrap_or_else(|| panic!("{inst}"));
        let opcode = inst.split(' ').next().unwrap().trim_end_matches(';');
        assert_eq!(error.line, 9, "{error}");
        assert!(error.message.contains(opcode), "{error}");
    }
}

#[test]
fn hints_are_taken() {
    run(
        "prefetch.global.L1 [%rd1]; prefetch.local.L2 [%rd1]; prefetch.L2 [%rd1]; prefetch.global.L2::evict_last [%rd1];
         prefetch.tensormap [%rd1]; prefetch.const.tensormap [%rd1]; prefetchu.L1 [%rd1];
         applypriority.global.L2::evict_normal [%rd1], 128; createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0;
         createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd3; createpolicy.cvt.L2.b64 %rd3, 0x12;
         createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd3, [%rd1], 64, 128;
         nanosleep.u32 20; nanosleep.u32 %r0; pmevent 7; pmevent.mask 3;
         cp.async.bulk.prefetch.L2.global [%rd1], 16; cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd1], 16, %rd3;
         cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r0, %r0}];
         ld.mmio.relaxed.sys.global.u32 %r2, [%rd1]; st.mmio.relaxed.sys.global.u32 [%rd1], 3;",
        1,
        4,
    );
}

#[test]
fn what_ends_a_kernel() {
    for inst in ["trap;", "brkpt;"] {
        assert!(matches!(fault(&format!("{inst} ret;"), block(1), 16), FaultKind::Trap));
    }
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .global .align 1 .b8 m[6] = {120, 32, 62, 32, 48, 0}; .global .align 1 .b8 f[5] = {97, 46, 114, 115, 0};
        .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) { .reg .b64 %rd<3>; .reg .pred %p1; .reg .b32 %r1;
            mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 3; @%p1 ret;
            mov.u64 %rd1, m; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, f; cvta.global.u64 %rd2, %rd2;
            { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4; st.param.b64 [p0], %rd1;
              st.param.b64 [p1], %rd2; st.param.b32 [p2], 17; st.param.b64 [p3], %rd2; st.param.b64 [p4], 1;
              call.uni __assertfail, (p0, p1, p2, p3, p4); } ret; }";
    let report = Device::new(text).run(block(8), &[]).unwrap_err();
    assert_eq!(report.kind, FaultKind::Assertion("x > 0 at a.rs:17".to_owned()));
    assert_eq!(report.thread.unwrap().thread, [3, 0, 0]);
}

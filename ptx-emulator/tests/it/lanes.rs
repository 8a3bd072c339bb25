//! Lanes of one warp: what orders them, and what only looks as if it did.
//!
//! Of the warp-wide instructions only `bar.warp.sync` and the barriers order memory (PTX ISA, `bar.warp.sync`); shuffles,
//! votes, reductions and matrix products exchange registers and order nothing.

use crate::harness::{Device, block, entry, fault};
use ptx_emulator::{FaultKind, Launch};

/// Prologue: %r0 = tid, %rd1 = buffer, %rd2 = buffer + 4 * tid, %r1 = shared, %r2 = shared + 4 * tid, %r3 = the word of
/// the lane beside, %p0 = lane 0 of the warp.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r1, dyn; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; xor.b32 %r3, %r2, 4; and.b32 %r63, %r0, 31; setp.eq.u32 %p0, %r63, 0;\n";

fn launch(threads: u32) -> Launch {
    Launch { dynamic_shared: 4096, ..block(threads) }
}

fn seeded(body: &str, threads: u32) -> FaultKind {
    fault(&format!("{START}{body}\nret;"), launch(threads), 1024)
}

fn races(body: &str, threads: u32) {
    let found = seeded(body, threads);
    assert!(matches!(found, FaultKind::Race { .. }), "{found}\n{body}");
}

fn passes(body: &str, threads: u32) {
    let device = Device::new(&entry(&format!("{START}{body}\nret;")));
    let at = device.upload(&[0u32; 256]);
    device.run(launch(threads), &[at]).unwrap_or_else(|e| panic!("{e}\n{body}"));
}

/// `body` with `what` in place of `?` passes, and without it races.
fn needs(body: &str, what: &str, threads: u32) {
    passes(&body.replace('?', what), threads);
    races(&body.replace('?', ""), threads);
}

#[test]
fn only_barriers_order_memory_between_lanes() {
    let exchange = "st.shared.u32 [%r2], %r0; ? ld.shared.u32 %r4, [%r3];";
    for inst in
        ["bar.warp.sync -1;", "bar.sync 0;", "barrier.cluster.arrive; barrier.cluster.wait;"]
    {
        needs(exchange, inst, 32);
    }
    for inst in [
        "shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;",
        "vote.sync.any.pred %p1, %p0, -1;",
        "match.any.sync.b32 %r5, %r0, -1;",
        "redux.sync.add.u32 %r5, %r0, -1;",
        "elect.sync %r5|%p1, -1;",
        "activemask.b32 %r5;",
        "fence.acq_rel.cta;",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd4, %fd5};",
        "bar.arrive 1, 64;",
    ] {
        races(&exchange.replace('?', inst), 32);
    }
}

#[test]
fn a_warp_barrier_orders_its_members_alone() {
    // Both halves meet, but not each other: lane 20 reads what lane 4 wrote.
    let halves = "st.shared.u32 [%r2], %r0; setp.lt.u32 %p1, %r0, 16; @%p1 bra L;
        bar.warp.sync 0xffff0000; bra E; L: bar.warp.sync 0xffff; E: xor.b32 %r4, %r2, ?; ld.shared.u32 %r5, [%r4];";
    passes(&halves.replace('?', "4"), 32);
    races(&halves.replace('?', "64"), 32);
}

#[test]
fn order_travels_through_a_third_lane() {
    // Lanes 0 and 1 meet, then 1 and 2: lane 2 knows what lane 0 wrote; without the first meeting it does not.
    let chain = "@%p0 st.shared.u32 [%r1], 7; setp.lt.u32 %p1, %r0, 2; ?
        sub.u32 %r4, %r0, 1; setp.lt.u32 %p2, %r4, 2; @%p2 bar.warp.sync 6;
        setp.eq.u32 %p3, %r0, 2; @%p3 ld.shared.u32 %r5, [%r1];";
    needs(chain, "@%p1 bar.warp.sync 3;", 32);
}

#[test]
fn what_an_elected_lane_waited_for_the_others_must_be_told() {
    // Warp 1 writes and arrives; lane 0 of warp 0 waits for it, the whole warp reads.
    let body = "@%p0 st.shared.u32 [%r2+1024], 0; setp.eq.u32 %p2, %r0, 0; @!%p2 bra S; mbarrier.init.shared::cta.b64 [%r1+2048], 32;
        S: bar.sync 0; setp.ge.u32 %p3, %r0, 32; @!%p3 bra W;
        st.shared.u32 [%r2], %r0; mbarrier.arrive.shared::cta.b64 %rd3, [%r1+2048]; bra E;
        W: @!%p0 bra J; L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+2048], 0; @!%p1 bra L; J: ?
        mov.u32 %r9, 0; D: add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 3000; @%p4 bra D;
        ld.shared.u32 %r5, [%r2+128]; E:";
    needs(body, "bar.warp.sync -1;", 64);
}

#[test]
fn a_relaxed_wait_needs_a_fence() {
    let body = "setp.eq.u32 %p2, %r0, 0; @!%p2 bra S; mbarrier.init.shared::cta.b64 [%r1+2048], 32;
        S: bar.sync 0; setp.ge.u32 %p3, %r0, 32; @!%p3 bra L;
        st.shared.u32 [%r2], %r0; mbarrier.arrive.shared::cta.b64 %rd3, [%r1+2048]; bra E;
        L: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r1+2048], 0; @!%p1 bra L; ?
        ld.shared.u32 %r5, [%r2+128]; E:";
    needs(body, "fence.acq_rel.cta;", 64);
}

#[test]
fn many_lanes_hear_of_one_place_together() {
    // A counter that everybody adds to, block after block: the last block to add reads what all have written.
    let body = "mov.u32 %r5, %ctaid.x; shl.b32 %r6, %r5, 7; cvt.u64.u32 %rd4, %r6; add.s64 %rd5, %rd2, %rd4; st.global.u32 [%rd5], 1;
        atom.?.gpu.global.add.u32 %r7, [%rd1+1020], 1; setp.lt.u32 %p1, %r7, 96; mov.u32 %r8, 0; @%p1 bra E;
        L: ld.acquire.gpu.global.u32 %r9, [%rd1+1020]; setp.lt.u32 %p2, %r9, 128; @%p2 bra L;
        M: mul.wide.u32 %rd6, %r8, 128; add.s64 %rd6, %rd2, %rd6; ld.global.u32 %r9, [%rd6]; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 4; @%p2 bra M; E:";
    let run = |order: &str| {
        let body = body.replace('?', order);
        let device = Device::new(&entry(&format!("{START}{body}\nret;")));
        let at = device.upload(&[0u32; 256]);
        device.run(Launch { dynamic_shared: 64, ..Launch::new([4, 1, 1], [32, 1, 1]) }, &[at])
    };
    run("acq_rel").unwrap_or_else(|e| panic!("{e}"));
    let report = run("relaxed").unwrap_err();
    assert!(matches!(report.kind, FaultKind::Race { space: "global", .. }), "{report}");
}

#[test]
fn an_elected_lane_arrives_for_the_others_only_behind_a_barrier() {
    // Warp 0 reads a tile, its lane 0 says so; warp 1 overwrites the tile.
    let body = "st.shared.u32 [%r2], %r0; setp.eq.u32 %p2, %r0, 0; @!%p2 bra S; mbarrier.init.shared::cta.b64 [%r1+2048], 1;
        S: bar.sync 0; setp.ge.u32 %p3, %r0, 32; @%p3 bra W;
        ld.shared.u32 %r5, [%r2]; ? @!%p0 bra E; mbarrier.arrive.shared::cta.b64 %rd3, [%r1+2048]; bra E;
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+2048], 0; @!%p1 bra W; st.shared.u32 [%r2+-128], 1; E:";
    needs(body, "bar.warp.sync -1;", 64);
}

#[test]
fn a_fence_publishes_what_its_lane_knows() {
    // Block 0 writes with all lanes, lane 0 raises a flag; block 1 waits for the flag with lane 0 and reads with all.
    let body = "mov.u32 %r5, %ctaid.x; setp.ne.u32 %p1, %r5, 0; @%p1 bra R;
        st.global.u32 [%rd2], 42; ? @!%p0 bra E; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1+512], 1; bra E;
        R: @!%p0 bra J; L: ld.relaxed.gpu.global.u32 %r6, [%rd1+512]; setp.eq.u32 %p2, %r6, 0; @%p2 bra L; fence.acq_rel.gpu;
        J: ! ld.global.u32 %r7, [%rd2]; E:";
    let run = |writer: &str, reader: &str| {
        let device = Device::new(&entry(&format!(
            "{START}{}\nret;",
            body.replace('?', writer).replace("J: !", &format!("J: {reader}"))
        )));
        let at = device.upload(&[0u32; 256]);
        device.run(Launch { dynamic_shared: 4096, ..Launch::new([2, 1, 1], [32, 1, 1]) }, &[at])
    };
    let barrier = "bar.warp.sync -1;";
    run(barrier, barrier).unwrap_or_else(|e| panic!("{e}"));
    for (writer, reader) in [("", barrier), (barrier, "")] {
        let report = run(writer, reader).unwrap_err();
        assert!(matches!(report.kind, FaultKind::Race { space: "global", .. }), "{report}");
    }
}

#[test]
fn a_flag_between_blocks_needs_a_fence_on_each_side() {
    // All threads of block 0 write, thread 0 raises the flag; thread 0 of block 1 waits for it, all its threads read.
    let run = |before: &str, raise: &str, seen: &str| {
        let body = format!(
            "{START} mov.u32 %r5, %ctaid.x; setp.ne.u32 %p1, %r5, 0; setp.ne.u32 %p3, %r0, 0; @%p1 bra R;
             st.global.u32 [%rd2], 42; {before} bar.sync 0; @%p3 bra E; {raise} st.relaxed.gpu.global.u32 [%rd1+512], 1; bra E;
             R: @%p3 bra J; L: ld.relaxed.gpu.global.u32 %r6, [%rd1+512]; setp.eq.u32 %p2, %r6, 0; @%p2 bra L; {seen}
             J: bar.sync 0; ld.global.u32 %r7, [%rd2]; E: ret;"
        );
        let device = Device::new(&entry(&body));
        let at = device.upload(&[0u32; 256]);
        device.run(Launch { dynamic_shared: 4096, ..Launch::new([2, 1, 1], [64, 1, 1]) }, &[at])
    };
    let (none, order, sc) = ("", "fence.acq_rel.gpu;", "fence.sc.gpu;");
    for (before, raise, seen) in
        [(none, order, order), (none, sc, sc), (sc, none, sc), ("membar.gl;", none, "membar.gl;")]
    {
        run(before, raise, seen).unwrap_or_else(|e| panic!("{before} {raise} {seen}: {e}"));
    }
    // Fences that are not sequentially consistent reach no further than their own thread's flag; a barrier is no fence.
    for (before, raise, seen) in
        [(none, none, order), (order, none, order), (none, order, none), (sc, none, none)]
    {
        let report = run(before, raise, seen).expect_err(&format!("{before}/{raise}/{seen}"));
        assert!(matches!(report.kind, FaultKind::Race { space: "global", .. }), "{report}");
    }
}

#[test]
fn a_lane_waits_for_its_own_bulk_copies() {
    let body = "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.warp.sync -1; @!%p0 bra J;
        cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
        J: ? st.shared.u32 [%r2], 1; @%p0 cp.async.bulk.wait_group 0;";
    needs(body, "bar.warp.sync -1;", 32);
}

#[test]
fn a_lane_waits_for_its_own_asynchronous_copies() {
    let body = "cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.wait_all; ? ld.shared.u32 %r5, [%r3];";
    needs(body, "bar.warp.sync -1;", 32);
    // A flag behind a fence tells another warp of them.
    let flag = "setp.eq.u32 %p4, %r0, 0; @%p4 st.shared.u32 [%r1+2048], 0; bar.sync 0; setp.ge.u32 %p3, %r0, 32; @%p3 bra W;
        cp.async.ca.shared.global [%r2], [%rd2], 4; ? fence.acq_rel.cta; atom.relaxed.cta.shared.add.u32 %r5, [%r1+2048], 1; cp.async.wait_all; bra E;
        W: ld.relaxed.cta.shared.u32 %r5, [%r1+2048]; setp.lt.u32 %p1, %r5, 32; @%p1 bra W; fence.acq_rel.cta; ld.shared.u32 %r5, [%r2+-128]; E:";
    needs(flag, "cp.async.wait_all;", 64);
    // The destination was read by the lane beside, in order with the wait and not with the copy's issue.
    let early = "st.shared.u32 [%r2], 0; bar.warp.sync -1; cp.async.ca.shared.global [%r2], [%rd2], 4; ld.shared.u32 %r5, [%r3];
        bar.warp.sync -1; cp.async.wait_all;";
    races(early, 32);
}

#[test]
fn one_store_to_one_place() {
    races("st.shared.u32 [%r1], %r0;", 32);
    races("st.global.u32 [%rd1], %r0;", 32);
    // The same value from the same instruction: which lane's write stays is open, what stays is not.
    passes("st.shared.u32 [%r1], 5;", 32);
    passes("st.global.v2.u32 [%rd1], {5, 6};", 32);
    // Two instructions, or two warps, are two writes whatever they write.
    races(
        "setp.lt.u32 %p1, %r0, 16; @%p1 st.shared.u32 [%r1], 5;\n@!%p1 st.shared.u32 [%r1], 5;",
        32,
    );
    races("st.shared.u32 [%r1], 5;", 64);
}

#[test]
fn a_lane_that_has_left_was_ordered_by_nobody() {
    let body = "st.shared.u32 [%r2], %r0; ? setp.eq.u32 %p1, %r0, 1; @%p1 exit; bar.warp.sync -1;
        setp.eq.u32 %p2, %r0, 0; @%p2 ld.shared.u32 %r4, [%r1+4];";
    needs(body, "bar.warp.sync -1;", 32);
}

#[test]
fn wgmma_reads_what_any_lane_knows() {
    // Each thread writes its part and fences; the barrier lets all know. Then every warp multiplies.
    let zero = (0..4).map(|i| format!("mov.f32 %f{i}, 0f00000000;")).collect::<String>();
    let body = format!(
        "{zero} mov.u32 %r9, 0; Z: shl.b32 %r10, %r9, 9; add.u32 %r10, %r10, %r2; st.shared.u32 [%r10], 0; add.u32 %r9, %r9, 1;
         setp.lt.u32 %p1, %r9, 5; @%p1 bra Z; fence.proxy.async.shared::cta; ?
         shr.u32 %r11, %r1, 4; cvt.u64.u32 %rd5, %r11; or.b64 %rd5, %rd5, 0x0000000800080000;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd5, %rd5, 1, 1, 1, 0, 0;
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    );
    passes(&body.replace('?', "bar.sync 0;"), 128);
    for barrier in ["", "bar.warp.sync -1;"] {
        let found = seeded(&body.replace('?', barrier), 128);
        assert!(
            matches!(found, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }),
            "{found}"
        );
    }
}

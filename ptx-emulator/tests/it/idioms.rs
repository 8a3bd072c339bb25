//! Synchronisation as practice writes it, right by the memory model: no check may find fault with it.

use crate::harness::{Device, entry};
use ptx_emulator::{FaultKind, Launch, Report};

/// Prologue: %r0 = tid, %r1 = shared, %r2 = shared + 4 * tid, %r3 = block, %rd1 = buffer, %rd2 = buffer + 4 * tid, %rd3 =
/// buffer + 4 * block, %p0 = thread 0.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r1, dyn; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd1, %rd3;
    setp.eq.u32 %p0, %r0, 0;\n";

/// Runs a body in `blocks` of `threads` over 256 zeros; gives what they become.
fn outcome(body: &str, blocks: u32, threads: u32) -> Result<Vec<u32>, Box<Report>> {
    let device = Device::new(&entry(&format!("{START}{body}\nret;")));
    let at = device.upload(&[0u32; 256]);
    let launch = Launch { dynamic_shared: 4096, ..Launch::new([blocks, 1, 1], [threads, 1, 1]) };
    device.run(launch, &[at]).map(|_| device.download(at, 256))
}

fn run(body: &str, blocks: u32, threads: u32) -> Vec<u32> {
    outcome(body, blocks, threads).unwrap_or_else(|e| panic!("{e}\n{body}"))
}

/// Without `part` the body races.
fn needs(body: &str, part: &str, instead: &str, blocks: u32, threads: u32) {
    assert!(body.contains(part), "{part}");
    let report = outcome(&body.replace(part, instead), blocks, threads).unwrap_err();
    assert!(matches!(report.kind, FaultKind::Race { .. }), "{report}");
}

#[test]
fn a_lock_around_ordinary_accesses() {
    // One thread of each warp of each block takes the lock, adds to two words, and gives it back.
    let body = "and.b32 %r4, %r0, 31; setp.ne.u32 %p1, %r4, 0; @%p1 bra E;
        L: atom.acquire.gpu.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;
        ld.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1+4], %r6; st.global.u32 [%rd1+8], %r6;
        atom.release.gpu.global.exch.b32 %r5, [%rd1], 0; E:";
    assert_eq!(run(body, 3, 64)[..3], [0, 6, 6]);
    needs(body, "atom.release", "atom.relaxed", 3, 64);
    needs(body, "atom.acquire", "atom.relaxed", 3, 64);
    let fences = body
        .replace("atom.acquire.gpu.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;",
            "atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L; membar.gl;")
        .replace("atom.release.gpu.global.exch.b32 %r5, [%rd1], 0;", "membar.gl; st.volatile.global.u32 [%rd1], 0;");
    assert_eq!(run(&fences, 3, 64)[..3], [0, 6, 6]);
    // The same in shared memory, between the warps of one block.
    let shared = body.replace("[%rd1]", "[%r1]").replace(".gpu.global", ".cta.shared");
    let shared = format!("@%p0 st.shared.u32 [%r1], 0; bar.sync 0; {shared}");
    assert_eq!(run(&shared, 1, 256)[..3], [0, 8, 8]);
    needs(&shared, "atom.release", "atom.relaxed", 1, 256);
}

#[test]
fn a_barrier_of_the_grid() {
    // Each block writes, meets the others, and reads what its neighbour wrote; twice.
    let meet = |goal: u32| {
        format!(
            "bar.sync 0; @!%p0 bra J{goal}; fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r5, [%rd1+1020], 1;
             L{goal}: ld.relaxed.gpu.global.u32 %r5, [%rd1+1020]; setp.lt.u32 %p1, %r5, {goal}; @%p1 bra L{goal}; fence.acq_rel.gpu;
             J{goal}: bar.sync 0;"
        )
    };
    let body = format!(
        "mad.lo.u32 %r6, %r3, 32, %r0; mul.wide.u32 %rd4, %r6, 4; add.s64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], %r6; {}
         add.u32 %r7, %r6, 32; rem.u32 %r7, %r7, 128; mul.wide.u32 %rd5, %r7, 4; add.s64 %rd5, %rd1, %rd5; ld.global.u32 %r8, [%rd5]; {}
         st.global.u32 [%rd4], %r8;",
        meet(4),
        meet(8)
    );
    let expected: Vec<u32> = (0..128).map(|i| (i + 32) % 128).collect();
    assert_eq!(run(&body, 4, 32)[..128], expected);
    needs(&body, "@!%p0 bra J4; fence.acq_rel.gpu;", "@!%p0 bra J4;", 4, 32);
}

#[test]
fn the_last_block_gathers() {
    // All threads write and fence; the block's first thread counts; the last block sums what all have written.
    for fence in ["membar.gl;", "fence.sc.gpu;"] {
        let body = format!(
            "mad.lo.u32 %r6, %r3, 32, %r0; mul.wide.u32 %rd4, %r6, 4; add.s64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], 1; {fence} bar.sync 0;
             @!%p0 bra J; atom.global.inc.u32 %r7, [%rd1+1000], 3; st.shared.u32 [%r1], %r7; {fence} J: bar.sync 0;
             ld.shared.u32 %r7, [%r1]; setp.ne.u32 %p1, %r7, 3; @%p1 bra E; mov.u32 %r8, 0; mov.u32 %r9, 0;
             L: mad.lo.u32 %r10, %r9, 32, %r0; mul.wide.u32 %rd4, %r10, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r11, [%rd4];
             add.u32 %r8, %r8, %r11; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 4; @%p2 bra L;
             st.global.u32 [%rd2+512], %r8; E:"
        );
        assert_eq!(run(&body, 4, 32)[128..160], [4; 32]);
    }
}

#[test]
fn blocks_look_back() {
    // Each block passes a sum on to the next; a whole warp polls the flag of the block before.
    let body = "add.u32 %r4, %r3, 1; @!%p0 bra W; setp.eq.u32 %p1, %r3, 0; @!%p1 bra W; st.global.u32 [%rd3+512], 1;
        st.release.gpu.global.u32 [%rd3], 1; W: setp.eq.u32 %p1, %r3, 0; @%p1 bra E;
        L: ld.acquire.gpu.global.u32 %r5, [%rd3+-4]; setp.eq.u32 %p2, %r5, 0; vote.sync.any.pred %p3, %p2, -1; @%p3 bra L;
        ld.global.u32 %r6, [%rd3+508]; add.u32 %r6, %r6, %r4; bar.warp.sync -1; @!%p0 bra E;
        st.global.u32 [%rd3+512], %r6; st.release.gpu.global.u32 [%rd3], 1; E:";
    let out = run(body, 6, 32);
    assert_eq!(out[128..134], [1, 3, 6, 10, 15, 21]);
    needs(body, "ld.acquire", "ld.relaxed", 6, 32);
}

#[test]
fn counting_in_shared_memory() {
    // Zeroed by ordinary stores, counted by atomics, read and cleared by ordinary accesses.
    let body = "st.shared.u32 [%r2], 0; bar.sync 0; and.b32 %r4, %r0, 7; shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4;
        atom.shared.add.u32 %r5, [%r4], 1; red.shared.max.u32 [%r1+64], %r0; bar.sync 0; ld.shared.u32 %r6, [%r2]; bar.sync 0;
        st.shared.u32 [%r2], 9; st.global.u32 [%rd2], %r6;";
    let out = run(body, 1, 64);
    assert_eq!(out[..8], [8; 8]);
    assert_eq!(out[16], 63);
}

#[test]
fn bytes_of_one_word_belong_to_different_threads() {
    let body = "add.u32 %r4, %r1, %r0; st.shared.u8 [%r4], %r0; bar.warp.sync -1; and.b32 %r5, %r0, 28; add.u32 %r5, %r1, %r5;
        ld.shared.u32 %r6, [%r5]; bar.warp.sync -1; st.shared.u16 [%r2], %r0; add.u32 %r7, %r2, 2; st.shared.u16 [%r7], %r0;
        st.global.u32 [%rd2], %r6;";
    let expected: Vec<u32> = (0..32u32).map(|t| (t & 28) * 0x0101_0101 + 0x0302_0100).collect();
    assert_eq!(run(body, 1, 32)[..32], expected);
}

#[test]
fn warps_hand_buffers_on_by_named_barriers() {
    // Warp 0 fills two buffers in turn, warp 1 empties them: full barriers 1 and 2, empty barriers 3 and 4.
    let body = "mov.u32 %r4, 0; mov.u32 %r9, 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra C;
        P: and.b32 %r5, %r4, 1; add.u32 %r6, %r5, 3; add.u32 %r7, %r5, 1; mad.lo.u32 %r8, %r5, 128, %r2;
        setp.lt.u32 %p2, %r4, 2; @%p2 bra F; bar.sync %r6, 64; F: st.shared.u32 [%r8], %r4; bar.arrive %r7, 64;
        add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 10; @%p2 bra P; bra E;
        C: and.b32 %r5, %r4, 1; add.u32 %r6, %r5, 3; add.u32 %r7, %r5, 1; mad.lo.u32 %r8, %r5, 128, %r2;
        bar.sync %r7, 64; ld.shared.u32 %r10, [%r8+-128]; add.u32 %r9, %r9, %r10; setp.lt.u32 %p2, %r4, 8; @!%p2 bra N; bar.arrive %r6, 64;
        N: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 10; @%p2 bra C; st.global.u32 [%rd2+-128], %r9; E:";
    assert_eq!(run(body, 1, 64)[..32], [45; 32]);
}

#[test]
fn objects_of_a_cluster_are_made_behind_a_relaxed_arrival() {
    // Each block makes an object, fences, and arrives relaxed; then it stores to its neighbour and arrives there.
    let body = "mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r6, %r1, %r5; @!%p0 bra S;
        mbarrier.init.shared::cta.b64 [%r1], 1; fence.mbarrier_init.release.cluster;
        S: barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned; @!%p0 bra W; add.u32 %r7, %r4, 5;
        st.shared::cluster.u32 [%r6+16], %r7; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
        W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra W;
        ld.shared.u32 %r8, [%r1+16]; @%p0 st.global.u32 [%rd3], %r8; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let pair = |body: &str| {
        let device = Device::new(&entry(&format!("{START}{body}\nret;")));
        let at = device.upload(&[0u32; 256]);
        let launch = Launch {
            cluster: Some([2, 1, 1]),
            dynamic_shared: 4096,
            ..Launch::new([2, 1, 1], [32, 1, 1])
        };
        device.run(launch, &[at]).map(|_| device.download::<u32>(at, 2))
    };
    assert_eq!(pair(body).unwrap_or_else(|e| panic!("{e}")), [6, 5]);
    let unfenced = pair(&body.replace("fence.mbarrier_init.release.cluster;", "")).unwrap_err();
    assert!(matches!(unfenced.kind, FaultKind::Race { space: "shared", .. }), "{unfenced}");
}

#[test]
fn a_warp_copies_for_another() {
    // Warp 0 fills two stages by cp.async, every lane's copies arriving on the stage's full object; warp 1 reads, its lane
    // 0 arrives on the empty object.
    let body = "@!%p0 bra S; mbarrier.init.shared::cta.b64 [%r1+1024], 32; mbarrier.init.shared::cta.b64 [%r1+1032], 32;
        mbarrier.init.shared::cta.b64 [%r1+1040], 1; mbarrier.init.shared::cta.b64 [%r1+1048], 1; S: bar.sync 0;
        mov.u32 %r4, 0; mov.u32 %r12, 0; setp.ge.u32 %p1, %r0, 32;
        N: and.b32 %r5, %r4, 1; mad.lo.u32 %r6, %r5, 8, %r1; mad.lo.u32 %r7, %r5, 128, %r2; shr.u32 %r8, %r4, 1; and.b32 %r8, %r8, 1; @%p1 bra C;
        xor.b32 %r9, %r8, 1; A: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6+1040], %r9; @!%p2 bra A;
        cp.async.ca.shared.global [%r7], [%rd2+512], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r6+1024]; bra M;
        C: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6+1024], %r8; @!%p2 bra C;
        xor.b32 %r10, %r7, 4; ld.shared.u32 %r11, [%r10+-128]; add.u32 %r12, %r12, %r11; bar.warp.sync -1;
        setp.eq.u32 %p3, %r0, 32; @%p3 mbarrier.arrive.shared::cta.b64 _, [%r6+1040];
        M: add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 7; @%p4 bra N; @%p1 st.global.u32 [%rd2+-128], %r12; @!%p1 cp.async.wait_all;";
    let body = format!("st.global.u32 [%rd2+512], 3; {body}");
    assert_eq!(run(&body, 1, 64)[..32], [21; 32]);
    needs(&body, "bar.warp.sync -1;", "", 1, 64);
}

//! Control flow, lanes, calls, barriers, shared memory.

use crate::harness::{Device, block, entry};
use ptx_emulator::Launch;

/// Prologue: %r0 = tid, %rd1 = out, %rd2 = out + 4 * tid.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2;\n";

fn run(body: &str, threads: u32) -> Vec<u32> {
    let device = Device::new(&entry(&format!("{START}{body}")));
    let out = device.alloc(threads as usize * 4);
    device.run(block(threads), &[out]).unwrap_or_else(|e| panic!("{e}\n{body}"));
    device.download(out, threads as usize)
}

#[test]
fn lanes_meet_after_a_branch_and_after_a_loop() {
    // Each lane loops tid times; a warp-wide vote afterwards needs all lanes together.
    let out = run(
        "mov.u32 %r1, 0; mov.u32 %r2, 0;
         L: setp.ge.u32 %p1, %r1, %r0; @%p1 bra D;
         add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; bra L;
         D: setp.gt.u32 %p2, %r2, 100; vote.sync.ballot.b32 %r3, %p2, -1;
         and.b32 %r4, %r0, 1; setp.eq.u32 %p3, %r4, 0; @%p3 bra E;
         add.u32 %r2, %r2, 1000;
         E: bar.warp.sync -1; popc.b32 %r3, %r3; mad.lo.u32 %r2, %r3, 1000000, %r2; st.global.u32 [%rd2], %r2; ret;",
        32,
    );
    for (t, value) in out.iter().enumerate() {
        let t = t as u32;
        let sum = t * t.saturating_sub(1) / 2;
        let big = (0..32u32).filter(|t| t * t.saturating_sub(1) / 2 > 100).count() as u32;
        assert_eq!(*value, big * 1_000_000 + sum + t % 2 * 1000);
    }
}

#[test]
fn branch_tables() {
    let out = run(
        "and.b32 %r1, %r0, 3; T: .branchtargets A, B, C, B; brx.idx %r1, T;
         A: mov.u32 %r2, 10; bra E; B: mov.u32 %r2, 20; bra E; C: mov.u32 %r2, 30;
         E: bar.warp.sync -1; st.global.u32 [%rd2], %r2; ret;",
        32,
    );
    assert_eq!(out[..5], [10, 20, 30, 20, 10]);
}

#[test]
fn early_exit_leaves_the_rest_running() {
    let device = Device::new(&entry(&format!(
        "{START} setp.ge.u32 %p1, %r0, 40; @%p1 exit; bar.sync 0; st.global.u32 [%rd2], %r0; ret;"
    )));
    let out = device.alloc(160);
    device.run(block(64), &[out]).unwrap();
    assert_eq!(device.download::<u32>(out, 40), (0..40).collect::<Vec<_>>());
}

#[test]
fn functions_return_through_the_call_abi() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .func (.param .b32 ret) sum(.param .align 8 .b8 pair[16], .param .b32 n) {
            .reg .b32 %r<8>; .reg .pred %p1; .local .align 4 .b8 depot[8]; .reg .b64 %sp;
            ld.param.b32 %r1, [n]; ld.param.u32 %r2, [pair]; ld.param.u32 %r3, [pair+8];
            mov.b64 %sp, depot; cvta.local.u64 %sp, %sp; st.u32 [%sp+4], %r1;
            setp.eq.u32 %p1, %r1, 0; @%p1 bra Z;
            sub.u32 %r4, %r1, 1;
            { .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 c;
              st.param.u32 [a], %r2; st.param.u32 [a+8], %r3; st.param.b32 [b], %r4;
              call.uni (c), sum, (a, b); ld.param.b32 %r5, [c]; }
            ld.u32 %r6, [%sp+4]; add.u32 %r5, %r5, %r6; st.param.b32 [ret], %r5; ret;
            Z: add.u32 %r5, %r2, %r3; st.param.b32 [ret+0], %r5; ret; }
        .visible .entry k(.param .u64 k_param_0, .param .u64 q, .param .u64 s, .param .u64 t) {
            .reg .b32 %r<8>; .reg .b64 %rd<5>;
            mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2;
            mov.u64 %rd3, sum;
            { .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 c;
              st.param.u32 [a], 100; st.param.u32 [a+8], %r0; st.param.b32 [b], %r0;
              proto: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16], .param .b32 _);
              call (c), %rd3, (a, b), proto; ld.param.b32 %r1, [c]; }
            bar.warp.sync -1; st.global.u32 [%rd2], %r1; ret; }";
    let device = Device::new(text);
    let out = device.alloc(128);
    device.run(block(32), &[out]).unwrap_or_else(|e| panic!("{e}"));
    let expected: Vec<u32> = (0..32).map(|t| 100 + t + t * (t + 1) / 2).collect();
    assert_eq!(device.download::<u32>(out, 32), expected);
}

#[test]
fn shuffles_and_exchanges() {
    let out = run("shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; st.global.u32 [%rd2], %r1; ret;", 32);
    assert_eq!(out, (0..32).map(|t| t ^ 1).collect::<Vec<_>>());
    let out = run(
        "shfl.sync.down.b32 %r1|%p1, %r0, 4, 0x1807, -1; selp.u32 %r1, %r1, 99, %p1; st.global.u32 [%rd2], %r1; ret;",
        32,
    );
    let expected: Vec<u32> = (0..32).map(|t| if t % 8 + 4 < 8 { t + 4 } else { 99 }).collect();
    assert_eq!(out, expected, "segments of eight");
    let out = run("shfl.sync.up.b32 %r1, %r0, 1, 0, -1; st.global.u32 [%rd2], %r1; ret;", 32);
    assert_eq!(out, (0..32u32).map(|t| t.saturating_sub(1)).collect::<Vec<_>>());
    let out = run("redux.sync.add.s32 %r1, %r0, -1; st.global.u32 [%rd2], %r1; ret;", 32);
    assert_eq!(out[7], 496);
    let out = run(
        "and.b32 %r1, %r0, 3; match.any.sync.b32 %r2, %r1, -1; st.global.u32 [%rd2], %r2; ret;",
        32,
    );
    assert_eq!(out[1], 0x2222_2222);
    let out =
        run("elect.sync %r1|%p1, -1; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd2], %r1; ret;", 32);
    assert_eq!(out.iter().sum::<u32>(), out[0]);
}

#[test]
fn barriers_order_shared_memory() {
    let body = "mov.u32 %r1, dyn; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %r0; bar.sync 0;
        xor.b32 %r3, %r0, 96; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3];
        setp.lt.u32 %p1, %r4, 40; bar.red.popc.u32 %r5, 0, %p1; mad.lo.u32 %r4, %r5, 1000, %r4;
        st.global.u32 [%rd2], %r4; ret;";
    let device = Device::new(&entry(&format!("{START}{body}")));
    let out = device.alloc(512);
    let stats = device
        .run(Launch { dynamic_shared: 512, ..block(128) }, &[out])
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        device.download::<u32>(out, 128),
        (0..128).map(|t| 40_000 + (t ^ 96)).collect::<Vec<_>>()
    );
    assert_eq!(stats.blocks, 1);
}

#[test]
fn atomics_count_across_blocks() {
    let device = Device::new(&entry(
        "ld.param.u64 %rd1, [k_param_0]; atom.global.add.u32 %r1, [%rd1], 1; red.global.max.s32 [%rd1+4], %r1;
         atom.global.cas.b32 %r2, [%rd1+8], 0, 7; red.global.add.f32 [%rd1+12], 0f3F800000; ret;",
    ));
    let out = device.upload(&[0u32, 0, 0, 0]);
    let stats =
        device.run(Launch::new([7, 1, 1], [100, 1, 1]), &[out]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.download::<u32>(out, 4), [700, 699, 7, 700f32.to_bits()]);
    assert_eq!(stats.blocks, 7);
}

#[test]
fn blocks_that_wait_for_later_blocks_finish() {
    // Every block waits until all have arrived: none may be run to its end before the others begin.
    let device = Device::new(&entry(
        "ld.param.u64 %rd1, [k_param_0]; atom.release.gpu.global.add.u32 %r1, [%rd1], 1;
         L: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.lt.u32 %p1, %r2, 12; @%p1 bra L; ret;",
    ));
    let counter = device.upload(&[0u32]);
    device.run(Launch::new([12, 1, 1], [1, 1, 1]), &[counter]).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_lane_may_wait_for_another_of_its_warp() {
    // Lane 1 spins until lane 0, on the other way of the branch, stores.
    let body = "setp.eq.u32 %p1, %r0, 0; @%p1 bra A;
         L: ld.relaxed.gpu.global.u32 %r1, [%rd1+4]; setp.eq.u32 %p2, %r1, 0; @%p2 bra L; bra E;
         A: st.relaxed.gpu.global.u32 [%rd1+4], 5;
         E: bar.warp.sync 3; st.global.u32 [%rd2+8], 9; ret;";
    let device = Device::new(&entry(&format!("{START}{body}")));
    let out = device.upload(&[0u32; 4]);
    device.run(block(2), &[out]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.download::<u32>(out, 4), [0, 5, 9, 9]);
}

#[test]
fn module_variables_hold_their_initial_values() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .global .align 4 .u32 table[4] = {1, 2, 3}; .const .align 8 .u64 pointer = table;
        .global .align 8 .u64 g = generic(table)+4;
        .visible .entry k(.param .u64 k_param_0, .param .u64 q, .param .u64 s, .param .u64 t) {
            .reg .b32 %r<4>; .reg .b64 %rd<6>;
            ld.param.u64 %rd1, [k_param_0]; ld.const.u64 %rd2, [pointer]; ld.global.u32 %r1, [%rd2+8];
            ld.global.u64 %rd3, [g]; ld.u32 %r2, [%rd3]; ld.global.u32 %r3, [table+12];
            st.global.v4.u32 [%rd1], {%r1, %r2, %r3, 7}; ret; }";
    let device = Device::new(text);
    let out = device.alloc(16);
    device.run(block(1), &[out]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.download::<u32>(out, 4), [3, 2, 0, 7]);
}

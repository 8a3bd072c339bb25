//! One seeded fault of every kind that is checked. Without the seed the kernel passes; with it the report names the
//! kernel, the thread, the line of PTX and the line of Rust.

use std::ops::Range;
use std::sync::Arc;

use crate::harness::entry;
use ptx_emulator::{FaultKind, Launch, Memory, Module, Options, Report, Stats};

/// A kernel with a hole.
struct Seed {
    /// Its `?` is filled with what is right, or with what is wrong. The instruction that is to blame stands on a line of
    /// its own that ends in `// F`.
    body: &'static str,
    right: &'static str,
    wrong: &'static str,
    launch: Launch,
    /// Linear numbers of threads one of which must be blamed, in whichever block.
    thread: Range<u32>,
    kind: fn(&FaultKind) -> bool,
}

/// Prologue: %r0 = tid, %rd1 = 1 KiB of zeros, %rd2 = %rd1 + 4 * tid, %r1 = shared, %r2 = %r1 + 4 * tid, %rd3 = 64 bytes
/// that nobody wrote, %rd4 = what was freed, %p0 = thread 0.
const START: &str = "mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2;
    mov.u32 %r1, dyn; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; ld.param.u64 %rd3, [k_param_1]; ld.param.u64 %rd4, [k_param_2];
    setp.eq.u32 %p0, %r0, 0;";

fn run(text: &str, launch: &Launch) -> Result<Stats, Box<Report>> {
    let memory = Arc::new(Memory::new());
    let program =
        Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).load(&memory).unwrap();
    let zeros = memory.alloc(1024).unwrap();
    memory.fill(zeros, 0, 1024).unwrap();
    let unwritten = memory.alloc(64).unwrap();
    let freed = memory.alloc(64).unwrap();
    memory.free(freed).unwrap();
    let params: Vec<u8> =
        [zeros, unwritten, freed, 0].iter().flat_map(|p| u64::to_le_bytes(*p)).collect();
    let options = Options { instruction_budget: 1_000_000, ..Options::default() };
    program.launch("k", launch, &params, &options)
}

fn text(seed: &Seed, filling: &str) -> String {
    let body = seed.body.replace('?', filling);
    let mut lines = String::new();
    for (number, line) in (100..).zip(body.lines()) {
        lines += &format!(".loc 1 {number} 9\n{line}\n");
    }
    entry(&format!("{START}\n{lines}.loc 1 900 1\nret;"))
        .replace(".visible", ".file 1 \"kernel.rs\"\n.visible")
}

fn check(name: &str, seed: &Seed) {
    if let Err(report) = run(&text(seed, seed.right), &seed.launch) {
        panic!("{name}, unseeded: {report}");
    }
    let text = text(seed, seed.wrong);
    let report = match run(&text, &seed.launch) {
        Ok(_) => panic!("{name}: not caught"),
        Err(report) => report,
    };
    println!("{name}: {report}\n");
    assert!((seed.kind)(&report.kind), "{name}: {report}");
    assert_eq!(report.kernel, "k", "{name}");
    let thread = report.thread.unwrap_or_else(|| panic!("{name} names no thread: {report}"));
    assert!(seed.thread.contains(&thread.thread[0]), "{name}: {report}");
    let at = report.ptx_line.unwrap_or_else(|| panic!("{name} names no line: {report}")) as usize;
    let line = text.lines().nth(at - 1).unwrap();
    assert!(line.ends_with("// F"), "{name} blames `{line}`: {report}");
    assert_eq!(report.instruction.as_deref(), Some(line.trim()), "{name}");
    let loc = text.lines().nth(at - 2).unwrap();
    let source =
        report.source.as_ref().unwrap_or_else(|| panic!("{name} names no source: {report}"));
    assert_eq!(source.file, "kernel.rs");
    assert_eq!(loc, format!(".loc 1 {} {}", source.line, source.column), "{name}");
}

fn threads(count: u32) -> Launch {
    Launch { dynamic_shared: 4096, ..Launch::new([1, 1, 1], [count, 1, 1]) }
}

fn blocks(count: u32, of: u32) -> Launch {
    Launch { grid: [count, 1, 1], ..threads(of) }
}

macro_rules! seeds {
    ($($name:ident: $body:expr, $right:expr, $wrong:expr, $launch:expr, $thread:expr, $kind:pat,)*) => { $(
        #[test]
        fn $name() {
            let kind = |kind: &FaultKind| matches!(kind, $kind);
            let seed = Seed { body: $body, right: $right, wrong: $wrong, launch: $launch, thread: $thread, kind };
            check(stringify!($name), &seed);
        }
    )* };
}

use FaultKind::*;

seeds! {
    off_by_one_in_global: "add.s64 %rd5, %rd2, ?;\nst.global.u32 [%rd5], 1; // F",
        "0", "4", threads(256), 255..256, OutOfBounds { access: "write", space: "global", .. },
    off_by_one_in_shared: "add.u32 %r3, %r2, ?;\nst.shared.u32 [%r3+3072], 1; // F",
        "0", "4", threads(256), 255..256, OutOfBounds { space: "shared", .. },
    off_by_one_in_local: ".local .align 4 .b8 x[8]; mov.u64 %rd5, x; add.u64 %rd5, %rd5, ?;\nst.local.u32 [%rd5+4], 1; // F",
        "0", "4", threads(1), 0..1, OutOfBounds { space: "local", .. },
    stray_parameter: "mov.u32 %r3, 0;\nld.param.u64 %rd5, [k_param_3+?]; // F",
        "0", "8", threads(1), 0..1, OutOfBounds { space: "parameter", .. },
    misaligned_vector: "add.s64 %rd5, %rd1, ?;\nld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd5]; // F",
        "16", "8", threads(1), 0..1, Misaligned { bytes: 16, .. },
    freed_memory: "mov.u64 %rd5, ?;\nld.global.u32 %r3, [%rd5]; // F",
        "%rd1", "%rd4", threads(1), 0..1, UseAfterFree { .. },
    unwritten_global: "?\nld.global.u32 %r3, [%rd3]; // F",
        "st.global.u32 [%rd3], 1;", "", threads(1), 0..1, Uninitialised { space: "global", .. },
    unwritten_shared: "? st.shared.u32 [%r2], 1;\nld.shared.v2.u32 {%r3, %r4}, [%r2]; // F",
        "st.shared.u32 [%r2+4], 1;", "", threads(1), 0..1, Uninitialised { space: "shared", .. },
    missing_barrier: "st.shared.u32 [%r2], 1; bar.sync 0;\nxor.b32 %r3, %r2, 128; st.shared.u32 [%r2], 2; ? ld.shared.u32 %r4, [%r3]; // F",
        "bar.sync 0;", "", threads(64), 0..64, Race { space: "shared", .. },
    lanes_without_a_warp_barrier: "st.shared.u32 [%r2], 1; ?\nxor.b32 %r3, %r2, 8;\nld.shared.u32 %r4, [%r3]; // F",
        "bar.warp.sync -1;", "shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;", threads(32), 0..32, Race { space: "shared", .. },
    threads_write_one_word: "and.b32 %r3, %r0, ?; mul.wide.u32 %rd5, %r3, 4; add.s64 %rd5, %rd1, %rd5;\nst.global.u32 [%rd5], %r0; // F",
        "63", "62", threads(64), 1..64, Race { space: "global", .. },
    blocks_write_one_word: "mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd5, %r3, ?; add.s64 %rd5, %rd1, %rd5;\nst.global.u32 [%rd5], 5; // F",
        "4", "0", blocks(2, 1), 0..1, Race { space: "global", .. },
    flag_without_a_fence:
        "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra R; st.global.u32 [%rd1], 4; ? st.relaxed.gpu.global.u32 [%rd1+4], 1; ret;\n\
         R: ld.relaxed.gpu.global.u32 %r4, [%rd1+4]; setp.eq.u32 %p2, %r4, 0; @%p2 bra R; fence.acq_rel.gpu;\nld.global.u32 %r5, [%rd1]; // F",
        "fence.acq_rel.gpu;", "", blocks(2, 1), 0..1, Race { space: "global", .. },
    divergent_barrier: "setp.ge.u32 %p1, %r0, ?;\n@!%p1 bra E;\nbar.sync 0; // F\nE: bar.warp.sync -1;",
        "0", "7", threads(32), 7..32, Divergence { .. },
    divergent_shuffle: "setp.ge.u32 %p1, %r0, ?;\n@%p1 shfl.sync.bfly.b32 %r3, %r0, 1, 31, -1; // F",
        "0", "4", threads(32), 4..32, Divergence { .. },
    thread_count_of_a_barrier: "mov.u32 %r3, ?;\nbar.sync 1, %r3; // F",
        "64", "48", threads(64), 0..64, Barrier(_),
    bulk_store_without_a_proxy_fence:
        "@!%p0 bra E; st.shared.v4.u32 [%r1], {1, 2, 3, 4}; ?\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16; // F\n\
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
        "fence.proxy.async.shared::cta;", "", threads(32), 0..1, Async(_),
    bulk_source_used_again:
        "st.shared.v4.u32 [%r1], {1, 2, 3, 4}; fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\n\
         cp.async.bulk.commit_group; ?\nst.shared.u32 [%r1], 9; // F\ncp.async.bulk.wait_group 0;",
        "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group.read 1;", threads(1), 0..1, Race { space: "shared", .. },
    bulk_load_not_waited_for:
        "mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32; fence.proxy.async.shared::cta;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%rd1], 32, [%r1];\n\
         L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], ?; @!%p1 bra L;\nld.shared.u32 %r3, [%r1+128]; // F\n\
         M: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra M;",
        "0", "1", threads(1), 0..1, Race { space: "shared", .. },
    copy_not_waited_for:
        "cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group; cp.async.ca.shared.global [%r2+128], [%rd2], 4; cp.async.commit_group;\n\
         cp.async.wait_group ?;\nld.shared.u32 %r3, [%r2+128]; // F",
        "0", "1", threads(32), 0..32, Race { space: "shared", .. },
    copy_of_too_many_bytes: "mov.u32 %r3, ?;\ncp.async.ca.shared.global [%r2], [%rd2], 4, %r3; // F\ncp.async.wait_all;",
        "3", "5", threads(32), 0..32, Async(_),
    object_used_before_its_making: "?\nmbarrier.arrive.shared::cta.b64 _, [%r1]; // F",
        "mbarrier.init.shared::cta.b64 [%r1], 1;", "st.shared.u64 [%r1], 1;", threads(1), 0..1, Async(_),
    one_arrival_too_many: "mbarrier.init.shared::cta.b64 [%r1], 2; mov.u32 %r3, ?;\nmbarrier.arrive.shared::cta.b64 %rd5, [%r1], %r3; // F",
        "2", "3", threads(1), 0..1, Async(_),
    state_of_another_phase:
        "mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.arrive.shared::cta.b64 %rd5, [%r1]; ?\nmbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd5; // F",
        "", "mbarrier.arrive.shared::cta.b64 %rd6, [%r1]; mbarrier.arrive.shared::cta.b64 %rd6, [%r1];", threads(1), 0..1, Async(_),
    more_bytes_than_can_be_pending: "mbarrier.init.shared::cta.b64 [%r1], 1;\nmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], ?; // F\n\
         mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 1048575;",
        "1048575", "1048576", threads(1), 0..1, Async(_),
    bytes_that_never_come:
        "mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], ?; fence.proxy.async.shared::cta;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%rd1], 32, [%r1];\nL:\n\
         mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; // F\n@!%p1 bra L;",
        "32", "48", threads(1), 0..1, Deadlock(_),
    warps_at_two_barriers: "setp.lt.u32 %p1, %r0, 32; selp.u32 %r3, ?, 1, %p1;\nbar.sync %r3, 64; // F",
        "1", "2", threads(64), 0..64, Deadlock(_),
    cluster_wait_without_arrival: "? bar.warp.sync -1;\nbarrier.cluster.wait.aligned; // F",
        "barrier.cluster.arrive.aligned;", "", threads(32), 0..32, Barrier(_),
    endless_loop: "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, ?; setp.ne.u32 %p1, %r3, 8; @%p1 bra L; // F",
        "4", "0", threads(32), 0..32, Budget(1_000_000),
    early_global_access: "? griddepcontrol.launch_dependents;\nst.global.u32 [%rd2], 1; // F",
        "griddepcontrol.wait;", "setp.lt.u32 %p1, %r0, 9; @%p1 griddepcontrol.wait;", Launch { dependent: true, ..threads(32) }, 9..32, Async(_),
    accumulator_touched_early:
        "mov.u32 %r9, 0; Z: shl.b32 %r10, %r9, 9; add.u32 %r10, %r10, %r2; st.shared.u32 [%r10], 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 5; @%p1 bra Z;\n\
         mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; fence.proxy.async.shared::cta; bar.sync 0;\n\
         shr.u32 %r11, %r1, 4; cvt.u64.u32 %rd5, %r11; or.b64 %rd5, %rd5, 0x0000000800080000; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; ?\n\
         add.f32 %f4, %f3, %f3; // F\nwgmma.wait_group.sync.aligned 0;",
        "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", threads(128), 0..128, Async(_),
    wgmma_without_a_proxy_fence:
        "mov.u32 %r9, 0; Z: shl.b32 %r10, %r9, 9; add.u32 %r10, %r10, %r2; st.shared.u32 [%r10], 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 5; @%p1 bra Z;\n\
         mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; ? bar.sync 0;\n\
         shr.u32 %r11, %r1, 4; cvt.u64.u32 %rd5, %r11; or.b64 %rd5, %rd5, 0x0000000800080000; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, 1, 1, 1, 0, 0; // F\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        "fence.proxy.async.shared::cta;", "fence.acq_rel.cta;", threads(128), 0..128, Async(_),
    wgmma_without_its_fence:
        "mov.u32 %r9, 0; Z: shl.b32 %r10, %r9, 9; add.u32 %r10, %r10, %r2; st.shared.u32 [%r10], 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 5; @%p1 bra Z;\n\
         mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; fence.proxy.async.shared::cta; bar.sync 0;\n\
         shr.u32 %r11, %r1, 4; cvt.u64.u32 %rd5, %r11; or.b64 %rd5, %rd5, 0x0000000800080000; ?\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, 1, 1, 1, 0, 0; // F\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        "wgmma.fence.sync.aligned;", "", threads(128), 0..128, Async(_),
    bytes_for_an_object_that_is_gone:
        "mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32; fence.proxy.async.shared::cta; setp.eq.u32 %p1, 1, 1;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%rd1], 32, [%r1]; // F\n\
         ? mbarrier.inval.shared::cta.b64 [%r1]; nanosleep.u32 10;",
        "L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra L;", "", threads(1), 0..1, Async(_),
    indirect_call_of_nothing: "mov.u64 %rd5, ?; setp.eq.u64 %p1, %rd5, 1; @!%p1 bra E; P: .callprototype _ ();\ncall %rd5, (), P; // F\nE:",
        "0", "1", threads(1), 0..1, Illegal(_),
    trap_on_a_condition: "setp.eq.u32 %p1, %r0, ?;\n@%p1 trap; // F",
        "99", "33", threads(64), 33..34, Trap,
}

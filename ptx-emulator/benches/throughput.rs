//! Thread-instructions per second on one core: plain arithmetic, memory streams, mma; and a matrix product by wgmma.
//!
//! `cargo bench -p ptx-emulator`

use std::sync::Arc;
use std::time::Instant;

use ptx_emulator::{Checks, ElementType, Launch, Memory, Module, Options, Swizzle, TensorMap};

const HEAD: &str =
    ".version 8.3\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n";

/// A loop of integer and single-precision arithmetic in registers.
const ARITHMETIC: &str = ".visible .entry k(.param .u64 out, .param .u32 n) {
    .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<4>; .reg .pred %p1;
    mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; mov.u32 %r3, 0; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F000000;
    L: fma.rn.f32 %f1, %f1, %f2, %f2; mad.lo.s32 %r4, %r1, %r3, %r1; xor.b32 %r1, %r1, %r4; add.f32 %f3, %f1, %f2;
    mul.f32 %f2, %f3, %f2; shl.b32 %r5, %r1, 3; add.s32 %r1, %r5, %r4; max.f32 %f1, %f1, %f3;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L;
    ld.param.u64 %rd1, [out]; mov.u32 %r6, %tid.x; mul.wide.u32 %rd2, %r6, 4; add.s64 %rd1, %rd1, %rd2;
    cvt.rzi.s32.f32 %r7, %f1; add.s32 %r1, %r1, %r7; st.global.u32 [%rd1], %r1; ret; }";

/// Loads and stores through shared and global memory with a barrier.
const MEMORY: &str = ".visible .entry k(.param .u64 out, .param .u32 n) {
    .reg .b32 %r<12>; .reg .b64 %rd<4>; .reg .pred %p1;
    mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; mov.u32 %r3, 0; mov.u32 %r4, tile; shl.b32 %r5, %r1, 4; add.u32 %r5, %r4, %r5;
    ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;
    xor.b32 %r6, %r5, 512;
    L: ld.global.u32 %r7, [%rd1]; st.shared.v4.b32 [%r5], {%r7, %r1, %r2, %r3}; bar.sync 0;
    ld.shared.v4.b32 {%r8, %r9, %r10, %r11}, [%r6]; add.u32 %r7, %r8, %r9; st.global.u32 [%rd1], %r7; bar.sync 0;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L; ret; }";

/// Independent 16 x 8 x 16 products of bfloat.
const MMA: &str = ".visible .entry k(.param .u64 out, .param .u32 n) {
    .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p1;
    ld.param.u32 %r2, [n]; mov.u32 %r3, 0; mov.u32 %r1, 0x3f803f80; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    L: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r1,%r1,%r1}, {%r1,%r1}, {%f0,%f1,%f2,%f3};
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L; ret; }";

fn measure(name: &str, body: &str, threads: u32, n: u32, checks: Checks) {
    let module = Module::parse(&format!("{HEAD}{body}")).expect("the kernel parses");
    let memory = Arc::new(Memory::new());
    let program = module.load(&memory).expect("the module loads");
    let out = memory.alloc(4096).expect("memory");
    let mut params = out.to_le_bytes().to_vec();
    params.extend(n.to_le_bytes());
    let options = Options { checks, workers: 1, ..Options::default() };
    let mut best = f64::INFINITY;
    let mut count = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let stats = program
            .launch("k", &Launch::new([1, 1, 1], [threads, 1, 1]), &params, &options)
            .expect("it runs");
        best = best.min(start.elapsed().as_secs_f64());
        count = stats.thread_instructions;
    }
    println!("{name:40} {:8.1} M thread-instructions/s", count as f64 / best / 1e6);
}

/// A bf16 matrix product of 256 x 256 x 256 by a pipelined kernel (TMA, memory barrier objects, wgmma).
fn matrix_product(checks: Checks) {
    const N: usize = 256;
    let module =
        Module::parse(include_str!("../tests/ptx/gemm_nt.ptx")).expect("the kernel parses");
    let memory = Arc::new(Memory::new());
    let program = module.load(&memory).expect("the module loads");
    let mut params = Vec::new();
    for (rows, columns) in [(128, 64), (128, 64), (64, 64)] {
        let address = memory.alloc((N * N * 2) as u64).expect("memory");
        memory.fill(address, 0x3c, (N * N * 2) as u64).expect("memory");
        let map = TensorMap {
            element: ElementType::Bf16,
            address,
            extents: vec![N as u64; 2],
            strides: vec![2 * N as u64],
            box_extents: vec![columns, rows],
            element_strides: vec![1; 2],
            swizzle: Swizzle::B128,
            nan_fill: false,
        };
        params.extend(map.encode().expect("the map is valid"));
    }
    for value in [N as u32, N as u32, N as u32, 8] {
        params.extend(value.to_le_bytes());
    }
    let launch =
        Launch { dynamic_shared: 3 * 32768 + 32768 + 1280, ..Launch::new([4, 1, 1], [384, 1, 1]) };
    let options = Options { checks, workers: 1, ..Options::default() };
    let start = Instant::now();
    program.launch("gemm_nt", &launch, &params, &options).expect("it runs");
    println!(
        "{:40} {:8.1} ms",
        format!("256^3 bf16 wgmma, {}", if checks.races { "all checks" } else { "no checks" }),
        start.elapsed().as_secs_f64() * 1e3
    );
}

fn main() {
    matrix_product(Checks::NONE);
    matrix_product(Checks::ALL);
    measure("arithmetic, no checks", ARITHMETIC, 256, 4000, Checks::NONE);
    measure("arithmetic, all checks", ARITHMETIC, 256, 4000, Checks::ALL);
    measure("memory and barriers, no checks", MEMORY, 256, 1000, Checks::NONE);
    measure("memory and barriers, all checks", MEMORY, 256, 1000, Checks::ALL);
    measure("mma m16n8k16 bf16 (and loop)", MMA, 32, 4000, Checks::NONE);
}

//! Thread-instructions per second on one core: plain arithmetic beside the same arithmetic in a native Rust loop, memory
//! and barriers, matrix products; and the time of a whole matrix product by wgmma.
//!
//! `cargo bench -p ptx-emulator`, with `-- --json FILE` for lines that a program reads.

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use ptx_emulator::{Checks, ElementType, Launch, Memory, Module, Options, Swizzle, TensorMap};

const HEAD: &str =
    ".version 8.3\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n";

/// A loop of integer and single-precision arithmetic in registers. [`native`] is the same in Rust.
const ARITHMETIC: &str = ".visible .entry k(.param .u64 out, .param .u32 n) {
    .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<4>; .reg .pred %p1;
    mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; mov.u32 %r3, 0; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F000000;
    L: fma.rn.f32 %f1, %f1, %f2, %f2; mad.lo.s32 %r4, %r1, %r3, %r1; xor.b32 %r1, %r1, %r4; add.f32 %f3, %f1, %f2;
    mul.f32 %f2, %f3, %f2; shl.b32 %r5, %r1, 3; add.s32 %r1, %r5, %r4; max.f32 %f1, %f1, %f3;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L;
    ld.param.u64 %rd1, [out]; mov.u32 %r6, %tid.x; mul.wide.u32 %rd2, %r6, 4; add.s64 %rd1, %rd1, %rd2;
    cvt.rzi.s32.f32 %r7, %f1; add.s32 %r1, %r1, %r7; st.global.u32 [%rd1], %r1; ret; }";

/// What a thread of [`ARITHMETIC`] leaves.
#[inline(always)]
fn native(thread: u32, n: u32) -> u32 {
    let (mut x, mut f1, mut f2) = (thread, thread as f32, 0.5f32);
    for i in 0..n {
        f1 = f1.mul_add(f2, f2);
        let y = x.wrapping_mul(i).wrapping_add(x);
        x ^= y;
        let f3 = f1 + f2;
        f2 *= f3;
        x = (x << 3).wrapping_add(y);
        f1 = f1.max(f3);
    }
    x.wrapping_add(f1 as i32 as u32)
}

/// [`native`] with the processor's fused multiply-add, which a plain build calls a function for.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn native_fused(thread: u32, n: u32) -> u32 {
    native(thread, n)
}

/// All threads of [`ARITHMETIC`], one after the other.
fn native_all(n: u32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        for thread in 0..THREADS {
            // SAFETY: the processor has the instructions.
            black_box(unsafe { native_fused(black_box(thread), n) });
        }
        return;
    }
    for thread in 0..THREADS {
        black_box(native(black_box(thread), n));
    }
}

/// Loads and stores through shared and global memory with barriers.
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

const THREADS: u32 = 256;
/// Samples of each figure; the median is told.
const SAMPLES: usize = 9;

/// A figure, and what it is held against.
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    reference: &'static str,
    ratio: f64,
}

/// Median of the seconds that `run` takes.
fn seconds(mut run: impl FnMut()) -> f64 {
    run();
    let mut all: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[SAMPLES / 2]
}

/// A kernel of one block ready to run.
struct Kernel {
    program: ptx_emulator::Program,
    memory: Arc<Memory>,
    out: u64,
    n: u32,
}

impl Kernel {
    fn new(body: &str, n: u32) -> Kernel {
        let module = Module::parse(&format!("{HEAD}{body}")).expect("the kernel parses");
        let memory = Arc::new(Memory::new());
        let program = module.load(&memory).expect("the module loads");
        let out = memory.alloc(4 * u64::from(THREADS)).expect("memory");
        Kernel { program, memory, out, n }
    }

    /// Runs it on one core; gives the number of thread-instructions.
    fn run(&self, checks: Checks) -> u64 {
        let mut params = self.out.to_le_bytes().to_vec();
        params.extend(self.n.to_le_bytes());
        let options = Options { checks, workers: 1, ..Options::default() };
        let launch = Launch::new([1, 1, 1], [THREADS, 1, 1]);
        let stats = self.program.launch("k", &launch, &params, &options).expect("it runs");
        stats.thread_instructions
    }

    /// Millions of thread-instructions a second.
    fn rate(&self, checks: Checks) -> f64 {
        let count = self.run(checks);
        let seconds = seconds(|| {
            self.run(checks);
        });
        count as f64 / seconds / 1e6
    }

    fn result(&self) -> Vec<u32> {
        let mut bytes = vec![0; 4 * THREADS as usize];
        self.memory.read(self.out, &mut bytes).expect("the result is there");
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

/// Arithmetic without and with checks, and natively.
fn arithmetic(figures: &mut Vec<Figure>) {
    const N: u32 = 4000;
    const GOAL: &str = "goal of 30 M/s";
    let kernel = Kernel::new(ARITHMETIC, N);
    let count = kernel.run(Checks::NONE);
    let expected: Vec<u32> = (0..THREADS).map(|thread| native(thread, N)).collect();
    assert_eq!(kernel.result(), expected, "the kernel computes what the native loop does");
    let native = count as f64 / 1e6 / seconds(|| native_all(black_box(N)));
    let mut add = |name, value, reference, ratio| {
        figures.push(Figure { name, value, unit: "M thread-instructions/s", reference, ratio });
    };
    let plain = kernel.rate(Checks::NONE);
    add("emulator: arithmetic, no checks", plain, GOAL, plain / 30.0);
    add("emulator beside native: arithmetic, no checks", plain, "native Rust loop", plain / native);
    let checked = kernel.rate(Checks::ALL);
    add("emulator: arithmetic, all checks", checked, "goal of 8 M/s", checked / 8.0);
    let reference = "native Rust loop";
    add("emulator beside native: arithmetic, all checks", checked, reference, checked / native);
}

/// Other kernels without and with checks.
fn rates(figures: &mut Vec<Figure>) {
    let memory = Kernel::new(MEMORY, 1000);
    let mma = Kernel::new(MMA, 100);
    for (name, kernel, checks, reference, goal) in [
        ("emulator: memory and barriers, no checks", &memory, Checks::NONE, "goal of 30 M/s", 30.0),
        ("emulator: memory and barriers, all checks", &memory, Checks::ALL, "goal of 8 M/s", 8.0),
        ("emulator: mma and loop, all checks", &mma, Checks::ALL, "goal of 8 M/s", 8.0),
    ] {
        let value = kernel.rate(checks);
        let unit = "M thread-instructions/s";
        figures.push(Figure { name, value, unit, reference, ratio: value / goal });
    }
}

/// A bf16 matrix product of 256 x 256 x 256 by a pipelined kernel (TMA, memory barrier objects, wgmma).
fn matrix_product(checks: Checks) -> f64 {
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
    seconds(|| {
        program.launch("gemm_nt", &launch, &params, &options).expect("it runs");
    })
}

/// The processor's name.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    let name = line.map(|line| line.trim_start_matches(['\t', ' ', ':']).to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The file that `--json FILE` names.
fn json() -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--json");
    arguments.nth(1)
}

fn main() -> std::io::Result<()> {
    let mut figures = Vec::new();
    arithmetic(&mut figures);
    rates(&mut figures);
    for (name, checks) in [
        ("emulator: 256^3 bf16 wgmma, no checks", Checks::NONE),
        ("emulator: 256^3 bf16 wgmma, all checks", Checks::ALL),
    ] {
        let value = matrix_product(checks);
        let (unit, reference) = ("s", "goal of 10 s");
        figures.push(Figure { name, value, unit, reference, ratio: value / 10.0 });
    }
    let machine = format!("one core of {}", machine());
    println!("{machine}");
    let mut file = json().map(std::fs::File::create).transpose()?;
    for Figure { name, value, unit, reference, ratio } in figures {
        println!("{name:48} {value:9.3} {unit:24} {ratio:8.3} of {reference}");
        if let Some(file) = &mut file {
            writeln!(
                file,
                r#"{{"machine": "{machine}", "name": "{name}", "median": {value}, "unit": "{unit}", "reference": "{reference}", "ratio": {ratio}}}"#
            )?;
        }
    }
    Ok(())
}

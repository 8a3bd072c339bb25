//! Finds a missing barrier: a kernel that reverses 64 numbers through shared memory and forgot its barrier.
//!
//! `cargo run -p ptx-emulator --example missing_barrier`

use std::sync::Arc;

use ptx_emulator::{Launch, Memory, Module, Options};

const KERNEL: &str = r#"
.version 8.0
.target sm_80
.address_size 64
.file 1 "reverse.rs"
.shared .align 4 .b8 tile[256];
.visible .entry reverse(.param .u64 numbers) {
    .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [numbers];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 4, %r2;
    .loc 1 7 9
    ld.global.u32 %r4, [%rd1];
    st.shared.u32 [%r3], %r4;
    .loc 1 8 9
    BARRIER
    .loc 1 9 18
    sub.u32 %r5, 63, %r1;
    mad.lo.u32 %r5, %r5, 4, %r2;
    ld.shared.u32 %r4, [%r5];
    st.global.u32 [%rd1], %r4;
    ret;
}
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let memory = Arc::new(Memory::new());
    let numbers = memory.alloc(256)?;
    let bytes: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
    for barrier in ["bar.warp.sync -1;", "bar.sync 0;"] {
        memory.write(numbers, &bytes)?;
        let program = Module::parse(&KERNEL.replace("BARRIER", barrier))?.load(&memory)?;
        let launch = Launch::new([1, 1, 1], [64, 1, 1]);
        println!("with `{barrier}`");
        match program.launch("reverse", &launch, &numbers.to_le_bytes(), &Options::default()) {
            Err(report) => println!("{report}\n"),
            Ok(stats) => {
                let mut first = [0; 4];
                memory.read(numbers, &mut first)?;
                println!(
                    "{} thread-instructions; the first number is now {}",
                    stats.thread_instructions,
                    u32::from_le_bytes(first)
                );
            }
        }
    }
    Ok(())
}

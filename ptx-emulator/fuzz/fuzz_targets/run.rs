//! Any program runs to an end or gives a report, within its budget.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ptx_emulator::{Checks, Launch, Memory, Module, Options};

/// A kernel around arbitrary statements, so that the fuzzer need not find the frame.
fn framed(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[2048];\n\
         .visible .entry k(.param .u64 p, .param .u32 n) {{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; \
         .reg .b64 %d<16>; .reg .f32 %f<16>; .local .align 8 .b8 stack[32];\nld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; \
         mov.u32 %r2, %tid.x;\n{body}\n}}\n"
    )
}

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), framed(text)] {
        let Ok(module) = Module::parse(&text) else { continue };
        let memory = Arc::new(Memory::new());
        let Ok(program) = module.load(&memory) else { continue };
        let Ok(at) = memory.alloc(4096) else { continue };
        // Half of the buffer was written, half was not.
        let _ = memory.fill(at, 1, 2048);
        for name in module.entries() {
            let Some(entry) = module.entry(name) else { continue };
            let mut params = vec![0; entry.param_bytes as usize];
            for (offset, bytes) in &entry.params {
                let value = if *bytes == 8 { at } else { 3 };
                let count = (*bytes).min(8) as usize;
                params[*offset as usize..][..count].copy_from_slice(&value.to_le_bytes()[..count]);
            }
            let plain = Launch { dynamic_shared: 1024, ..Launch::new([2, 1, 1], [64, 1, 1]) };
            let pair = Launch { cluster: Some([2, 1, 1]), dependent: true, ..plain };
            for (launch, checks) in
                [(plain, Checks::ALL), (pair, Checks::ALL), (pair, Checks::NONE)]
            {
                let options = Options { checks, instruction_budget: 50_000, workers: 1 };
                let _ = program.launch(name, &launch, &params, &options);
            }
        }
    }
});

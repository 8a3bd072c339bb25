//! Arbitrary text must give an error or a result: no panic, no endless run. A quick deterministic relative of the fuzz
//! target in `fuzz/`.

use std::sync::Arc;

use ptx_emulator::{Checks, Launch, Memory, Module, Options};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Every instruction family in one kernel, as material for edits.
const SEED: &str = include_str!("../ptx/families.ptx");
const GEMMS: [&str; 3] = [
    include_str!("../ptx/gemm_mma.ptx"),
    include_str!("../ptx/gemm_nt.ptx"),
    include_str!("../ptx/gemm_nn_cluster.ptx"),
];

/// Parses and, where that works, runs every entry with a small budget and parameters of small numbers and an address.
fn exercise(text: &str) -> bool {
    let Ok(module) = Module::parse(text) else { return false };
    let memory = Arc::new(Memory::new());
    let Ok(program) = module.load(&memory) else { return false };
    let at = memory.alloc(4096).unwrap();
    memory.fill(at, 1, 4096).unwrap();
    let options = Options { checks: Checks::ALL, instruction_budget: 200_000, workers: 1 };
    for name in module.entries() {
        let entry = module.entry(name).unwrap();
        let mut params = vec![0; entry.param_bytes as usize];
        for (offset, bytes) in &entry.params {
            let value = if *bytes == 8 { at } else { 3 };
            let count = (*bytes).min(8) as usize;
            params[*offset as usize..*offset as usize + count]
                .copy_from_slice(&value.to_le_bytes()[..count]);
        }
        let launch = Launch {
            dynamic_shared: 4096,
            ..Launch::new([2, 1, 1], entry.required_block.unwrap_or([64, 1, 1]))
        };
        let _ = program.launch(name, &launch, &params, &options);
    }
    true
}

fn edit(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(lines.len());
        let other = random.below(lines.len());
        match random.below(7) {
            0 => {
                lines.remove(at);
            }
            1 => lines.swap(at, other),
            2 => {
                let copy = lines[other].clone();
                lines.insert(at, copy);
            }
            3 => {
                lines[at] = lines[at].replacen(char::is_numeric, &random.below(100).to_string(), 1)
            }
            4 => {
                // One operand of another line.
                let words: Vec<&str> =
                    lines[other].split([',', ' ', '\t']).filter(|w| !w.is_empty()).collect();
                if !words.is_empty() {
                    let word = words[random.below(words.len())].to_owned();
                    let parts: Vec<&str> = lines[at].split(' ').collect();
                    let place = random.below(parts.len());
                    let mut parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
                    parts[place] = word;
                    lines[at] = parts.join(" ");
                }
            }
            5 => {
                let cut = random.below(lines[at].len() + 1);
                if lines[at].is_char_boundary(cut) {
                    lines[at].truncate(cut);
                }
            }
            _ => {
                const TYPES: [&str; 8] =
                    [".b8", ".u16", ".s32", ".b64", ".f16x2", ".f64", ".v4", ".pred"];
                let new = TYPES[random.below(8)];
                let old = TYPES[random.below(8)];
                lines[at] = lines[at].replacen(old, new, 1);
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

#[test]
fn the_seed_itself_parses() {
    if let Err(error) = Module::parse(SEED) {
        panic!("{error}");
    }
}

#[test]
fn edited_programs_neither_panic_nor_hang() {
    let rounds = std::env::var("PTX_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut random =
        Random(std::env::var("PTX_FUZZ_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1));
    let mut ran = 0;
    for round in 0..rounds {
        let text = if round % 10 == 0 { GEMMS[round / 10 % 3] } else { SEED };
        let text = edit(text, &mut random);
        let outcome = std::panic::catch_unwind(|| exercise(&text));
        match outcome {
            Ok(parsed) => ran += usize::from(parsed),
            Err(_) => panic!("round {round} panicked on\n{text}"),
        }
    }
    assert!(ran * 10 > rounds, "too few of the edits still parse: {ran} of {rounds}");
}

/// What the fuzz targets once found: bodies of kernels that made a panic.
#[test]
fn programs_that_fuzzing_found() {
    for body in [
        // A guard on the last instruction was also the end's, and lanes ran on behind the code.
        "@%p1 trap;",
        "L: @!%p1 bra L;",
    ] {
        exercise(&format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[2048];\n
             .visible .entry k(.param .u64 p, .param .u32 n) {{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>;
             .reg .b64 %d<16>; .reg .f32 %f<16>; .local .align 8 .b8 stack[32];\nld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];
             mov.u32 %r2, %tid.x;\n{body}\n}}\n"
        ));
    }
}

#[test]
fn bytes_that_are_no_program() {
    let mut random = Random(9);
    for _ in 0..500 {
        let length = random.below(200);
        let text: String = (0..length).map(|_| char::from(32 + random.below(95) as u8)).collect();
        exercise(&text);
        exercise(&format!(".version 8.0 .target sm_80 .address_size 64 .entry k() {{ {text} }}"));
    }
}

#[test]
fn programs_that_want_too_much_are_refused() {
    let kernel = |body: &str| format!(".version 8.0 .target sm_80 .address_size 64 {body}");
    for body in [
        ".entry k() { .reg .b32 %r<99999999>; ret; }",
        ".entry k() { .reg .b32 %r<60000>, %s<60000>; ret; }",
        ".entry k() { .local .b8 x[600000]; ret; }",
        ".global .b8 x[99999999999];",
        ".global .b64 x[99999999999999999];",
        ".shared .b8 x[99999999]; .entry k() { ret; }",
        ".entry k(.param .b8 x[40000]) { ret; }",
    ] {
        let error = Module::parse(&kernel(body)).err().unwrap_or_else(|| panic!("{body}"));
        assert!(error.line == 1, "{error}");
    }
    // Endless recursion ends in a report.
    let text =
        kernel(".func f() { .local .b8 x[64]; call.uni f; ret; } .entry k() { call.uni f; ret; }");
    let program = Module::parse(&text).unwrap().load(&Arc::new(Memory::new())).unwrap();
    let report = program
        .launch("k", &Launch::new([1; 3], [32, 1, 1]), &[], &Options::default())
        .unwrap_err();
    assert!(report.to_string().contains("stack overflow"), "{report}");
}

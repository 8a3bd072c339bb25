//! Hundreds of single-instruction programs against what a card gave (`tests/hardware`).
//!
//! `h200.txt` holds a hash of the card's results for each case whose results the PTX ISA defines to the bit.
//! With `PTX_HARDWARE_DIR=DIR`, `cargo test -p ptx-emulator --test it -- --ignored write_suite` writes the suite there,
//! `tests/hardware/run.py DIR` runs it on a card, and `... -- --ignored compare_suite` compares value by value, the
//! approximate functions within the errors that the ISA states, and writes the file of hashes.

mod cases;
mod scalar_cases;
mod warp_cases;
mod wide_cases;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::harness::Device;
use cases::{Case, Kind, THREADS, all, inputs};
use ptx_emulator::{Checks, Launch, Options};

const GOLDEN: &str = include_str!("../hardware/h200.txt");

/// The whole suite as one module.
fn module(cases: &[Case]) -> String {
    let mut text =
        ".version 8.5\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[24576];\n"
            .to_owned();
    for (i, case) in cases.iter().enumerate() {
        let result = if case.body.contains("%do") {
            ""
        } else if case.body.contains("%ho") {
            "cvt.u64.u16 %do, %ho;"
        } else if case.body.contains("%po") {
            "selp.u64 %do, 1, 0, %po;"
        } else {
            "cvt.u64.u32 %do, %ro;"
        };
        write!(
            text,
            ".visible .entry c{i}(.param .u64 input, .param .u64 output) {{
.reg .pred %pa, %pb, %po, %pq; .reg .b16 %ha, %hb, %hc, %ho; .reg .b32 %ra, %rb, %rc, %ro, %t<16>, %sa, %sb, %sc;
.reg .b64 %da, %db, %dc, %do, %at, %in, %out; .reg .b32 %i;
ld.param.u64 %in, [input]; ld.param.u64 %out, [output]; mov.u32 %i, %ctaid.x; mov.u32 %t0, %tid.x;
mad.lo.u32 %i, %i, 128, %t0; mul.wide.u32 %at, %i, 24; add.s64 %in, %in, %at; mul.wide.u32 %at, %i, 8; add.s64 %out, %out, %at;
ld.global.u64 %da, [%in]; ld.global.u64 %db, [%in+8]; ld.global.u64 %dc, [%in+16];
cvt.u32.u64 %ra, %da; cvt.u32.u64 %rb, %db; cvt.u32.u64 %rc, %dc; cvt.u16.u64 %ha, %da; cvt.u16.u64 %hb, %db; cvt.u16.u64 %hc, %dc;
mov.b64 {{%t0, %sa}}, %da; mov.b64 {{%t0, %sb}}, %db; mov.b64 {{%t0, %sc}}, %dc;
setp.lt.u32 %pa, %ra, %rb; setp.ge.u32 %pb, %rc, %rb;
{}
{result} st.global.u64 [%out], %do; ret; }}\n",
            case.body
        )
        .unwrap();
    }
    text
}

/// What the emulator gives for each case.
fn emulate(cases: &[Case]) -> Vec<Vec<u64>> {
    let device = Device::new(&module(cases));
    let options = Options { checks: Checks::NONE, workers: 1, ..Options::default() };
    let launch = Launch::new([THREADS as u32 / 128, 1, 1], [128, 1, 1]);
    cases
        .iter()
        .enumerate()
        .map(|(i, case)| {
            let input = device.upload(&inputs(case, i));
            let output = device.alloc(THREADS * 8);
            let params: Vec<u8> = [input, output].iter().flat_map(|v| v.to_le_bytes()).collect();
            device
                .program
                .launch(&format!("c{i}"), &launch, &params, &options)
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            device.download(output, THREADS)
        })
        .collect()
}

fn hash(values: &[u64]) -> u64 {
    values.iter().fold(0xcbf2_9ce4_8422_2325, |h, v| {
        (h ^ v).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

#[test]
fn results_are_those_of_the_card() {
    let cases = all();
    let found = emulate(&cases);
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (case, values) in cases.iter().zip(&found).filter(|(c, _)| c.kind == Kind::Exact) {
        let Some(line) =
            GOLDEN.lines().find(|l| l.rsplit_once(' ').is_some_and(|(name, _)| name == case.name))
        else {
            wrong.push(format!("{}: not in h200.txt", case.name));
            continue;
        };
        checked += 1;
        if !line.ends_with(&format!("{:016x}", hash(values))) {
            wrong.push(case.name.clone());
        }
    }
    assert!(wrong.is_empty(), "differ from the card: {wrong:#?}");
    assert!(checked > 1000, "{checked} cases");
}

fn folder() -> PathBuf {
    std::env::var_os("PTX_HARDWARE_DIR").expect("PTX_HARDWARE_DIR names a folder").into()
}

#[test]
#[ignore = "writes the suite for a run on a card"]
fn write_suite() {
    let cases = all();
    std::fs::write(folder().join("suite.ptx"), module(&cases)).unwrap();
    let bytes: Vec<u8> = cases
        .iter()
        .enumerate()
        .flat_map(|(i, case)| inputs(case, i))
        .flat_map(u64::to_le_bytes)
        .collect();
    std::fs::write(folder().join("inputs.bin"), bytes).unwrap();
    println!("{} cases", cases.len());
}

/// The allowed difference of an approximate result, in units that fit its type.
fn close(kind: Kind, expected: u64, found: u64) -> bool {
    let Kind::Approx { half, relative, absolute } = kind else { return expected == found };
    let value = |bits: u64| match half {
        0 => f64::from(f32::from_bits(bits as u32)),
        1 => half::f16::from_bits(bits as u16).to_f64(),
        2 => half::bf16::from_bits(bits as u16).to_f64(),
        _ => f64::from_bits(bits),
    };
    let (x, y) = (value(expected), value(found));
    x.is_nan() && y.is_nan()
        || x == y
        || (x - y).abs() <= absolute.max(relative * x.abs().max(y.abs()))
}

#[test]
#[ignore = "needs the results of a card"]
fn compare_suite() {
    let bytes = std::fs::read(folder().join("outputs.bin")).unwrap();
    let card: Vec<u64> =
        bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect();
    let cases = all();
    let emulated = emulate(&cases);
    let mut golden = String::new();
    let mut wrong = 0;
    for (i, case) in cases.iter().enumerate() {
        let card = &card[i * THREADS..(i + 1) * THREADS];
        let input = inputs(case, i);
        let bad: Vec<usize> =
            (0..THREADS).filter(|&t| !close(case.kind, card[t], emulated[i][t])).collect();
        if !bad.is_empty() {
            wrong += 1;
            println!("{}: {} of {THREADS} differ", case.name, bad.len());
            for &t in bad.iter().take(4) {
                let [a, b, c] = [0, 1, 2].map(|k| input[3 * t + k]);
                println!(
                    "  a {a:016x} b {b:016x} c {c:016x}: card {:016x} here {:016x}",
                    card[t], emulated[i][t]
                );
            }
        }
        if case.kind == Kind::Exact {
            writeln!(golden, "{} {:016x}", case.name, hash(card)).unwrap();
        }
    }
    std::fs::write(folder().join("h200.txt"), golden).unwrap();
    assert_eq!(wrong, 0, "cases differ");
}

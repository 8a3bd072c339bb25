//! More than two thousand small PTX programs against what a card gave (`tests/hardware`).
//!
//! `h200.txt` holds a hash of the card's results for each case whose results are the same to the bit; `h200-values.txt`
//! the card's results of approximate functions, compared within the errors that the ISA states, and of matrix products
//! whose sums round, compared within a part of the sum of magnitudes. With `PTX_HARDWARE_DIR=DIR`,
//! `cargo test -p ptx-emulator --test it -- --ignored write_suite` writes the suite there, `tests/hardware/run.py DIR`
//! runs it on a card, and `... -- --ignored compare_suite` compares value by value and writes the two files. Cases that
//! no card has run yet run here all the same, and may not fault.

mod async_cases;
mod bulk_cases;
mod cases;
mod cluster_cases;
mod compare;
mod convert_cases;
mod matrix_cases;
mod scalar_cases;
mod tensor_cases;
mod warp_cases;
mod warpgroup_cases;
mod wide_cases;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::harness::Device;
use cases::{Case, Kind, all, inputs, refused};
use compare::{agrees, hash, magnitudes};
use ptx_emulator::{Checks, Launch, Options};

const GOLDEN: &str = include_str!("../hardware/h200.txt");
const GOLDEN_VALUES: &str = include_str!("../hardware/h200-values.txt");

/// The whole suite as one module.
fn module(cases: &[Case]) -> String {
    let mut text = ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[40960];\n.shared .align 8 .b8 bars[64];\n"
        .to_owned();
    for (i, case) in cases.iter().enumerate() {
        entry(&mut text, i, case);
    }
    text
}

fn entry(text: &mut String, i: usize, case: &Case) {
    let shape = &case.shape;
    let result = if case.body.contains("%do") || shape.stores {
        ""
    } else if case.body.contains("%ho") {
        "cvt.u64.u16 %do, %ho;"
    } else if case.body.contains("%po") {
        "selp.u64 %do, 1, 0, %po;"
    } else {
        "cvt.u64.u32 %do, %ro;"
    };
    let store = if shape.stores { "" } else { "st.global.u64 [%out], %do;" };
    let map = if shape.map.is_some() { ", .param .align 64 .b8 map[128]" } else { "" };
    let cluster = match shape.cluster {
        1 => String::new(),
        blocks => format!(" .reqnctapercluster {blocks}, 1, 1"),
    };
    write!(
        text,
        ".visible .entry c{i}(.param .u64 input, .param .u64 output{map}){cluster} {{
.reg .pred %pa, %pb, %po, %pq; .reg .b16 %ha, %hb, %hc, %ho; .reg .b32 %ra, %rb, %rc, %ro, %t<16>, %sa, %sb, %sc;
.reg .b64 %da, %db, %dc, %do, %at, %in, %out; .reg .b32 %i;
ld.param.u64 %in, [input]; ld.param.u64 %out, [output]; mov.u32 %i, %ctaid.x; mov.u32 %t0, %tid.x;
mad.lo.u32 %i, %i, {}, %t0; mul.wide.u32 %at, %i, {}; add.s64 %in, %in, %at; mul.wide.u32 %at, %i, {}; add.s64 %out, %out, %at;
ld.global.u64 %da, [%in]; ld.global.u64 %db, [%in+8]; ld.global.u64 %dc, [%in+16];
cvt.u32.u64 %ra, %da; cvt.u32.u64 %rb, %db; cvt.u32.u64 %rc, %dc; cvt.u16.u64 %ha, %da; cvt.u16.u64 %hb, %db; cvt.u16.u64 %hc, %dc;
mov.b64 {{%t0, %sa}}, %da; mov.b64 {{%t0, %sb}}, %db; mov.b64 {{%t0, %sc}}, %dc;
setp.lt.u32 %pa, %ra, %rb; setp.ge.u32 %pb, %rc, %rb;
{}
{result} {store} ret; }}\n",
        shape.threads,
        shape.words * 8,
        shape.results * 8,
        case.body
    )
    .unwrap();
}

/// Runs one case of `device`'s module on these inputs.
fn run(device: &Device, case: &Case, number: usize, input: &[u64]) -> Result<Vec<u64>, String> {
    let shape = &case.shape;
    // Cases that synchronise are programs without a fault: every check is on, and must be silent.
    let checks = if shape.stores { Checks::ALL } else { Checks::NONE };
    let options = Options { checks, workers: 1, ..Options::default() };
    let launch = Launch::new([shape.blocks, 1, 1], [shape.threads, 1, 1]);
    let count = shape.count() * shape.results;
    let (input, output) = (device.upload(input), device.alloc(count * 8));
    device.memory.fill(output, 0xee, count as u64 * 8).unwrap();
    let mut params: Vec<u8> = [input, output].iter().flat_map(|v| v.to_le_bytes()).collect();
    if let Some(map) = &shape.map {
        params.resize(64, 0);
        params.extend(map.tensor_map(input, output).encode().unwrap());
    }
    device
        .program
        .launch(&format!("c{number}"), &launch, &params, &options)
        .map_err(|e| format!("{}: {e}", case.name))?;
    let found = device.download(output, count);
    device.memory.free(input).unwrap();
    device.memory.free(output).unwrap();
    Ok(found)
}

/// What the emulator gives for each case, and for sums of products the same sums of magnitudes.
fn emulate(cases: &[Case]) -> Vec<(Vec<u64>, Vec<u64>)> {
    let device = Device::new(&module(cases));
    let one = |(i, case): (usize, &Case)| {
        let words = inputs(case);
        let sizes = match case.kind {
            Kind::Sum { .. } => run(&device, case, i, &magnitudes(case, &words))?,
            _ => Vec::new(),
        };
        Ok((run(&device, case, i, &words)?, sizes))
    };
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for result in cases.iter().enumerate().map(one) {
        result.map_or_else(|fault: String| faults.push(fault), |values| found.push(values));
    }
    assert!(faults.is_empty(), "{} cases fault: {}", faults.len(), faults.join("\n"));
    found
}

/// What the card gave: hashes, and words, by the cases' names.
fn golden() -> (HashMap<&'static str, &'static str>, HashMap<&'static str, Vec<u64>>) {
    let words = |line: &'static str| {
        let (name, text) = line.split_once(": ")?;
        let words = text.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap());
        Some((name, words.collect()))
    };
    let hashes = GOLDEN.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    (hashes, GOLDEN_VALUES.lines().filter_map(words).collect())
}

#[test]
fn results_are_those_of_the_card() {
    let cases = all();
    let found = emulate(&cases);
    let (hashes, values) = golden();
    let mut wrong = Vec::new();
    for (case, (found, sizes)) in cases.iter().zip(&found) {
        let same = match case.kind {
            Kind::Exact => {
                hashes.get(&*case.name).map(|card| *card == format!("{:016x}", hash(found)))
            }
            _ => values.get(&*case.name).map(|card| agrees(case, card, found, sizes)),
        };
        match same {
            None => wrong.push(format!("{}: not recorded", case.name)),
            Some(false) => wrong.push(case.name.clone()),
            Some(true) => {}
        }
    }
    assert!(wrong.is_empty(), "differ from the card: {wrong:#?}");
    assert_eq!(hashes.len() + values.len(), cases.len(), "more is recorded than there is");
}

#[test]
fn what_the_card_refuses_is_a_fault() {
    let cases = refused();
    let device = Device::new(&module(&cases));
    for (i, case) in cases.iter().enumerate() {
        let fault = run(&device, case, i, &inputs(case)).expect_err(&case.name);
        assert!(
            fault.contains("multiple of 16") || fault.contains("negative coordinate"),
            "{fault}"
        );
    }
}

fn folder() -> PathBuf {
    std::env::var_os("PTX_HARDWARE_DIR").expect("PTX_HARDWARE_DIR names a folder").into()
}

#[test]
#[ignore = "writes the suite for a run on a card"]
fn write_suite() {
    let cases = all();
    std::fs::write(folder().join("suite.ptx"), module(&cases)).unwrap();
    let mut bytes: Vec<u8> = Vec::new();
    let mut known = HashMap::new();
    let mut lines = Vec::new();
    for case in &cases {
        let words = inputs(case);
        let length = words.len() * 8;
        let at = *known.entry(words).or_insert_with_key(|words| {
            let at = bytes.len();
            bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
            at
        });
        let shape = &case.shape;
        lines.push(format!(
            r#"{{"blocks": {}, "threads": {}, "input": [{at}, {length}], "output": {}, "map": {}}}"#,
            shape.blocks,
            shape.threads,
            shape.count() * shape.results * 8,
            shape.map.as_ref().map_or("null".to_owned(), |map| map.json())
        ));
    }
    std::fs::write(folder().join("suite.json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    std::fs::write(folder().join("inputs.bin"), bytes).unwrap();
    println!("{} cases", cases.len());
}

#[test]
#[ignore = "needs the results of a card"]
fn compare_suite() {
    let bytes = std::fs::read(folder().join("outputs.bin")).unwrap();
    let mut card = bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap()));
    let cases = all();
    let emulated = emulate(&cases);
    let (mut hashes, mut values) = (String::new(), String::new());
    let mut wrong = 0;
    for (case, (found, sizes)) in cases.iter().zip(&emulated) {
        let card: Vec<u64> = card.by_ref().take(found.len()).collect();
        wrong += usize::from(!compare::report(case, &card, found, sizes));
        match case.kind {
            Kind::Exact => writeln!(hashes, "{} {:016x}", case.name, hash(&card)).unwrap(),
            _ => {
                let words: Vec<String> = card.iter().map(|word| format!("{word:x}")).collect();
                writeln!(values, "{}: {}", case.name, words.join(" ")).unwrap();
            }
        }
    }
    assert_eq!(card.next(), None, "the card gave more than the suite asks for");
    std::fs::write(folder().join("h200.txt"), hashes).unwrap();
    std::fs::write(folder().join("h200-values.txt"), values).unwrap();
    assert_eq!(wrong, 0, "cases differ");
}

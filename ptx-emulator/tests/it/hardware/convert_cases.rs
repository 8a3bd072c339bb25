//! Conversions of every value of a format, and of every value that lies where a rounding turns.
//!
//! Each thread runs through 128 of the 65536 words of 16 bits, and gives a polynomial of its results.

use super::cases::{Kind, List, Pool, Shape};

/// Runs `each` for `%v0` = every 16-bit word, and accumulates `%w0` (one 64-bit result) over them.
fn sweep(each: &str) -> String {
    format!(
        ".reg .b32 %v<8>; .reg .b64 %w<4>; .reg .b16 %x<4>; mov.u32 %v7, %ctaid.x; mov.u32 %v6, %tid.x; mad.lo.u32 %v7, %v7, 128, %v6; \
         shl.b32 %v0, %v7, 7; add.u32 %v1, %v0, 128; mov.u64 %do, 0; \
         S: cvt.u16.u32 %ha, %v0; mul.lo.u32 %v2, %v0, 0x9e37; and.b32 %v2, %v2, 0xffff; shl.b32 %v2, %v2, 16; or.b32 %ra, %v0, %v2; {each} \
         mad.lo.u64 %do, %do, 0x9e3779b97f4a7c15, %w0; add.u32 %v0, %v0, 1; setp.lt.u32 %pq, %v0, %v1; @%pq bra S;"
    )
}

fn add(l: &mut List, instruction: &str, how: &str, each: &str) {
    let name = format!("all: {instruction} {how}");
    l.push(&name, &sweep(each), [Pool::Int; 3], Kind::Exact, Shape::SCALAR);
}

/// Every value of a 16-bit format, and every pair of values of an 8-bit one.
fn every_word(l: &mut List, instruction: &str) {
    let out = if instruction.contains("%ho") {
        "cvt.u64.u16 %w0, %ho;"
    } else if instruction.contains("%w0") {
        ""
    } else {
        "cvt.u64.u32 %w0, %ro;"
    };
    add(l, instruction, "every word", &format!("{instruction} {out}"));
}

/// Singles at and beside what a rounding to half, bfloat, tf32 or an 8-bit format distinguishes: `%ra` and `%rb`.
fn boundaries(l: &mut List, instruction: &str) {
    let out = if instruction.contains("%ho") { "cvt.u64.u16" } else { "cvt.u64.u32" };
    let from = if instruction.contains("%ho") { "%ho" } else { "%ro" };
    // Upper words with every half as lower bits that matter to bfloat and tf32.
    let mut each = "shl.b32 %v3, %v0, 16; mov.u64 %w0, 0;".to_owned();
    for low in
        [0, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xefff, 0xffff]
    {
        each += &format!(
            " or.b32 %ra, %v3, {low}; xor.b32 %rb, %ra, 0x80000000; {instruction} {out} %w1, {from}; mad.lo.u64 %w0, %w0, 31, %w1;"
        );
    }
    add(l, instruction, "beside bfloat and tf32", &each);
    // Every half and the middle between it and the next, and what lies one step beside both.
    let mut each = "cvt.f32.f16 %v3, %ha; mov.u64 %w0, 0;".to_owned();
    for step in [0i32, 1, -1, 0x1000, 0x1001, 0x0fff] {
        each += &format!(
            " add.u32 %ra, %v3, {step}; xor.b32 %rb, %ra, 0x80000000; {instruction} {out} %w1, {from}; mad.lo.u64 %w0, %w0, 31, %w1;"
        );
    }
    add(l, instruction, "beside halves", &each);
    // Subnormal halves: the same in steps of half their unit.
    let mut each = "and.b32 %v3, %v0, 0xfff; cvt.rn.f32.u32 %v3, %v3; mul.rn.f32 %v3, %v3, 0f32800000; mov.u64 %w0, 0;".to_owned();
    for step in [0i32, 1, -1] {
        each += &format!(
            " add.u32 %ra, %v3, {step}; xor.b32 %rb, %ra, 0x80000000; {instruction} {out} %w1, {from}; mad.lo.u64 %w0, %w0, 31, %w1;"
        );
    }
    add(l, instruction, "beside subnormal halves", &each);
}

pub(super) fn conversions(l: &mut List) {
    for format in ["e4m3", "e5m2"] {
        for relu in ["", ".relu"] {
            every_word(l, &format!("cvt.rn{relu}.f16x2.{format}x2 %ro, %ha;"));
            every_word(l, &format!("cvt.rn.satfinite{relu}.{format}x2.f16x2 %ho, %ra;"));
            boundaries(l, &format!("cvt.rn.satfinite{relu}.{format}x2.f32 %ho, %ra, %rb;"));
        }
    }
    for format in ["f16", "bf16"] {
        for round in ["rn", "rz"] {
            for relu in ["", ".relu"] {
                boundaries(l, &format!("cvt.{round}{relu}.{format}.f32 %ho, %ra;"));
                boundaries(l, &format!("cvt.{round}{relu}.{format}x2.f32 %ro, %ra, %rb;"));
            }
        }
    }
    for mode in ["rna", "rn", "rz", "rn.relu", "rz.relu", "rna.satfinite"] {
        boundaries(l, &format!("cvt.{mode}.tf32.f32 %ro, %ra;"));
    }
    for round in ["rn", "rz"] {
        every_word(l, &format!("cvt.{round}.bf16.f16 %ho, %ha;"));
        every_word(l, &format!("cvt.{round}.f16.bf16 %ho, %ha;"));
    }
    for (from, into) in [("f16", "f32"), ("bf16", "f32")] {
        every_word(l, &format!("cvt.{into}.{from} %ro, %ha;"));
    }
    every_word(l, "cvt.f64.f16 %w0, %ha;");
    every_word(l, "cvt.f64.bf16 %w0, %ha;");
    for round in ["rni", "rzi", "rmi", "rpi"] {
        for from in ["f16", "bf16"] {
            every_word(l, &format!("cvt.{round}.{from}.{from} %ho, %ha;"));
            // There is no conversion of bfloat to bytes.
            for to in if from == "f16" { &["s8", "u8"][..] } else { &[] } {
                every_word(l, &format!("cvt.{round}.{to}.{from} %ro, %ha;"));
            }
            for to in ["s16", "u16"] {
                every_word(l, &format!("cvt.{round}.{to}.{from} %ho, %ha;"));
            }
            for to in ["s32", "u32"] {
                every_word(l, &format!("cvt.{round}.{to}.{from} %ro, %ha;"));
            }
        }
    }
    for round in ["rn", "rz", "rm", "rp"] {
        for from in ["s16", "u16"] {
            for to in ["f16", "bf16"] {
                every_word(l, &format!("cvt.{round}.{to}.{from} %ho, %ha;"));
            }
        }
        boundaries(
            l,
            &format!("cvt.{round}.ftz.f32.f64 %ro, %at;")
                .replace("cvt", "cvt.f64.f32 %at, %ra; cvt"),
        );
    }
    for mode in [
        "sat.f32.f32",
        "ftz.sat.f32.f32",
        "rni.f32.f32",
        "rzi.f32.f32",
        "rmi.ftz.f32.f32",
        "rpi.f32.f32",
    ] {
        boundaries(l, &format!("cvt.{mode} %ro, %ra;"));
    }
    for to in ["s32", "u32"] {
        for round in ["rni", "rzi", "rmi", "rpi", "rni.ftz", "rpi.ftz"] {
            boundaries(l, &format!("cvt.{round}.{to}.f32 %ro, %ra;"));
        }
    }
}

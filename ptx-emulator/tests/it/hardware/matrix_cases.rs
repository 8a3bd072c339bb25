//! `mma.sync` in every shape and type, and the instructions that move its tiles.

use super::cases::{Kind, List, Pool, Shape};

/// What an element type needs: bits in a register, a pool with exact sums, one whose sums round.
fn element(ty: &str) -> (usize, Pool, Pool) {
    match ty {
        "f16" => (16, Pool::ExactF16, Pool::RandomF16),
        "bf16" => (16, Pool::ExactBf16, Pool::RandomBf16),
        "tf32" => (32, Pool::ExactTf32, Pool::RandomTf32),
        "f64" => (64, Pool::ExactF64, Pool::RandomF64),
        "e4m3" | "e5m2" => (8, Pool::ExactFp8, Pool::RandomFp8),
        _ => (8, Pool::Int, Pool::Int),
    }
}

/// Registers `%{name}0..` of 32 bits from input words on, two a word.
fn load(text: &mut String, name: &str, count: usize, word: &mut usize) {
    *text += &format!(".reg .b32 %{name}<{}>; ", count + 1);
    for i in (0..count).step_by(2) {
        *text +=
            &format!("ld.global.v2.b32 {{%{name}{i}, %{name}{}}}, [%in+{}]; ", i + 1, *word * 8);
        *word += 1;
    }
}

/// Accumulators `%{name}0..`: small numbers of type `ty` that the inputs choose.
pub(super) fn accumulators(text: &mut String, name: &str, count: usize, ty: &str) {
    for i in 0..count {
        *text += &format!(
            "mad.lo.u32 %t1, %ra, {}, {i}; shr.u32 %t1, %t1, 7; and.b32 %t1, %t1, 15; ",
            2 * i + 1
        );
        *text += &match ty {
            "f32" => format!("cvt.rn.f32.u32 %{name}{i}, %t1; "),
            "f16" => {
                format!("cvt.rn.f32.u32 %t1, %t1; cvt.rn.f16x2.f32 %{name}{i}, %t1, 0f3f000000; ")
            }
            _ => format!("mad.lo.u32 %{name}{i}, %t1, 0x01234567, %rb; "),
        };
    }
}

fn names(name: &str, count: usize) -> String {
    format!("{{{}}}", (0..count).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", "))
}

/// A polynomial of 32-bit registers, as one word.
pub(super) fn polynomial(name: &str, count: usize) -> String {
    let mut text = "mov.b32 %t4, 0; mov.b32 %t5, 0;".to_owned();
    for i in 0..count {
        let sum = 4 + i % 2;
        text += &format!(" mad.lo.u32 %t{sum}, %t{sum}, 1000003, %{name}{i};");
    }
    text + " mov.b64 %do, {%t4, %t5}; st.global.u64 [%out], %do;"
}

/// All registers, two a word.
pub(super) fn all_of(name: &str, count: usize) -> String {
    (0..count)
        .step_by(2)
        .map(|i| format!("st.global.v2.b32 [%out+{}], {{%{name}{i}, %{name}{}}}; ", i * 4, i + 1))
        .collect()
}

/// One product; `types` are those of d, a, b and c.
fn product(l: &mut List, (m, n, k): (usize, usize, usize), types: [&str; 4], sat: &str) {
    let [d, a, b, c] = types;
    let (bits, exact, random) = element(a);
    let name = format!("mma.m{m}n{n}k{k}{sat}.{d}.{a}.{b}.{c}");
    let accumulated = |ty: &str| m * n * if ty == "f16" { 16 } else { 32 } / 1024;
    let (dn, cn) = (accumulated(d), accumulated(c));
    let (an, bn) = (m * k * bits / 1024, n * k * bits / 1024);
    let mut text = String::new();
    let mut word = 0;
    load(&mut text, "a", an, &mut word);
    load(&mut text, "b", bn, &mut word);
    text += &format!(".reg .b32 %c<{cn}>, %d<{}>; ", dn + 1);
    accumulators(&mut text, "c", cn, c);
    text += &format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col{sat}.{d}.{a}.{b}.{c} {}, {}, {}, {}; ",
        names("d", dn),
        names("a", an),
        names("b", bn),
        names("c", cn)
    );
    let words = word.max(3);
    let body = text.clone() + &polynomial("d", dn);
    l.push(&name, &body, [exact; 3], Kind::Exact, Shape::block(128, words, 1));
    if d != "s32" {
        let half = u8::from(d == "f16");
        let kind = Kind::Sum { half, slack: slack(k, types) };
        let body = text + &all_of("d", dn);
        l.push(
            &format!("{name} rounded"),
            &body,
            [random; 3],
            kind,
            Shape::block(32, words, dn / 2),
        );
    }
}

/// How much a sum of `k` products may be off, as a part of the sum of magnitudes. The ISA leaves order, alignment and
/// intermediate precision to the hardware.
pub(super) fn slack(k: usize, [d, _, _, _]: [&str; 4]) -> f64 {
    // Accumulation in half precision rounds more than once.
    k as f64 * if d == "f16" { 2f64.powi(-11) } else { 2f64.powi(-23) }
}

/// A product of doubles.
fn doubles(l: &mut List, (m, n, k): (usize, usize, usize)) {
    let (an, bn, cn) = (m * k / 32, n * k / 32, m * n / 32);
    let mut text = format!(".reg .b64 %a<{an}>, %b<{bn}>, %c<{cn}>, %d<{cn}>; ");
    let mut word = 0;
    for (name, count) in [("a", an), ("b", bn), ("c", cn)] {
        for i in 0..count {
            text += &format!("ld.global.u64 %{name}{i}, [%in+{}]; ", word * 8);
            word += 1;
        }
    }
    text += &format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col.f64.f64.f64.f64 {}, {}, {}, {}; ",
        names("d", cn),
        names("a", an),
        names("b", bn),
        names("c", cn)
    );
    for i in 0..cn {
        text += &format!("st.global.u64 [%out+{}], %d{i}; ", i * 8);
    }
    let name = format!("mma.m{m}n{n}k{k}.f64");
    l.push(&name, &text, [Pool::ExactF64; 3], Kind::Exact, Shape::block(128, word, cn));
    // The hardware adds product after product, each fused: the same to the bit.
    let shape = Shape::block(32, word, cn);
    l.push(&format!("{name} rounded"), &text, [Pool::RandomF64; 3], Kind::Exact, shape);
}

pub(super) fn products(l: &mut List) {
    for k in [8, 16] {
        product(l, (16, 8, k), ["f32", "f16", "f16", "f32"], "");
        product(l, (16, 8, k), ["f16", "f16", "f16", "f16"], "");
        product(l, (16, 8, k), ["f32", "bf16", "bf16", "f32"], "");
    }
    for k in [4, 8] {
        product(l, (16, 8, k), ["f32", "tf32", "tf32", "f32"], "");
    }
    for k in [16, 32] {
        for a in ["e4m3", "e5m2"] {
            for b in ["e4m3", "e5m2"] {
                product(l, (16, 8, k), ["f32", a, b, "f32"], "");
                product(l, (16, 8, k), ["f16", a, b, "f16"], "");
            }
        }
    }
    for shape in [(8, 8, 16), (16, 8, 16), (16, 8, 32)] {
        for a in ["s8", "u8"] {
            for b in ["s8", "u8"] {
                for sat in ["", ".satfinite"] {
                    product(l, shape, ["s32", a, b, "s32"], sat);
                }
            }
        }
    }
    for shape in [(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)] {
        doubles(l, shape);
    }
}

/// `ldmatrix` and `stmatrix` in every form, through shared and generic addresses.
pub(super) fn tiles(l: &mut List) {
    // Sixteen bytes a lane, a KiB apart for each warp; lanes give their rows in a scattered order.
    let start = "mov.u32 %t0, %tid.x; and.b32 %t1, %t0, 31; mul.lo.u32 %t1, %t1, 13; and.b32 %t1, %t1, 31; shl.b32 %t1, %t1, 4; shr.u32 %t2, %t0, 5; shl.b32 %t2, %t2, 10; add.u32 %t1, %t1, %t2; mov.u32 %t3, tile; add.u32 %t1, %t1, %t3; cvt.u64.u32 %at, %t1; cvta.shared.u64 %at, %at; mov.b32 %t4, 0; mov.b32 %t5, 0; mov.b32 %t6, 0; mov.b32 %t7, 0;";
    for count in [1, 2, 4] {
        let regs = names("t", 8)
            .trim_matches(['{', '}'])
            .split(", ")
            .skip(4)
            .take(count)
            .collect::<Vec<_>>()
            .join(", ");
        let values = ["%ra", "%sa", "%rb", "%sb"][..count].join(", ");
        for trans in ["", ".trans"] {
            for (space, address) in [(".shared", "[%t1]"), (".shared::cta", "[%t1]"), ("", "[%at]")]
            {
                let name = format!("ldmatrix.x{count}{trans}{space}");
                let body = format!(
                    "{start} st.shared.v4.b32 [%t1], {{%ra, %sa, %rb, %sb}}; bar.sync 0; ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {{{regs}}}, {address}; st.global.v4.b32 [%out], {{%t4, %t5, %t6, %t7}};"
                );
                l.push(&name, &body, [Pool::Int; 3], Kind::Exact, Shape::block(128, 4, 2));
                let name = format!("stmatrix.x{count}{trans}{space}");
                let body = format!(
                    "{start} st.shared.v4.b32 [%t1], {{%t4, %t5, %t6, %t7}}; bar.sync 0; stmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {address}, {{{values}}}; bar.sync 0; ld.shared.v4.b32 {{%t4, %t5, %t6, %t7}}, [%t1]; st.global.v4.b32 [%out], {{%t4, %t5, %t6, %t7}};"
                );
                l.push(&name, &body, [Pool::Int; 3], Kind::Exact, Shape::block(128, 4, 2));
            }
        }
    }
}

//! Conversions between floating-point formats, exhaustively or at every boundary, against references that share nothing
//! with the emulator: the formulas of the OCP 8-bit floating point specification, searches in tables of all values, the
//! `half` crate, and integer arithmetic on single-precision bits.

use ptx_emulator::{Checks, Launch, Options};

use crate::harness::{Device, entry};

/// Applies instructions that read %r1 and leave %r2 to every input.
fn apply(instructions: &str, inputs: &[u32]) -> Vec<u32> {
    const THREADS: u32 = 1024;
    let body = format!(
        "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r3, %r3, {THREADS}, %r4; setp.ge.u32 %p1, %r3, {};
         @%p1 ret; ld.param.u64 %rd1, [k_param_0]; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd1, %rd1, %rd2;
         ld.global.u32 %r1, [%rd1]; {instructions} st.global.u32 [%rd1], %r2; ret;",
        inputs.len()
    );
    let device = Device::new(&entry(&body));
    let at = device.upload(inputs);
    let blocks = (inputs.len() as u32).div_ceil(THREADS);
    let options = Options { checks: Checks::NONE, ..Options::default() };
    let launch = Launch::new([blocks, 1, 1], [THREADS, 1, 1]);
    device.run_with(launch, &[at], &options).unwrap_or_else(|e| panic!("{e}"));
    device.download(at, inputs.len())
}

/// Compares an instruction's results with a reference; both are bits.
fn compare(instructions: &str, inputs: &[u32], reference: impl Fn(u32) -> u32) {
    for (input, found) in inputs.iter().zip(apply(instructions, inputs)) {
        let expected = reference(*input);
        assert_eq!(
            found, expected,
            "{instructions} of {input:#010x}: {found:#x}, not {expected:#x}"
        );
    }
}

/// A format of at most 16 bits: the value of each magnitude (sign bit off), ascending up to the largest finite one.
struct Table {
    finite: Vec<f64>,
    infinity: Option<u32>,
    nan: u32,
    sign: u32,
}

/// OCP OFP8 E4M3: bias 7, no infinity, all ones is NaN.
fn e4m3() -> Table {
    let value = |code: u32| match (code >> 3, f64::from(code & 7)) {
        (0, m) => m / 8.0 * 2f64.powi(-6),
        (e, m) => (1.0 + m / 8.0) * 2f64.powi(e as i32 - 7),
    };
    Table { finite: (0..0x7f).map(value).collect(), infinity: None, nan: 0x7f, sign: 0x80 }
}

/// OCP OFP8 E5M2: bias 15, infinities and NaNs as in IEEE formats.
fn e5m2() -> Table {
    let value = |code: u32| match (code >> 2, f64::from(code & 3)) {
        (0, m) => m / 4.0 * 2f64.powi(-14),
        (e, m) => (1.0 + m / 4.0) * 2f64.powi(e as i32 - 15),
    };
    Table { finite: (0..0x7c).map(value).collect(), infinity: Some(0x7c), nan: 0x7f, sign: 0x80 }
}

fn f16() -> Table {
    let finite = (0..0x7c00).map(|code| half::f16::from_bits(code).to_f64()).collect();
    Table { finite, infinity: Some(0x7c00), nan: 0x7fff, sign: 0x8000 }
}

fn bf16() -> Table {
    let finite = (0..0x7f80).map(|code| half::bf16::from_bits(code).to_f64()).collect();
    Table { finite, infinity: Some(0x7f80), nan: 0x7fff, sign: 0x8000 }
}

#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    Nearest,
    Zero,
}

impl Table {
    /// The value of a code; NaN and infinity included.
    fn value(&self, code: u32) -> f64 {
        let magnitude = code & (self.sign - 1);
        let value = match self.finite.get(magnitude as usize) {
            Some(value) => *value,
            None if Some(magnitude) == self.infinity => f64::INFINITY,
            None => f64::NAN,
        };
        if code & self.sign == 0 { value } else { -value }
    }

    /// The code of `x` by search among all values.
    fn code(&self, x: f64, rounding: Rounding, saturate: bool, relu: bool) -> u32 {
        if x.is_nan() {
            return self.nan;
        }
        if relu && x.is_sign_negative() {
            return 0;
        }
        let sign = if x.is_sign_negative() { self.sign } else { 0 };
        let magnitude = x.abs();
        let last = self.finite.len() - 1;
        let below = self.finite.partition_point(|v| *v <= magnitude) - 1;
        let code = if below < last {
            // Where neighbours are equally near the even one is taken.
            let middle = (self.finite[below] + self.finite[below + 1]) / 2.0;
            let up = magnitude > middle || (magnitude == middle && below % 2 == 1);
            below + usize::from(up && rounding == Rounding::Nearest)
        } else {
            // The largest value's half step beyond it belongs to it, the tie to the next, which does not exist.
            let limit = self.finite[last] + (self.finite[last] - self.finite[last - 1]) / 2.0;
            let finite = saturate
                || magnitude < limit
                || (rounding == Rounding::Zero && magnitude.is_finite());
            match self.infinity {
                Some(infinity) if !finite => infinity as usize,
                _ => last,
            }
        };
        sign | code as u32
    }

    /// Singles at every value, at every middle between neighbours, just beside both, and the special ones.
    fn boundaries(&self) -> Vec<u32> {
        let mut out = vec![
            0,
            1,
            0x7f80_0000,
            0x7fc0_0000,
            0x7f80_0001,
            0x7fff_ffff,
            0x7f7f_ffff,
            0x0080_0000,
        ];
        let beyond = 2.0 * self.finite[self.finite.len() - 1] - self.finite[self.finite.len() - 2];
        let ends = self.finite[1..].iter().chain(std::iter::once(&beyond));
        for (low, high) in self.finite.iter().zip(ends) {
            for x in [*low, (low + high) / 2.0] {
                let bits = (x as f32).to_bits();
                out.extend([bits.saturating_sub(1), bits, bits + 1]);
            }
        }
        let negative: Vec<u32> = out.iter().map(|bits| bits | 0x8000_0000).collect();
        out.extend(negative);
        out
    }
}

#[test]
fn eight_bit_floats_widen() {
    for (name, table) in [("e4m3", e4m3()), ("e5m2", e5m2())] {
        let codes: Vec<u32> = (0..256).collect();
        let widen = format!("mov.b32 {{%rs1, %rs2}}, %r1; cvt.rn.f16x2.{name}x2 %r2, %rs1;");
        let f16 = |code: u32| u32::from(half::f16::from_f64(table.value(code)).to_bits());
        compare(&format!("{widen} and.b32 %r2, %r2, 0xffff;"), &codes, |code| {
            if table.value(code).is_nan() { 0x7fff } else { f16(code) }
        });
        let relu = widen.replace(".rn", ".rn.relu");
        compare(&format!("{relu} and.b32 %r2, %r2, 0xffff;"), &codes, |code| {
            match table.value(code) {
                v if v.is_nan() => 0x7fff,
                v if v.is_sign_negative() => 0,
                _ => f16(code),
            }
        });
        // The upper one of a pair, on to single precision.
        let upper = "shl.b32 %r1, %r1, 8;";
        let single = "mov.b32 {%rs1, %rs2}, %r2; cvt.f32.f16 %f1, %rs2; mov.b32 %r2, %f1;";
        for (input, found) in codes.iter().zip(apply(&format!("{upper}{widen}{single}"), &codes)) {
            let (found, expected) = (f64::from(f32::from_bits(found)), table.value(*input));
            assert!(
                found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
                "{name} {input:#x}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn every_half_narrows_to_eight_bits() {
    let halves: Vec<u32> = (0..=0xffff).collect();
    for (name, table) in [("e4m3", e4m3()), ("e5m2", e5m2())] {
        for relu in [false, true] {
            let modifier = if relu { ".relu" } else { "" };
            // The input below, its neighbour by 0x1234 above.
            let pair = format!(
                "add.u32 %r3, %r1, 0x1234; and.b32 %r3, %r3, 0xffff; shl.b32 %r3, %r3, 16; or.b32 %r1, %r1, %r3;
                 cvt.rn.satfinite{modifier}.{name}x2.f16x2 %rs1, %r1; cvt.u32.u16 %r2, %rs1;"
            );
            let one = |bits: u32| {
                let value = half::f16::from_bits(bits as u16).to_f64();
                table.code(value, Rounding::Nearest, true, relu)
            };
            compare(&pair, &halves, |bits| one((bits + 0x1234) & 0xffff) << 8 | one(bits));
        }
    }
}

#[test]
fn singles_narrow_to_eight_bits_at_every_boundary() {
    for (name, table) in [("e4m3", e4m3()), ("e5m2", e5m2())] {
        for relu in [false, true] {
            let modifier = if relu { ".relu" } else { "" };
            let inst = format!(
                "mov.b32 %f1, %r1; neg.f32 %f2, %f1; cvt.rn.satfinite{modifier}.{name}x2.f32 %rs1, %f2, %f1; cvt.u32.u16 %r2, %rs1;"
            );
            let one = |bits: u32| {
                table.code(f64::from(f32::from_bits(bits)), Rounding::Nearest, true, relu)
            };
            compare(&inst, &table.boundaries(), |bits| one(bits ^ 0x8000_0000) << 8 | one(bits));
        }
    }
}

#[test]
fn sixteen_bit_floats_widen() {
    let codes: Vec<u32> = (0..=0xffff).collect();
    for name in ["f16", "bf16"] {
        let inst =
            format!("mov.b32 {{%rs1, %rs2}}, %r1; cvt.f32.{name} %f1, %rs1; mov.b32 %r2, %f1;");
        for (code, found) in codes.iter().zip(apply(&inst, &codes)) {
            let expected = match name {
                "f16" => half::f16::from_bits(*code as u16).to_f32(),
                _ => half::bf16::from_bits(*code as u16).to_f32(),
            };
            let found = f32::from_bits(found);
            assert!(
                found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
                "{name} {code:#x}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn singles_narrow_to_sixteen_bits_at_every_boundary() {
    for (name, table) in [("f16", f16()), ("bf16", bf16())] {
        let inputs = table.boundaries();
        for (modifiers, rounding, saturate, relu) in [
            ("rn", Rounding::Nearest, false, false),
            ("rz", Rounding::Zero, false, false),
            ("rn.relu", Rounding::Nearest, false, true),
            ("rz.relu", Rounding::Zero, false, true),
            ("rn.satfinite", Rounding::Nearest, true, false),
            ("rz.relu.satfinite", Rounding::Zero, true, true),
        ] {
            let inst = format!(
                "mov.b32 %f1, %r1; cvt.{modifiers}.{name}.f32 %rs1, %f1; cvt.u32.u16 %r2, %rs1;"
            );
            let one =
                |bits: u32| table.code(f64::from(f32::from_bits(bits)), rounding, saturate, relu);
            compare(&inst, &inputs, one);
            if rounding == Rounding::Nearest && !saturate && !relu {
                let half = |bits: u32| match name {
                    "f16" => u32::from(half::f16::from_f32(f32::from_bits(bits)).to_bits()),
                    _ => u32::from(half::bf16::from_f32(f32::from_bits(bits)).to_bits()),
                };
                let numbers: Vec<u32> =
                    inputs.iter().copied().filter(|bits| !f32::from_bits(*bits).is_nan()).collect();
                compare(&inst, &numbers, half);
            }
            let pair =
                format!("mov.b32 %f1, %r1; cvt.{modifiers}.{name}x2.f32 %r2, %f1, 0f3F800000;");
            let unit = one(0x3f80_0000);
            compare(&pair, &inputs[..4000], |bits| one(bits) << 16 | unit);
        }
    }
}

#[test]
fn sixteen_bit_floats_turn_into_each_other() {
    let codes: Vec<u32> = (0..=0xffff).collect();
    for (from, to, source, target) in
        [("f16", "bf16", f16(), bf16()), ("bf16", "f16", bf16(), f16())]
    {
        for (mode, rounding) in [("rn", Rounding::Nearest), ("rz", Rounding::Zero)] {
            let inst = format!(
                "mov.b32 {{%rs1, %rs2}}, %r1; cvt.{mode}.{to}.{from} %rs3, %rs1; cvt.u32.u16 %r2, %rs3;"
            );
            compare(&inst, &codes, |code| target.code(source.value(code), rounding, false, false));
        }
    }
}

#[test]
fn singles_narrow_to_tf32() {
    let mut inputs = Vec::new();
    for high in (0..1u32 << 19).step_by(13).chain([0x3_fbff, 0x3_fc00, 0x7_fbff, 1, 0x400]) {
        inputs.extend([0, 1, 0xfff, 0x1000, 0x1001, 0x1fff].map(|low| high << 13 | low));
    }
    let special = |bits: u32| bits & 0x7f80_0000 == 0x7f80_0000;
    inputs.retain(|bits| !special(*bits));
    let clamp = |bits: u32| if special(bits) { (bits & 0x8000_0000) | 0x7f7f_e000 } else { bits };
    let away = |bits: u32| (bits + 0x1000) & !0x1fff;
    let nearest = |bits: u32| (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff;
    let zero = |bits: u32| bits & !0x1fff;
    let relu = |bits: u32| if bits >> 31 == 1 { 0 } else { bits };
    let cvt = |modifiers: &str| format!("mov.b32 %f1, %r1; cvt.{modifiers}.tf32.f32 %r2, %f1;");
    compare(&cvt("rna"), &inputs, away);
    compare(&cvt("rn"), &inputs, nearest);
    compare(&cvt("rz"), &inputs, zero);
    compare(&cvt("rna.satfinite"), &inputs, |bits| clamp(away(bits)));
    compare(&cvt("rn.relu"), &inputs, |bits| relu(nearest(bits)));
    compare(&cvt("rz.relu.satfinite"), &inputs, |bits| relu(zero(bits)));
    compare(&cvt("rna"), &[0x7f80_0000, 0xff80_0000], |bits| bits);
    compare(&cvt("rn.satfinite"), &[0x7f80_0000, 0xff80_0000], clamp);
}

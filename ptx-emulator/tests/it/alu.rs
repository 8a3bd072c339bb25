//! Single instructions against values worked out by hand from the PTX ISA's descriptions.

use crate::harness::{Device, block, entry};

/// Runs `body`, which leaves a 64-bit result in %rd1, in one thread.
fn eval(body: &str) -> u64 {
    let text = entry(&format!(
        "{body}\nld.param.u64 %rd0, [k_param_0];\nst.global.u64 [%rd0], %rd1;\nret;"
    ));
    let device = Device::new(&text);
    let out = device.alloc(8);
    device.run(block(1), &[out]).unwrap_or_else(|e| panic!("{e}\n{body}"));
    device.download::<u64>(out, 1)[0]
}

/// The result of an instruction on 32-bit registers; `%r1` is the destination.
fn eval32(inst: &str) -> u32 {
    eval(&format!("{inst}\ncvt.u64.u32 %rd1, %r1;")) as u32
}

fn eval_f32(inst: &str) -> f32 {
    f32::from_bits(eval(&format!("{inst}\nmov.b32 %r1, %f1;\ncvt.u64.u32 %rd1, %r1;")) as u32)
}

#[test]
fn integer_arithmetic() {
    let cases: &[(&str, u32)] = &[
        ("add.s32 %r1, 0x7fffffff, 1;", 0x8000_0000),
        ("add.sat.s32 %r1, 0x7fffffff, 1;", 0x7fff_ffff),
        ("sub.sat.s32 %r1, 0x80000000, 1;", 0x8000_0000),
        ("mul.lo.s32 %r1, -3, 5;", (-15i32) as u32),
        ("mul.hi.s32 %r1, -3, 5;", u32::MAX),
        ("mul.hi.u32 %r1, 0xfffffffd, 5;", 4),
        ("mad.lo.u32 %r1, 3, 5, 7;", 22),
        ("mad.hi.u32 %r1, 0x80000000, 4, 7;", 9),
        ("mul24.lo.u32 %r1, 0xff000003, 5;", 15),
        ("mul24.hi.u32 %r1, 0x800000, 0x800000;", 0x4000_0000),
        ("div.s32 %r1, -7, 2;", (-3i32) as u32),
        ("rem.s32 %r1, -7, 2;", (-1i32) as u32),
        ("div.u32 %r1, 7, 2;", 3),
        ("sad.u32 %r1, 3, 10, 100;", 107),
        ("sad.s32 %r1, -3, 10, 100;", 113),
        ("abs.s32 %r1, -5;", 5),
        ("neg.s32 %r1, 5;", (-5i32) as u32),
        ("min.s32 %r1, -5, 3;", (-5i32) as u32),
        ("min.u32 %r1, -5, 3;", 3),
        ("max.relu.s32 %r1, -5, -3;", 0),
        ("add.u16x2 %r1, 0x0001ffff, 0x00010001;", 0x0002_0000),
    ];
    for (inst, expected) in cases {
        assert_eq!(eval32(inst), *expected, "{inst}");
    }
    assert_eq!(eval("mul.wide.s32 %rd1, -3, 5;"), (-15i64) as u64);
    assert_eq!(eval("mul.wide.u32 %rd1, 0xfffffffd, 5;"), 0xffff_fffd * 5);
    assert_eq!(eval("mad.wide.s32 %rd1, -3, 5, 1;"), (-14i64) as u64);
    assert_eq!(eval("mul.hi.s64 %rd1, -1, 1;"), u64::MAX);
    assert_eq!(
        eval("mov.b16 %rs1, 0xffff; mul.wide.s16 %r1, %rs1, 3; cvt.s64.s32 %rd1, %r1;"),
        (-3i64) as u64
    );
}

#[test]
fn carry_chains() {
    // 2^64 - 1 + 1 over two words.
    let sum = "add.cc.u64 %rd2, 0xffffffffffffffff, 1; addc.u64 %rd1, 0, 0;";
    assert_eq!(eval(sum), 1);
    let difference = "sub.cc.u32 %r1, 0, 1; subc.u32 %r2, 5, 0; cvt.u64.u32 %rd1, %r2;";
    assert_eq!(eval(difference), 4);
    let product = "mad.lo.cc.u32 %r1, 0xffffffff, 1, 1; madc.hi.u32 %r2, 0xffffffff, 1, 0; cvt.u64.u32 %rd1, %r2;";
    assert_eq!(eval(product), 1);
}

#[test]
fn bits() {
    let cases: &[(&str, u32)] = &[
        ("shl.b32 %r1, 1, 31;", 0x8000_0000),
        ("shl.b32 %r1, 1, 32;", 0),
        ("shr.u32 %r1, 0x80000000, 40;", 0),
        ("shr.s32 %r1, 0x80000000, 40;", u32::MAX),
        ("shr.s32 %r1, 0x80000000, 4;", 0xf800_0000),
        ("popc.b32 %r1, 0xf0f0;", 8),
        ("clz.b32 %r1, 1;", 31),
        ("clz.b32 %r1, 0;", 32),
        ("brev.b32 %r1, 1;", 0x8000_0000),
        ("bfind.u32 %r1, 0x00010000;", 16),
        ("bfind.s32 %r1, -2;", 0),
        ("bfind.s32 %r1, -1;", u32::MAX),
        ("bfind.shiftamt.u32 %r1, 0x00010000;", 15),
        ("not.b32 %r1, 0;", u32::MAX),
        ("cnot.b32 %r1, 0;", 1),
        ("bfe.u32 %r1, 0x12345678, 8, 8;", 0x56),
        ("bfe.s32 %r1, 0x0000f000, 12, 4;", u32::MAX),
        ("bfe.s32 %r1, 0x80000000, 24, 16;", 0xffff_ff80),
        ("bfe.u32 %r1, 0x80000000, 24, 16;", 0x80),
        ("bfe.s32 %r1, 0x80000000, 40, 4;", u32::MAX),
        ("bfe.s32 %r1, 0x80000000, 4, 0;", 0),
        ("bfi.b32 %r1, 0xff, 0x12345678, 8, 4;", 0x1234_5f78),
        ("bmsk.clamp.b32 %r1, 4, 8;", 0xff0),
        ("bmsk.wrap.b32 %r1, 36, 8;", 0xff0),
        ("szext.wrap.s32 %r1, 0x8f, 8;", 0xffff_ff8f),
        ("szext.clamp.u32 %r1, 0xabcdef, 8;", 0xef),
        ("shf.l.wrap.b32 %r1, 0x80000000, 1, 1;", 3),
        ("shf.r.wrap.b32 %r1, 2, 1, 1;", 0x8000_0001),
        ("shf.l.clamp.b32 %r1, 7, 1, 40;", 7),
        ("shf.r.clamp.b32 %r1, 7, 9, 40;", 9),
        ("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531;", 0x7755_3311),
        ("prmt.b32 %r1, 0x00008000, 0, 0x9999;", u32::MAX),
        ("prmt.b32.f4e %r1, 0x33221100, 0x77665544, 1;", 0x4433_2211),
        ("prmt.b32.rc16 %r1, 0x33221100, 0, 1;", 0x3322_3322),
        ("lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x80;", 0x80),
        ("lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x96;", 0xf0 ^ 0xcc ^ 0xaa),
        ("fns.b32 %r1, 0xaaaaaaaa, 3, 2;", 5),
        ("fns.b32 %r1, 0xaaaaaaaa, 4, -1;", 3),
        ("fns.b32 %r1, 0xaaaaaaaa, 4, 0;", u32::MAX),
        ("dp4a.u32.u32 %r1, 0x01020304, 0x01010101, 5;", 15),
        ("dp4a.s32.s32 %r1, 0xffffffff, 0x01010101, 0;", (-4i32) as u32),
        ("dp2a.lo.u32.u32 %r1, 0x00020003, 0x09090502, 1;", 3 * 2 + 2 * 5 + 1),
        ("dp2a.hi.u32.u32 %r1, 0x00020003, 0x05020909, 1;", 3 * 2 + 2 * 5 + 1),
    ];
    for (inst, expected) in cases {
        assert_eq!(eval32(inst), *expected, "{inst}");
    }
    assert_eq!(eval("shr.s64 %rd1, 0x8000000000000000, 63;"), u64::MAX);
    assert_eq!(eval("brev.b64 %rd1, 1;"), 1 << 63);
    assert_eq!(eval("bfe.s64 %rd1, 0xf0, 4, 4;"), u64::MAX);
}

#[test]
fn single_precision() {
    let cases: &[(&str, f32)] = &[
        ("add.f32 %f1, 0f3F800000, 0f40000000;", 3.0),
        ("fma.rn.f32 %f1, 0f40000000, 0f40400000, 0f3F800000;", 7.0),
        ("mul.rz.f32 %f1, 0f3F800001, 0f3F800001;", 1.000_000_2),
        ("div.rn.f32 %f1, 0f3F800000, 0f40400000;", 1.0 / 3.0),
        ("sqrt.rn.f32 %f1, 0f40000000;", std::f32::consts::SQRT_2),
        ("rcp.rn.f32 %f1, 0f40800000;", 0.25),
        ("add.sat.f32 %f1, 0f40000000, 0f40000000;", 1.0),
        ("min.f32 %f1, 0f7FC00000, 0f3F800000;", 1.0),
        ("max.f32 %f1, 0f80000000, 0f00000000;", 0.0),
        ("abs.f32 %f1, 0fBF800000;", 1.0),
        ("neg.f32 %f1, 0f3F800000;", -1.0),
        ("copysign.f32 %f1, 0f80000000, 0f3F800000;", -1.0),
        ("ex2.approx.f32 %f1, 0f40400000;", 8.0),
        ("lg2.approx.f32 %f1, 0f41000000;", 3.0),
        ("rsqrt.approx.f32 %f1, 0f40800000;", 0.5),
        ("add.ftz.f32 %f1, 0f00000001, 0f00000000;", 0.0),
        ("max.xorsign.abs.f32 %f1, 0fC0000000, 0f3F800000;", -2.0),
    ];
    for (inst, expected) in cases {
        assert_eq!(eval_f32(inst).to_bits(), expected.to_bits(), "{inst}");
    }
    let nan = eval_f32("add.f32 %f1, 0f7F800000, 0fFF800000;");
    assert_eq!(nan.to_bits(), 0x7fff_ffff);
    assert_eq!(eval_f32("min.NaN.f32 %f1, 0f7FC00000, 0f3F800000;").to_bits(), 0x7fff_ffff);
}

#[test]
fn halves() {
    // 1.5 and 2.0 in half, 1.5 and -2.0 in bfloat.
    assert_eq!(eval32("add.f16x2 %r1, 0x3e004000, 0x3e004000;"), 0x4200_4400);
    assert_eq!(eval32("fma.rn.f16x2 %r1, 0x3e004000, 0x40004000, 0x3c003c00;"), 0x4400_4500);
    assert_eq!(eval32("fma.rn.relu.bf16x2 %r1, 0x3fc0c000, 0x3f803f80, 0;"), 0x3fc0_0000);
    assert_eq!(eval32("max.bf16x2 %r1, 0x3fc0c000, 0x3f803f80;"), 0x3fc0_3f80);
    assert_eq!(
        eval("mov.b16 %rs1, 0x3e00; mul.f16 %rs2, %rs1, %rs1; cvt.u64.u16 %rd1, %rs2;"),
        0x4080
    );
    assert_eq!(eval32("neg.f16x2 %r1, 0x3e004000;"), 0xbe00_c000);
}

#[test]
fn conversions() {
    let cases: &[(&str, u64)] = &[
        ("cvt.rni.s32.f32 %r1, 0f40200000; cvt.s64.s32 %rd1, %r1;", 2),
        ("cvt.rzi.s32.f32 %r1, 0fC0200000; cvt.s64.s32 %rd1, %r1;", (-2i64) as u64),
        ("cvt.rpi.s64.f32 %rd1, 0fC0200000;", (-2i64) as u64),
        ("cvt.rmi.s64.f64 %rd1, 0dC004000000000000;", (-3i64) as u64),
        ("cvt.rzi.u8.f32 %r1, 0f43960000; cvt.u64.u32 %rd1, %r1;", 255),
        ("cvt.rzi.u32.f32 %r1, 0f7FC00000; cvt.u64.u32 %rd1, %r1;", 0),
        ("cvt.s64.s8 %rd1, 0xff;", u64::MAX),
        ("mov.u32 %r2, 0x1ff; cvt.u64.u8 %rd1, %r2;", 0xff),
        ("mov.u32 %r2, 0x180; cvt.s32.s8 %r1, %r2; cvt.u64.u32 %rd1, %r1;", 0xffff_ff80),
        ("mov.s32 %r2, 300; cvt.sat.s8.s32 %r1, %r2; cvt.u64.u32 %rd1, %r1;", 127),
        ("mov.s32 %r2, -3; cvt.sat.u16.s32 %rs1, %r2; cvt.u64.u16 %rd1, %rs1;", 0),
        ("cvt.rn.f32.s32 %f1, -3; mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;", 0xc040_0000),
        (
            "cvt.rn.f32.u64 %f1, 0xffffffffffffffff; mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;",
            0x5f80_0000,
        ),
        (
            "cvt.rz.f32.u64 %f1, 0xffffffffffffffff; mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;",
            0x5f7f_ffff,
        ),
        ("cvt.f64.f32 %fd1, 0f3FC00000; mov.b64 %rd1, %fd1;", 0x3ff8_0000_0000_0000),
        (
            "mov.f64 %fd2, 0d3FF8000000000000; cvt.rn.f32.f64 %f1, %fd2; mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;",
            0x3fc0_0000,
        ),
        ("cvt.rn.f16.f32 %rs1, 0f477FF000; cvt.u64.u16 %rd1, %rs1;", 0x7c00),
        ("cvt.rz.f16.f32 %rs1, 0f477FF000; cvt.u64.u16 %rd1, %rs1;", 0x7bff),
        ("cvt.rn.bf16.f32 %rs1, 0f3F808000; cvt.u64.u16 %rd1, %rs1;", 0x3f80),
        ("cvt.rn.bf16.f32 %rs1, 0f3F818000; cvt.u64.u16 %rd1, %rs1;", 0x3f82),
        ("cvt.rn.bf16x2.f32 %r1, 0f40000000, 0f3F800000; cvt.u64.u32 %rd1, %r1;", 0x4000_3f80),
        ("cvt.rn.relu.f16x2.f32 %r1, 0fC0000000, 0f3F800000; cvt.u64.u32 %rd1, %r1;", 0x3c00),
        (
            "cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f44800000, 0f3F800000; cvt.u64.u16 %rd1, %rs1;",
            0x7e38,
        ),
        (
            "mov.b16 %rs1, 0x7e38; cvt.rn.f16x2.e4m3x2 %r1, %rs1; cvt.u64.u32 %rd1, %r1;",
            0x5f00_3c00,
        ),
        ("cvt.rna.tf32.f32 %r1, 0f3F801000; cvt.u64.u32 %rd1, %r1;", 0x3f80_2000),
        ("cvt.rni.f32.f32 %f1, 0f40200000; mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;", 0x4000_0000),
    ];
    for (inst, expected) in cases {
        assert_eq!(eval(inst), *expected, "{inst}");
    }
}

#[test]
fn comparisons_and_selections() {
    let holds = |inst: &str| eval32(&format!("{inst} selp.u32 %r1, 1, 0, %p1;"));
    for (inst, expected) in [
        ("setp.lt.s32 %p1, -1, 1;", 1),
        ("setp.lt.u32 %p1, -1, 1;", 0),
        ("setp.lo.u32 %p1, 1, -1;", 1),
        ("setp.eq.f32 %p1, 0f7FC00000, 0f7FC00000;", 0),
        ("setp.ne.f32 %p1, 0f7FC00000, 0f3F800000;", 0),
        ("setp.neu.f32 %p1, 0f7FC00000, 0f3F800000;", 1),
        ("setp.geu.f32 %p1, 0f7FC00000, 0f3F800000;", 1),
        ("setp.nan.f32 %p1, 0f7FC00000, 0f3F800000;", 1),
        ("setp.num.f32 %p1, 0f7FC00000, 0f3F800000;", 0),
        ("setp.eq.ftz.f32 %p1, 0f00000001, 0f00000000;", 1),
        ("setp.eq.u32 %p2, 1, 1; setp.eq.and.u32 %p1, 1, 2, %p2;", 0),
        ("setp.eq.u32 %p2, 1, 1; setp.eq.or.u32 %p1, 1, 2, !%p2;", 0),
        ("setp.eq.u32 %p2|%p1, 1, 2;", 1),
        ("setp.gt.f16x2 %p2|%p1, 0x40003c00, 0x3c003c00;", 1),
        ("testp.subnormal.f32 %p1, 0f00000001;", 1),
        ("setp.eq.u32 %p2, 1, 1; not.pred %p1, %p2;", 0),
    ] {
        assert_eq!(holds(inst), expected, "{inst}");
    }
    assert_eq!(eval32("set.eq.u32.f32 %r1, 0f3F800000, 0f3F800000;"), u32::MAX);
    assert_eq!(eval32("set.lt.f32.s32 %f1, 1, 2; mov.b32 %r1, %f1;"), 1f32.to_bits());
    assert_eq!(eval32("slct.u32.s32 %r1, 4, 5, -1;"), 5);
    assert_eq!(
        eval32("mov.b32 %r2, 0x12345678; mov.b32 {%rs1, %rs2}, %r2; mov.b32 %r1, {%rs2, %rs1};"),
        0x5678_1234
    );
    assert_eq!(eval("mov.b64 %rd1, {3, 4};"), 4 << 32 | 3);
}

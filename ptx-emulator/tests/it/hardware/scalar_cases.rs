//! Cases in which each thread computes for itself.

use super::cases::{Kind, List, Pool};

pub(super) fn integers(l: &mut List) {
    use Pool::Int;
    let i = [Int; 3];
    for (ty, reg) in
        [("u16", "h"), ("s16", "h"), ("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d")]
    {
        let (o, a, b, c) =
            (format!("%{reg}o"), format!("%{reg}a"), format!("%{reg}b"), format!("%{reg}c"));
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max"] {
            l.add(&format!("{op}.{ty} {o}, {a}, {b};"), i);
        }
        // Division by zero is unspecified.
        l.add(&format!("max.u{0} {b}, {b}, 1; div.{ty} {o}, {a}, {b};", &ty[1..]), i);
        l.add(&format!("max.u{0} {b}, {b}, 1; rem.{ty} {o}, {a}, {b};", &ty[1..]), i);
        l.add(&format!("mad.lo.{ty} {o}, {a}, {b}, {c};"), i);
        l.add(&format!("mad.hi.{ty} {o}, {a}, {b}, {c};"), i);
        l.add(&format!("sad.{ty} {o}, {a}, {b}, {c};"), i);
        if ty.starts_with('s') {
            l.add(&format!("abs.{ty} {o}, {a};"), i);
            l.add(&format!("neg.{ty} {o}, {a};"), i);
        }
    }
    for ty in ["u32", "s32"] {
        l.add(&format!("mul.wide.{ty} %do, %ra, %rb;"), i);
        l.add(&format!("mad.wide.{ty} %do, %ra, %rb, %dc;"), i);
        l.add(&format!("mul24.lo.{ty} %ro, %ra, %rb;"), i);
        l.add(&format!("mul24.hi.{ty} %ro, %ra, %rb;"), i);
        l.add(&format!("mad24.lo.{ty} %ro, %ra, %rb, %rc;"), i);
        l.add(&format!("mul.wide.{}16 %ro, %ha, %hb;", &ty[..1]), i);
        for other in ["u32", "s32"] {
            l.add(&format!("dp4a.{ty}.{other} %ro, %ra, %rb, %rc;"), i);
            l.add(&format!("dp2a.lo.{ty}.{other} %ro, %ra, %rb, %rc;"), i);
            l.add(&format!("dp2a.hi.{ty}.{other} %ro, %ra, %rb, %rc;"), i);
        }
    }
    for body in [
        "add.sat.s32 %ro, %ra, %rb;",
        "sub.sat.s32 %ro, %ra, %rb;",
        "mad.hi.sat.s32 %ro, %ra, %rb, %rc;",
        "add.cc.u32 %t1, %ra, %rb; addc.u32 %ro, %rc, %sa;",
        "add.cc.u64 %at, %da, %db; addc.u64 %do, %dc, 0;",
        "sub.cc.u32 %t1, %ra, %rb; subc.u32 %ro, %rc, %sa;",
        "sub.cc.u64 %at, %da, %db; subc.u64 %do, %dc, 0;",
        "mad.lo.cc.u32 %t1, %ra, %rb, %rc; madc.hi.u32 %ro, %ra, %rb, 0;",
        "add.u16x2 %ro, %ra, %rb;",
        "min.s16x2 %ro, %ra, %rb;",
        "max.u16x2 %ro, %ra, %rb;",
        "min.relu.s16x2 %ro, %ra, %rb;",
        "min.relu.s32 %ro, %ra, %rb;",
        "max.relu.s32 %ro, %ra, %rb;",
    ] {
        l.add(body, i);
    }
}

pub(super) fn bits(l: &mut List) {
    use Pool::{Int, Small};
    let i = [Int; 3];
    for (width, reg) in [("16", "h"), ("32", "r"), ("64", "d")] {
        let (o, a, b) = (format!("%{reg}o"), format!("%{reg}a"), format!("%{reg}b"));
        for op in ["and", "or", "xor"] {
            l.add(&format!("{op}.b{width} {o}, {a}, {b};"), i);
        }
        l.add(&format!("not.b{width} {o}, {a};"), i);
        l.add(&format!("cnot.b{width} {o}, {a};"), i);
        for op in ["shl.b", "shr.u", "shr.s"] {
            l.add(&format!("{op}{width} {o}, {a}, %rb;"), [Int, Small, Int]);
        }
    }
    for (width, reg) in [("32", "r"), ("64", "d")] {
        let a = format!("%{reg}a");
        l.add(&format!("popc.b{width} %ro, {a};"), i);
        l.add(&format!("clz.b{width} %ro, {a};"), i);
        l.add(&format!("brev.b{width} %{reg}o, {a};"), i);
        for ty in ["u", "s"] {
            l.add(&format!("bfind.{ty}{width} %ro, {a};"), i);
            l.add(&format!("bfind.shiftamt.{ty}{width} %ro, {a};"), i);
            l.add(&format!("bfe.{ty}{width} %{reg}o, {a}, %rb, %rc;"), [Int, Small, Small]);
        }
        l.add(&format!("bfi.b{width} %{reg}o, {a}, %{reg}b, %rc, 7;"), [Int, Int, Small]);
        l.add(&format!("bfi.b{width} %{reg}o, {a}, %{reg}b, 3, %rc;"), [Int, Int, Small]);
    }
    for op in ["shf.l.wrap", "shf.l.clamp", "shf.r.wrap", "shf.r.clamp"] {
        l.add(&format!("{op}.b32 %ro, %ra, %rb, %rc;"), [Int, Int, Small]);
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        l.add(&format!("prmt.b32{mode} %ro, %ra, %rb, %rc;"), i);
    }
    for table in [0x80, 0x96, 0xe8, 0x1b, 0xca] {
        l.add(&format!("lop3.b32 %ro, %ra, %rb, %rc, {table};"), i);
    }
    for mode in ["clamp", "wrap"] {
        l.add(&format!("bmsk.{mode}.b32 %ro, %rb, %rc;"), [Int, Small, Small]);
        l.add(&format!("szext.{mode}.s32 %ro, %ra, %rb;"), [Int, Small, Small]);
        l.add(&format!("szext.{mode}.u32 %ro, %ra, %rb;"), [Int, Small, Small]);
    }
    for offset in [-3, -1, 0, 1, 4] {
        l.add(
            &format!("and.b32 %rb, %rb, 31; fns.b32 %ro, %ra, %rb, {offset};"),
            [Int, Small, Int],
        );
    }
}

pub(super) fn singles(l: &mut List) {
    use Pool::{F32, F32Near};
    for pool in [F32, F32Near] {
        let p = [pool; 3];
        let tag = if pool == F32 { "" } else { " // near" };
        for mode in ["rn", "rz", "rm", "rp", "rn.ftz", "rn.sat", "rz.ftz.sat"] {
            for op in ["add", "sub", "mul"] {
                l.add(&format!("{op}.{mode}.f32 %ro, %ra, %rb;{tag}"), p);
            }
            l.add(&format!("fma.{mode}.f32 %ro, %ra, %rb, %rc;{tag}"), p);
        }
        for mode in ["rn", "rz", "rm", "rp", "rn.ftz"] {
            l.add(&format!("div.{mode}.f32 %ro, %ra, %rb;{tag}"), p);
            l.add(&format!("rcp.{mode}.f32 %ro, %ra;{tag}"), p);
            l.add(&format!("sqrt.{mode}.f32 %ro, %ra;{tag}"), p);
        }
    }
    for op in ["min", "max"] {
        for mode in ["", ".ftz", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
            l.add(&format!("{op}{mode}.f32 %ro, %ra, %rb;"), [F32; 3]);
        }
    }
    for body in ["abs.ftz.f32 %ro, %ra;", "neg.ftz.f32 %ro, %ra;", "copysign.f32 %ro, %ra, %rb;"] {
        // Signs of NaN are unspecified: keep them out.
        let body = format!(
            "setp.nan.f32 %pq, %ra, %ra; selp.b32 %ra, 0, %ra, %pq; setp.nan.f32 %pq, %rb, %rb; selp.b32 %rb, 0, %rb, %pq; {body}"
        );
        l.add(&body, [F32; 3]);
    }
    for property in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        l.add(&format!("testp.{property}.f32 %po, %ra;"), [F32; 3]);
    }
}

pub(super) fn halves(l: &mut List) {
    use Pool::{Bf16, F16};
    for (ty, pool) in [("f16", F16), ("bf16", Bf16)] {
        let p = [pool; 3];
        for op in ["add", "sub", "mul"] {
            l.add(&format!("{op}.rn.{ty} %ho, %ha, %hb;"), p);
            l.add(&format!("{op}.rn.{ty}x2 %ro, %ra, %rb;"), p);
        }
        for mode in ["rn", "rn.relu"] {
            l.add(&format!("fma.{mode}.{ty} %ho, %ha, %hb, %hc;"), p);
            l.add(&format!("fma.{mode}.{ty}x2 %ro, %ra, %rb, %rc;"), p);
        }
        for op in ["min", "max"] {
            for mode in ["", ".NaN", ".xorsign.abs"] {
                l.add(&format!("{op}{mode}.{ty} %ho, %ha, %hb;"), p);
                l.add(&format!("{op}{mode}.{ty}x2 %ro, %ra, %rb;"), p);
            }
        }
    }
    for mode in ["rn.sat", "rn.ftz", "rn.ftz.sat"] {
        l.add(&format!("add.{mode}.f16x2 %ro, %ra, %rb;"), [F16; 3]);
        l.add(&format!("fma.{mode}.f16x2 %ro, %ra, %rb, %rc;"), [F16; 3]);
    }
}

pub(super) fn doubles(l: &mut List) {
    let p = [Pool::F64; 3];
    for mode in ["rn", "rz", "rm", "rp"] {
        for op in ["add", "sub", "mul", "div"] {
            l.add(&format!("{op}.{mode}.f64 %do, %da, %db;"), p);
        }
        l.add(&format!("fma.{mode}.f64 %do, %da, %db, %dc;"), p);
        l.add(&format!("rcp.{mode}.f64 %do, %da;"), p);
        l.add(&format!("sqrt.{mode}.f64 %do, %da;"), p);
    }
    l.add("min.f64 %do, %da, %db;", p);
    l.add("max.f64 %do, %da, %db;", p);
}

pub(super) fn conversions(l: &mut List) {
    use Pool::{Bf16, F16, F32, F64, Fp8, Int};
    let integers = [
        ("u8", "r"),
        ("s8", "r"),
        ("u16", "h"),
        ("s16", "h"),
        ("u32", "r"),
        ("s32", "r"),
        ("u64", "d"),
        ("s64", "d"),
    ];
    for (to, to_reg) in integers {
        for (from, from_reg) in integers {
            l.add(&format!("cvt.{to}.{from} %{to_reg}o, %{from_reg}a;"), [Int; 3]);
            // Saturation is allowed only where something may be out of range.
            let bits = |ty: &str| ty[1..].parse::<u32>().unwrap_or(0);
            let holds = match (from.starts_with('s'), to.starts_with('s')) {
                (true, true) | (false, false) => bits(to) >= bits(from),
                (false, true) => bits(to) > bits(from),
                (true, false) => false,
            };
            if !holds {
                l.add(&format!("cvt.sat.{to}.{from} %{to_reg}o, %{from_reg}a;"), [Int; 3]);
            }
        }
        for (from, from_reg, pool) in [("f16", "h", F16), ("f32", "r", F32), ("f64", "d", F64)] {
            for mode in ["rni", "rzi", "rmi", "rpi"] {
                l.add(&format!("cvt.{mode}.{to}.{from} %{to_reg}o, %{from_reg}a;"), [pool; 3]);
            }
        }
        for (float, float_reg) in [("f16", "h"), ("f32", "r"), ("f64", "d")] {
            for mode in ["rn", "rz", "rm", "rp"] {
                l.add(&format!("cvt.{mode}.{float}.{to} %{float_reg}o, %{to_reg}a;"), [Int; 3]);
            }
        }
    }
    for (body, pool) in [
        ("cvt.f32.f16 %ro, %ha;", F16),
        ("cvt.f32.bf16 %ro, %ha;", Bf16),
        ("cvt.f64.f16 %do, %ha;", F16),
        ("cvt.f64.f32 %do, %ra;", F32),
        ("cvt.ftz.f64.f32 %do, %ra;", F32),
        ("cvt.rn.f32.f64 %ro, %da;", F64),
        ("cvt.rz.f32.f64 %ro, %da;", F64),
        ("cvt.rm.f32.f64 %ro, %da;", F64),
        ("cvt.rp.ftz.f32.f64 %ro, %da;", F64),
        ("cvt.rn.f16.f32 %ho, %ra;", F32),
        ("cvt.rz.f16.f32 %ho, %ra;", F32),
        ("cvt.rn.f16.f64 %ho, %da;", F64),
        ("cvt.rn.bf16.f32 %ho, %ra;", F32),
        ("cvt.rz.bf16.f32 %ho, %ra;", F32),
        ("cvt.rn.relu.f16.f32 %ho, %ra;", F32),
        ("cvt.rn.relu.bf16.f32 %ho, %ra;", F32),
        ("cvt.rni.f32.f32 %ro, %ra;", F32),
        ("cvt.rmi.f32.f32 %ro, %ra;", F32),
        ("cvt.rpi.ftz.f32.f32 %ro, %ra;", F32),
        ("cvt.rzi.f64.f64 %do, %da;", F64),
        ("cvt.rni.f16.f16 %ho, %ha;", F16),
        ("cvt.sat.f32.f32 %ro, %ra;", F32),
        ("cvt.rn.sat.f32.f64 %ro, %da;", F64),
        ("cvt.rna.tf32.f32 %ro, %ra;", F32),
        ("cvt.rn.f16x2.f32 %ro, %ra, %rb;", F32),
        ("cvt.rz.f16x2.f32 %ro, %ra, %rb;", F32),
        ("cvt.rn.bf16x2.f32 %ro, %ra, %rb;", F32),
        ("cvt.rz.relu.bf16x2.f32 %ro, %ra, %rb;", F32),
        ("cvt.rn.satfinite.e4m3x2.f32 %ho, %ra, %rb;", F32),
        ("cvt.rn.satfinite.e5m2x2.f32 %ho, %ra, %rb;", F32),
        ("cvt.rn.satfinite.relu.e4m3x2.f32 %ho, %ra, %rb;", F32),
        ("cvt.rn.satfinite.e4m3x2.f16x2 %ho, %ra;", F16),
        ("cvt.rn.satfinite.e5m2x2.f16x2 %ho, %ra;", F16),
        ("cvt.rn.f16x2.e4m3x2 %ro, %ha;", Fp8),
        ("cvt.rn.f16x2.e5m2x2 %ro, %ha;", Fp8),
        ("cvt.rn.relu.f16x2.e5m2x2 %ro, %ha;", Fp8),
    ] {
        l.add(body, [pool; 3]);
    }
}

pub(super) fn comparisons(l: &mut List) {
    use Pool::{Bf16, F16, F32, F64, Int};
    let ordered = ["eq", "ne", "lt", "le", "gt", "ge"];
    let unordered = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
    for (ty, reg) in
        [("u16", "h"), ("s16", "h"), ("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d")]
    {
        for cmp in ordered {
            l.add(&format!("setp.{cmp}.{ty} %po, %{reg}a, %{reg}b;"), [Int; 3]);
        }
    }
    for (ty, reg, pool) in [
        ("f16", "h", F16),
        ("bf16", "h", Bf16),
        ("f32", "r", F32),
        ("ftz.f32", "r", F32),
        ("f64", "d", F64),
    ] {
        for cmp in ordered.iter().chain(&unordered) {
            l.add(&format!("setp.{cmp}.{ty} %po, %{reg}a, %{reg}b;"), [pool; 3]);
        }
    }
    for body in [
        "setp.lt.and.s32 %po|%pq, %ra, %rb, %pb;",
        "setp.lt.or.s32 %pq|%po, %ra, %rb, !%pb;",
        "setp.ge.xor.u32 %po, %ra, %rb, %pb;",
        "set.lt.u32.s32 %ro, %ra, %rb;",
        "set.lt.f32.s32 %ro, %ra, %rb;",
        "slct.b32.s32 %ro, %ra, %rb, %rc;",
        "selp.b64 %do, %da, %db, %pa;",
        "and.pred %po, %pa, %pb;",
        "xor.pred %po, %pa, %pb;",
    ] {
        l.add(body, [Int; 3]);
    }
    l.add("set.gt.u32.f32 %ro, %ra, %rb;", [F32; 3]);
    l.add("slct.b32.f32 %ro, %ra, %rb, %rc;", [F32; 3]);
    l.add("set.ge.f16x2.f16x2 %ro, %ra, %rb;", [F16; 3]);
    l.add("set.geu.u32.f16x2 %ro, %ra, %rb;", [F16; 3]);
    l.add("setp.gt.f16x2 %po|%pq, %ra, %rb;", [F16; 3]);
    l.add("setp.gt.bf16x2 %pq|%po, %ra, %rb;", [Bf16; 3]);
}

pub(super) fn approximations(l: &mut List) {
    use Pool::{Bf16, F16, F32, F32Near, F64};
    let single = |relative, absolute| Kind::Approx { half: 0, relative, absolute };
    let ulp = 2f64.powi(-23);
    for (op, pool, kind) in [
        ("rcp.approx.f32", F32, single(1.5 * ulp, 0.0)),
        ("rcp.approx.ftz.f32", F32, single(1.5 * ulp, 0.0)),
        ("sqrt.approx.f32", F32, single(2.0 * ulp, 0.0)),
        ("sqrt.approx.ftz.f32", F32, single(2.0 * ulp, 0.0)),
        ("rsqrt.approx.f32", F32, single(2f64.powf(-22.4), 0.0)),
        ("ex2.approx.f32", F32, single(2.5 * ulp, 0.0)),
        ("ex2.approx.ftz.f32", F32Near, single(2.5 * ulp, 0.0)),
        ("lg2.approx.f32", F32, single(2f64.powf(-22.6), 2f64.powf(-22.6))),
        ("sin.approx.f32", F32Near, single(0.0, 2f64.powf(-8.0))),
        ("cos.approx.f32", F32Near, single(0.0, 2f64.powf(-8.0))),
        ("rsqrt.approx.ftz.f32", F32, single(2f64.powf(-22.4), 0.0)),
        ("lg2.approx.ftz.f32", F32, single(2f64.powf(-22.6), 2f64.powf(-22.6))),
        ("tanh.approx.f32", F32, single(2f64.powf(-10.9), 0.0)),
    ] {
        l.add_kind(&format!("{op} %ro, %ra;"), [pool; 3], kind);
    }
    l.add_kind("div.approx.f32 %ro, %ra, %rb;", [F32Near; 3], single(2.5 * ulp, 0.0));
    l.add_kind("div.full.f32 %ro, %ra, %rb;", [F32Near; 3], single(2.5 * ulp, 0.0));
    l.add_kind(
        "ex2.approx.f16 %ho, %ha;",
        [F16; 3],
        Kind::Approx { half: 1, relative: 2f64.powf(-9.9), absolute: 2f64.powi(-23) },
    );
    l.add_kind(
        "tanh.approx.f16 %ho, %ha;",
        [F16; 3],
        Kind::Approx { half: 1, relative: 2f64.powf(-10.9), absolute: 2f64.powf(-10.9) },
    );
    l.add_kind(
        "ex2.approx.ftz.bf16 %ho, %ha;",
        [Bf16; 3],
        Kind::Approx { half: 2, relative: 2f64.powi(-7), absolute: 0.0 },
    );
    l.add_kind(
        "tanh.approx.bf16 %ho, %ha;",
        [Bf16; 3],
        Kind::Approx { half: 2, relative: 2f64.powi(-7), absolute: 0.0 },
    );
    l.add_kind(
        "rcp.approx.ftz.f64 %do, %da;",
        [F64; 3],
        Kind::Approx { half: 3, relative: 2f64.powi(-19), absolute: 0.0 },
    );
    l.add_kind(
        "rsqrt.approx.f64 %do, %da;",
        [F64; 3],
        Kind::Approx { half: 3, relative: 2f64.powi(-19), absolute: 0.0 },
    );
}

/// Whole truth tables and selectors, and what the lists above leave out.
pub(super) fn tables(l: &mut List) {
    use super::cases::Shape;
    use Pool::{Bf16, F16, F64, Int, Small};
    for group in 0..16 {
        let mut body = "mov.u64 %do, 0;".to_owned();
        for table in group * 16..group * 16 + 16 {
            body += &format!(
                " lop3.b32 %t1, %ra, %rb, %rc, {table}; cvt.u64.u32 %at, %t1; mad.lo.u64 %do, %do, 1000003, %at;"
            );
        }
        let name = format!("lop3.b32 tables {} to {}", group * 16, group * 16 + 15);
        l.push(&name, &body, [Int; 3], Kind::Exact, Shape::SCALAR);
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        let mut body = "mov.u64 %do, 0;".to_owned();
        let selectors: Vec<u32> = match mode {
            "" => (0..64).map(|i| i * 0x0419 + 0x3210).collect(),
            _ => (0..4).collect(),
        };
        for selector in selectors {
            body += &format!(
                " prmt.b32{mode} %t1, %ra, %rb, {}; cvt.u64.u32 %at, %t1; mad.lo.u64 %do, %do, 1000003, %at;",
                selector & 0xffff
            );
        }
        l.push(&format!("prmt.b32{mode} selectors"), &body, [Int; 3], Kind::Exact, Shape::SCALAR);
    }
    for body in [
        "mad.lo.cc.u32 %t1, %ra, %rb, %rc; madc.hi.cc.u32 %t2, %ra, %rb, %sa; addc.u32 %t3, 0, 0; mov.b64 %do, {%t2, %t3};",
        "mad.lo.cc.u64 %at, %da, %db, %dc; madc.hi.u64 %do, %da, %db, 0;",
        "add.cc.u32 %t1, %ra, %rb; addc.cc.u32 %t2, %sa, %sb; addc.u32 %t3, %rc, 0; mov.b64 %do, {%t2, %t3};",
        "sub.cc.u32 %t1, %ra, %rb; subc.cc.u32 %t2, %sa, %sb; subc.u32 %t3, %rc, 0; mov.b64 %do, {%t2, %t3};",
    ] {
        l.add(body, [Int; 3]);
    }
    for offset in [-32, -7, -2, 2, 3, 9, 32] {
        l.add(
            &format!("and.b32 %rb, %rb, 31; fns.b32 %ro, %ra, %rb, {offset};"),
            [Int, Small, Int],
        );
    }
    for (ty, pool) in [("f16", F16), ("bf16", Bf16)] {
        // Signs of NaN are unspecified: keep them out.
        let number = format!("setp.nan.{ty} %pq, %ha, %ha; selp.b16 %ha, 0, %ha, %pq;");
        l.add(&format!("{number} neg.{ty} %ho, %ha;"), [pool; 3]);
        l.add(&format!("{number} abs.{ty} %ho, %ha;"), [pool; 3]);
    }
    let number = "setp.nan.f64 %pq, %da, %da; selp.b64 %da, 0, %da, %pq; setp.nan.f64 %pq, %db, %db; selp.b64 %db, 0, %db, %pq;";
    for body in ["neg.f64 %do, %da;", "abs.f64 %do, %da;", "copysign.f64 %do, %da, %db;"] {
        l.add(&format!("{number} {body}"), [F64; 3]);
    }
    for property in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        l.add(&format!("testp.{property}.f64 %po, %da;"), [F64; 3]);
    }
}

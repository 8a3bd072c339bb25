//! The cases: one instruction each, and where its inputs come from.

/// Threads of a case: four blocks of 128.
pub(crate) const THREADS: usize = 512;

/// How results compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Exact,
    /// Type (0 single, 1 half, 2 bfloat, 3 double) and errors allowed between card and emulator.
    Approx {
        half: u8,
        relative: f64,
        absolute: f64,
    },
}

/// Where an operand's values come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pool {
    /// 64-bit integers, many with special lower words.
    Int,
    /// 0 to 70.
    Small,
    F32,
    /// Singles of moderate size.
    F32Near,
    F64,
    /// Four halves, or four bfloats, a word.
    F16,
    Bf16,
    /// Eight 8-bit floats.
    Fp8,
    /// Four small halves (bfloats) whose sums of products are exact.
    ExactF16,
    ExactBf16,
    ExactTf32,
    ExactF64,
}

/// One instruction under test.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) body: String,
    pub(crate) pools: [Pool; 3],
    pub(crate) kind: Kind,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick(&mut self, from: &[u64]) -> u64 {
        from[(self.next() % from.len() as u64) as usize]
    }
}

const INTS: [u64; 14] = [
    0,
    1,
    2,
    0xffff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff,
    0x8000,
    0x7f,
    0x80,
    u64::MAX,
    1 << 63,
    0xffff_ffff_8000_0000,
];
const F32S: [u64; 20] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffc1_2345,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x3f00_0000,
    0x4b00_0001,
    0x3fc0_0000,
    0x477f_f000,
    0x3380_0000,
];
const F64S: [u64; 14] = [
    0,
    1 << 63,
    0x3ff0 << 48,
    0xbff0 << 48,
    0x7ff0 << 48,
    0xfff0 << 48,
    0x7ff8 << 48,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010 << 48,
    0x7fef_ffff_ffff_ffff,
    0x3fe0 << 48,
    0x41df_ffff_ffc0_0000,
    0x43e0 << 48,
];
const F16S: [u64; 14] = [
    0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 1, 0x03ff, 0x0400, 0x7bff, 0xfbff,
    0x3800,
];
const BF16S: [u64; 14] = [
    0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 1, 0x007f, 0x0080, 0x7f7f, 0xff7f,
    0x3f00,
];

fn lanes16(r: &mut Random, mut one: impl FnMut(&mut Random) -> u64) -> u64 {
    (0..4).fold(0, |word, _| word << 16 | (one(r) & 0xffff))
}

/// A small multiple of 1/4 in [-4, 4] in a format with `fraction` bits, `bias` and 16 or 32 bits.
fn exact(r: &mut Random) -> f32 {
    ((r.next() % 33) as f32 - 16.0) / 4.0
}

fn value(pool: Pool, r: &mut Random) -> u64 {
    let special = r.next() % 2 == 0;
    match pool {
        Pool::Int if special => r.pick(&INTS),
        Pool::Int | Pool::Fp8 => r.next(),
        Pool::Small => r.next() % 71,
        Pool::F32 if special => r.pick(&F32S) | r.pick(&F32S) << 32,
        Pool::F32 => r.next(),
        Pool::F32Near => {
            let one = |r: &mut Random| (r.next() & 0x807f_ffff) | (112 + r.next() % 30) << 23;
            one(r) | one(r) << 32
        }
        Pool::F64 if special => r.pick(&F64S),
        Pool::F64 => {
            let bits = r.next();
            if r.next() % 2 == 0 {
                bits
            } else {
                (bits & (0x800f << 48 | 0xffff_ffff_ffff)) | (1000 + r.next() % 60) << 52
            }
        }
        Pool::F16 if special => lanes16(r, |r| r.pick(&F16S)),
        Pool::Bf16 if special => lanes16(r, |r| r.pick(&BF16S)),
        Pool::F16 | Pool::Bf16 => r.next(),
        Pool::ExactF16 => lanes16(r, |r| u64::from(half::f16::from_f32(exact(r)).to_bits())),
        Pool::ExactBf16 => lanes16(r, |r| u64::from(half::bf16::from_f32(exact(r)).to_bits())),
        Pool::ExactTf32 => u64::from(exact(r).to_bits()) | u64::from(exact(r).to_bits()) << 32,
        Pool::ExactF64 => f64::from(exact(r)).to_bits(),
    }
}

/// Three words a thread.
pub(crate) fn inputs(case: &Case, number: usize) -> Vec<u64> {
    let mut random = Random(number as u64 * 1_000_003 + 17);
    (0..THREADS).flat_map(|_| case.pools.map(|pool| value(pool, &mut random))).collect()
}

struct List(Vec<Case>);

impl List {
    fn add(&mut self, body: &str, pools: [Pool; 3]) {
        self.add_kind(body, pools, Kind::Exact);
    }

    fn add_kind(&mut self, body: &str, pools: [Pool; 3], kind: Kind) {
        self.0.push(Case {
            name: body.replace(['\n', '\t'], " "),
            body: body.to_owned(),
            pools,
            kind,
        });
    }
}

/// Every case.
pub(crate) fn all() -> Vec<Case> {
    let mut list = List(Vec::new());
    integers(&mut list);
    bits(&mut list);
    singles(&mut list);
    halves(&mut list);
    doubles(&mut list);
    conversions(&mut list);
    comparisons(&mut list);
    approximations(&mut list);
    exchanges(&mut list);
    matrices(&mut list);
    list.0
}

fn integers(l: &mut List) {
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

fn bits(l: &mut List) {
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

fn singles(l: &mut List) {
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

fn halves(l: &mut List) {
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

fn doubles(l: &mut List) {
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

fn conversions(l: &mut List) {
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

fn comparisons(l: &mut List) {
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

fn approximations(l: &mut List) {
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

fn exchanges(l: &mut List) {
    use Pool::{Int, Small};
    for mode in ["up", "down", "bfly", "idx"] {
        for c in ["0", "31", "0x1807", "0x1800", "0x101f", "0x1c03"] {
            l.add(&format!("shfl.sync.{mode}.b32 %t1|%pq, %ra, %rb, {c}, -1; selp.b32 %t2, 1, 0, %pq; mov.b64 %do, {{%t1, %t2}};"), [Int, Small, Int]);
        }
    }
    for op in ["add", "min", "max"] {
        for ty in ["u32", "s32"] {
            l.add(&format!("redux.sync.{op}.{ty} %ro, %ra, -1;"), [Int; 3]);
        }
    }
    for op in ["and", "or", "xor"] {
        l.add(&format!("redux.sync.{op}.b32 %ro, %ra, -1;"), [Int; 3]);
    }
    for body in [
        "vote.sync.ballot.b32 %ro, %pa, -1;",
        "vote.sync.any.pred %po, %pa, -1;",
        "vote.sync.all.pred %po, %pa, -1;",
        "vote.sync.uni.pred %po, %pa, -1;",
        "and.b32 %ra, %ra, 3; match.any.sync.b32 %ro, %ra, -1;",
        "match.any.sync.b64 %ro, %da, -1;",
        "match.all.sync.b32 %t1|%pq, %ra, -1; selp.b32 %ro, %t1, 7, %pq;",
        "elect.sync %t1|%pq, -1; selp.b32 %ro, 100, %t1, %pq;",
        "mov.u32 %ro, %lanemask_gt;",
        "mov.u32 %ro, %lanemask_le;",
        "activemask.b32 %ro;",
        "movmatrix.sync.aligned.m8n8.trans.b16 %ro, %ra;",
    ] {
        l.add(body, [Int; 3]);
    }
    // A tile of sixteen bytes a lane, written and read back as matrices; a block's four warps have a KiB each.
    let tile = "mov.u32 %t0, %tid.x; shl.b32 %t1, %t0, 4; and.b32 %t1, %t1, 0x1ff; shr.u32 %t2, %t0, 5; shl.b32 %t2, %t2, 10; add.u32 %t1, %t1, %t2; mov.u32 %t3, tile; add.u32 %t1, %t1, %t3;";
    for trans in ["", ".trans"] {
        l.add(
            &format!("{tile} st.shared.v4.b32 [%t1], {{%ra, %sa, %rb, %sb}}; bar.sync 0; ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%t4, %t5, %t6, %t7}}, [%t1]; mad.lo.u32 %t4, %t5, 3, %t4; mad.lo.u32 %t6, %t7, 5, %t6; mov.b64 %do, {{%t4, %t6}};"),
            [Int; 3],
        );
        l.add(
            &format!("{tile} stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%t1], {{%ra, %sa, %rb, %sb}}; bar.sync 0; ld.shared.v4.b32 {{%t4, %t5, %t6, %t7}}, [%t1]; mad.lo.u32 %t4, %t5, 3, %t4; mad.lo.u32 %t6, %t7, 5, %t6; mov.b64 %do, {{%t4, %t6}};"),
            [Int; 3],
        );
    }
}

fn matrices(l: &mut List) {
    use Pool::{ExactBf16, ExactF16, ExactF64, ExactTf32, Int};
    let zero = "mov.b32 %t8, 0; mov.b32 %t9, 0; mov.b32 %t10, 0; mov.b32 %t11, 0;";
    let four = "{%t4, %t5, %t6, %t7}";
    let acc = "{%t8, %t9, %t10, %t11}";
    let outputs = ["mov.b64 %do, {%t4, %t5};", "mov.b64 %do, {%t6, %t7};"];
    for out in outputs {
        for (shape, types, pool) in [
            ("m16n8k16", "f32.f16.f16.f32", ExactF16),
            ("m16n8k16", "f32.bf16.bf16.f32", ExactBf16),
            ("m16n8k8", "f32.tf32.tf32.f32", ExactTf32),
            ("m16n8k32", "s32.s8.s8.s32", Int),
            ("m16n8k32", "s32.u8.s8.s32", Int),
            ("m16n8k32", "s32.u8.u8.s32", Int),
        ] {
            l.add(&format!("{zero} mma.sync.aligned.{shape}.row.col.{types} {four}, {{%ra, %sa, %rb, %sb}}, {{%rc, %sc}}, {acc}; {out}"), [pool; 3]);
        }
        for (shape, types, pool) in [
            ("m16n8k8", "f32.f16.f16.f32", ExactF16),
            ("m16n8k8", "f32.bf16.bf16.f32", ExactBf16),
            ("m16n8k4", "f32.tf32.tf32.f32", ExactTf32),
            ("m16n8k16", "s32.s8.u8.s32", Int),
        ] {
            l.add(&format!("{zero} mma.sync.aligned.{shape}.row.col.{types} {four}, {{%ra, %sa}}, {{%rc}}, {acc}; {out}"), [pool; 3]);
        }
    }
    l.add("mov.b32 %t8, 0; mov.b32 %t9, 0; mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%t4, %t5}, {%ra, %sa, %rb, %sb}, {%rc, %sc}, {%t8, %t9}; mov.b64 %do, {%t4, %t5};", [ExactF16; 3]);
    l.add("mov.b32 %t8, 0; mov.b32 %t9, 0; mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%t4, %t5}, {%ra}, {%rb}, {%rc, %sc}; mov.b64 %do, {%t4, %t5};", [Int; 3]);
    l.add("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%t4, %t5, %t6, %t7}, {%ra, %sa, %rb, %sb}, {%rc, %sc}, {%ra, %rb, %ra, %rb}; mov.b64 %do, {%t4, %t7};", [Int; 3]);
    l.add(".reg .b64 %q<2>; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%q0, %q1}, {%da}, {%db}, {%dc, %da}; mov.b64 {%t4, %t5}, %q1; mov.b64 {%t6, %t7}, %q0; mov.b64 %do, {%t5, %t7};", [ExactF64; 3]);
    l.add(".reg .b64 %q<4>; mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%q0, %q1, %q2, %q3}, {%da, %db, %dc, %da}, {%db, %dc}, {%da, %db, %dc, %da}; mov.b64 {%t4, %t5}, %q1; mov.b64 {%t6, %t7}, %q2; mov.b64 %do, {%t5, %t7};", [ExactF64; 3]);
    l.add(".reg .b64 %q<4>; mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%q0, %q1, %q2, %q3}, {%da, %db, %dc, %da, %dc, %da, %db, %db}, {%db, %dc, %da, %db}, {%da, %db, %dc, %da}; mov.b64 {%t4, %t5}, %q0; mov.b64 {%t6, %t7}, %q3; mov.b64 %do, {%t5, %t7};", [ExactF64; 3]);
}

//! What a case is, and where its inputs come from.

use super::{scalar_cases, warp_cases, wide_cases};

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
    /// Eight numbers that are small in e4m3 and in e5m2, with exact sums of products.
    ExactFp8,
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
    let special = r.next().is_multiple_of(2);
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
            if r.next().is_multiple_of(2) {
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
        Pool::ExactFp8 => (0..8)
            .fold(0, |word, _| word << 8 | r.pick(&[0, 0x38, 0x3c, 0x40, 0x44, 0xb8, 0xbc, 0xc0])),
    }
}

/// Three words a thread.
pub(crate) fn inputs(case: &Case, number: usize) -> Vec<u64> {
    let mut random = Random(number as u64 * 1_000_003 + 17);
    (0..THREADS).flat_map(|_| case.pools.map(|pool| value(pool, &mut random))).collect()
}

pub(crate) struct List(Vec<Case>);

impl List {
    pub(crate) fn add(&mut self, body: &str, pools: [Pool; 3]) {
        self.add_kind(body, pools, Kind::Exact);
    }

    pub(crate) fn add_kind(&mut self, body: &str, pools: [Pool; 3], kind: Kind) {
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
    scalar_cases::integers(&mut list);
    scalar_cases::bits(&mut list);
    scalar_cases::singles(&mut list);
    scalar_cases::halves(&mut list);
    scalar_cases::doubles(&mut list);
    scalar_cases::conversions(&mut list);
    scalar_cases::comparisons(&mut list);
    scalar_cases::approximations(&mut list);
    warp_cases::exchanges(&mut list);
    warp_cases::matrices(&mut list);
    wide_cases::atomics(&mut list);
    wide_cases::warpgroups(&mut list);
    list.0
}

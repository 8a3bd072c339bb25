//! What a case is, and where its inputs come from.

use super::{
    async_cases, bulk_cases, cluster_cases, convert_cases, matrix_cases, scalar_cases,
    tensor_cases, warp_cases, warpgroup_cases, wide_cases,
};
use ptx_emulator::{ElementType, Swizzle, TensorMap};

/// How a case is launched, and how much it reads and writes.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Blocks of a cluster.
    pub(crate) cluster: u32,
    /// Input words a thread.
    pub(crate) words: usize,
    /// Output words a thread.
    pub(crate) results: usize,
    /// The body writes its results itself; otherwise the value of `%do`, `%ro`, `%ho` or `%po` is the result.
    pub(crate) stores: bool,
    /// Tensor map, the entry's third parameter.
    pub(crate) map: Option<Map>,
}

impl Shape {
    /// Four blocks of 128 threads, three words in and one out.
    pub(crate) const SCALAR: Shape = Shape {
        blocks: 4,
        threads: 128,
        cluster: 1,
        words: 3,
        results: 1,
        stores: false,
        map: None,
    };

    /// One block of `threads`, whose body stores `results` words a thread.
    pub(crate) fn block(threads: u32, words: usize, results: usize) -> Shape {
        Shape { blocks: 1, threads, words, results, stores: true, ..Shape::SCALAR }
    }

    /// A cluster of two blocks of 128 threads, whose body stores `results` words a thread.
    pub(crate) fn pair(words: usize, results: usize) -> Shape {
        Shape { blocks: 2, cluster: 2, ..Shape::block(128, words, results) }
    }

    /// All threads.
    pub(crate) fn count(&self) -> usize {
        (self.blocks * self.threads) as usize
    }
}

/// A tensor map over the input or the output buffer; the rest as the driver's call takes it.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) output: bool,
    pub(crate) element: ElementType,
    pub(crate) offset: u64,
    pub(crate) extents: Vec<u64>,
    pub(crate) strides: Vec<u64>,
    pub(crate) box_extents: Vec<u32>,
    pub(crate) element_strides: Vec<u32>,
    pub(crate) swizzle: Swizzle,
    pub(crate) nan_fill: bool,
    /// `CUtensorMapL2promotion`, which changes no result.
    pub(crate) promotion: u32,
}

impl Map {
    /// The map of this emulator, for buffers at these addresses.
    pub(crate) fn tensor_map(&self, input: u64, output: u64) -> TensorMap {
        TensorMap {
            element: self.element,
            address: self.offset + if self.output { output } else { input },
            extents: self.extents.clone(),
            strides: self.strides.clone(),
            box_extents: self.box_extents.clone(),
            element_strides: self.element_strides.clone(),
            swizzle: self.swizzle,
            nan_fill: self.nan_fill,
        }
    }

    /// The driver's parameters, for `run.py`.
    pub(crate) fn json(&self) -> String {
        let swizzle = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::B32 => 1,
            Swizzle::B64 => 2,
            Swizzle::B128 => 3,
        };
        use ElementType as E;
        let element = match self.element {
            E::U8 => 0,
            E::U16 => 1,
            E::U32 => 2,
            E::I32 => 3,
            E::U64 => 4,
            E::I64 => 5,
            E::F16 => 6,
            E::F32 => 7,
            E::F64 => 8,
            E::Bf16 => 9,
        };
        format!(
            r#"{{"output": {}, "element": {element}, "offset": {}, "extents": {:?}, "strides": {:?}, "box": {:?}, "element_strides": {:?}, "swizzle": {swizzle}, "nan": {}, "promotion": {}}}"#,
            self.output,
            self.offset,
            self.extents,
            self.strides,
            self.box_extents,
            self.element_strides,
            self.nan_fill,
            self.promotion
        )
    }
}

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
    /// Sums of products that are not exact: each value of the type (0 single, 1 half, 3 double) may be off by `slack`
    /// times the same sum of magnitudes, and by the rounding of its type.
    Sum {
        half: u8,
        slack: f64,
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
    /// Random numbers of moderate size, whose sums of products round.
    RandomF16,
    RandomBf16,
    RandomTf32,
    RandomF64,
    RandomFp8,
}

impl Pool {
    /// What keeps of a word the elements' magnitudes.
    pub(crate) fn magnitude(self) -> u64 {
        match self {
            Pool::RandomF16 | Pool::RandomBf16 => 0x7fff_7fff_7fff_7fff,
            Pool::RandomTf32 => 0x7fff_ffff_7fff_ffff,
            Pool::RandomFp8 => 0x7f7f_7f7f_7f7f_7f7f,
            Pool::RandomF64 => u64::MAX >> 1,
            _ => u64::MAX,
        }
    }
}

/// One instruction under test.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) body: String,
    pub(crate) pools: [Pool; 3],
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    /// Where the inputs' random sequence starts.
    seed: u64,
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
        Pool::RandomF16 => lanes16(r, |r| (r.next() & 0x83ff) | (10 + r.next() % 9) << 10),
        Pool::RandomBf16 => lanes16(r, |r| (r.next() & 0x807f) | (120 + r.next() % 12) << 7),
        Pool::RandomTf32 => {
            let one = |r: &mut Random| (r.next() & 0x807f_ffff) | (120 + r.next() % 12) << 23;
            one(r) | one(r) << 32
        }
        Pool::RandomF64 => {
            (r.next() & (0x800f << 48 | 0xffff_ffff_ffff)) | (1015 + r.next() % 16) << 52
        }
        Pool::RandomFp8 => {
            (0..8).fold(0, |word, _| word << 8 | (r.next() & 0x80) | (0x20 + r.next() % 0x30))
        }
    }
}

/// A case's input words, thread after thread.
pub(crate) fn inputs(case: &Case) -> Vec<u64> {
    let mut random = Random(case.seed * 1_000_003 + 17);
    (0..case.shape.count())
        .flat_map(|_| 0..case.shape.words)
        .map(|i| value(case.pools[i % 3], &mut random))
        .collect()
}

pub(crate) struct List {
    cases: Vec<Case>,
}

impl List {
    pub(crate) fn add(&mut self, body: &str, pools: [Pool; 3]) {
        self.add_kind(body, pools, Kind::Exact);
    }

    pub(crate) fn add_kind(&mut self, body: &str, pools: [Pool; 3], kind: Kind) {
        self.push(body, body, pools, kind, Shape::SCALAR);
    }

    /// Adds a case of any shape under a name of its own.
    pub(crate) fn push(
        &mut self,
        name: &str,
        body: &str,
        pools: [Pool; 3],
        kind: Kind,
        shape: Shape,
    ) {
        self.cases.push(Case {
            name: name.replace(['\n', '\t'], " "),
            body: body.to_owned(),
            pools,
            kind,
            // Cases of unusual shape share their inputs, which keeps the suite small.
            seed: if shape.stores { shape.words as u64 } else { self.cases.len() as u64 },
            shape,
        });
    }
}

/// Every case.
pub(crate) fn all() -> Vec<Case> {
    let mut list = List { cases: Vec::new() };
    scalar_cases::integers(&mut list);
    scalar_cases::bits(&mut list);
    scalar_cases::singles(&mut list);
    scalar_cases::halves(&mut list);
    scalar_cases::doubles(&mut list);
    scalar_cases::conversions(&mut list);
    scalar_cases::comparisons(&mut list);
    scalar_cases::approximations(&mut list);
    warp_cases::exchanges(&mut list);
    wide_cases::atomics(&mut list);
    convert_cases::conversions(&mut list);
    matrix_cases::products(&mut list);
    matrix_cases::tiles(&mut list);
    warpgroup_cases::products(&mut list);
    async_cases::objects(&mut list);
    bulk_cases::copies(&mut list);
    cluster_cases::exchanges(&mut list);
    warp_cases::halves_of_warps(&mut list);
    wide_cases::more_atomics(&mut list);
    scalar_cases::tables(&mut list);
    tensor_cases::copies(&mut list);
    let mut names = std::collections::HashSet::new();
    for case in &list.cases {
        assert!(names.insert(&case.name), "two cases have the name {}", case.name);
    }
    list.cases
}

/// Programs that the card does not carry out.
pub(crate) fn refused() -> Vec<Case> {
    let mut list = List { cases: Vec::new() };
    tensor_cases::refused(&mut list);
    list.cases
}

//! `wgmma.mma_async`: every pair of types, widths from 8 to 256, scales, transposes, A from registers; exact sums as
//! polynomials of all accumulators, sums that round value by value.

use super::cases::{Kind, List, Pool, Shape};
use super::matrix_cases::{accumulators, all_of, polynomial};

/// How an operand lies in shared memory: swizzle code, leading and stride offsets, whether its rows are the fast
/// dimension.
type Layout = (u64, u64, u64, bool);

const K_MAJOR: [Layout; 4] =
    [(0, 128, 256, false), (1, 16, 1024, false), (2, 16, 512, false), (3, 16, 256, false)];
const ROW_MAJOR: [Layout; 4] =
    [(0, 1024, 128, true), (1, 4096, 1024, true), (2, 2048, 512, true), (3, 1024, 256, true)];

fn descriptor((swizzle, leading, stride, _): Layout) -> u64 {
    leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62
}

/// Words a thread: 40 KiB of tile.
const WORDS: usize = 40;

struct Product<'a> {
    n: usize,
    k: usize,
    d: &'a str,
    a: &'a str,
    b: &'a str,
    /// Layout of A, or `None`: registers.
    from: Option<Layout>,
    b_layout: Layout,
    /// `scale-d` as an operand.
    scale_d: &'a str,
    /// `imm-scale-a` and `imm-scale-b`.
    scales: (i32, i32),
}

impl Product<'_> {
    fn integer(&self) -> bool {
        self.d.starts_with("s32")
    }

    fn count(&self) -> usize {
        self.n / if self.d == "f16" { 4 } else { 2 }
    }

    fn name(&self) -> String {
        let layout = |layout: &Layout| {
            let swizzle = ["none", "128", "64", "32"][layout.0 as usize];
            format!("{swizzle}{}", if layout.3 { "-mn" } else { "" })
        };
        format!(
            "wgmma n{} {}.{}.{} a {} b {} d {} scales {} {}",
            self.n,
            self.d,
            self.a,
            self.b,
            self.from.as_ref().map_or("registers".to_owned(), layout),
            layout(&self.b_layout),
            self.scale_d,
            self.scales.0,
            self.scales.1
        )
    }

    /// The tile filled with inputs, A at its begin and B 8 KiB behind; accumulators preset; the product.
    fn body(&self) -> String {
        let mut text = ".reg .b32 %u<128>; .reg .pred %k<3>; setp.ne.u32 %k1, 1, 0; setp.ne.u32 %k2, 0, 0; mov.u32 %t1, tile; mov.u32 %t2, %tid.x; mad.lo.u32 %t2, %t2, 8, %t1; ".to_owned();
        for i in 0..WORDS {
            text += &format!(
                "ld.global.u64 %at, [%in+{}]; st.shared.u64 [%t2+{}], %at; ",
                i * 8,
                i * 1024
            );
        }
        text += "fence.proxy.async.shared::cta; bar.sync 0; ";
        accumulators(&mut text, "u", self.count(), &self.d[..3]);
        if self.scale_d == "%k2" {
            // What the accumulators hold does not count then, not even an infinity.
            text += "mov.b32 %u1, 0x7f800000; ";
        }
        text += "mov.u32 %t1, tile; shr.u32 %t3, %t1, 4; and.b32 %t3, %t3, 0x3fff; cvt.u64.u32 %in, %t3; ";
        let a = match &self.from {
            Some(layout) => {
                text += &format!("or.b64 %db, %in, {:#x}; ", descriptor(*layout));
                "%db".to_owned()
            }
            None => {
                // Zero, which the assembler does not know: it must not see that the fragments are halves of 64-bit
                // registers, from which this driver's assembler takes the lower one twice.
                text += "mov.u32 %t1, %ctaid.x; ";
                for (to, from) in [("%t6", "%ra"), ("%t7", "%sa"), ("%t8", "%rc"), ("%t9", "%sc")] {
                    text += &format!("xor.b32 {to}, {from}, %t1; ");
                }
                "{%t6, %t7, %t8, %t9}".to_owned()
            }
        };
        let transposes = matches!(self.a, "f16" | "bf16");
        let mut rest = format!(", {}", self.scale_d);
        if !self.integer() {
            rest += &format!(", {}, {}", self.scales.0, self.scales.1);
        }
        if transposes {
            if let Some(layout) = &self.from {
                rest += &format!(", {}", u8::from(layout.3));
            }
            rest += &format!(", {}", u8::from(self.b_layout.3));
        }
        let regs: Vec<String> = (0..self.count()).map(|i| format!("%u{i}")).collect();
        let sat = if self.d == "s32.sat" { ".satfinite" } else { "" };
        text += &format!(
            "or.b64 %at, %in, {:#x}; add.u64 %at, %at, 0x200; wgmma.fence.sync.aligned; \
             wgmma.mma_async.sync.aligned.m64n{}k{}{sat}.{}.{}.{} {{{}}}, {a}, %at{rest}; \
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ",
            descriptor(self.b_layout),
            self.n,
            self.k,
            &self.d[..3],
            self.a,
            self.b,
            regs.join(", ")
        );
        text
    }

    fn exact(&self, l: &mut List, pool: Pool) {
        let body = self.body() + &polynomial("u", self.count());
        l.push(&self.name(), &body, [pool; 3], Kind::Exact, Shape::block(128, WORDS, 1));
    }

    fn rounded(&self, l: &mut List, pool: Pool) {
        let body = self.body() + &all_of("u", self.count());
        let half = u8::from(self.d == "f16");
        let kind = Kind::Sum { half, slack: slack(self) };
        let shape = Shape::block(128, WORDS, self.count() / 2);
        l.push(&format!("{} rounded", self.name()), &body, [pool; 3], kind, shape);
    }
}

/// How much a sum may be off, as a part of the sum of magnitudes. Products of 8-bit floats are aligned to the largest one
/// with thirteen bits behind its first: seen on the H200, and far from the 2^-23 that the type of the sum suggests.
fn slack(p: &Product<'_>) -> f64 {
    let unit = match (p.d, p.k) {
        ("f16", _) => -11,
        (_, 32) => -13,
        _ => -23,
    };
    p.k as f64 * 2f64.powi(unit)
}

/// Types of d, a and b, depth, and pools with exact and with rounding sums.
fn types() -> Vec<(&'static str, &'static str, &'static str, usize, Pool, Pool)> {
    use Pool::*;
    let mut all = vec![
        ("f32", "f16", "f16", 16, ExactF16, RandomF16),
        ("f16", "f16", "f16", 16, ExactF16, RandomF16),
        ("f32", "bf16", "bf16", 16, ExactBf16, RandomBf16),
        ("f32", "tf32", "tf32", 8, ExactTf32, RandomTf32),
    ];
    for d in ["f32", "f16"] {
        for a in ["e4m3", "e5m2"] {
            for b in ["e4m3", "e5m2"] {
                all.push((d, a, b, 32, ExactFp8, RandomFp8));
            }
        }
    }
    for d in ["s32", "s32.sat"] {
        for a in ["s8", "u8"] {
            for b in ["s8", "u8"] {
                all.push((d, a, b, 32, Int, Int));
            }
        }
    }
    all
}

pub(super) fn products(l: &mut List) {
    for (d, a, b, k, exact, random) in types() {
        let plain = Product {
            n: 8,
            k,
            d,
            a,
            b,
            from: Some(K_MAJOR[1]),
            b_layout: K_MAJOR[1],
            scale_d: "%k1",
            scales: (1, 1),
        };
        for n in [8, 24, 32, 64, 96, 128, 160, 192, 224, 256] {
            Product { n, ..plain }.exact(l, exact);
        }
        if !plain.integer() {
            for n in [40, 72, 104, 200, 248] {
                Product { n, ..plain }.exact(l, exact);
            }
            for scales in [(-1, 1), (1, -1), (-1, -1)] {
                Product { n: 16, scales, ..plain }.exact(l, exact);
            }
        }
        for layout in K_MAJOR {
            for b_layout in K_MAJOR {
                Product { n: 16, from: Some(layout), b_layout, ..plain }.exact(l, exact);
            }
        }
        for scale_d in ["0", "%k2"] {
            Product { n: 16, scale_d, ..plain }.exact(l, exact);
        }
        for n in [16, 64, 256] {
            Product { n, from: None, ..plain }.exact(l, exact);
        }
        if !plain.integer() {
            Product { n: 16, from: None, scales: (-1, 1), ..plain }.exact(l, exact);
        }
        if !plain.integer() {
            plain.rounded(l, random);
            Product { from: None, ..plain }.rounded(l, random);
        }
        if d == "f32" && k == 16 {
            transposed(l, &plain, exact);
        }
    }
}

/// Every layout of A with every layout of B in which one has M or N as its fast dimension.
fn transposed(l: &mut List, plain: &Product<'_>, exact: Pool) {
    for from in K_MAJOR.iter().chain(&ROW_MAJOR) {
        for b_layout in K_MAJOR.iter().chain(&ROW_MAJOR) {
            if from.3 || b_layout.3 {
                for n in [16, 128] {
                    Product { n, from: Some(*from), b_layout: *b_layout, ..*plain }.exact(l, exact);
                }
            }
        }
    }
    for b_layout in ROW_MAJOR {
        Product { n: 64, from: None, b_layout, ..*plain }.exact(l, exact);
    }
}

//! Cases of atomics, on a thread's own place, and of warpgroup-wide products with every descriptor layout.

use super::cases::{List, Pool};

/// Old and new value of each atomic operation, in global and in shared memory.
pub(super) fn atomics(l: &mut List) {
    use Pool::{Bf16, F16, F32, F64, Int};
    for (ops, ty, pool) in [
        (&["add", "min", "max"][..], "u32", Int),
        (&["add", "min", "max"], "s32", Int),
        (&["and", "or", "xor", "exch"], "b32", Int),
        (&["inc", "dec"], "u32", Int),
        (&["add"], "f32", F32),
        (&["add.noftz"], "f16x2", F16),
        (&["add.noftz"], "bf16x2", Bf16),
    ] {
        for op in ops {
            let (op, noftz) = op.split_once('.').map_or((*op, ""), |(op, _)| (op, ".noftz"));
            l.add(
                &format!("st.global.b32 [%out], %ra; atom.global.{op}{noftz}.{ty} %t1, [%out], %rb; ld.global.b32 %t2, [%out]; mov.b64 %do, {{%t1, %t2}};"),
                [pool; 3],
            );
            l.add(
                &format!("xor.b32 %t6, %rb, 0x80000000; mov.u32 %t3, tile; mov.u32 %t4, %tid.x; mad.lo.u32 %t3, %t4, 8, %t3; st.shared.b32 [%t3], %ra; atom.shared.{op}{noftz}.{ty} %t1, [%t3], %t6; ld.shared.b32 %t2, [%t3]; mov.b64 %do, {{%t1, %t2}};"),
                [pool; 3],
            );
        }
    }
    for (ops, ty, pool) in [
        (&["add", "min", "max"][..], "u64", Int),
        (&["min", "max"], "s64", Int),
        (&["and", "or", "xor", "exch"], "b64", Int),
        (&["add"], "f64", F64),
    ] {
        for op in ops {
            l.add(
                &format!("st.global.b64 [%out], %da; atom.global.{op}.{ty} %at, [%out], %db; ld.global.b64 %do, [%out]; xor.b64 %do, %do, %at;"),
                [pool; 3],
            );
        }
    }
    for width in ["32", "64"] {
        let reg = if width == "32" { "r" } else { "d" };
        let old = if width == "32" { "%t1" } else { "%at" };
        l.add(
            &format!("st.global.b64 [%out], 0; st.global.b{width} [%out], %{reg}a; selp.b{width} %{reg}c, %{reg}a, %{reg}c, %pa; atom.global.cas.b{width} {old}, [%out], %{reg}c, %{reg}b; ld.global.b64 %do, [%out];"),
            [Int; 3],
        );
    }
}

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

/// Fills the tile with the inputs, in a period of three KiB, and hands it to the asynchronous proxy. %t3: the tile's
/// address in a descriptor.
fn fill() -> String {
    let mut text = "mov.u32 %t1, tile; mov.u32 %t2, %tid.x; mad.lo.u32 %t2, %t2, 8, %t1; shr.u32 %t3, %t1, 4; and.b32 %t3, %t3, 0x3fff; cvt.u64.u32 %in, %t3;".to_owned();
    for i in 0..24 {
        let from = ["%da", "%db", "%dc"][i % 3];
        text += &format!(" st.shared.b64 [%t2+{}], {from};", i * 1024);
    }
    text + " fence.proxy.async.shared::cta; bar.sync 0;"
}

/// All accumulators of a lane in one word.
fn gather(count: usize) -> String {
    let mut text = "mov.b32 %t4, 0; mov.b32 %t5, 0;".to_owned();
    for i in 0..count {
        let sum = 4 + i % 2;
        text += &format!(" mad.lo.u32 %t{sum}, %t{sum}, 1000003, %u{i};");
    }
    text + " mov.b64 %do, {%t4, %t5};"
}

fn product(shape: &str, types: &str, count: usize, a: &str, b: u64, rest: &str) -> String {
    let regs: Vec<String> = (0..count).map(|i| format!("%u{i}")).collect();
    let zeros: String = regs.iter().map(|r| format!(" mov.b32 {r}, 0;")).collect();
    format!(
        ".reg .b32 %u<{count}>;{zeros} {} or.b64 %at, %in, {b:#x}; add.u64 %at, %at, 0x200; wgmma.fence.sync.aligned; \
         wgmma.mma_async.sync.aligned.{shape}.{types} {{{}}}, {a}, %at, {rest}; wgmma.commit_group.sync.aligned; \
         wgmma.wait_group.sync.aligned 0; {}",
        fill(),
        regs.join(", "),
        gather(count)
    )
}

/// `wgmma.mma_async` in every type and layout; B begins 8 KiB behind A.
pub(super) fn warpgroups(l: &mut List) {
    use Pool::{ExactBf16, ExactF16, ExactFp8, ExactTf32, Int};
    for a in K_MAJOR.iter().chain(&ROW_MAJOR) {
        for b in K_MAJOR.iter().chain(&ROW_MAJOR) {
            let trans = format!("%pq, 1, 1, {}, {}", u8::from(a.3), u8::from(b.3));
            let body = product("m64n32k16", "f32.bf16.bf16", 16, "%db", descriptor(*b), &trans);
            l.add(&with_a(&body, *a), [ExactBf16; 3]);
        }
    }
    for layout in K_MAJOR {
        for (shape, types, count, pool, rest) in [
            ("m64n16k16", "f32.f16.f16", 8, ExactF16, "%pq, 1, -1, 0, 0"),
            ("m64n16k16", "f16.f16.f16", 4, ExactF16, "%pq, -1, -1, 0, 0"),
            ("m64n16k8", "f32.tf32.tf32", 8, ExactTf32, "%pq, 1, 1"),
            ("m64n16k32", "f32.e4m3.e4m3", 8, ExactFp8, "%pq, 1, 1"),
            ("m64n16k32", "f32.e5m2.e4m3", 8, ExactFp8, "%pq, -1, 1"),
            ("m64n16k32", "f16.e4m3.e5m2", 4, ExactFp8, "%pq, 1, 1"),
            ("m64n16k32", "s32.s8.s8", 8, Int, "%pq"),
            ("m64n16k32", "s32.u8.s8", 8, Int, "%pq"),
            ("m64n16k32", "s32.u8.u8", 8, Int, "%pq"),
        ] {
            let body = product(shape, types, count, "%db", descriptor(layout), rest);
            l.add(&with_a(&body, layout), [pool; 3]);
        }
    }
    for (shape, types, pool, rest) in [
        ("m64n16k16", "f32.bf16.bf16", ExactBf16, "%pq, 1, 1, 0"),
        ("m64n16k16", "f32.f16.f16", ExactF16, "%pq, 1, 1, 0"),
        ("m64n16k8", "f32.tf32.tf32", ExactTf32, "%pq, 1, 1"),
        ("m64n16k32", "f32.e4m3.e4m3", ExactFp8, "%pq, 1, 1"),
        ("m64n16k32", "s32.s8.u8", Int, "%pq"),
    ] {
        let body = product(shape, types, 8, "{%t6, %t7, %t8, %t9}", descriptor(K_MAJOR[1]), rest);
        l.add(&body.replace("wgmma.fence", "xor.b32 %t6, %ra, 0x80000000; xor.b32 %t7, %sa, 0x80000000; xor.b32 %t8, %rb, 0x80000000; xor.b32 %t9, %sb, 0x80000000; setp.eq.u32 %pq, 0, 0; wgmma.fence"), [pool; 3]);
    }
    // A false scale-d: what the accumulators hold does not count, not even an infinity.
    let body =
        product("m64n16k16", "f32.bf16.bf16", 8, "%db", descriptor(K_MAJOR[1]), "%pa, 1, 1, 0, 0");
    let body = body.replacen(
        "wgmma.fence",
        "setp.ne.u32 %pa, 0, 0; mov.b32 %u3, 0x7f800000; wgmma.fence",
        1,
    );
    l.add(&with_a(&body, K_MAJOR[1]), [ExactBf16; 3]);
}

/// Operand A from the tile's beginning.
fn with_a(body: &str, layout: Layout) -> String {
    let prepare =
        format!("or.b64 %db, %in, {:#x}; setp.eq.u32 %pq, 0, 0; wgmma.fence", descriptor(layout));
    body.replacen("wgmma.fence", &prepare, 1)
}

//! Two blocks of a cluster: distributed shared memory, remote arrivals, copies between blocks, multicast.

use super::async_cases::wait;
use super::bulk_cases::{start, tile_out};
use super::cases::{Kind, List, Map, Pool, Shape};
use ptx_emulator::{ElementType, Swizzle};

const SYNC: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
/// This block's rank in `%v3`, the other one's in `%v4`, its tile in `%v5`, its object in `%v6`.
const OTHER: &str = "mov.u32 %v3, %cluster_ctarank; xor.b32 %v4, %v3, 1; mapa.shared::cluster.u32 %v5, %t2, %v4; mapa.shared::cluster.u32 %v6, %t1, %v4;";

fn pair(l: &mut List, name: &str, words: usize, body: &str, results: usize, pool: Pool) {
    let body = format!("{} {OTHER} {SYNC} {body} {SYNC}", start(words));
    l.push(
        &format!("cluster: {name}"),
        &body,
        [pool; 3],
        Kind::Exact,
        Shape::pair(words.max(3), results),
    );
}

pub(super) fn exchanges(l: &mut List) {
    for (name, body) in [
        (
            "ld.shared::cluster",
            "shl.b32 %t3, %v0, 3; add.u32 %t3, %v5, %t3; ld.shared::cluster.u64 %at, [%t3]; st.global.u64 [%out], %at;",
        ),
        (
            "ld.shared::cluster.v2",
            "shl.b32 %t3, %v0, 4; add.u32 %t3, %v5, %t3; ld.shared::cluster.v2.u64 {%w4, %w5}, [%t3]; xor.b64 %at, %w4, %w5; st.global.u64 [%out], %at;",
        ),
        (
            "ld generic",
            "cvt.u64.u32 %w4, %t2; cvta.shared.u64 %w4, %w4; mapa.u64 %w4, %w4, %v4; mad.wide.u32 %w4, %v0, 8, %w4; ld.u64 %at, [%w4]; st.global.u64 [%out], %at;",
        ),
        (
            "getctarank",
            "getctarank.shared::cluster.u32 %t3, %v5; getctarank.shared::cluster.u32 %t4, %t2; mad.lo.u32 %t3, %t3, 16, %t4; mov.u32 %t4, %cluster_nctarank; mad.lo.u32 %t3, %t3, 16, %t4; cvt.u64.u32 %at, %t3; st.global.u64 [%out], %at;",
        ),
        (
            "isspacep",
            "cvt.u64.u32 %w4, %t2; cvta.shared.u64 %w4, %w4; mapa.u64 %w5, %w4, %v4; isspacep.shared::cta %k1, %w4; selp.u32 %t3, 1, 0, %k1; isspacep.shared::cta %k1, %w5; selp.u32 %t4, 1, 0, %k1; mad.lo.u32 %t3, %t3, 2, %t4; isspacep.shared::cluster %k1, %w5; selp.u32 %t4, 1, 0, %k1; mad.lo.u32 %t3, %t3, 2, %t4; cvt.u64.u32 %at, %t3; st.global.u64 [%out], %at;",
        ),
    ] {
        pair(l, name, 2, body, 1, Pool::Int);
    }
    for width in ["u8", "u16", "u32", "u64"] {
        let value = match width {
            "u64" => "%da",
            "u32" => "%ra",
            _ => "%ha",
        };
        let body = format!(
            "shl.b32 %t3, %v0, 3; add.u32 %t3, %v5, %t3; st.shared::cluster.{width} [%t3], {value}; {SYNC} ld.shared.u64 %at, [%v1]; st.global.u64 [%out], %at;"
        );
        pair(l, &format!("st.shared::cluster.{width}"), 1, &body, 1, Pool::Int);
    }
    for (op, ty, value) in [
        ("add", "u32", "%rb"),
        ("min", "s32", "%rb"),
        ("max", "u32", "%rb"),
        ("xor", "b32", "%rb"),
        ("exch", "b32", "%rb"),
        ("add", "u64", "%db"),
        ("exch", "b64", "%db"),
        ("inc", "u32", "%rb"),
    ] {
        let old = if ty.ends_with("64") { "%w4" } else { "%t4" };
        let body = format!(
            "mov.u64 %w4, 0; mov.u32 %t4, 0; shl.b32 %t3, %v0, 3; add.u32 %t3, %v5, %t3; atom.shared::cluster.{op}.{ty} {old}, [%t3], {value}; {SYNC} cvt.u64.u32 %w5, %t4; add.u64 %w4, %w4, %w5; ld.shared.u64 %at, [%v1]; st.global.v2.u64 [%out], {{%w4, %at}};"
        );
        pair(l, &format!("atom.shared::cluster.{op}.{ty}"), 2, &body, 2, Pool::Int);
    }
    arrivals(l);
    copies(l);
}

/// Arrivals and values that one block sends to the other's object.
fn arrivals(l: &mut List) {
    for (name, arrive) in [
        ("arrive", "mbarrier.arrive.shared::cluster.b64 _, [%v6];"),
        ("arrive.release.cluster", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v6];"),
    ] {
        let body = format!("@%k0 {arrive} {} st.global.u64 [%out], 1;", wait("0", "0"));
        pair(l, name, 1, &body, 1, Pool::Int);
    }
    let out = "ld.shared.v2.u64 {%w4, %w5}, [%t2]; st.global.v2.u64 [%out], {%w4, %w5};";
    for (name, bytes, send) in [
        (
            "st.async.b32",
            4,
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%v5+4], %ra, [%v6];",
        ),
        (
            "st.async.b64",
            8,
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%v5+8], %da, [%v6];",
        ),
        (
            "st.async.v2.b32",
            8,
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%v5+8], {%ra, %rb}, [%v6];",
        ),
        (
            "st.async.v4.u32",
            16,
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%v5], {%ra, %rb, %rc, %sa}, [%v6];",
        ),
        (
            "st.async.v2.u64",
            16,
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%v5], {%da, %db}, [%v6];",
        ),
    ] {
        let body = format!(
            "@%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], {bytes}; @%k0 {send} {} {out}",
            wait("0", "0")
        );
        pair(l, name, 2, &body, 2, Pool::Int);
    }
    for (op, ty, value) in [
        ("add", "u32", "%ra"),
        ("add", "s32", "%ra"),
        ("min", "s32", "%ra"),
        ("max", "s32", "%ra"),
        ("min", "u32", "%ra"),
        ("max", "u32", "%ra"),
        ("inc", "u32", "%ra"),
        ("dec", "u32", "%ra"),
        ("and", "b32", "%ra"),
        ("or", "b32", "%ra"),
        ("xor", "b32", "%ra"),
        ("add", "u64", "%da"),
    ] {
        let bytes = if ty == "u64" { 8 } else { 4 };
        let body = format!(
            "@%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], {bytes}; @%k0 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{ty} [%v5+8], {value}, [%v6]; {} {out}",
            wait("0", "0")
        );
        pair(l, &format!("red.async.{op}.{ty}"), 2, &body, 2, Pool::Int);
    }
}

/// Bulk copies and reductions from one block to the other, multicast from global memory to both.
fn copies(l: &mut List) {
    for bytes in [16, 512, 2048] {
        let body = format!(
            "@%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], {bytes}; add.u32 %v5, %v5, 4096; @%k0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%v5], [%t2+16], {bytes}, [%v6]; {} {}",
            wait("0", "0"),
            tile_out(4096, 2)
        );
        pair(l, &format!("cp.async.bulk to the other block, {bytes}"), 6, &body, 2, Pool::Int);
    }
    let integers = ["add", "min", "max"];
    for (ops, ty) in [
        (&integers[..], "u32"),
        (&integers, "s32"),
        (&["inc", "dec"], "u32"),
        (&["and", "or", "xor"], "b32"),
        (&integers[..1], "u64"),
    ] {
        for op in ops {
            let body = format!(
                "@%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], 1024; add.u32 %v5, %v5, 1024; @%k0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{ty} [%v5], [%t2], 1024, [%v6]; {} {}",
                wait("0", "0"),
                tile_out(1024, 1)
            );
            pair(
                l,
                &format!("cp.reduce.async.bulk.{op}.{ty} to the other block"),
                3,
                &body,
                1,
                Pool::Int,
            );
        }
    }
    // Each block sends its half of the input to both.
    let body = format!(
        "@%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], 1024; mad.lo.u32 %t3, %v3, 512, %t2; mad.wide.u32 %w4, %v3, 512, %w0; mov.u16 %x0, 3; @%k0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%t3], [%w4], 512, [%t1], %x0; {} {}",
        wait("0", "0"),
        tile_out(0, 2)
    );
    pair(l, "cp.async.bulk multicast", 3, &body, 2, Pool::Int);
    for swizzle in [Swizzle::None, Swizzle::B128] {
        let map = Map {
            output: false,
            element: ElementType::U16,
            offset: 0,
            extents: vec![60, 20],
            strides: vec![128],
            box_extents: vec![64, 8],
            element_strides: vec![1, 1],
            swizzle,
            nan_fill: false,
            promotion: 0,
        };
        let body = format!(
            "{} {OTHER} {SYNC} mov.b64 %w3, map; cvta.param.u64 %w3, %w3; @%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], 2048; mad.lo.u32 %t3, %v3, 1024, %t2; mul.lo.u32 %t4, %v3, 9; mov.u16 %x0, 3; @%k0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%t3], [%w3, {{8, %t4}}], [%t1], %x0; {} {} {SYNC}",
            start(3),
            wait("0", "0"),
            tile_out(0, 3)
        );
        let shape = Shape { map: Some(map), ..Shape::pair(4, 3) };
        l.push(
            &format!("cluster: tma multicast {swizzle:?}"),
            &body,
            [Pool::Int; 3],
            Kind::Exact,
            shape,
        );
    }
}

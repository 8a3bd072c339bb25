//! `cp.async.bulk` and `cp.reduce.async.bulk` between global and shared memory of one block.

use super::async_cases::wait;
use super::cases::{Kind, List, Pool, Shape};

/// `bars` in `%t1`, `tile` in `%t2`, the thread in `%v0`, the beginning of input and output in `%w0` and `%w1`; `%k0`
/// in thread 0. The tile holds the threads' input words, `words` each, word by word.
pub(super) fn start(words: usize) -> String {
    let mut text = ".reg .b32 %v<8>; .reg .b64 %w<8>; .reg .b16 %x<2>; .reg .pred %k<2>; mov.u32 %t1, bars; mov.u32 %t2, tile; mov.u32 %v0, %tid.x; setp.eq.u32 %k0, %v0, 0; ld.param.u64 %w0, [input]; ld.param.u64 %w1, [output]; mad.lo.u32 %v1, %v0, 8, %t2;".to_owned();
    for i in 0..words {
        text +=
            &format!(" ld.global.u64 %at, [%in+{}]; st.shared.u64 [%v1+{}], %at;", 8 * i, 1024 * i);
    }
    text + " @%k0 mbarrier.init.shared::cta.b64 [%t1], 1; @%k0 fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;"
}

/// Writes the tile from `from` on to the output, `words` a thread.
pub(super) fn tile_out(from: usize, words: usize) -> String {
    (0..words)
        .map(|i| {
            format!(
                " ld.shared.u64 %at, [%v1+{}]; st.global.u64 [%out+{}], %at;",
                from + 1024 * i,
                8 * i
            )
        })
        .collect()
}

pub(super) fn copies(l: &mut List) {
    let body = |words: usize, copy: &str, rest: &str| format!("{} {copy} {rest}", start(words));
    for bytes in [16, 32, 48, 256, 1008, 4096, 8192] {
        // Global to shared, 16 KiB into the tile.
        let copy = format!(
            "@%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], {bytes}; add.u32 %v2, %t2, 0; @%k0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%v2], [%w0+16], {bytes}, [%t1];"
        );
        let rest = format!("{} {}", wait("0", "0"), tile_out(0, 12));
        l.push(
            &format!("cp.async.bulk global to shared, {bytes}"),
            &body(12, &copy, &rest),
            [Pool::Int; 3],
            Kind::Exact,
            Shape::block(128, 12, 12),
        );
        // Shared to global; the rest of the output stays as it was.
        let copy = format!(
            "@%k0 cp.async.bulk.global.shared::cta.bulk_group [%w1+32], [%t2], {bytes}; @%k0 cp.async.bulk.commit_group; @%k0 cp.async.bulk.wait_group 0;"
        );
        l.push(
            &format!("cp.async.bulk shared to global, {bytes}"),
            &body(12, &copy, ""),
            [Pool::Int; 3],
            Kind::Exact,
            Shape::block(128, 12, 12),
        );
    }
    reductions(l);
}

/// Every reduction of every type; the destination is the input's first KiB, the source the tile.
fn reductions(l: &mut List) {
    use Pool::{Bf16, F16, F32, F64, Int};
    let integers = ["add", "min", "max"];
    for (ops, ty, pool) in [
        (&integers[..], "u32", Int),
        (&integers, "s32", Int),
        (&integers, "u64", Int),
        (&integers[1..], "s64", Int),
        (&["and", "or", "xor"], "b32", Int),
        (&["and", "or", "xor"], "b64", Int),
        (&["inc", "dec"], "u32", Int),
        (&integers[..1], "f32", F32),
        (&integers[..1], "f64", F64),
        (&["add.noftz", "min", "max"], "f16", F16),
        (&["add.noftz", "min", "max"], "bf16", Bf16),
    ] {
        for op in ops {
            let copy = format!(
                "@%k0 cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{ty} [%w0], [%t2+1024], 1024; @%k0 cp.async.bulk.commit_group; @%k0 cp.async.bulk.wait_group 0; bar.sync 0;"
            );
            let rest = "mad.wide.u32 %w2, %v0, 8, %w0; ld.relaxed.gpu.global.u64 %at, [%w2]; st.global.u64 [%out], %at;";
            l.push(
                &format!("cp.reduce.async.bulk.{op}.{ty}"),
                &format!("{} {copy} {rest}", start(4)),
                [pool; 3],
                Kind::Exact,
                Shape::block(128, 4, 1),
            );
        }
    }
}

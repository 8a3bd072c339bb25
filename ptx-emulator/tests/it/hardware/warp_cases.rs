//! Cases in which the lanes of a warp exchange values or multiply matrices.

use super::cases::{List, Pool};

pub(super) fn exchanges(l: &mut List) {
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

pub(super) fn matrices(l: &mut List) {
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

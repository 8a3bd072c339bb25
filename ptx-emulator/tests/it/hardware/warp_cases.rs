//! Cases in which the lanes of a warp exchange values.

use super::cases::{Kind, List, Pool, Shape};

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
}

/// Exchanges among parts of a warp, each part with its own member mask.
pub(super) fn halves_of_warps(l: &mut List) {
    use Pool::Int;
    let mut ops: Vec<String> = Vec::new();
    for op in ["add", "min", "max"] {
        for ty in ["u32", "s32"] {
            ops.push(format!("redux.sync.{op}.{ty} %v2, %ra, %v1;"));
        }
    }
    for op in ["and", "or", "xor"] {
        ops.push(format!("redux.sync.{op}.b32 %v2, %ra, %v1;"));
    }
    for (op, take) in [("any", 3), ("all", 31), ("uni", 0)] {
        ops.push(format!("and.b32 %v3, %ra, {take}; setp.ne.u32 %k1, %v3, 0; vote.sync.{op}.pred %k1, %k1, %v1; selp.b32 %v2, 1, 0, %k1;"));
    }
    for body in [
        "vote.sync.ballot.b32 %v2, %pa, %v1;",
        "and.b32 %v3, %ra, 3; match.any.sync.b32 %v2, %v3, %v1;",
        "and.b64 %at, %da, 1; match.any.sync.b64 %v2, %at, %v1;",
        "and.b32 %v3, %ra, 0; match.all.sync.b32 %v2|%k1, %v3, %v1; selp.b32 %v2, %v2, 7, %k1;",
        "match.all.sync.b64 %v2|%k1, %da, %v1; selp.b32 %v2, %v2, 7, %k1;",
        "elect.sync %v2|%k1, %v1; selp.b32 %v2, 100, %v2, %k1;",
    ] {
        ops.push(body.to_owned());
    }
    for (mode, c) in [("up", "0x1000"), ("down", "0x100f"), ("bfly", "0x100f"), ("idx", "0x100f")] {
        ops.push(format!("and.b32 %v3, %sa, 15; shfl.sync.{mode}.b32 %v2|%k1, %ra, %v3, {c}, %v1; selp.b32 %v3, 1, 0, %k1; mad.lo.u32 %v2, %v2, 2, %v3;"));
    }
    for op in &ops {
        for (name, choose, masks) in [
            ("lower and upper half", "setp.lt.u32 %k0, %v0, 16;", [0xffff_0000u32, 0xffff]),
            (
                "odd and even",
                "and.b32 %v3, %v0, 1; setp.eq.u32 %k0, %v3, 0;",
                [0xaaaa_aaaa, 0x5555_5555],
            ),
            ("lane 5 and the rest", "setp.eq.u32 %k0, %v0, 5;", [!32, 32]),
        ] {
            if op.contains("shfl") && !name.starts_with("lower") {
                continue;
            }
            let body = format!(
                ".reg .b32 %v<4>; .reg .pred %k<2>; mov.u32 %v0, %laneid; {choose} @%k0 bra B; mov.u32 %v1, {}; {op} bra E; B: mov.u32 %v1, {}; {op} E: mov.u32 %ro, %v2;",
                masks[0], masks[1]
            );
            l.push(&format!("{name}: {op}"), &body, [Int; 3], Kind::Exact, Shape::SCALAR);
        }
    }
}

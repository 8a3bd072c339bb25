//! Cases of atomics: on a thread's own place, and on one that a block shares.

use super::cases::{Kind, List, Pool, Shape};

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

/// Vectors, 16-bit types, 64-bit types in shared memory, `red`, orders and scopes, and places that a block shares.
pub(super) fn more_atomics(l: &mut List) {
    use Pool::{Bf16, F16, F32, F64, Int};
    let mut one = |name: &str, body: &str, pool: Pool| {
        let body = format!(
            "st.global.v2.u64 [%out], {{%da, %db}}; st.global.v2.u64 [%out+16], {{%dc, %dc}}; {body}"
        );
        l.push(name, &body, [pool; 3], Kind::Exact, Shape::block(128, 4, 4));
    };
    for (op, vector, ty, pool, bits) in [
        ("add", "v2", "f32", F32, 32),
        ("add", "v4", "f32", F32, 32),
        ("add.noftz", "v2", "f16", F16, 16),
        ("min.noftz", "v4", "f16", F16, 16),
        ("max.noftz", "v8", "f16", F16, 16),
        ("add.noftz", "v8", "bf16", Bf16, 16),
        ("min.noftz", "v2", "bf16", Bf16, 16),
        ("max.noftz", "v4", "bf16", Bf16, 16),
        ("add.noftz", "v2", "f16x2", F16, 32),
        ("min.noftz", "v4", "f16x2", F16, 32),
        ("max.noftz", "v4", "bf16x2", Bf16, 32),
        ("add.noftz", "v2", "bf16x2", Bf16, 32),
    ] {
        let count: usize = vector[1..].parse().unwrap_or(0);
        let list =
            |name: &str| (0..count).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ");
        let declare = format!(".reg .b{bits} %x<8>, %y<8>; ");
        let load =
            (0..count).map(|i| format!("ld.global.b{bits} %x{i}, [%in+{}]; ", 16 + i * bits / 8));
        let keep =
            (0..count).map(|i| format!("st.global.b{bits} [%out+{}], %y{i}; ", 16 + i * bits / 8));
        let (load, keep) = (load.collect::<String>(), keep.collect::<String>());
        one(
            &format!("atom.global.{op}.{vector}.{ty}"),
            &format!(
                "{declare}{load}atom.global.{op}.{vector}.{ty} {{{}}}, [%out], {{{}}}; {keep}",
                list("y"),
                list("x")
            ),
            pool,
        );
        one(
            &format!("red.global.{op}.{vector}.{ty}"),
            &format!("{declare}{load}red.global.{op}.{vector}.{ty} [%out], {{{}}};", list("x")),
            pool,
        );
    }
    for (op, ty, pool, reg) in [
        ("add.noftz", "f16", F16, "h"),
        ("add.noftz", "bf16", Bf16, "h"),
        ("add.noftz", "f16x2", F16, "r"),
        ("add.noftz", "bf16x2", Bf16, "r"),
        ("add", "f32", F32, "r"),
        ("add", "f64", F64, "d"),
        ("add", "u32", Int, "r"),
        ("add", "s32", Int, "r"),
        ("add", "u64", Int, "d"),
        ("min", "u32", Int, "r"),
        ("max", "s32", Int, "r"),
        ("min", "s64", Int, "d"),
        ("max", "u64", Int, "d"),
        ("and", "b32", Int, "r"),
        ("or", "b64", Int, "d"),
        ("xor", "b64", Int, "d"),
        ("inc", "u32", Int, "r"),
        ("dec", "u32", Int, "r"),
        ("exch", "b32", Int, "r"),
        ("exch", "b64", Int, "d"),
    ] {
        let bits = match reg {
            "h" => 16,
            "r" => 32,
            _ => 64,
        };
        // The zero keeps the assembler from seeing the operand as half of a 64-bit register, which it then takes wrongly.
        let shared = "mov.u32 %t5, %ctaid.x; xor.b32 %rc, %rc, %t5; mov.u32 %t3, tile; mov.u32 %t4, %tid.x; mad.lo.u32 %t3, %t4, 16, %t3; st.shared.v2.u64 [%t3], {%da, %db};";
        let back = "ld.shared.v2.u64 {%da, %db}, [%t3]; st.global.v2.u64 [%out], {%da, %db};";
        for scope in ["", ".relaxed.gpu", ".acq_rel.cta", ".release.sys", ".acquire.cluster"] {
            let atom = format!("atom{scope}");
            one(
                &format!("{atom}.global.{op}.{ty}, old too"),
                &format!(
                    "{atom}.global.{op}.{ty} %{reg}o, [%out], %{reg}b; st.global.b{bits} [%out+16], %{reg}o;"
                ),
                pool,
            );
        }
        one(
            &format!("atom.shared.{op}.{ty}, old too"),
            &format!(
                "{shared} atom.shared.{op}.{ty} %{reg}o, [%t3], %{reg}c; {back} st.global.b{bits} [%out+16], %{reg}o;"
            ),
            pool,
        );
        one(
            &format!("atom generic {op}.{ty}"),
            &format!(
                "{shared} cvt.u64.u32 %at, %t3; cvta.shared.u64 %at, %at; atom.{op}.{ty} %{reg}o, [%at], %{reg}c; {back} st.global.b{bits} [%out+16], %{reg}o;"
            ),
            pool,
        );
        if op != "exch" {
            one(
                &format!("red.global.{op}.{ty}"),
                &format!("red.relaxed.gpu.global.{op}.{ty} [%out], %{reg}b;"),
                pool,
            );
            one(
                &format!("red.shared.{op}.{ty}"),
                &format!("{shared} red.shared.{op}.{ty} [%t3], %{reg}c; {back}"),
                pool,
            );
        }
    }
    for (bits, reg) in [(16, "h"), (32, "r"), (64, "d")] {
        let body = format!(
            "and.b32 %t1, %rc, 1; setp.eq.u32 %pq, %t1, 0; selp.b{bits} %{reg}c, %{reg}a, %{reg}c, %pq; atom.global.cas.b{bits} %{reg}o, [%out], %{reg}c, %{reg}b; st.global.b{bits} [%out+16], %{reg}o;"
        );
        one(&format!("atom.global.cas.b{bits}, old too"), &body, Int);
    }
    // Every thread of the block at one place: the results don't depend on their order.
    for (op, ty, reg) in [
        ("add", "u32", "r"),
        ("add", "u64", "d"),
        ("min", "s32", "r"),
        ("max", "u32", "r"),
        ("min", "u64", "d"),
        ("max", "s64", "d"),
        ("and", "b32", "r"),
        ("or", "b32", "r"),
        ("xor", "b64", "d"),
    ] {
        let body = format!(
            "mov.u32 %t3, tile; mov.u32 %t4, %tid.x; setp.eq.u32 %pq, %t4, 0; @%pq st.shared.u64 [%t3], 0x7fffff; bar.sync 0; atom.shared.{op}.{ty} %{reg}o, [%t3], %{reg}b; bar.sync 0; ld.shared.u64 %at, [%t3]; st.global.u64 [%out], %at;"
        );
        one(&format!("atom.shared.{op}.{ty} of a block"), &body, Int);
    }
}

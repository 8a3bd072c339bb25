//! Memory barrier objects, and the copies of `cp.async`.

use super::cases::{Kind, List, Pool, Shape};

/// `bars` in `%t1`, `tile` in `%t2`, the result in `%v0`; what follows runs in thread 0 alone.
const ALONE: &str = ".reg .b32 %v<16>; .reg .b64 %w<8>; .reg .b16 %x<2>; .reg .pred %k<4>; mov.u32 %t1, bars; mov.u32 %t2, tile; mov.u32 %v0, 1; mov.u32 %v1, %tid.x; setp.ne.u32 %k0, %v1, 0; @%k0 bra END;";
/// Takes predicate `%k1` into the result.
const BIT: &str = "selp.u32 %v2, 1, 0, %k1; mad.lo.u32 %v0, %v0, 3, %v2;";
/// Takes `%v3` into the result.
const NUMBER: &str = "mad.lo.u32 %v0, %v0, 257, %v3;";
const END: &str = "END: cvt.u64.u32 %do, %v0; st.global.u64 [%out], %do;";

/// Waits for a phase of the object at `%t1`; gives up after a while, so that a failure shows as a result.
pub(super) fn wait(label: &str, parity: &str) -> String {
    format!(
        "mov.u32 %t15, 0; W{label}: mbarrier.try_wait.parity.shared::cta.b64 %pq, [%t1], {parity}; @%pq bra D{label}; add.u32 %t15, %t15, 1; setp.lt.u32 %pq, %t15, 10000; @%pq bra W{label}; D{label}:"
    )
}

/// A program of one thread. `?` stands for taking `%k1`, `#` for taking `%v3`.
fn alone(l: &mut List, name: &str, program: &str) {
    let program = program.replace('?', BIT).replace('#', NUMBER);
    let body = format!("{ALONE} {program} {END}");
    l.push(name, &body, [Pool::Int; 3], Kind::Exact, Shape::block(32, 3, 1));
}

/// What `test_wait` and `pending_count` tell, arrival after arrival.
pub(super) fn objects(l: &mut List) {
    let test = "mbarrier.test_wait.shared::cta.b64 %k1, [%t1], %w0; ?";
    let parities = "mbarrier.test_wait.parity.shared::cta.b64 %k1, [%t1], 0; ? mbarrier.test_wait.parity.shared::cta.b64 %k1, [%t1], 1; ?";
    let tried = "mbarrier.try_wait.parity.shared::cta.b64 %k1, [%t1], 0, 100; ?";
    let pending = "mbarrier.pending_count.b64 %v3, %w0; #";
    for count in [1, 2, 3, 5] {
        let init = format!("mbarrier.init.shared::cta.b64 [%t1], {count}; {parities}");
        let arrive =
            format!("mbarrier.arrive.shared::cta.b64 %w0, [%t1]; {pending} {test} {parities}");
        let rounds = arrive.repeat(3 * count);
        alone(l, &format!("mbarrier: arrivals one by one, {count}"), &format!("{init} {rounds}"));
        // Two phases with dropped arrivals between.
        let drop = format!("mbarrier.arrive_drop.shared::cta.b64 %w0, [%t1]; {pending} {test}");
        let rest = arrive.repeat(count - 1);
        let second = arrive.repeat((count - 1) * 2);
        alone(
            l,
            &format!("mbarrier: a dropped arrival of {count}"),
            &format!("{init} {drop} {rest} {parities} {second}"),
        );
    }
    for (count, many) in [(4, 3), (8, 8), (9, 2), (100, 99)] {
        let init = format!("mbarrier.init.shared::cta.b64 [%t1], {count};");
        let last = count - many;
        let rest = if last == 0 {
            String::new()
        } else {
            format!(
                "mbarrier.arrive.shared::cta.b64 %w0, [%t1], {last}; {pending} {test} {parities}"
            )
        };
        for form in ["arrive", "arrive_drop"] {
            alone(
                l,
                &format!("mbarrier: {form} of {many} at {count}"),
                &format!(
                    "{init} mbarrier.{form}.shared::cta.b64 %w0, [%t1], {many}; {pending} {test} {rest} {parities}"
                ),
            );
            if last > 0 {
                alone(
                    l,
                    &format!("mbarrier: {form}.noComplete of {many} at {count}"),
                    &format!(
                        "{init} mbarrier.{form}.noComplete.shared::cta.b64 %w0, [%t1], {many}; {pending} {test} {rest} {parities}"
                    ),
                );
            }
        }
    }
    let init = "mbarrier.init.shared::cta.b64 [%t1], 1;";
    let complete =
        |bytes: u32| format!("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%t1], {bytes};");
    let expect =
        |bytes: u32| format!("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%t1], {bytes};");
    for (name, program) in [
        ("bytes, then the arrival", format!("{init} {} {parities} {} {parities} mbarrier.arrive.shared::cta.b64 %w0, [%t1]; {pending} {test} {parities}", expect(48), complete(48))),
        ("the arrival, then bytes", format!("{init} {} mbarrier.arrive.shared::cta.b64 %w0, [%t1]; {pending} {test} {} {test} {} {test} {parities}", expect(48), complete(16), complete(32))),
        ("arrival that expects", format!("{init} mbarrier.arrive.expect_tx.shared::cta.b64 %w0, [%t1], 1024; {pending} {test} {} {test} {} {test} {parities}", complete(1000), complete(24))),
        ("release and relaxed", format!("{init} mbarrier.arrive.release.cta.shared::cta.b64 %w0, [%t1]; {test} mbarrier.arrive.relaxed.cta.shared::cta.b64 %w0, [%t1]; {test} mbarrier.arrive.release.cluster.shared::cta.b64 %w0, [%t1]; {test} {parities} mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %k1, [%t1], 0; ?")),
        ("tries", format!("{init} {tried} mbarrier.arrive.shared::cta.b64 _, [%t1]; {tried} mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %k1, [%t1], 1, 10; ?")),
        ("initialised again after invalidation", format!("{init} mbarrier.arrive.shared::cta.b64 _, [%t1]; {parities} mbarrier.inval.shared::cta.b64 [%t1]; mbarrier.init.shared::cta.b64 [%t1], 2; {parities} mbarrier.arrive.shared::cta.b64 %w0, [%t1]; {pending} {test}")),
        ("generic address", "cvt.u64.u32 %w1, %t1; cvta.shared.u64 %w1, %w1; mbarrier.init.b64 [%w1], 2; mbarrier.arrive.b64 %w0, [%w1]; mbarrier.pending_count.b64 %v3, %w0; # mbarrier.test_wait.b64 %k1, [%w1], %w0; ? mbarrier.arrive.b64 %w0, [%w1], 1; mbarrier.test_wait.b64 %k1, [%w1], %w0; ?".to_owned()),
    ] {
        alone(l, &format!("mbarrier: {name}"), &program);
    }
    together(l);
    copies(l);
}

/// All threads of a block exchange through the tile, phase after phase of one object.
fn together(l: &mut List) {
    let mut body = ".reg .b32 %v<8>; .reg .b64 %w<4>; .reg .pred %k0; mov.u32 %t1, bars; mov.u32 %t2, tile; mov.u32 %v0, %tid.x; setp.eq.u32 %k0, %v0, 0; @%k0 mbarrier.init.shared::cta.b64 [%t1], 128; bar.sync 0; shl.b32 %v1, %v0, 3; add.u32 %v1, %t2, %v1;".to_owned();
    for phase in 0..4 {
        let step = 2 * phase + 1;
        body += &format!(
            " st.shared.u64 [%v1+{}], %da; mbarrier.arrive.shared::cta.b64 _, [%t1]; {} add.u32 %v2, %v0, {step}; and.b32 %v2, %v2, 127; shl.b32 %v2, %v2, 3; add.u32 %v2, %t2, %v2; ld.shared.u64 %w0, [%v2+{}]; mad.lo.u64 %da, %da, 31, %w0;",
            phase * 1024,
            wait(&phase.to_string(), &(phase % 2).to_string()),
            phase * 1024
        );
    }
    body += " st.global.u64 [%out], %da;";
    l.push(
        "mbarrier: four phases of a block",
        &body,
        [Pool::Int; 3],
        Kind::Exact,
        Shape::block(128, 3, 1),
    );
}

/// `cp.async` of every size, full and with fewer source bytes, waited for by groups and by objects.
fn copies(l: &mut List) {
    let start = ".reg .b32 %v<8>; .reg .b64 %w<4>; .reg .pred %k0; mov.u32 %t1, bars; mov.u32 %t2, tile; mov.u32 %v0, %tid.x; shl.b32 %v1, %v0, 5; add.u32 %v1, %t2, %v1; st.shared.v2.u64 [%v1], {%dc, %dc}; st.shared.v2.u64 [%v1+16], {%dc, %dc};";
    let end = "ld.shared.v2.u64 {%w0, %w1}, [%v1]; ld.shared.v2.u64 {%w2, %w3}, [%v1+16]; st.global.v2.u64 [%out], {%w0, %w1}; st.global.v2.u64 [%out+16], {%w2, %w3};";
    for (cache, bytes) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        for source in [bytes, bytes / 2, 0, 1, bytes - 1] {
            for (name, waiting) in [
                ("group", "cp.async.commit_group; cp.async.wait_group 0;"),
                ("all", "cp.async.wait_all;"),
            ] {
                let name = format!("cp.async.{cache} {bytes} of {source}, wait {name}");
                let body = format!(
                    "{start} cp.async.{cache}.shared.global [%v1+{bytes}], [%in], {bytes}, {source}; {waiting} {end}"
                );
                let body = if bytes == 16 {
                    body
                } else {
                    body.replace(&format!("[%v1+{bytes}]"), &format!("[%v1+{}]", 2 * bytes))
                };
                l.push(&name, &body, [Pool::Int; 3], Kind::Exact, Shape::block(128, 4, 4));
            }
        }
    }
    let init =
        "setp.eq.u32 %k0, %v0, 0; @%k0 mbarrier.init.shared::cta.b64 [%t1], 128; bar.sync 0;";
    for (name, arrive) in [
        ("noinc", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%t1];"),
        (
            "and an arrival",
            "cp.async.mbarrier.arrive.shared::cta.b64 [%t1]; mbarrier.arrive.shared::cta.b64 _, [%t1];",
        ),
    ] {
        let waiting = wait("0", "0");
        let body = format!(
            "{start} {init} cp.async.ca.shared.global [%v1+8], [%in], 8; {arrive} {waiting} {end}"
        );
        l.push(
            &format!("cp.async.mbarrier.arrive {name}"),
            &body,
            [Pool::Int; 3],
            Kind::Exact,
            Shape::block(128, 4, 4),
        );
    }
}

//! Loops, branches, shapes, padding, and what ends a launch.

use crate::harness::*;

#[test]
fn loops_carry_scalars_and_tiles() {
    let text = "
entry @k(%n: i32, %x: tensor f32[?], %y: partitioned f32[?] by [64], %c: partitioned i32[?] by [1]) {
    %px = partition %x : view f32[64]
    %py = partition %y : view f32[64]
    %pc = partition %c : view i32[1]
    %zero = constant 0 : i32
    %three = constant 3 : i32
    %i = program_id 0 : i32
    %t0 = load %py [%i] clip : f32[64]
    %sum, %count = for %zero %n %three [%t0, %zero] (%k: i32, %t: f32[64], %s: i32) {
        %a = load %px [%i] clip : f32[64]
        %b = binary add %a %t : f32[64]
        %even = constant 2 : i32
        %m = binary rem %k %even : i32
        %odd = compare ne %m %zero : bool
        %d, %u = if %odd () {
            %two = constant 2.0 : f32[64]
            %e = binary mul %b %two : f32[64]
            yield %e, %k
        } () {
            yield %b, %zero
        } : f32[64], i32
        %v = binary add %s %u : i32
        yield %d, %v
    } : f32[64], i32
    store %sum %py [%i]
    %w = while [%count] (%v1: i32) {
        %lim = constant 100 : i32
        %go = compare lt %v1 %lim : bool
        yield %go
    } (%v2: i32) {
        %seven = constant 7 : i32
        %nx = binary add %v2 %seven : i32
        yield %nx
    } : i32
    %wt = splat %w : i32[1]
    store %wt %pc [%i]
    yield
}
";
    for n in [0i32, 1, 10] {
        let (x, y) = (noise(100, 1), noise(100, 2));
        let args = [scalar(n), tensor(&x, &[100]), tensor(&y, &[100]), tensor(&[0i32; 2], &[2])];
        run(text, &[2], &args, |o| {
            let got = o.tensors[1].values::<f32>();
            let mut count = 0;
            for k in (0..n).step_by(3) {
                count += if k % 2 != 0 { k } else { 0 };
            }
            while count < 100 {
                count += 7;
            }
            for i in 0..100 {
                let mut t = y[i];
                for k in (0..n).step_by(3) {
                    t += x[i];
                    t *= if k % 2 != 0 { 2.0 } else { 1.0 };
                }
                assert_eq!(got[i], t);
            }
            assert_eq!(o.tensors[2].values::<i32>(), [count; 2]);
        });
    }
}

#[test]
fn permutes_and_reshapes_move_every_element() {
    for [m, n] in [[32usize, 64], [12, 20], [64, 8]] {
        let text = format!(
            "
entry @k(%x: tensor f32[{m}, {n}], %y: partitioned f32[{n}, {m}] by [{n}, {m}], %z: partitioned f32[?] by [{all}]) {{
    %px = partition %x : view f32[{m}, {n}]
    %py = partition %y : view f32[{n}, {m}]
    %pz = partition %z : view f32[{all}]
    %o = constant 0 : i32
    %t = load %px [%o, %o] clip : f32[{m}, {n}]
    %u = permute [1, 0] %t : f32[{n}, {m}]
    store %u %py [%o, %o]
    %w = reshape %u : f32[{all}]
    store %w %pz [%o]
    yield
}}
",
            all = m * n
        );
        let x = noise(m * n, 4);
        let (m64, n64) = (m as i64, n as i64);
        let nan = vec![f32::NAN; m * n];
        let args = [tensor(&x, &[m64, n64]), tensor(&nan, &[n64, m64]), tensor(&nan, &[m64 * n64])];
        run(&text, &[1, 1], &args, |o| {
            let (y, z) = (o.tensors[1].values::<f32>(), o.tensors[2].values::<f32>());
            for i in 0..m {
                for j in 0..n {
                    assert_eq!(y[j * m + i], x[i * n + j]);
                    assert_eq!(z[j * m + i], x[i * n + j]);
                }
            }
        });
    }
}

#[test]
fn filled_lanes_are_values_and_any_index_is_legal() {
    let text = "
entry @k(%at: i32, %x: tensor i32[?], %y: partitioned i32[?] by [32]) {
    %px = partition %x : view i32[32]
    %py = partition %y : view i32[32]
    %o = constant 0 : i32
    %p = constant 9 : i32
    %t = load %px [%at] fill %p : i32[32]
    store %t %py [%o]
    yield
}
";
    let x: Vec<i32> = (0..40).collect();
    for at in [-1, 0, 1, 2, i32::MAX] {
        let args = [scalar(at), tensor(&x, &[40]), tensor(&[0i32; 32], &[32])];
        run(text, &[1], &args, |o| {
            for (i, got) in o.tensors[1].values::<i32>().into_iter().enumerate() {
                let global = i64::from(at) * 32 + i as i64;
                let want = if (0..40).contains(&global) { global as i32 } else { 9 };
                assert_eq!(got, want, "{at} {i}");
            }
        });
    }
}

/// Runs a kernel that must fail at a site, and gives the record's operands.
fn fails(text: &str, args: &[Arg]) -> (u64, [i64; 2]) {
    let k = build(&kernel(text), cutile_bundle::key::FactsClass::Aligned);
    let o = launch(&k, &[1], args);
    assert!(o.report.is_some(), "the launch must fail");
    o.fault.expect("the record is written")
}

#[test]
fn failing_checks_name_kernel_site_and_operands() {
    let text = "
files [\"src/k.rs\"]
entry @k(%at: i32, %d: i32, %x: tensor i32[?], %y: partitioned i32[?] by [32]) {
    %px = partition %x : view i32[32]
    %py = partition %y : view i32[32]
    %o = program_id 0 : i32
    %t = load %px [%at] clip : i32[32] loc 0:3:1
    %s = splat %d : i32[32]
    %q = binary div %t %s : i32[32] loc 0:4:1
    %lim = constant 50 : i32
    %ok = compare lt %d %lim : bool
    assert %ok \"small\" loc 0:5:1
    store %q %py [%o]
    yield
}
";
    let x: Vec<i32> = (0..40).collect();
    let args =
        |at: i32, d: i32| [scalar(at), scalar(d), tensor(&x, &[40]), tensor(&[0i32; 32], &[32])];
    assert_eq!(fails(text, &args(2, 1)), (42 << 32, [2, 2]));
    assert_eq!(fails(text, &args(-1, 1)), (42 << 32, [-1, 2]));
    assert_eq!(fails(text, &args(0, 0)).0, (42 << 32) | 1);
    assert_eq!(fails(text, &args(0, 77)).0, (42 << 32) | 2);
    run(text, &[1], &args(1, 3), |o| {
        // Lanes beyond the tensor are neither divided by nor stored, and fault nothing.
        assert_eq!(o.tensors[1].values::<i32>()[..8], [10, 11, 11, 11, 12, 12, 12, 13]);
    });
    let k = build(&kernel(text), cutile_bundle::key::FactsClass::Aligned);
    let sites: Vec<(u32, &str)> =
        k.abi.fault_sites.iter().map(|s| (s.line, s.file.as_str())).collect();
    assert_eq!(sites, [(3, "src/k.rs"), (4, "src/k.rs"), (5, "src/k.rs")]);
}

#[test]
fn checks_that_can_not_fail_may_leave_no_trap() {
    let text = "
entry @k(%n: i32, %y: partitioned i32[?] by [4]) {
    %py = partition %y : view i32[4]
    %o = program_id 0 : i32
    %two = constant 2 : i32
    %half = binary div %n %two : i32
    %r = binary rem %n %two : i32
    %sum = binary add %half %r : i32
    %s = splat %sum : i32[4]
    store %s %py [%o]
    yield
}
";
    run(text, &[1], &[scalar(7), tensor(&[0i32; 4], &[4])], |o| {
        assert_eq!(o.tensors[0].values::<i32>(), [4; 4]);
    });
}

#[test]
fn a_tile_stored_by_other_threads_is_seen() {
    // The transposed store goes to other threads' elements: loads before and after need barriers.
    let text = "
entry @k(%y: partitioned f32[64, 64] by [64, 64]) {
    %py = partition %y : view f32[64, 64]
    %o = constant 0 : i32
    %t = load %py [%o, %o] clip : f32[64, 64]
    %u = permute [1, 0] %t : f32[64, 64]
    store %u %py [%o, %o]
    %v = load %py [%o, %o] clip : f32[64, 64]
    %w = binary add %v %t : f32[64, 64]
    store %w %py [%o, %o]
    yield
}
";
    let y = noise(64 * 64, 8);
    run(text, &[1, 1], &[tensor(&y, &[64, 64])], |o| {
        for (i, got) in o.tensors[0].values::<f32>().into_iter().enumerate() {
            assert_eq!(got, y[i % 64 * 64 + i / 64] + y[i]);
        }
    });
}

//! Control flow: the field cases, and every construct with what Rust gives for it.

use super::run::{ints, run};

fn value(body: &str, n: i32) -> [i32; 4] {
    ints(body, n).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_conditional_index_in_a_loop() {
    let source = "
        #[cutile::entry()]
        fn k(flag: i32, x: &Tensor<f32, {[-1]}>, y: &mut Tensor<f32, {[2]}>) {
            let v = x.partition(const_shape![2]);
            let mut acc: Tile<f32, {[2]}> = zeros(const_shape![2]);
            for i in 0..num_tiles(v, 0) {
                let mut j = i;
                if flag > 0 { j = 100; }
                acc += v.load([j]);
            }
            y.store(acc);
        }";
    let mut x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let mut y = [0.0f32; 2];
    run(source, "", &mut [0.into(), (&mut x).into(), (&mut y).into()], 1)
        .expect("every index is in range");
    assert_eq!(y, [16.0, 20.0]);
    let fault = run(source, "", &mut [1.into(), (&mut x).into(), (&mut y).into()], 1);
    assert!(fault.is_err(), "tile 100 of 4");
}

#[test]
fn an_index_that_wraps_is_a_fault_when_it_is_reached() {
    let source = "
        #[cutile::entry()]
        fn k(n: i32, x: &Tensor<f32, {[-1]}>, y: &mut Tensor<f32, {[2]}>) {
            let v = x.partition(const_shape![2]);
            let mut acc = y.load();
            for i in 0..n { acc += v.load([i * 2_000_000_000]); }
            y.store(acc);
        }";
    let (mut x, mut y) = ([1.0f32, 2.0, 3.0, 4.0], [0.0f32; 2]);
    run(source, "", &mut [1.into(), (&mut x).into(), (&mut y).into()], 1).expect("index 0");
    assert_eq!(y, [1.0, 2.0]);
    assert!(run(source, "", &mut [3.into(), (&mut x).into(), (&mut y).into()], 1).is_err());
}

#[test]
fn accesses_that_are_not_reached_are_not_judged() {
    for guard in ["if i < 2 { acc += v.load([i]); }", "if i >= 2 { continue; } acc += v.load([i]);"]
    {
        let source = format!(
            "#[cutile::entry()]
            fn k(x: &Tensor<f32, {{[-1]}}>, y: &mut Tensor<f32, {{[2]}}>) {{
                let v = x.partition(const_shape![2]);
                let mut acc = y.load();
                for i in 0..10 {{ {guard} }}
                y.store(acc);
            }}"
        );
        let (mut x, mut y) = ([1.0f32, 2.0, 3.0, 4.0], [0.0f32; 2]);
        run(&source, "", &mut [(&mut x).into(), (&mut y).into()], 1).expect("tiles 0 and 1 exist");
        assert_eq!(y, [4.0, 6.0], "{guard}");
    }
}

#[test]
fn short_circuits() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let idx = 5;
        let a = n != 0 && idx % n == 0;
        let b = n == 0 || idx % n == 0;
        let mut counter = 0;
        let c = n == 0 && { counter += 1; true };
        let d = n == 0 || { counter += 10; true };
        (a as i32, b as i32, counter, (c && d) as i32)
    }";
    assert_eq!(value(body, 0), [0, 1, 1, 1]);
    assert_eq!(value(body, 5), [1, 1, 10, 0]);
}

#[test]
fn breaks_and_continues() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let mut a = 0;
        for k in 0..100 { if k == 5 { break } a += k }
        let mut b = 0;
        for i in 0..10 { if i % 2 == 0 { b += i } }
        let mut c = 0;
        let mut i = 0;
        while i < n {
            i += 1;
            if i == 3 { continue; }
            if i == 6 { break; }
            c += i;
        }
        let d = loop { i += 7; if i > 20 { break i * 2; } };
        (a, b, c, d)
    }";
    // c: 1 + 2 + 4 + 5; i is 6 then, and 13, 20, 27 in `loop`.
    assert_eq!(value(body, 9), [10, 20, 12, 54]);
    assert_eq!(value(body, 0), [10, 20, 0, 42]);
}

#[test]
fn tuples_are_assigned_at_once() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let (mut a, mut b) = (n, 18);
        while b != 0 { (a, b) = (b, a % b); }
        let mut t = (1, 2);
        let mut list = [3, 4];
        ((t.1, _), [list[1], list[0]]) = ((t.0 + 4, 9), list);
        let (mut c, mut d) = (0, 0);
        if n > 40 { [c, d] = [1, 2]; } else { (d, c) = (3, 4); }
        (a, t.0 * 10 + t.1, list[0] * 10 + list[1], c * 10 + d)
    }";
    assert_eq!(value(body, 48), [6, 15, 43, 12]);
    assert_eq!(value(body, 7), [1, 15, 43, 43]);
}

#[test]
fn the_right_side_of_a_compound_assignment_comes_first() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let mut a = n;
        a += { a = 5; 1 };
        let b = a + { a = 7; a };
        (a, b, 0, 0)
    }";
    assert_eq!(value(body, 1), [7, 13, 0, 0]);
}

#[test]
fn labels_leave_outer_loops() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let (mut a, mut b) = (0, 0);
        'outer: for i in 0..n {
            for j in 0..n {
                if j > i { continue 'outer; }
                if i + j == 6 { break 'outer; }
                a += 1;
            }
            b += 100;
        }
        (a, b, 0, 0)
    }";
    // In plain Rust.
    let expected = |n: i32| {
        let (mut a, mut b) = (0, 0);
        'outer: for i in 0..n {
            for j in 0..n {
                if j > i {
                    continue 'outer;
                }
                if i + j == 6 {
                    break 'outer;
                }
                a += 1;
            }
            b += 100;
        }
        [a, b, 0, 0]
    };
    for n in [0, 1, 3, 8] {
        assert_eq!(value(body, n), expected(n), "n = {n}");
    }
}

#[test]
fn early_returns() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        (g(n), h(n), sign(n), 0)
    }
    fn g(n: i32) -> i32 {
        if n < 0 { return -1; }
        let mut s = 0;
        for i in 0..n {
            if s > 10 { return s; }
            s += i;
        }
        s + 100
    }
    fn h(n: i32) -> i32 {
        let m = if n > 3 { return 7; } else { n };
        m * 2
    }
    fn sign(n: i32) -> i32 {
        if n > 0 { return 1 } else if n < 0 { return -1 }
        0
    }";
    assert_eq!(value(body, -2), [-1, -4, -1, 0]);
    assert_eq!(value(body, 3), [103, 6, 1, 0]);
    assert_eq!(value(body, 9), [15, 7, 1, 0]);
    assert_eq!(value(body, 0), [100, 0, 0, 0]);
}

#[test]
fn a_return_leaves_an_entry_without_its_later_stores() {
    let source = "
        #[cutile::entry()]
        fn k(n: i32, y: &mut Tensor<i32, {[2]}>) {
            y.store(full(1, y.shape()));
            if n > 2 { return; }
            y.store(full(2, y.shape()));
        }";
    let mut y = [0; 2];
    run(source, "", &mut [5.into(), (&mut y).into()], 1).unwrap();
    assert_eq!(y, [1, 1]);
    run(source, "", &mut [1.into(), (&mut y).into()], 1).unwrap();
    assert_eq!(y, [2, 2]);
}

#[test]
fn ranges_step_and_run_backwards() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let mut a = 0;
        for i in (0..n).step_by(3) { a = a * 10 + i; }
        let mut b = 0;
        for i in (1..n).rev() { b = b * 10 + i; }
        let mut c = 0;
        for i in (2_147_483_640..2_147_483_647).step_by(4) { if i < 0 { break; } c += 1; }
        let mut d = 0;
        for i in (0..n).step_by(n as usize + 1) { d += i + 1; }
        (a, b, c, d)
    }";
    assert_eq!(value(body, 5), [3, 4321, 2, 1]);
    assert_eq!(value(body, 8), [36, 7654321, 2, 1]);
}

#[test]
fn ifs_give_tuples_and_late_values() {
    let body = "fn f(n: i32) -> (i32, i32, i32, i32) {
        let (a, b) = if n > 2 { (n, n * n) } else { (0, 1) };
        let c;
        if n % 2 == 0 { c = 10 } else { c = 20 }
        let mut t = (1, 2);
        t.1 += n;
        let mut list = [t.0, t.1];
        list[0] = 9;
        let d = { let x = list[0]; x + list[1] };
        let [e, _] = list;
        let mut same = [e - 9; 3];
        same[2] += 1;
        let [z, _, one] = same;
        (a + z, b * one, c, d)
    }";
    assert_eq!(value(body, 4), [4, 16, 10, 15]);
    assert_eq!(value(body, 1), [0, 1, 20, 12]);
}

#[test]
fn a_neighbour_before_the_first_is_not_read() {
    let source = "
        #[cutile::entry()]
        fn k(x: &Tensor<i32, {[-1]}>, y: &mut Tensor<i32, {[1]}>) {
            let a = x.partition(const_shape![1]);
            let idx = program_id(0);
            let here = a.load([idx]).to_scalar();
            let first = idx == 0 || a.load([idx - 1]).to_scalar() != here;
            y.store(full(first as i32, y.shape()));
        }";
    let (mut x, mut y) = ([7, 7, 3], [9; 3]);
    run(source, "", &mut [(&mut x).into(), (&mut y).into()], 3).unwrap();
    assert_eq!(y, [1, 0, 1]);
}

#[test]
fn while_conditions_are_not_asked_after_a_break() {
    let source = "
        #[cutile::entry()]
        fn k(x: &Tensor<i32, {[-1]}>, y: &mut Tensor<i32, {[1]}>) {
            let a = x.partition(const_shape![1]);
            let mut i = 0;
            while a.load([i]).to_scalar() > 0 {
                i += 1;
                if i == 3 { break; }
            }
            y.store(full(i, y.shape()));
        }";
    let (mut x, mut y) = ([1, 1, 1], [0; 1]);
    run(source, "", &mut [(&mut x).into(), (&mut y).into()], 1)
        .expect("element 3 is not asked for");
    assert_eq!(y, [3]);
}

#[test]
fn nested_loops_carry_tiles() {
    let source = "
        #[cutile::entry()]
        fn k<const S: [i32; 1]>(n: i32, y: &mut Tensor<f32, S>) {
            let mut acc = y.load();
            let mut step = 1.0;
            for i in 0..n {
                for _ in 0..i { acc = acc + step; }
                if i > 1 { step = step * 2.0; }
            }
            y.store(acc);
        }";
    let mut y = [0.5f32; 4];
    run(source, "S=[3]", &mut [4.into(), (&mut y).into()], 2).unwrap();
    // i = 1 adds 1, i = 2 adds 2 * 1, i = 3 adds 3 * 2
    assert_eq!(y, [9.5; 4]);
}

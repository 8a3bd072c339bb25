//! Control flow: loops that carry scalars and tiles, ragged ones too, branches, and what is not
//! reached.

use crate::harness::{output, run, tensor, try_run};
use cutile_cpu::{FaultKind, RunError};

/// Sums `count` integers by the body of a loop over `%k`, which yields `%next` from `%sum`.
fn summing(bounds: [i32; 3], body: &str) -> i32 {
    let [lower, upper, step] = bounds;
    let text = format!(
        "entry @f(%z: partitioned i32[?] by [1]) {{
            %vz = partition %z : view i32[1]
            %zero = constant 0 : i32
            %lower = constant {lower} : i32
            %upper = constant {upper} : i32
            %step = constant {step} : i32
            %r = for %lower %upper %step [%zero] (%k: i32, %sum: i32) {{
                {body}
                yield %next
            }} : i32
            %t = splat %r : i32[1]
            store %t %vz [%zero]
            yield
        }}"
    );
    let mut z = output::<i32>(&[1]);
    run(&text, &[z.arg()], &[1]);
    z.data[0]
}

#[test]
fn counting_loops() {
    assert_eq!(summing([0, 5, 1], "%next = binary add %sum %k : i32"), 10);
    assert_eq!(summing([-3, 8, 4], "%next = binary add %sum %k : i32"), -3 + 1 + 5);
    assert_eq!(summing([5, 5, 1], "%next = binary add %sum %k : i32"), 0);
    assert_eq!(summing([6, 5, 1], "%next = binary add %sum %k : i32"), 0);
    // Up to the largest counter, with a step that would pass it.
    let (max, min) = (i32::MAX, i32::MIN);
    assert_eq!(
        summing([max - 3, max, 2], "%next = binary add %sum %k : i32"),
        (max - 3).wrapping_add(max - 1)
    );
    assert_eq!(summing([min, min + 2, 1], "%next = binary xor %sum %k : i32"), 1);
}

/// The report: the largest even number below 10 by a branch in a loop.
#[test]
fn branches_in_loops() {
    let body = "%two = constant 2 : i32
        %rem = binary rem %k %two : i32
        %even = compare eq %rem %zero : bool
        %next = if %even () {
            %a = binary add %sum %k : i32
            yield %a
        } () {
            yield %sum
        } : i32";
    assert_eq!(summing([0, 10, 1], body), 20);
}

#[test]
fn while_loops_carry_several_values() {
    // Euclid's algorithm: the two values change places.
    let text = "entry @gcd(%a: i64, %b: i64, %z: partitioned i64[?] by [1]) {
        %vz = partition %z : view i64[1]
        %zero = constant 0 : i64
        %x, %y = while [%a, %b] (%m: i64, %n: i64) {
            %more = compare ne %n %zero : bool
            yield %more
        } (%p: i64, %q: i64) {
            %r = binary rem %p %q : i64
            yield %q, %r
        } : i64, i64
        %t = splat %x : i64[1]
        store %t %vz [%zero]
        yield
    }";
    for (a, b, expected) in [(48i64, 36i64, 12i64), (17, 5, 1), (7, 0, 7), (0, 9, 9)] {
        let mut z = output::<i64>(&[1]);
        run(text, &[a.into(), b.into(), z.arg()], &[1]);
        assert_eq!(z.data, [expected]);
    }
}

/// Tiles that change places from turn to turn, one of them permuted, all ragged.
#[test]
fn carried_tiles_swap() {
    let text = "entry @f(%n: i32, %x: tensor f32[?, ?], %y: tensor f32[?, ?], %z: partitioned f32[?, ?] by [4, 4]) {
        %vx = partition %x : view f32[4, 4]
        %vy = partition %y : view f32[4, 4]
        %vz = partition %z : view f32[4, 4]
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %tx = load %vx [%zero, %zero] clip : f32[4, 4]
        %ty = load %vy [%zero, %zero] clip : f32[4, 4]
        %a, %b = for %zero %n %one [%tx, %ty] (%k: i32, %p: f32[4, 4], %q: f32[4, 4]) {
            %t = permute [1, 0] %p : f32[4, 4]
            yield %q, %t
        } : f32[4, 4], f32[4, 4]
        store %a %vz [%zero, %zero]
        yield
    }";
    // x is 3 by 2, y is 2 by 4; after n turns the first is x, y, x', y', x, ...
    let x: Vec<f32> = (0..6).map(|v| v as f32).collect();
    let y: Vec<f32> = (10..18).map(|v| v as f32).collect();
    let poison = output::<f32>(&[1]).data[0];
    let at = |data: &[f32], [rows, columns]: [usize; 2], transposed: bool, i: usize, j: usize| {
        let (i, j) = if transposed { (j, i) } else { (i, j) };
        if i < rows && j < columns { data[i * columns + j] } else { poison }
    };
    for n in 0..6 {
        let (mut tx, mut ty) = (tensor(&[3, 2], x.clone()), tensor(&[2, 4], y.clone()));
        let mut z = output::<f32>(&[4, 4]);
        run(text, &[n.into(), tx.arg(), ty.arg(), z.arg()], &[1]);
        for i in 0..4 {
            for j in 0..4 {
                let transposed = n / 2 % 2 == 1;
                let expected = if n % 2 == 0 {
                    at(&x, [3, 2], transposed, i, j)
                } else {
                    at(&y, [2, 4], transposed, i, j)
                };
                assert_eq!(z.data[i * 4 + j], expected, "turn {n}, at {i}, {j}");
            }
        }
    }
}

/// A carried tile that is updated from itself and its own transpose.
#[test]
fn carried_tiles_read_themselves_in_another_order() {
    let text = "entry @f(%n: i32, %x: tensor i32[?, ?], %z: partitioned i32[?, ?] by [40, 40]) {
        %vx = partition %x : view i32[40, 40]
        %vz = partition %z : view i32[40, 40]
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32[40, 40]
        %tx = load %vx [%zero, %zero] clip : i32[40, 40]
        %a = for %zero %n %one [%tx] (%k: i32, %p: i32[40, 40]) {
            %t = permute [1, 0] %p : i32[40, 40]
            %d = binary mul %p %two : i32[40, 40]
            %s = binary add %d %t : i32[40, 40]
            yield %s
        } : i32[40, 40]
        store %a %vz [%zero, %zero]
        yield
    }";
    let n = 40;
    let mut expected: Vec<i32> = (0..n * n).map(|v| v * v % 1009).collect();
    let mut x = tensor(&[40, 40], expected.clone());
    let mut z = output::<i32>(&[40, 40]);
    run(text, &[3.into(), x.arg(), z.arg()], &[1]);
    for _ in 0..3 {
        let p = expected.clone();
        for i in 0..n {
            for j in 0..n {
                expected[(i * n + j) as usize] =
                    2 * p[(i * n + j) as usize] + p[(j * n + i) as usize];
            }
        }
    }
    assert_eq!(z.data, expected);
}

/// The report: a loop goes on past the tensor, but only turns inside load.
#[test]
fn loads_that_are_not_reached_do_not_fault() {
    let text = "entry @f(%limit: i32, %x: tensor i32[?], %z: partitioned i32[?] by [4]) {
        %vx = partition %x : view i32[4]
        %vz = partition %z : view i32[4]
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %many = constant 64 : i32
        %start = constant 0 : i32[4]
        %r = for %zero %many %one [%start] (%k: i32, %acc: i32[4]) {
            %inside = compare lt %k %limit : bool
            %next = if %inside () {
                %t = load %vx [%k] clip : i32[4]
                %s = binary add %acc %t : i32[4]
                yield %s
            } () {
                yield %acc
            } : i32[4]
            yield %next
        } : i32[4]
        store %r %vz [%zero]
        yield
    }";
    let data: Vec<i32> = (0..40).collect();
    for limit in [0, 2, 4, 10] {
        let mut x = tensor(&[40], data.clone());
        let mut z = output::<i32>(&[4]);
        run(text, &[limit.into(), x.arg(), z.arg()], &[1]);
        for lane in 0..4 {
            let expected: i32 = (0..limit as usize).map(|k| data[4 * k + lane]).sum();
            assert_eq!(z.data[lane], expected, "limit {limit}");
        }
    }
    let mut x = tensor(&[40], data);
    let mut z = output::<i32>(&[4]);
    let fault = try_run(text, &[11.into(), x.arg(), z.arg()], &[1]);
    let Err(RunError::Fault(fault)) = fault else { panic!("tile 10 of 10 was loaded") };
    assert_eq!((fault.kind, fault.operands), (FaultKind::IndexOutOfRange, [10, 10]));
}

/// The report: an index that only some turns change.
#[test]
fn indices_changed_by_a_branch() {
    let text = "entry @f(%flag: i32, %x: tensor i32[?], %z: partitioned i32[?] by [2]) {
        %vx = partition %x : view i32[2]
        %vz = partition %z : view i32[2]
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %far = constant 100 : i32
        %start = constant 0 : i32[2]
        %n = tile_count %vx 0 : i32
        %set = compare gt %flag %zero : bool
        %r = for %zero %n %one [%start] (%k: i32, %acc: i32[2]) {
            %j = if %set () {
                yield %far
            } () {
                yield %k
            } : i32
            %t = load %vx [%j] clip : i32[2]
            %s = binary add %acc %t : i32[2]
            yield %s
        } : i32[2]
        store %r %vz [%zero]
        yield
    }";
    let mut x = tensor(&[8], (1..9).collect::<Vec<i32>>());
    let mut z = output::<i32>(&[2]);
    run(text, &[0.into(), x.arg(), z.arg()], &[1]);
    assert_eq!(z.data, [16, 20]);
    let Err(RunError::Fault(fault)) = try_run(text, &[1.into(), x.arg(), z.arg()], &[1]) else {
        panic!("tile 100 of 4 was loaded")
    };
    assert_eq!(fault.operands, [100, 4]);
}

/// The report: the right operand of a short circuit is not evaluated when the left one decides.
#[test]
fn short_circuits_skip_divisions() {
    let text = "entry @f(%n: i32, %idx: i32, %z: partitioned i32[?] by [1]) {
        %vz = partition %z : view i32[1]
        %zero = constant 0 : i32
        %left = compare ne %n %zero : bool
        %both = if %left () {
            %rem = binary rem %idx %n : i32
            %right = compare eq %rem %zero : bool
            yield %right
        } () {
            yield %left
        } : bool
        %w = convert %both : i32
        %t = splat %w : i32[1]
        store %t %vz [%zero]
        yield
    }";
    for (n, expected) in [(0, 0), (5, 1), (3, 0)] {
        let mut z = output::<i32>(&[1]);
        run(text, &[n.into(), 5.into(), z.arg()], &[1]);
        assert_eq!(z.data, [expected]);
    }
}

/// Branches that give tiles of different valid lengths; stores inside a branch.
#[test]
fn branches_give_tiles() {
    let text = "entry @f(%flag: bool, %x: tensor f32[?], %y: partitioned f32[?] by [8], %z: partitioned f32[?] by [8]) {
        %vx = partition %x : view f32[8]
        %vy = partition %y : view f32[8]
        %vz = partition %z : view f32[8]
        %zero = constant 0 : i32
        %t = load %vx [%zero] clip : f32[8]
        %seven = constant 7.0 : f32[8]
        %r = if %flag () {
            store %seven %vz [%zero]
            yield %t
        } () {
            yield %seven
        } : f32[8]
        store %r %vy [%zero]
        yield
    }";
    let poison = output::<f32>(&[1]).data[0];
    for (flag, expected_y, expected_z) in [
        (true, [1.0, 2.0, 3.0, poison, poison, poison, poison, poison], [7.0; 8]),
        (false, [7.0; 8], [poison; 8]),
    ] {
        let mut x = tensor(&[3], vec![1.0f32, 2.0, 3.0]);
        let (mut y, mut z) = (output::<f32>(&[8]), output::<f32>(&[8]));
        run(text, &[flag.into(), x.arg(), y.arg(), z.arg()], &[1]);
        assert_eq!(y.data, expected_y);
        assert_eq!(z.data, expected_z);
    }
}

/// The report: three axes of the grid, each program writing its ids to its own place.
#[test]
fn program_ids_and_counts() {
    let text = "entry @f(%z: partitioned i32[?, ?, ?] by [1, 1, 1]) {
        %vz = partition %z : view i32[1, 1, 1]
        %i = program_id 0 : i32
        %j = program_id 1 : i32
        %k = program_id 2 : i32
        %beyond = program_id 3 : i32
        %n = program_count 1 : i32
        %one = program_count 5 : i32
        %hundred = constant 100 : i32
        %a = binary mul %i %hundred : i32
        %b = binary add %a %j : i32
        %c = binary mul %b %hundred : i32
        %d = binary add %c %k : i32
        %e = binary mul %d %n : i32
        %f = binary mul %e %one : i32
        %g = binary add %f %beyond : i32
        %t = splat %g : i32[1, 1, 1]
        store %t %vz [%i, %j, %k]
        yield
    }";
    let mut z = output::<i32>(&[2, 3, 4]);
    run(text, &[z.arg()], &[2, 3, 4]);
    for i in 0..2 {
        for j in 0..3 {
            for k in 0..4 {
                let expected = ((i * 100 + j) * 100 + k) * 3;
                assert_eq!(z.data[((i * 3 + j) * 4 + k) as usize], expected);
            }
        }
    }
}

/// The report: a row times ones, one program a row, a hundred times.
#[test]
fn runs_repeat() {
    let text = "entry @f(%a: tensor f32[?, ?], %x: tensor f32[?], %z: partitioned f32[?] by [1]) {
        %va = partition %a : view f32[1, 4]
        %vx = partition %x : view f32[4]
        %vz = partition %z : view f32[1]
        %i = program_id 0 : i32
        %zero = constant 0 : i32
        %ta = load %va [%i, %zero] clip : f32[1, 4]
        %tx = load %vx [%zero] clip : f32[4]
        %tr = reshape %tx : f32[1, 4]
        %p = binary mul %ta %tr : f32[1, 4]
        %s = reduce sum 1 %p : f32[1]
        store %s %vz [%i]
        yield
    }";
    for _ in 0..100 {
        let (mut a, mut x) = (tensor(&[4, 4], vec![1.0f32; 16]), tensor(&[4], vec![1.0f32; 4]));
        let mut z = output::<f32>(&[4]);
        run(text, &[a.arg(), x.arg(), z.arg()], &[4]);
        assert_eq!(z.data, [4.0; 4]);
    }
}

/// One prepared program, run from many threads at once.
#[test]
fn programs_run_from_many_threads() {
    let text = crate::harness::elementwise_text(
        "binary add %a %b",
        &[cutile_ir::Element::I32; 2],
        cutile_ir::Element::I32,
        16,
    );
    let program = crate::harness::program(&text);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let program = &program;
            scope.spawn(move || {
                for turn in 0..50 {
                    let n = 1000 + thread;
                    let mut a = tensor(&[n], (0..n as i32).collect::<Vec<i32>>());
                    let mut b = tensor(&[n], vec![turn; n as usize]);
                    let mut z = output::<i32>(&[n]);
                    let args = [a.arg(), b.arg(), z.arg()];
                    // SAFETY: the tensors are this thread's own.
                    unsafe { program.run(&args, &[(n as u32).div_ceil(16)], 4) }.unwrap();
                    assert_eq!(z.data, (turn..turn + n as i32).collect::<Vec<_>>());
                }
            });
        }
    });
}

//! Loads and stores: padding, ragged edges, strides, the order of effects, shapes of any kind.

use crate::harness::{Host, output, run, tensor};
use cutile_cpu::{Arg, TensorArg};
use cutile_ir::Element;

#[test]
fn padding_is_a_value_like_any_other() {
    let text = "entry @f(%i: i32, %j: i32, %pad: f32, %x: tensor f32[?, ?], %z: partitioned f32[?, ?] by [2, 4], %m: partitioned f32[?] by [2]) {
        %vx = partition %x : view f32[2, 4]
        %vz = partition %z : view f32[2, 4]
        %vm = partition %m : view f32[2]
        %zero = constant 0 : i32
        %t = load %vx [%i, %j] fill %pad : f32[2, 4]
        %s = reduce min 1 %t : f32[2]
        store %t %vz [%zero, %zero]
        store %s %vm [%zero]
        yield
    }";
    let data: Vec<f32> = (1..16).map(|v| v as f32).collect();
    // 3 by 5, in tiles of 2 by 4.
    for (i, j) in
        [(0, 0), (1, 0), (0, 1), (1, 1), (-1, 0), (0, -1), (2, 0), (7, 9), (i32::MIN, i32::MAX)]
    {
        let mut x = tensor(&[3, 5], data.clone());
        let mut xt = {
            let t = (0..5).flat_map(|c| (0..3).map(move |r| (r, c))).map(|(r, c)| data[r * 5 + c]);
            tensor(&[5, 3], t.collect())
        };
        for transposed in [false, true] {
            let (mut z, mut m) = (output::<f32>(&[2, 4]), output::<f32>(&[2]));
            let from = if transposed { xt.transposed() } else { x.arg() };
            run(text, &[i.into(), j.into(), (-9.5f32).into(), from, z.arg(), m.arg()], &[1]);
            for a in 0..2 {
                let mut least = f32::INFINITY;
                for b in 0..4 {
                    let (r, c) = (i64::from(i) * 2 + a, i64::from(j) * 4 + b);
                    let inside = (0..3).contains(&r) && (0..5).contains(&c);
                    let expected = if inside { data[(r * 5 + c) as usize] } else { -9.5 };
                    least = least.min(expected);
                    assert_eq!(
                        z.data[(a * 4 + b) as usize],
                        expected,
                        "tile {i}, {j}, lane {a}, {b}"
                    );
                }
                assert_eq!(m.data[a as usize], least, "padding takes part");
            }
        }
    }
}

/// Copies tile by tile between tensors of any strides, for elements of each width.
#[test]
fn strides_of_any_kind() {
    fn check<T: Host>(value: fn(usize) -> T) {
        let e = T::ELEMENT;
        let text = format!(
            "entry @copy(%x: tensor {e}[?, ?], %z: partitioned {e}[?, ?] by [3, 5]) {{
                %vx = partition %x : view {e}[3, 5]
                %vz = partition %z : view {e}[3, 5]
                %i = program_id 0 : i32
                %j = program_id 1 : i32
                %t = load %vx [%i, %j] clip : {e}[3, 5]
                store %t %vz [%i, %j]
                yield
            }}"
        );
        let (rows, columns) = (7i64, 11i64);
        let layouts: [(i64, i64, i64); 6] =
            [(11, 1, 0), (1, 7, 0), (22, 2, 0), (40, 3, 5), (-11, 1, 66), (-1, -7, 76)];
        for from in layouts {
            for to in layouts {
                let mut x: Vec<T> = (0..300).map(value).collect();
                let mut z = vec![T::POISON; 300];
                let arg = |data: &mut Vec<T>, (down, across, first): (i64, i64, i64)| {
                    Arg::from(TensorArg {
                        base: data[first as usize..].as_mut_ptr().cast(),
                        element: e,
                        extents: [rows, columns].into_iter().collect(),
                        strides: [down, across].into_iter().collect(),
                    })
                };
                let before = x.clone();
                run(&text, &[arg(&mut x, from), arg(&mut z, to)], &[3, 3]);
                let mut expected = vec![T::POISON; 300];
                let at = |(down, across, first): (i64, i64, i64), i: i64, j: i64| {
                    (first + i * down + j * across) as usize
                };
                for i in 0..rows {
                    for j in 0..columns {
                        expected[at(to, i, j)] = before[at(from, i, j)];
                    }
                }
                assert_eq!(z, expected, "{e} from {from:?} to {to:?}");
            }
        }
    }
    check::<u8>(|i| i as u8);
    check::<i16>(|i| i as i16);
    check::<f32>(|i| i as f32);
    check::<u64>(|i| i as u64);
}

/// Loads see the stores before them, whatever tiles and orders these use.
#[test]
fn loads_and_stores_happen_in_order() {
    // y is cut in two ways; each step reads what the one before wrote.
    let text = "entry @f(%y: partitioned i32[?, ?] by [4, 4]) {
        %vy = partition %y : view i32[4, 4]
        %vr = partition %y : view i32[1, 4]
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32
        %a = load %vy [%zero, %zero] clip : i32[4, 4]
        %t = permute [1, 0] %a : i32[4, 4]
        store %t %vy [%zero, %zero]
        %b = load %vy [%zero, %zero] clip : i32[4, 4]
        %r = load %vr [%one, %zero] clip : i32[1, 4]
        %ten = constant 10 : i32[1, 4]
        %s = binary mul %r %ten : i32[1, 4]
        store %s %vr [%two, %zero]
        %c = load %vy [%zero, %zero] clip : i32[4, 4]
        %d = binary add %b %c : i32[4, 4]
        %e = binary add %d %a : i32[4, 4]
        store %e %vy [%zero, %zero]
        yield
    }";
    let before: Vec<i32> = (1..17).collect();
    let mut y = tensor(&[4, 4], before.clone());
    run(text, &[y.arg()], &[1]);
    let mut after = vec![0; 16];
    for i in 0..4 {
        for j in 0..4 {
            after[i * 4 + j] = before[j * 4 + i];
        }
    }
    let b = after.clone();
    for j in 0..4 {
        after[8 + j] = after[4 + j] * 10;
    }
    let expected: Vec<i32> = (0..16).map(|k| b[k] + after[k] + before[k]).collect();
    assert_eq!(y.data, expected);
}

/// A tile that is larger than a chunk is transposed in its own place.
#[test]
fn a_tensor_is_transposed_in_place() {
    let text = "entry @f(%y: partitioned i32[?, ?] by [50, 50]) {
        %vy = partition %y : view i32[50, 50]
        %zero = constant 0 : i32
        %a = load %vy [%zero, %zero] clip : i32[50, 50]
        %t = permute [1, 0] %a : i32[50, 50]
        %s = binary add %t %a : i32[50, 50]
        store %s %vy [%zero, %zero]
        yield
    }";
    let before: Vec<i32> = (0..2500).collect();
    let mut y = tensor(&[50, 50], before.clone());
    run(text, &[y.arg()], &[1]);
    for i in 0..50 {
        for j in 0..50 {
            assert_eq!(y.data[i * 50 + j], before[i * 50 + j] + before[j * 50 + i]);
        }
    }
}

#[test]
fn iota_counts_and_wraps() {
    fn check<T: Host>(value: fn(usize) -> T) {
        let e = T::ELEMENT;
        let text = format!(
            "entry @f(%z: partitioned {e}[?] by [300]) {{
                %vz = partition %z : view {e}[300]
                %zero = constant 0 : i32
                %t = iota : {e}[300]
                store %t %vz [%zero]
                yield
            }}"
        );
        let mut z = output::<T>(&[300]);
        run(&text, &[z.arg()], &[1]);
        assert_eq!(z.data, (0..300).map(value).collect::<Vec<_>>());
    }
    check::<u8>(|i| i as u8);
    check::<i8>(|i| i as i8);
    check::<i32>(|i| i as i32);
    check::<u64>(|i| i as u64);
}

/// Axes that are merged or split read 0 where the tile was ragged, and are then valid; axes that stay
/// keep their valid lengths.
#[test]
fn reshapes_of_ragged_tiles() {
    // 2 by 3 valid of 4 by 4: merged; split; with an axis of 1.
    let text = "entry @f(%x: tensor i32[?, ?], %a: partitioned i32[?] by [16], %b: partitioned i32[?, ?, ?] by [4, 2, 2], %c: partitioned i32[?, ?, ?] by [4, 1, 4]) {
        %vx = partition %x : view i32[4, 4]
        %va = partition %a : view i32[16]
        %vb = partition %b : view i32[4, 2, 2]
        %vc = partition %c : view i32[4, 1, 4]
        %zero = constant 0 : i32
        %t = load %vx [%zero, %zero] clip : i32[4, 4]
        %flat = reshape %t : i32[16]
        store %flat %va [%zero]
        %split = reshape %t : i32[4, 2, 2]
        store %split %vb [%zero, %zero, %zero]
        %unit = reshape %t : i32[4, 1, 4]
        store %unit %vc [%zero, %zero, %zero]
        yield
    }";
    for _ in 0..2 {
        let mut x = tensor(&[2, 3], vec![1, 2, 3, 4, 5, 6]);
        let mut a = output::<i32>(&[16]);
        let mut b = output::<i32>(&[4, 2, 2]);
        let mut c = output::<i32>(&[4, 1, 4]);
        let p = output::<i32>(&[1]).data[0];
        run(text, &[x.arg(), a.arg(), b.arg(), c.arg()], &[1]);
        assert_eq!(a.data, [1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(b.data, [1, 2, 3, 0, 4, 5, 6, 0, p, p, p, p, p, p, p, p]);
        assert_eq!(c.data, [1, 2, 3, p, 4, 5, 6, p, p, p, p, p, p, p, p, p]);
    }
}

/// A tile of any extent, power of two or not.
#[test]
fn extents_of_any_size() {
    for tile in [1, 3, 24, 100, 1025, 3000] {
        let text = crate::harness::elementwise_text(
            "binary add %a %b",
            &[Element::I32; 2],
            Element::I32,
            tile,
        );
        for n in [1, tile as i64 - 1, tile as i64, tile as i64 + 1, 2 * tile as i64 + 5] {
            let mut a = tensor(&[n], (0..n as i32).collect::<Vec<i32>>());
            let mut b = tensor(&[n], vec![1000; n as usize]);
            let mut z = output::<i32>(&[n]);
            run(&text, &[a.arg(), b.arg(), z.arg()], &[(n as usize).div_ceil(tile) as u32]);
            assert_eq!(z.data, (1000..1000 + n as i32).collect::<Vec<_>>(), "{n} by {tile}");
        }
    }
}

/// Results valid to different lengths, in one group: each is what it is alone.
#[test]
fn tiles_valid_to_different_lengths() {
    let text = "entry @f(%x: tensor f32[?], %y: tensor f32[?], %a: partitioned f32[?] by [8], %b: partitioned f32[?] by [8]) {
        %vx = partition %x : view f32[8]
        %vy = partition %y : view f32[8]
        %va = partition %a : view f32[8]
        %vb = partition %b : view f32[8]
        %i = constant 0 : i32
        %tx = load %vx [%i] clip : f32[8]
        %ty = load %vy [%i] clip : f32[8]
        %two = constant 2.0 : f32[8]
        %dx = binary mul %tx %two : f32[8]
        %s = binary add %dx %ty : f32[8]
        %q = binary mul %dx %dx : f32[8]
        store %s %va [%i]
        store %q %vb [%i]
        yield
    }";
    let p = output::<f32>(&[1]).data[0];
    for (nx, ny) in [(8usize, 3usize), (3, 8), (5, 5), (8, 8), (1, 7)] {
        let mut x = tensor(&[nx as i64], (0..nx).map(|v| v as f32).collect());
        let mut y = tensor(&[ny as i64], (0..ny).map(|v| 100.0 + v as f32).collect());
        let (mut a, mut b) = (output::<f32>(&[8]), output::<f32>(&[8]));
        run(text, &[x.arg(), y.arg(), a.arg(), b.arg()], &[1]);
        for i in 0..8 {
            let v = i as f32;
            let sum = if i < nx.min(ny) { 2.0 * v + 100.0 + v } else { p };
            assert_eq!(a.data[i], sum, "{nx}, {ny}");
            assert_eq!(b.data[i], if i < nx { 4.0 * v * v } else { p }, "{nx}, {ny}");
        }
    }
}

/// Tiles of one row, column or element, repeated along other axes.
#[test]
fn broadcasts() {
    let text =
        "entry @f(%r: tensor i32[?], %c: tensor i32[?], %z: partitioned i32[?, ?] by [3, 40]) {
        %vr = partition %r : view i32[40]
        %vc = partition %c : view i32[3]
        %vz = partition %z : view i32[3, 40]
        %i = program_id 0 : i32
        %j = program_id 1 : i32
        %row = load %vr [%j] clip : i32[40]
        %column = load %vc [%i] clip : i32[3]
        %row2 = reshape %row : i32[1, 40]
        %column2 = reshape %column : i32[3, 1]
        %rows = broadcast %row2 : i32[3, 40]
        %columns = broadcast %column2 : i32[3, 40]
        %s = binary sub %rows %columns : i32[3, 40]
        store %s %vz [%i, %j]
        yield
    }";
    let (rows, columns) = (7usize, 95usize);
    let mut r = tensor(&[columns as i64], (0..columns as i32).collect::<Vec<_>>());
    let mut c = tensor(&[rows as i64], (0..rows as i32).map(|v| v * 1000).collect::<Vec<_>>());
    let mut z = output::<i32>(&[rows as i64, columns as i64]);
    run(text, &[r.arg(), c.arg(), z.arg()], &[3, 3]);
    for i in 0..rows {
        for j in 0..columns {
            assert_eq!(z.data[i * columns + j], j as i32 - 1000 * i as i32);
        }
    }
}

/// Tiles whose extents the kernel fixes, of rank 0 and of rank 6.
#[test]
fn ranks_from_0_to_6() {
    let text = "entry @f(%x: tensor i32[?, ?, ?, ?, ?, ?], %z: partitioned i32[?, ?, ?, ?, ?, ?] by [2, 1, 2, 1, 2, 3], %s: partitioned i32[?] by [1]) {
        %vx = partition %x : view i32[3, 2, 1, 2, 1, 2]
        %vz = partition %z : view i32[2, 1, 2, 1, 2, 3]
        %vs = partition %s : view i32[1]
        %i = constant 0 : i32
        %t = load %vx [%i, %i, %i, %i, %i, %i] clip : i32[3, 2, 1, 2, 1, 2]
        %p = permute [5, 4, 3, 2, 1, 0] %t : i32[2, 1, 2, 1, 2, 3]
        store %p %vz [%i, %i, %i, %i, %i, %i]
        %flat = reshape %t : i32[24]
        %sum = reduce sum 0 %flat : i32[]
        %n = to_scalar %sum : i32
        %w = splat %n : i32[1]
        store %w %vs [%i]
        yield
    }";
    let mut x = tensor(&[3, 2, 1, 2, 1, 2], (0..24).collect::<Vec<i32>>());
    let mut z = output::<i32>(&[2, 1, 2, 1, 2, 3]);
    let mut s = output::<i32>(&[1]);
    run(text, &[x.arg(), z.arg(), s.arg()], &[1]);
    assert_eq!(s.data, [276]);
    for a in 0..3 {
        for b in 0..2 {
            for d in 0..2 {
                for f in 0..2 {
                    let from = a * 8 + b * 4 + d * 2 + f;
                    assert_eq!(z.data[((f * 2 + d) * 2 + b) * 3 + a], from as i32);
                }
            }
        }
    }
}

/// Lanes that are collected first keep their room while the operations before their use run.
#[test]
fn collected_lanes_keep_their_room() {
    let text = "entry @f(%x: tensor i32[?, ?], %z: partitioned i32[?, ?] by [8, 8]) {
        %vx = partition %x : view i32[8, 8]
        %vz = partition %z : view i32[8, 8]
        %i = constant 0 : i32
        %a = load %vx [%i, %i] clip : i32[8, 8]
        %t = permute [1, 0] %a : i32[8, 8]
        %p = binary add %a %a : i32[8, 8]
        %q = binary mul %p %a : i32[8, 8]
        %r = binary add %q %t : i32[8, 8]
        store %r %vz [%i, %i]
        yield
    }";
    let data: Vec<i32> = (0..64).collect();
    let mut x = tensor(&[8, 8], data.clone());
    let mut z = output::<i32>(&[8, 8]);
    run(text, &[x.arg(), z.arg()], &[1]);
    for i in 0..8 {
        for j in 0..8 {
            let a = data[i * 8 + j];
            assert_eq!(z.data[i * 8 + j], 2 * a * a + data[j * 8 + i]);
        }
    }
}
